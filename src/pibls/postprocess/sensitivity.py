r"""s = ∂u/∂k: how a solution changes with a parameter."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import UNCHECKED, ErrorEstimate, KnownEstimate, compare, worst_of
from pibls.arrays import Array, PointFunction
from pibls.errors import ConvergenceWarning
from pibls.postprocess.sweeps import moves_data_only
from pibls.problem.forms.linearised import linearised
from pibls.problem.forms.lowering import lower
from pibls.problem.interfaces.materials import materials_of, refuse_moving
from pibls.problem.parameters import find_parameter
from pibls.solution import Solution
from pibls.solution.solve import resolved, solve
from pibls.spaces import Space, Summed
from pibls.status import Status

_STEP = 4e-3  # of the parameter: h⁶ is rounding, and rounding is not divided by much
_SIXTH, _FOURTH = (0.75, -0.15, 1.0 / 60.0), (2.0 / 3.0, -1.0 / 12.0, 0.0)


def sensitivity(solution: Solution, parameter: Any, time_limit: float | None = None) -> Solution:
    """∂u/∂k, a function like the solution, with an error estimate of its own.

    The linearised problem is solved with the tolerance and the seed of the solution; its unknowns keep
    their names, so that ``solution.sensitivity(k)[v]`` is ∂v/∂k. ``time_limit`` is that of `solve`; across
    materials it is not asked, since six solutions in the space that is there take no search.

    >>> import sympy as sp, pibls
    >>> x, k = sp.symbols("x k")
    >>> u = sp.Function("u")(x)
    >>> decay = pibls.Problem(
    ...     pibls.Interval(x, 0, 1), [u.diff(x) + k * u], [pibls.Initial(u, 1)], parameters={k: 2.0}
    ... )
    >>> slope = pibls.solve(decay).sensitivity(k)
    >>> round(float(slope(0.5)), 9)  # -x exp(-k x)
    -0.183939721
    """
    problem = solution.problem
    symbol = find_parameter(parameter, problem.parameters, "sensitivity")
    if materials_of(problem) is not None:
        return _by_differences(solution, symbol)
    added = hasattr(solution.settings.get("basis"), "spread")  # something stands beside the waves
    if added and not moves_data_only(problem, (symbol,)):
        return _by_solutions(solution, symbol, time_limit)
    of_it = linearised(problem, symbol, _solved(solution))
    found = solve(of_it, tol=solution.tol, seed=solution.seed, time_limit=time_limit)
    return replace(found, estimator=_Widened(found, solution))


def _by_differences(solution: Solution, symbol: Any) -> Solution:
    """Σ cᵢ u(k + i h) / h in the space of the solution: across materials k ∇u jumps, and so does its source.

    Solutions in one space with one set of points depend on k as smoothly as the problem does. Formulas of the
    sixth and of the fourth order tell how far they are off.
    """
    problem = solution.problem
    refuse_moving(problem, (symbol,), "solution.sensitivity(parameter)")
    value = problem.parameters[symbol]
    h = _STEP * (abs(value) or 1.0)
    near = {i: resolved(problem.at({symbol: value + i * h}), solution) for i in (-3, -2, -1, 1, 2, 3)}
    first = near[1]

    def combined(formula: tuple[float, ...]) -> Array:
        pairs = ((c / h) * (near[i].coefficients - near[-i].coefficients) for i, c in enumerate(formula, 1))
        return np.asarray(sum(pairs))

    found = replace(first, problem=problem, coefficients=combined(_SIXTH), tol=solution.tol, seconds=0.0)
    fourth = replace(found, coefficients=combined(_FOURTH))
    X = np.asarray(problem.domain.interior(512, np.random.default_rng(1)), dtype=float).T

    other = solution.error
    share = _size(found) / max(_size(solution), np.finfo(float).tiny)
    apart = max(float(np.abs(found[u](*X) - fourth[u](*X)).max()) for u in problem.unknowns)
    left = 2 * share * other.max + 3 * apart
    excess = left / max(_size(found), np.finfo(float).tiny)
    status = solution.status if excess <= solution.tol or not solution.converged else Status.FLOOR
    return replace(
        found, estimator=KnownEstimate(replace(other, max=left, l2=left, each=(), pair=None)), status=status
    )


def _by_solutions(solution: Solution, symbol: Any, time_limit: float | None) -> Solution:
    """Σ cᵢ u(k + i h) / h: the functions of corners and holes belong to an equation, and change with it.

    ∂L/∂k u is singular in the corners where u is, and no function that was added for L s = 0 fits to that: on
    an L-shape the linearised problem took minutes. Each u has a second solution; their quotient is that of s.
    """
    problem = solution.problem
    value = problem.parameters[symbol]
    h = _STEP * (abs(value) or 1.0)
    each = None if time_limit is None else time_limit / 6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        near = {
            i: solve(
                problem.at({symbol: value + i * h}), tol=solution.tol, seed=solution.seed, time_limit=each
            )
            for i in (-3, -2, -1, 1, 2, 3)
        }

    def quotient(
        formula: tuple[float, ...], of: Callable[[Solution], tuple[Space, Array]]
    ) -> tuple[Space, Array]:
        parts = [(np.sign(i) * formula[abs(i) - 1] / h, *of(u)) for i, u in near.items()]
        return Summed(tuple(space for _, space, _ in parts)), np.concatenate([c * w for c, _, w in parts])

    space, w = quotient(_SIXTH, lambda u: (u.space, u.coefficients))
    worst = next((u for u in near.values() if not u.converged), solution)
    found = replace(
        worst, problem=problem, space=space, coefficients=w, tol=solution.tol, settings={}, seconds=0.0
    )
    if any(u.error.pair is None for u in near.values()):
        status = Status.FLOOR if worst.converged else worst.status
        return replace(found, estimator=KnownEstimate(UNCHECKED), status=status)
    other = quotient(_FOURTH, _second)
    where = Bench.of(lower(problem), problem.domain, solution.seed, solution.tol).where
    error = compare((space, w), other, len(problem.unknowns), where)
    fine = all(e.max <= solution.tol * s for e, s in zip(error.each, _sizes(found), strict=True))
    status = worst.status if fine or not worst.converged else Status.FLOOR
    return replace(found, estimator=KnownEstimate(error), status=status)


def _second(solution: Solution) -> tuple[Space, Array]:
    """What a solution was compared with."""
    assert solution.error.pair is not None
    first, second = solution.error.pair
    return first if np.array_equal(second[1], solution.coefficients) else second


def _solved(solution: Solution) -> Callable[[Any], PointFunction]:
    """∂^α u ↦ its values: those of the solution."""

    def values_of(term: Any) -> PointFunction:
        return _Values(solution, term)

    return values_of


@dataclass(frozen=True)
class _Values:
    """An expression of a solution as a function of coordinate arrays."""

    solution: Solution
    term: Any

    def __call__(self, *coordinates: Array) -> Array:
        return np.asarray(self.solution.evaluate(self.term, *coordinates))


@dataclass(frozen=True)
class _Widened:
    """The estimate with the error of u in it: s = -L⁻¹ ∂L/∂k u is as wrong as u is, relative to its size."""

    found: Solution
    about: Solution

    def __call__(self) -> ErrorEstimate:
        found, about = self.found, self.about
        own, sizes = found.error, _sizes(about)
        # What is zero as far as anyone can tell is measured against the others.
        sizes = np.where(sizes > about.tol * sizes.max(), sizes, max(sizes.max(), np.finfo(float).tiny))
        errors = [about[u].error for u in about.problem.unknowns]
        largest = max(e.max / size for e, size in zip(errors, sizes, strict=True))
        mean = max(e.l2 / size for e, size in zip(errors, sizes, strict=True))
        each = [
            replace(
                e,
                max=e.max + 2 * largest * size,
                l2=e.l2 + 2 * mean * size,
                history=tuple((t, d + 2 * largest * size) for t, d in e.history),
            )
            for e, size in zip(own.each or (own,), _sizes(found).tolist(), strict=False)
        ]
        return replace(worst_of(each), each=tuple(each) if own.each else (), pair=own.pair)


def _sizes(solution: Solution) -> Array:
    """max|u| of each unknown, over points of the domain."""
    X = solution.problem.domain.interior(256, np.random.default_rng(0))
    return np.array([float(np.abs(solution[u](*X.T)).max()) for u in solution.problem.unknowns])


def _size(solution: Solution) -> float:
    return float(_sizes(solution).max())

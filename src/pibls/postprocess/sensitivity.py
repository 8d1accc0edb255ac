r"""Sensitivity s = ∂u/∂k of a solution with respect to a parameter."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import (
    UNCHECKED,
    ErrorEstimate,
    KnownEstimate,
    combine_unknowns,
    compare,
)
from pibls.arrays import Array, PointFunction
from pibls.basis.protocol import is_partly_interior
from pibls.errors import ConvergenceWarning
from pibls.expressions import Parameter, Unknown
from pibls.postprocess.sweeps import changes_only_data
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.forms.sensitivity_problem import sensitivity_problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition
from pibls.problem.interfaces.unsupported_interfaces import refuse_moving_interfaces
from pibls.problem.parameters import find_parameter
from pibls.solution import Solution
from pibls.solution.solve import solve, solve_again
from pibls.spaces import Space, SumSpace
from pibls.status import Status

_RELATIVE_STEP = 4e-3  # of the parameter; h⁶ is at rounding level, and rounding is amplified little by 1/h
_SIXTH, _FOURTH = (0.75, -0.15, 1.0 / 60.0), (2.0 / 3.0, -1.0 / 12.0, 0.0)
"""Weights of central differences of sixth and fourth order."""


def sensitivity(solution: Solution, parameter: Parameter | str, time_limit: float | None = None) -> Solution:
    """Return ∂u/∂k as a `Solution` with its own error estimate.

    The linearized problem is solved with the tolerance and the seed of the solution; its unknowns keep
    their names, so that ``solution.sensitivity(k)[v]`` is ∂v/∂k. ``time_limit`` is that of `solve`; it is not
    used with several materials, where six solves in the given space are enough.

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
    if subdomain_decomposition(problem) is not None:
        return _by_fixed_space_differences(solution, symbol)
    added = is_partly_interior(solution.settings.get("basis"))  # the basis has a singular enrichment
    if added and not changes_only_data(problem, (symbol,)):
        return _by_full_differences(solution, symbol, time_limit)
    linearized = sensitivity_problem(problem, symbol, _solution_values(solution))
    found = solve(linearized, tol=solution.tol, seed=solution.seed, time_limit=time_limit)
    return replace(found, estimator=_CombinedEstimate(found, solution))


def _by_fixed_space_differences(solution: Solution, symbol: Parameter) -> Solution:
    """Return Σ cᵢ u(k + i h) / h in the space of the solution, for a problem with several materials.

    Solutions in one space with one set of points depend on k as smoothly as the problem does. The error is
    estimated from differences of sixth and fourth order.
    """
    problem = solution.problem
    refuse_moving_interfaces(problem, (symbol,), "solution.sensitivity(parameter)")
    value = problem.parameters[symbol]
    h = _RELATIVE_STEP * (abs(value) or 1.0)
    near = {i: solve_again(problem.at({symbol: value + i * h}), solution) for i in (-3, -2, -1, 1, 2, 3)}
    first = near[1]

    def combined(formula: tuple[float, ...]) -> Array:
        pairs = ((c / h) * (near[i].coefficients - near[-i].coefficients) for i, c in enumerate(formula, 1))
        return np.asarray(sum(pairs))

    found = replace(first, problem=problem, coefficients=combined(_SIXTH), tol=solution.tol, seconds=0.0)
    fourth = replace(found, coefficients=combined(_FOURTH))
    X = np.asarray(problem.domain.interior(512, np.random.default_rng(1)), dtype=float).T

    other = solution.error
    ratio = _max_magnitude(found) / max(_max_magnitude(solution), np.finfo(float).tiny)
    difference = max(float(np.abs(found[u](*X) - fourth[u](*X)).max()) for u in problem.unknowns)
    error = 2 * ratio * other.max + 3 * difference
    relative_error = error / max(_max_magnitude(found), np.finfo(float).tiny)
    status = (
        solution.status if relative_error <= solution.tol or not solution.converged else Status.ROUNDING_LIMIT
    )
    return replace(
        found, estimator=KnownEstimate(replace(other, max=error, l2=error, each=(), pair=None)), status=status
    )


def _neighbouring_solutions(
    solution: Solution, symbol: Parameter, h: float, time_limit: float | None
) -> dict[int, Solution]:
    """Return the solutions at k + i h for i = ±1, ±2, ±3, by i."""
    problem, value = solution.problem, solution.problem.parameters[symbol]
    each = None if time_limit is None else time_limit / 6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {
            i: solve(
                problem.at({symbol: value + i * h}), tol=solution.tol, seed=solution.seed, time_limit=each
            )
            for i in (-3, -2, -1, 1, 2, 3)
        }


def _by_full_differences(solution: Solution, symbol: Parameter, time_limit: float | None) -> Solution:
    """Return Σ cᵢ u(k + i h) / h from independent solves, for solutions with singular enrichment.

    The enrichment at corners and holes depends on the operator and therefore on k. ∂L/∂k u is singular at the
    corners where u is, and the enrichment for L s = 0 does not represent it: on an L-shape the linearized
    problem took minutes. The difference quotient of the companion solutions is the companion of s.
    """
    problem = solution.problem
    value = problem.parameters[symbol]
    h = _RELATIVE_STEP * (abs(value) or 1.0)
    near = _neighbouring_solutions(solution, symbol, h, time_limit)

    def quotient(
        formula: tuple[float, ...], of: Callable[[Solution], tuple[Space, Array]]
    ) -> tuple[Space, Array]:
        parts = [(np.sign(i) * formula[abs(i) - 1] / h, *of(u)) for i, u in near.items()]
        return SumSpace(tuple(space for _, space, _ in parts)), np.concatenate([c * w for c, _, w in parts])

    space, w = quotient(_SIXTH, lambda u: (u.space, u.coefficients))
    worst = next((u for u in near.values() if not u.converged), solution)
    found = replace(
        worst, problem=problem, space=space, coefficients=w, tol=solution.tol, settings={}, seconds=0.0
    )
    if any(u.error.pair is None for u in near.values()):
        status = Status.ROUNDING_LIMIT if worst.converged else worst.status
        return replace(found, estimator=KnownEstimate(UNCHECKED), status=status)
    other = quotient(_FOURTH, _companion)
    where = ValidationContext.of(
        compile_problem(problem), problem.domain, solution.seed, solution.tol
    ).comparison_points
    error = compare((space, w), other, len(problem.unknowns), where)
    fine = all(e.max <= solution.tol * s for e, s in zip(error.each, _magnitudes(found), strict=True))
    status = worst.status if fine or not worst.converged else Status.ROUNDING_LIMIT
    return replace(found, estimator=KnownEstimate(error), status=status)


def _companion(solution: Solution) -> tuple[Space, Array]:
    """Return the companion solution that the error estimate compared with."""
    assert solution.error.pair is not None
    first, second = solution.error.pair
    return first if np.array_equal(second[1], solution.coefficients) else second


def _solution_values(solution: Solution) -> Callable[[Unknown], PointFunction]:
    """Return the map from ∂^α u to the function that evaluates it."""

    def values_of(term: Unknown) -> PointFunction:
        return _Values(solution, term)

    return values_of


@dataclass(frozen=True)
class _Values:
    """An expression of a solution, as a function of coordinate arrays."""

    solution: Solution
    term: Unknown

    def __call__(self, *coordinates: Array) -> Array:
        return np.asarray(self.solution.evaluate(self.term, *coordinates))


@dataclass(frozen=True)
class _CombinedEstimate:
    """Error estimate of s = -L⁻¹ ∂L/∂k u that includes the relative error of u."""

    found: Solution
    solution: Solution

    def __call__(self) -> ErrorEstimate:
        found, solution = self.found, self.solution
        own, sizes = found.error, _magnitudes(solution)
        # An unknown that is zero within the tolerance is measured against the others.
        sizes = np.where(sizes > solution.tol * sizes.max(), sizes, max(sizes.max(), np.finfo(float).tiny))
        errors = [solution[u].error for u in solution.problem.unknowns]
        largest = max(e.max / size for e, size in zip(errors, sizes, strict=True))
        mean = max(e.l2 / size for e, size in zip(errors, sizes, strict=True))
        each = [
            replace(
                e,
                max=e.max + 2 * largest * size,
                l2=e.l2 + 2 * mean * size,
                history=tuple((t, d + 2 * largest * size) for t, d in e.history),
            )
            for e, size in zip(own.each or (own,), _magnitudes(found).tolist(), strict=False)
        ]
        return replace(combine_unknowns(each), each=tuple(each) if own.each else (), pair=own.pair)


def _magnitudes(solution: Solution) -> Array:
    """max|u| of each unknown, over points of the domain."""
    X = solution.problem.domain.interior(256, np.random.default_rng(0))
    return np.array([float(np.abs(solution[u](*X.T)).max()) for u in solution.problem.unknowns])


def _max_magnitude(solution: Solution) -> float:
    return float(_magnitudes(solution).max())

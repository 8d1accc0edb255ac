r"""s = ∂u/∂k: how a solution changes with a parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pibls.arrays import Array, PointFunction
from pibls.problem.linearised import linearised
from pibls.problem.materials import refuse_materials
from pibls.problem.parameters import find_parameter
from pibls.solution import Solution
from pibls.solve import solve


def sensitivity(solution: Solution, parameter: Any) -> Solution:
    """∂u/∂k, a function like the solution, with an error estimate of its own.

    The linearised problem is solved with the tolerance and the seed of the solution; its unknowns keep
    their names, so that ``solution.sensitivity(k)[v]`` is ∂v/∂k.

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
    refuse_materials(problem, "solution.sensitivity(parameter)")
    symbol = find_parameter(parameter, problem.parameters, "sensitivity")
    found = solve(linearised(problem, symbol, _solved(solution)), tol=solution.tol, seed=solution.seed)
    return replace(found, estimator=_widened(found, solution))


def _solved(solution: Solution) -> Callable[[Any], PointFunction]:
    """∂^α u ↦ its values: those of the solution."""

    def values_of(term: Any) -> PointFunction:
        def values(*coordinates: Array) -> Array:
            return np.asarray(solution.evaluate(term, *coordinates))

        return values

    return values_of


def _widened(found: Solution, about: Solution) -> Callable[[], Any]:
    """The estimate with the error of u in it: s = -L⁻¹ ∂L/∂k u is as wrong as u is, relative to its size."""

    def estimate() -> Any:
        own, other = found.error, about.error
        share = _size(found) / max(_size(about), np.finfo(float).tiny)
        return replace(own, max=own.max + 2 * share * other.max, l2=own.l2 + 2 * share * other.l2)

    return estimate


def _size(solution: Solution) -> float:
    """max|u| over points of the domain."""
    X = solution.problem.domain.interior(256, np.random.default_rng(0))
    return max(float(np.abs(solution[u](*X.T)).max()) for u in solution.problem.unknowns)

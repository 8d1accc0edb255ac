r"""Goal functionals J(u) = ∫ e(u, ∇u, …) dx of a solution, with error estimates.

The quadrature error is estimated from two rules of different size, the error due to the solution as
|J(u) - J(ũ)| with the companion solution ũ of the error estimate. Unlike max|u - ũ| this includes
derivatives, and errors that cancel in the integral.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from pibls.adaptive.thresholds import DEFAULT
from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of, space_of, time_of
from pibls.geometry.integrals.gauss import QuadratureRule
from pibls.problem import Interior
from pibls.problem.arguments import IntegrationPlace
from pibls.problem.forms.compilation import Residual, compile_form
from pibls.problem.forms.integral import integration_domain
from pibls.problem.regions.integral_region import IntegrationDomain, cached_rule
from pibls.solution import Solution
from pibls.spaces import Space

_RULE_SIZES = {1: (48, 80, 128, 200), 2: (24, 40, 64, 104, 168), 3: (16, 24, 34)}
_QUADRATURE_TOLERANCE = 1e-13  # relative difference of two rules
_ROUNDING = 1e-13  # relative; above machine precision because derivatives amplify rounding


class Goal(float):
    """A float with ``error``, its estimated absolute error; infinite if no estimate is known."""

    error: float

    def __new__(cls, value: float, error: float) -> Goal:
        made = super().__new__(cls, value)
        made.error = error
        return made

    def __repr__(self) -> str:
        return f"{float(self)!r} ± {self.error:.1e}"


def integral_of(
    solution: Solution, expression: sp.Expr, over: IntegrationPlace = None, t: float | sp.Expr | None = None
) -> Goal:
    """Return ∫ expression over the domain, a shape, a boundary or a part of it, at time t."""
    problem = solution.problem
    residual = _compiled(solution, expression)
    extent = integration_domain(over, problem.domain, "integral")
    if _needs_normal(residual, solution, expression) and not extent.has_normal:
        raise ProblemError(
            "integral(expression)",
            expected="derivatives by the coordinates, in the interior",
            got="dn(…), the normal derivative",
            remedy="Write over=shape.boundary, or over=sympy.Eq(x, 0).",
        )
    time = _checked_time(problem.domain, t)
    space = space_of(problem.domain)
    best = _integrate(solution, residual, extent, space, time)
    if not best.converged and (ways := extent.towards_corners):
        coarse, fine = (_integrate(solution, residual, way, space, time) for way in ways)
        # The contribution of the corner that no graded rule resolves is estimated from two rules that end
        # at different distances from it.
        unseen = 2.0 * abs(fine.value - coarse.value)
        fine = replace(fine, error=fine.error + unseen)
        best = min(best, fine, key=lambda found: found.error)
    return Goal(
        best.value, best.error + _ROUNDING * best.size + _solution_error(solution, residual, best.rule)
    )


@dataclass(frozen=True)
class _Quadrature:
    """The value of a quadrature, its estimated error, and the integral of the absolute value."""

    value: float
    error: float
    size: float
    rule: QuadratureRule
    converged: bool


def _integrate(
    solution: Solution, residual: Residual, extent: IntegrationDomain, space: Domain, time: float | None
) -> _Quadrature:
    """Integrate with successively finer rules until two agree."""
    found: list[float] = []
    for n in _RULE_SIZES.get(len(space.coordinates), (8, 10)):
        rule = _rule_at_time(cached_rule(extent, space, n), time)
        values = _values(residual, solution.space, solution.coefficients, rule)
        found.append(float(rule.weights @ values))
        size = float(np.abs(rule.weights) @ np.abs(values))
        if len(found) > 1 and abs(found[-1] - found[-2]) <= _QUADRATURE_TOLERANCE * size:
            return _Quadrature(found[-1], 2.0 * abs(found[-1] - found[-2]), size, rule, True)
    # With slow convergence at a corner two rules may agree by chance, so three are compared.
    return _Quadrature(found[-1], 2.0 * max(abs(found[-1] - v) for v in found[-3:-1]), size, rule, False)


def _solution_error(solution: Solution, residual: Residual, rule: QuadratureRule) -> float:
    """Return the estimated error of the integral that is due to the error of the solution."""
    error = solution.error
    if error.pair is not None:
        one, two = (float(rule.weights @ _values(residual, *f, rule)) for f in error.pair)
        return DEFAULT.safety_factor * abs(one - two)
    derivatives = (*residual.linear, *residual.nonlinear)
    if not error.checked or any(any(j.alpha) for j in derivatives):
        return 0.0 if not derivatives else math.inf
    X, data = rule.points, residual.data_function_values(rule.points)
    values = solution.space.values((X,), derivatives, solution.coefficients)
    k = len(residual.linear)
    slopes = np.concatenate(
        [residual.coefficients(X, rule.normals, data), residual.partials(X, rule.normals, data, values[k:])]
    )
    each = error.each or (error,)
    return float(
        sum(
            np.abs(rule.weights) @ np.abs(slope) * each[min(derivative.unknown, len(each) - 1)].max
            for derivative, slope in zip(derivatives, slopes, strict=True)
        )
    )


def _values(residual: Residual, space: Space, w: Array, rule: QuadratureRule) -> Array:
    X = rule.points
    derivatives = (*residual.linear, *residual.nonlinear)
    values, data, k = (
        space.values((X,), derivatives, w),
        residual.data_function_values(X),
        len(residual.linear),
    )
    a = residual.coefficients(X, rule.normals, data)
    return np.asarray(residual.rest(X, rule.normals, data, values[k:]) + np.sum(a * values[:k], axis=0))


def _compiled(solution: Solution, expression: sp.Expr) -> Residual:
    if not isinstance(expression, (sp.Expr, int, float)):
        raise ProblemError(
            "integral(expression)",
            expected="a SymPy expression of the unknowns and their derivatives",
            got=repr(expression),
            remedy="Build it with SymPy; strings are not evaluated.",
        )
    form = solution.problem.symbol_table().form(sp.sympify(expression), "integral(expression)")
    if form.deltas:
        raise ProblemError(
            "integral(expression)", expected="finite values", got="DiracDelta", remedy="Leave it out."
        )
    residual = compile_form(form, Interior()).restricted_to(solution.problem.domain)
    return residual.at(tuple(solution.problem.parameters.values()))


def _needs_normal(residual: Residual, solution: Solution, expression: sp.Expr) -> bool:
    return bool(solution.problem.symbol_table().form(sp.sympify(expression), "expression").needs_normal)


def _checked_time(domain: Domain, t: float | sp.Expr | None) -> float | None:
    time = time_of(domain)
    if (t is None) != (time is None):
        raise ProblemError(
            "integral(t)",
            expected="a time" if t is None else "None: the problem has no time",
            got=repr(t),
            remedy="Write solution.integral(u, t=0.5) for the integral over space at that time."
            if t is None
            else "Leave t out.",
        )
    if t is None:
        return None
    low, high = box_of(domain)[-1]
    if isinstance(t, bool) or not isinstance(t, (int, float)) or not low <= t <= high:
        raise ProblemError(
            "integral(t)", expected=f"a time from {low:g} to {high:g}", got=repr(t), remedy="Choose another."
        )
    return float(t)


def _rule_at_time(rule: QuadratureRule, time: float | None) -> QuadratureRule:
    return rule if time is None else rule.product(np.array([time]), np.ones(1))


__all__ = ["Goal", "IntegrationDomain", "integral_of"]

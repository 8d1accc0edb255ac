r"""J(u) = ∫ e(u, ∇u, …) dx: a number that a solution was wanted for, with its error.

Two rules of different size tell how far the quadrature is off. How far the solution is off, in this number,
tells the second solution that the error estimate compared: |J(u) - J(ũ)| knows of derivatives, and of
errors that cancel, what max|u - ũ| does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from pibls.adaptive.thresholds import DEFAULT
from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of, space_of, time_of
from pibls.geometry.integrals.gauss import Rule
from pibls.problem import Inside
from pibls.problem.forms.integral import extent_of
from pibls.problem.forms.lowering import Residual, lower_form
from pibls.problem.regions.total import Extent, rule_for
from pibls.solution import Solution
from pibls.spaces import Space

_SIZES = {1: (48, 80, 128, 200), 2: (24, 40, 64, 104, 168), 3: (16, 24, 34)}
_ENOUGH = 1e-13
_ROUNDING = 1e-13  # derivatives lose some digits


class Goal(float):
    """A number with ``error``, an estimate of how far it is off; infinite where nothing is known."""

    error: float

    def __new__(cls, value: float, error: float) -> Goal:
        made = super().__new__(cls, value)
        made.error = error
        return made

    def __repr__(self) -> str:
        return f"{float(self)!r} ± {self.error:.1e}"


def integral_of(solution: Solution, expression: Any, over: Any = None, t: Any = None) -> Goal:
    """∫ expression over the domain, a shape, a boundary or a part of one; at a time."""
    problem = solution.problem
    residual = _compiled(solution, expression)
    extent = extent_of(over, problem.domain, "integral")
    if _needs_normal(residual, solution, expression) and not extent.has_normal:
        raise ProblemError(
            "integral(expression)",
            expected="derivatives by the coordinates, inside",
            got="dn(…), the normal derivative",
            remedy="Write over=shape.boundary, or over=sympy.Eq(x, 0).",
        )
    moment = _moment(problem.domain, t)
    space = space_of(problem.domain)
    best = _summed(solution, residual, extent, space, moment)
    if not best.settled and (ways := extent.towards_corners):
        coarse, fine = (_summed(solution, residual, way, space, moment) for way in ways)
        # What is nearer to a corner than rules go shows, whatever its power, between two that end elsewhere.
        unseen = 2.0 * abs(fine.value - coarse.value)
        fine = replace(fine, quadrature=fine.quadrature + unseen)
        best = min(best, fine, key=lambda found: found.quadrature)
    return Goal(best.value, best.quadrature + _ROUNDING * best.size + _unsure(solution, residual, best.rule))


@dataclass(frozen=True)
class _Sum:
    """A sum over a rule, how far the rule is off, and the sum of what is summed without its sign."""

    value: float
    quadrature: float
    size: float
    rule: Rule
    settled: bool


def _summed(
    solution: Solution, residual: Residual, extent: Extent, space: Domain, moment: float | None
) -> _Sum:
    """By ever finer rules, until two agree."""
    found: list[float] = []
    for n in _SIZES.get(len(space.coordinates), (8, 10)):
        rule = _at(rule_for(extent, space, n), moment)
        values = _values(residual, solution.space, solution.coefficients, rule)
        found.append(float(rule.weights @ values))
        size = float(np.abs(rule.weights) @ np.abs(values))
        if len(found) > 1 and abs(found[-1] - found[-2]) <= _ENOUGH * size:
            return _Sum(found[-1], 2.0 * abs(found[-1] - found[-2]), size, rule, True)
    # What falls slowly, at a corner, may be nearly the same in two rules; a third tells more.
    return _Sum(found[-1], 2.0 * max(abs(found[-1] - v) for v in found[-3:-1]), size, rule, False)


def _unsure(solution: Solution, residual: Residual, rule: Rule) -> float:
    """How far the number is off because the solution is."""
    error = solution.error
    if error.pair is not None:
        one, two = (float(rule.weights @ _values(residual, *f, rule)) for f in error.pair)
        return DEFAULT.safety * abs(one - two)
    jets = (*residual.linear, *residual.nonlinear)
    if not error.checked or any(any(j.alpha) for j in jets):
        return 0.0 if not jets else math.inf
    X, data = rule.points, residual.known_data(rule.points)
    values = solution.space.values((X,), jets, solution.coefficients)
    k = len(residual.linear)
    slopes = np.concatenate(
        [residual.coefficients(X, rule.normals, data), residual.partials(X, rule.normals, data, values[k:])]
    )
    each = error.each or (error,)
    return float(
        sum(
            np.abs(rule.weights) @ np.abs(slope) * each[min(jet.unknown, len(each) - 1)].max
            for jet, slope in zip(jets, slopes, strict=True)
        )
    )


def _values(residual: Residual, space: Space, w: Array, rule: Rule) -> Array:
    X = rule.points
    jets = (*residual.linear, *residual.nonlinear)
    values, data, k = space.values((X,), jets, w), residual.known_data(X), len(residual.linear)
    a = residual.coefficients(X, rule.normals, data)
    return np.asarray(residual.rest(X, rule.normals, data, values[k:]) + np.sum(a * values[:k], axis=0))


def _compiled(solution: Solution, expression: Any) -> Residual:
    if not isinstance(expression, (sp.Expr, int, float)):
        raise ProblemError(
            "integral(expression)",
            expected="a SymPy expression of the unknowns and their derivatives",
            got=repr(expression),
            remedy="Build it with SymPy; text is never evaluated.",
        )
    form = solution.problem.language().form(sp.sympify(expression), "integral(expression)")
    if form.deltas:
        raise ProblemError(
            "integral(expression)", expected="finite values", got="DiracDelta", remedy="Leave it out."
        )
    residual = lower_form(form, Inside()).on(solution.problem.domain)
    return residual.at(tuple(solution.problem.parameters.values()))


def _needs_normal(residual: Residual, solution: Solution, expression: Any) -> bool:
    return bool(solution.problem.language().form(sp.sympify(expression), "expression").needs_normal)


def _moment(domain: Any, t: Any) -> float | None:
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


def _at(rule: Rule, moment: float | None) -> Rule:
    return rule if moment is None else rule.across(np.array([moment]), np.ones(1))


__all__ = ["Extent", "Goal", "integral_of"]

"""Piecewise polynomials on a line: layers, peaks, fronts and several unknowns, against exact solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Dirichlet, Interval, Problem
from pibls.adaptive.box_detection import applies_on_line
from pibls.adaptive.budget import Budget
from pibls.adaptive.tensor_products.line_strategy import LineStrategy
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import unknowns_at
from pibls.problem.forms.compilation import compile_problem
from pibls.status import Status

x, y = sp.symbols("x y")
u = sp.Function("u")(x)
K = sp.Piecewise((1, x < sp.Rational(3, 10)), (5, True))
LINE = Interval(x, 0, 1)


def strategy_of(problem: Problem, tol: float) -> LineStrategy:
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, tol)
    return LineStrategy(context, Budget(0.0, None, 4000))


def solved(problem: Problem, tol: float) -> LineStrategy:
    strategy = strategy_of(problem, tol)
    while not strategy.has_ended:
        strategy.advance()
    return strategy


def manufactured(exact: Any) -> Problem:
    return Problem(LINE, [sp.Eq(u.diff(x, 2) - u, exact.diff(x, 2) - exact)], [Dirichlet(u, exact)])


EXACT = {
    "smooth": sp.exp(x) * sp.sin(3 * x),
    "peak": sp.exp(-(((x - sp.Rational(37, 100)) * 100) ** 2)),
    "front": sp.tanh(100 * (x - sp.Rational(3, 10))),
    "boundary layer": sp.exp(-500 * x) + x,
    "singular end": x ** sp.Rational(5, 2),
    "oscillation": sp.sin(80 * x),
}


@pytest.mark.parametrize("tol", [1e-5, 1e-10])
@pytest.mark.parametrize("name", EXACT)
def test_error_is_below_tolerance_and_estimate(name: str, tol: float) -> None:
    strategy = solved(manufactured(EXACT[name]), tol)
    assert strategy.status is Status.TOLERANCE
    assert strategy.best is not None
    X = np.linspace(0.0, 1.0, 2001)
    values = sp.lambdify(x, EXACT[name], "numpy")(X)
    computed = unknowns_at(*strategy.best.function, X[:, None], 1)[0]
    error, size = np.abs(computed - values).max(), np.abs(values).max()
    assert error <= tol * size
    assert error <= strategy.error.max + 1e-14 * size


def test_small_unknown_beside_a_large_one() -> None:
    """w is about 1e-4 of T: rounding in a basis that is ill-conditioned would be visible in w."""
    w, T = sp.Function("w")(x), sp.Function("T")(x)
    stiffness = sp.Piecewise(
        (1, x < sp.Rational(1, 5)), (sp.Rational(3, 2), x < sp.Rational(3, 10)), (1, True)
    )
    equations = [
        sp.Eq(sp.Derivative(1000 * stiffness * w.diff(x, 2) - T, (x, 2)), sp.Rational(1, 2)),
        sp.Eq(T.diff(x, 2) - T, -1),
    ]
    ends = [pibls.Condition(sp.Eq(v, 0), on=sp.Eq(x, at)) for v in (w, w.diff(x), T) for at in (0, 1)]
    solution = pibls.solve(Problem(LINE, equations, ends), tol=1e-9)
    assert solution.converged, solution.message
    assert solution[w].error.max <= 1e-9 * np.abs(solution[w](np.linspace(0, 1, 101))).max()


def test_layers_with_integral_periodic_and_interior_conditions() -> None:
    flux = sp.Derivative(K * u.diff(x), x)
    problems = [
        Problem(LINE, [sp.Eq(flux, x - sp.Rational(1, 2))],
                [pibls.Neumann(u, 0), pibls.Condition(sp.Eq(pibls.integral(u), 0))]),
        Problem(LINE, [sp.Eq(flux - u, sp.sin(2 * sp.pi * x))], [pibls.Periodic(u, x)]),
        Problem(LINE, [sp.Eq(flux, 1)],
                [Dirichlet(u, 0, on=sp.Eq(x, 0)), Dirichlet(u, 1, on={x: sp.Rational(1, 2)})]),
    ]  # fmt: skip
    for problem in problems:
        solution = pibls.solve(problem, tol=1e-9)
        assert solution.converged, solution.message
        before, after = (solution.evaluate(u.diff(x), np.array([0.3 + s * 1e-9]))[0] for s in (-1, 1))
        assert before == pytest.approx(5 * after, rel=1e-6)


def test_nonlinear_flux_across_an_interface() -> None:
    """k (1 + u²) u' is continuous: with v = u + u³/3 the problem is (k v')' = -1."""
    problem = Problem(LINE, [sp.Eq(sp.Derivative(K * (1 + u**2) * u.diff(x), x), -1)], [Dirichlet(u, 0)])
    solution = pibls.solve(problem, tol=1e-9)
    assert solution.converged
    a = (0.045 + 0.091) / (0.3 + 0.14)  # k v' = a - x
    X = np.linspace(0.0, 1.0, 101)
    v = np.where(X < 0.3, a * X - X**2 / 2, (a * (X - 1) - (X**2 - 1) / 2) / 5)
    found = solution(X)
    assert np.abs(found + found**3 / 3 - v).max() <= 1e-9


def test_lines_are_recognized() -> None:
    v = sp.Function("v")(x, y)
    plane = Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [v.diff(x, 2) + v.diff(y, 2)], [Dirichlet(v, x)])
    for problem, is_line in ((manufactured(sp.exp(x)), True), (plane, False)):
        context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
        assert applies_on_line(context) is is_line

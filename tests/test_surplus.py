"""Conditions beyond those that decide an equation: what contradicts the others is named at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Condition, Dirichlet, Neumann
from pibls.analysis.redundant_conditions import redundant_conditions
from pibls.problem.forms.compilation import compile_problem

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x, y), sp.Function("v")(x)
SQUARE, DISC = pibls.Box({x: (0, 1), y: (0, 1)}), pibls.Disk((x, y), (0, 0), 1)
ROD = pibls.Interval(x, 0, 1)
LEFT, RIGHT, BOTTOM, TOP = sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0), sp.Eq(y, 1)
AROUND = sp.Or(LEFT, RIGHT, BOTTOM, TOP)


def _laplace(e: sp.Expr) -> sp.Expr:
    return e.diff(x, 2) + e.diff(y, 2)


CONTRADICTED: dict[str, tuple[Callable[[], pibls.Problem], str]] = {
    "two values on a side": (
        lambda: pibls.Problem(
            SQUARE,
            [_laplace(u) + 1],
            [
                Dirichlet(u, 0, on=LEFT),
                Dirichlet(u, 1, on=LEFT),
                Dirichlet(u, 0, on=sp.Or(RIGHT, BOTTOM, TOP)),
            ],
        ),
        "Dirichlet(u) on Eq(x, 0) (2) by 1.0e+00",
    ),
    "two values on a rim": (
        lambda: pibls.Problem(DISC, [_laplace(u) + 1], [Dirichlet(u, 0), Dirichlet(u, 1)]),
        "Dirichlet(u) (2)",
    ),
    "values and slopes": (
        lambda: pibls.Problem(DISC, [_laplace(u)], [Dirichlet(u, x), Neumann(u, y)]),
        "Neumann(u)",
    ),
    "three on a line": (
        lambda: pibls.Problem(
            ROD,
            [v.diff(x, 2) - v - 1],
            [Dirichlet(v, 0, on=LEFT), Dirichlet(v, 1, on=RIGHT), Condition(v.diff(x) - 5, on=LEFT)],
        ),
        "Condition(Derivative(v(x), x) - 5 = 0) on Eq(x, 0)",
    ),
    "a corner": (
        lambda: pibls.Problem(
            SQUARE, [_laplace(u) + 1], [Dirichlet(u, 0), Condition(u - 1, on={x: 0, y: 0})]
        ),
        "Condition(u(x, y) - 1 = 0)",
    ),
}


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("name", list(CONTRADICTED))
def test_what_contradicts_the_others_is_named_at_once(name: str) -> None:
    """They took 7 to 20 s, and a line was given an estimate of 3e-6."""
    build, named = CONTRADICTED[name]
    solution = pibls.solve(build(), time_limit=60.0)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert not solution.error.checked
    assert named in solution.message
    assert "Leave them out" in solution.message
    assert len(solution.history) < 12, "a rough solution without it is enough"


WAVY = sp.exp(x) * sp.sin(y)
AGREEING: dict[str, tuple[Callable[[], pibls.Problem], sp.Expr]] = {
    "a rim told twice": (lambda: pibls.Problem(DISC, [_laplace(u)], [Dirichlet(u, x), Neumann(u, x)]), x),
    "a slope of zero": (
        lambda: pibls.Problem(SQUARE, [_laplace(u)], [Dirichlet(u, x, on=AROUND), Neumann(u, 0, on=BOTTOM)]),
        x,
    ),
    "a slope that fits": (
        lambda: pibls.Problem(
            SQUARE, [_laplace(u)], [Dirichlet(u, WAVY, on=AROUND), Neumann(u, sp.E * sp.sin(y), on=RIGHT)]
        ),
        WAVY,
    ),
    "a point beside slopes": (
        lambda: pibls.Problem(DISC, [_laplace(u) - 4], [Neumann(u, 2), Condition(u, on={x: 0, y: 0})]),
        x**2 + y**2,
    ),
    "how large an eigenfunction is": (
        lambda: pibls.Problem(
            SQUARE,
            [_laplace(u) + 2 * sp.pi**2 * u],
            [Dirichlet(u, 0), Condition(u - 1, on={x: sp.Rational(1, 2), y: sp.Rational(1, 2)})],
        ),
        sp.sin(sp.pi * x) * sp.sin(sp.pi * y),
    ),
    "zero in a corner": (
        lambda: pibls.Problem(
            SQUARE,
            [_laplace(u) + 2 * sp.pi**2 * sp.sin(sp.pi * x) * sp.sin(sp.pi * y)],
            [Dirichlet(u, 0), Condition(u, on={x: 0, y: 0})],
        ),
        sp.sin(sp.pi * x) * sp.sin(sp.pi * y),
    ),
    "three that agree on a line": (
        lambda: pibls.Problem(
            ROD,
            [v.diff(x, 2) - v],
            [Dirichlet(v, 1, on=LEFT), Dirichlet(v, sp.E, on=RIGHT), Condition(v.diff(x) - 1, on=LEFT)],
        ),
        sp.exp(x),
    ),
}


@pytest.mark.parametrize("name", list(AGREEING))
def test_what_agrees_with_the_others_is_solved(name: str) -> None:
    build, exact = AGREEING[name]
    problem = build()
    solution = pibls.solve(problem, tol=1e-8, time_limit=60.0)
    assert solution.converged
    X = np.asarray(problem.domain.interior(50, np.random.default_rng(0)))
    expected = sp.lambdify(problem.coordinates, exact, "numpy")(*X.T)
    assert np.abs(solution(*X.T) - expected).max() < 1e-7


def _surplus(equation: sp.Expr, *more: object) -> int:
    conditions = [Dirichlet(u, 0, on=AROUND), *more]
    problem = pibls.Problem(SQUARE, [equation], conditions)
    return len(redundant_conditions(compile_problem(problem), problem.domain))


def test_only_elliptic_equations_are_known_to_be_decided_by_their_boundary() -> None:
    slope = Neumann(u, 0, on=LEFT)
    assert _surplus(_laplace(u) + u.diff(x), slope) == 1
    assert _surplus(u.diff(x, 2) + u.diff(y, 2) / 100, slope) == 1
    assert _surplus(u.diff(x, 2) + u.diff(y, 2) / 10_000, slope) == 0
    assert _surplus(u.diff(x, 2) - u.diff(y, 2), slope) == 0
    assert _surplus(_laplace(_laplace(u)), Neumann(u, 0, on=AROUND)) == 0
    assert _surplus(_laplace(u) + u**2, slope) == 0
    assert _surplus(_laplace(u), Condition(u - 1, on=sp.Eq(x, sp.Rational(1, 2)))) == 0

"""Redundant boundary conditions: contradictory ones are reported quickly, consistent ones are accepted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Condition, Dirichlet, Neumann
from pibls.analysis.redundant_conditions import redundant_conditions
from pibls.problem.conditions import BaseCondition
from pibls.problem.forms.compilation import compile_problem

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x, y), sp.Function("v")(x)
SQUARE, DISK = pibls.Box({x: (0, 1), y: (0, 1)}), pibls.Disk((x, y), (0, 0), 1)
ROD = pibls.Interval(x, 0, 1)
LEFT, RIGHT, BOTTOM, TOP = sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0), sp.Eq(y, 1)
AROUND = sp.Or(LEFT, RIGHT, BOTTOM, TOP)


def _laplace(e: sp.Expr) -> sp.Expr:
    return e.diff(x, 2) + e.diff(y, 2)


CONTRADICTORY: dict[str, tuple[Callable[[], pibls.Problem], str]] = {
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
    "two values on a circle": (
        lambda: pibls.Problem(DISK, [_laplace(u) + 1], [Dirichlet(u, 0), Dirichlet(u, 1)]),
        "Dirichlet(u) (2)",
    ),
    "values and normal derivatives": (
        lambda: pibls.Problem(DISK, [_laplace(u)], [Dirichlet(u, x), Neumann(u, y)]),
        "Neumann(u)",
    ),
    "three on an interval": (
        lambda: pibls.Problem(
            ROD,
            [v.diff(x, 2) - v - 1],
            [Dirichlet(v, 0, on=LEFT), Dirichlet(v, 1, on=RIGHT), Condition(v.diff(x) - 5, on=LEFT)],
        ),
        "Condition(Derivative(v(x), x) - 5 = 0) on Eq(x, 0)",
    ),
    "corner": (
        lambda: pibls.Problem(
            SQUARE, [_laplace(u) + 1], [Dirichlet(u, 0), Condition(u - 1, on={x: 0, y: 0})]
        ),
        "Condition(u(x, y) - 1 = 0)",
    ),
}


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("name", list(CONTRADICTORY))
def test_contradictory_condition_is_reported_quickly(name: str) -> None:
    """These took 7 to 20 s before, and the interval problem was given an estimate of 3e-6."""
    build, message = CONTRADICTORY[name]
    solution = pibls.solve(build(), time_limit=60.0)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert not solution.error.checked
    assert message in solution.message
    assert "Remove them" in solution.message
    assert len(solution.history) < 12, "a coarse solution without the condition suffices"


HARMONIC = sp.exp(x) * sp.sin(y)
CONSISTENT: dict[str, tuple[Callable[[], pibls.Problem], sp.Expr]] = {
    "values and normal derivatives": (
        lambda: pibls.Problem(DISK, [_laplace(u)], [Dirichlet(u, x), Neumann(u, x)]),
        x,
    ),
    "zero normal derivative": (
        lambda: pibls.Problem(SQUARE, [_laplace(u)], [Dirichlet(u, x, on=AROUND), Neumann(u, 0, on=BOTTOM)]),
        x,
    ),
    "consistent normal derivative": (
        lambda: pibls.Problem(
            SQUARE, [_laplace(u)], [Dirichlet(u, HARMONIC, on=AROUND), Neumann(u, sp.E * sp.sin(y), on=RIGHT)]
        ),
        HARMONIC,
    ),
    "point value and normal derivatives": (
        lambda: pibls.Problem(DISK, [_laplace(u) - 4], [Neumann(u, 2), Condition(u, on={x: 0, y: 0})]),
        x**2 + y**2,
    ),
    "normalization of an eigenfunction": (
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
    "three consistent conditions on an interval": (
        lambda: pibls.Problem(
            ROD,
            [v.diff(x, 2) - v],
            [Dirichlet(v, 1, on=LEFT), Dirichlet(v, sp.E, on=RIGHT), Condition(v.diff(x) - 1, on=LEFT)],
        ),
        sp.exp(x),
    ),
}


@pytest.mark.parametrize("name", list(CONSISTENT))
def test_consistent_redundant_conditions_converge(name: str) -> None:
    build, exact = CONSISTENT[name]
    problem = build()
    solution = pibls.solve(problem, tol=1e-8, time_limit=60.0)
    assert solution.converged
    X = np.asarray(problem.domain.interior(50, np.random.default_rng(0)))
    expected = sp.lambdify(problem.coordinates, exact, "numpy")(*X.T)
    assert np.abs(solution(*X.T) - expected).max() < 1e-7


def _redundant_count(equation: sp.Expr, *more: BaseCondition) -> int:
    conditions = [Dirichlet(u, 0, on=AROUND), *more]
    problem = pibls.Problem(SQUARE, [equation], conditions)
    return len(redundant_conditions(compile_problem(problem), problem.domain))


def test_redundancy_is_detected_for_elliptic_equations_only() -> None:
    neumann = Neumann(u, 0, on=LEFT)
    assert _redundant_count(_laplace(u) + u.diff(x), neumann) == 1
    assert _redundant_count(u.diff(x, 2) + u.diff(y, 2) / 100, neumann) == 1
    assert _redundant_count(u.diff(x, 2) + u.diff(y, 2) / 10_000, neumann) == 0
    assert _redundant_count(u.diff(x, 2) - u.diff(y, 2), neumann) == 0
    assert _redundant_count(_laplace(_laplace(u)), Neumann(u, 0, on=AROUND)) == 0
    assert _redundant_count(_laplace(u) + u**2, neumann) == 0
    assert _redundant_count(_laplace(u), Condition(u - 1, on=sp.Eq(x, sp.Rational(1, 2)))) == 0

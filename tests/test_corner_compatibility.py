"""Compatibility of conditions at corners, and piecewise data within a side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.analysis.corners.incompatible_conditions import incompatible_conditions
from pibls.analysis.split_conditions import split_piecewise_conditions
from pibls.problem.conditions import BaseCondition
from tests.test_gallery import common

x, y, t = sp.symbols("x y t")
u, w = sp.Function("u")(x, y), sp.Function("u")(x, t)
BOX = pibls.Box({x: (0, 2), y: (-1, 1)})
ROD = pibls.Interval(x, 0, 1).during(t, 0, 1)
SMOOTH = sp.exp(x / 2) * sp.cos(2 * y) + x * y**2


def plate(strength: int, anisotropy: Any = 1) -> pibls.Problem:
    """Smooth for strength 1; else the flux through x = 2 is incompatible with the values on y = 1."""
    return pibls.Problem(
        BOX,
        [u.diff(x, 2) + anisotropy * u.diff(y, 2) - SMOOTH.diff(x, 2) - anisotropy * SMOOTH.diff(y, 2)],
        [
            pibls.Dirichlet(u, SMOOTH, on=sp.Or(sp.Eq(x, 0), sp.Eq(y, 1))),
            pibls.Neumann(u, strength * SMOOTH.diff(x), on=sp.Eq(x, 2)),
            pibls.Robin(u, 3 * SMOOTH - 2 * SMOOTH.diff(y), alpha=3, beta=2, on=sp.Eq(y, -1)),
        ],
    )


def rod(*conditions: BaseCondition, order: int = 1) -> pibls.Problem:
    return pibls.Problem(ROD, [w.diff(t, order) - w.diff(x, 2)], list(conditions))


@pytest.mark.parametrize(
    ("problem", "corners"),
    [
        (plate(1), ()),
        (plate(2), ("conditions 1 and 2 disagree at x = 2, y = 1",)),
        (rod(pibls.Dirichlet(w, 0), pibls.Initial(w, sp.sin(sp.pi * x))), ()),
        (
            rod(
                pibls.Dirichlet(w, 0, on=sp.Eq(x, 0)),
                pibls.Neumann(w, 0, on=sp.Eq(x, 1)),
                pibls.Initial(w, x),
            ),
            ("conditions 2 and 3 disagree at x = 1, t = 0",),
        ),
        (
            pibls.Problem(BOX, [u.diff(x, 2) + u.diff(y, 2) + 1], [pibls.Dirichlet(u, 0)]),
            tuple(
                f"the equations are incompatible with condition 1 at x = {a}, y = {b}"
                for a in (0, 2)
                for b in (-1, 1)
            ),
        ),
        (
            rod(pibls.Dirichlet(w, 0), pibls.Initial(w, x * (1 - x))),  # u_t = 0 there, u_xx = -2
            (
                "the equations are incompatible with conditions 1 and 2 at x = 0, t = 0",
                "the equations are incompatible with conditions 1 and 2 at x = 1, t = 0",
            ),
        ),
        (rod(pibls.Periodic(w, x), pibls.Initial(w, x)), ()),
        (
            rod(pibls.Dirichlet(w, sp.sin(t)), pibls.Initial(w, 0), pibls.Initial(w.diff(t), 0), order=2),
            ("conditions 1 and 3 disagree at x = 0, t = 0", "conditions 1 and 3 disagree at x = 1, t = 0"),
        ),
        (
            rod(
                pibls.Dirichlet(w, lambda x, t: x), pibls.Initial(w, 1)
            ),  # values of a Python function are also compared
            ("conditions 1 and 2 disagree at x = 0, t = 0",),
        ),
    ],
)
def test_incompatible_conditions(problem: pibls.Problem, corners: tuple[str, ...]) -> None:
    assert incompatible_conditions(problem) == corners


def test_problems_of_the_gallery_and_of_the_paper_are_compatible() -> None:
    for name in common.names():
        assert incompatible_conditions(common.example(name).problem) == (), name
    for name in pibls.cases:
        assert incompatible_conditions(pibls.cases[name].problem) == (), name


def test_slow_convergence_reports_incompatible_corner() -> None:
    """No singular functions are available for variable leading coefficients."""
    with pytest.warns(pibls.ConvergenceWarning, match="conditions 1 and 2 disagree at x = 2, y = 1"):
        solution = pibls.solve(plate(2, anisotropy=3 + x), max_nodes=300)
    assert "singular at corners" in solution.summary()


def test_incompatibility_below_tolerance_is_not_reported() -> None:
    """u = 1e-14 on one side and 0 on the next differ relative to the data, but not relative to u."""
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [u.diff(x, 2) + u.diff(y, 2) + 50 * u - sp.sin(9 * x * y)],
        [pibls.Dirichlet(u, 1e-14, on=sp.Eq(y, 0)), pibls.Dirichlet(u, 0)],
    )
    assert any("disagree" in text for text in incompatible_conditions(problem))
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, max_nodes=40)
    assert "disagree" not in solution.explanation
    assert "incompatible with" in solution.explanation


SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
HALF, BOTTOM, REST = sp.Rational(1, 2), sp.Eq(y, 0), sp.Or(sp.Eq(y, 1), sp.Eq(x, 0), sp.Eq(x, 1))


LAPLACE, K = u.diff(x, 2) + u.diff(y, 2), sp.Symbol("k")


def problem_with_side_value(value: Any, equation: Any = LAPLACE, **more: Any) -> pibls.Problem:
    conditions = [pibls.Dirichlet(u, value, on=BOTTOM), pibls.Dirichlet(u, 0, on=REST)]
    return pibls.Problem(SQUARE, [equation], conditions, **more)


@pytest.mark.parametrize(
    ("value", "series"),
    [
        (sp.Piecewise((1, x < HALF), (0, True)), lambda k: 2 * (1 - np.cos(k * np.pi / 2)) / (k * np.pi)),
        (sp.Heaviside(x - HALF), lambda k: 2 * (np.cos(k * np.pi / 2) - np.cos(k * np.pi)) / (k * np.pi)),
        (HALF - sp.Abs(x - HALF), lambda k: 4 * np.sin(k * np.pi / 2) / (k * np.pi) ** 2),
    ],
)
def test_boundary_values_with_jump_or_kink_within_a_side(value: Any, series: Any) -> None:
    """Without splitting, a jump took 30 s and had no estimate; a kink took 3 s with cells."""
    solution = pibls.solve(problem_with_side_value(value), tol=1e-8)
    assert solution.converged
    assert solution.nodes < 1000
    X = np.random.default_rng(0).random((200, 2)) * [1, 0.9] + [0, 0.05]
    k = np.arange(1, 400)
    decay = np.exp(-np.pi * np.outer(X[:, 1], k)) - np.exp(-np.pi * np.outer(2 - X[:, 1], k))
    exact = (np.sin(np.pi * np.outer(X[:, 0], k)) * decay) @ (series(k) / (1 - np.exp(-2 * np.pi * k)))
    assert np.abs(solution(*X.T) - exact).max() <= solution.error.max < 1e-8


STEP = sp.Piecewise((1, x < HALF), (0, True))


@pytest.mark.parametrize(
    ("problem", "conditions"),
    [
        (problem_with_side_value(STEP), 3),
        (problem_with_side_value(sp.Piecewise((1, x < 2), (0, True))), 2),
        (problem_with_side_value(sp.Piecewise((1, sp.Eq(x, 0)), (sp.sin(x) / x, True))), 2),
        (problem_with_side_value(STEP, LAPLACE + K, parameters={K: 1.0}), 2),
        (problem_with_side_value(STEP, LAPLACE + STEP), 2),
        (pibls.Problem(SQUARE, [LAPLACE], [pibls.Dirichlet(u, STEP)]), 2),
        (
            pibls.Problem(
                SQUARE,
                [u.diff(y) - u.diff(x, 2)],
                [
                    pibls.Dirichlet(u, STEP, on=BOTTOM),
                    pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)),
                    pibls.Dirichlet(u, 0, on=sp.Eq(x, 1)),
                ],
            ),
            3,
        ),
    ],
)
def test_number_of_conditions_after_splitting(problem: pibls.Problem, conditions: int) -> None:
    assert len(split_piecewise_conditions(problem).conditions) == conditions
    assert split_piecewise_conditions(problem) is split_piecewise_conditions(problem)

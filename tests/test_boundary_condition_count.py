"""Number of boundary conditions of evolutions on an interval: redundant ones are detected and checked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.analysis.boundary_condition_count import redundant_boundary_conditions
from pibls.problem.forms.compilation import compile_problem

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)
LEFT, RIGHT = sp.Eq(x, 0), sp.Eq(x, 1)
HEAT, SOUND = [u.diff(t) - u.diff(x, 2)], [u.diff(t) + v.diff(x), v.diff(t) + u.diff(x)]
MODE = pibls.Initial(u, sp.sin(sp.pi * x))


def evolution(equations: Any, *conditions: Any, stop: Any = 1) -> pibls.Problem:
    return pibls.Problem(pibls.Interval(x, 0, 1).during(t, 0, stop), equations, conditions)


def at(end: Any, *expressions: Any) -> list[Any]:
    return [pibls.Condition(sp.Eq(e, 0), on=end) for e in expressions]


HEAT_WITH_THREE = evolution(HEAT, *at(LEFT, u, u.diff(x) - 1), *at(RIGHT, u), MODE)
SOUND_CONDITIONS = (
    pibls.Dirichlet(u, 0),
    pibls.Dirichlet(v, 0),
    pibls.Initial(u, sp.sin(sp.pi * x) ** 2),
    pibls.Initial(v, 0),
)
BEAM = [u.diff(t, 2) + u.diff(x, 4)]
BEAM_CONDITIONS = [*at(LEFT, u, u.diff(x)), *at(RIGHT, u.diff(x, 2), u.diff(x, 3))]
REST = [pibls.Initial(u, 0), pibls.Initial(u.diff(t), 0)]
KDV = [u.diff(t) + u * u.diff(x) + u.diff(x, 3)]


@pytest.mark.parametrize(
    ("problem", "redundant"),
    [
        (evolution(HEAT, *at(LEFT, u), *at(RIGHT, u), MODE), 0),
        (HEAT_WITH_THREE, 1),
        (evolution(HEAT, *at(LEFT, u, u.diff(x) - 1), MODE), 0),
        (evolution(SOUND, *SOUND_CONDITIONS), 1),
        (evolution(SOUND, *SOUND_CONDITIONS[1:]), 0),
        (evolution(HEAT, pibls.Periodic(u, x), MODE), 0),
        (evolution(BEAM, *BEAM_CONDITIONS, *REST), 0),
        (evolution(BEAM, *BEAM_CONDITIONS, *at(RIGHT, u - t), *REST), 1),
        (evolution(KDV, *at(LEFT, u), *at(RIGHT, u, u.diff(x)), pibls.Initial(u, 0)), 0),
        (evolution(KDV, *at(LEFT, u, u.diff(x)), *at(RIGHT, u, u.diff(x)), pibls.Initial(u, 0)), 1),
        (
            evolution(
                [x * u.diff(t) - x * u.diff(x, 2) - u.diff(x)], *at(LEFT, u.diff(x)), *at(RIGHT, u), MODE
            ),
            0,
        ),
    ],
    ids=[
        "heat",
        "heat, three",
        "heat, both at one end",
        "sound, four",
        "sound",
        "heat, periodic",
        "beam",
        "beam, five",
        "KdV",
        "KdV, four",
        "r = 0",
    ],
)
def test_number_of_redundant_boundary_conditions(problem: pibls.Problem, redundant: int) -> None:
    assert len(redundant_boundary_conditions(compile_problem(problem), problem.domain)) == redundant


@pytest.mark.parametrize(
    "problem", [HEAT_WITH_THREE, evolution(SOUND, *SOUND_CONDITIONS)], ids=["heat", "sound"]
)
def test_contradictory_boundary_condition_is_reported(problem: pibls.Problem) -> None:
    """These problems ran into the time limit before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-6)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert "already determine these values" in solution.message


def test_consistent_redundant_boundary_condition_is_accepted() -> None:
    decay = sp.exp(-(sp.pi**2) * t)
    conditions = [*at(LEFT, u, u.diff(x) - sp.pi * decay), *at(RIGHT, u)]
    solution = pibls.solve(evolution(HEAT, *conditions, MODE, stop=sp.Rational(1, 4)), tol=1e-6)
    assert solution.converged
    assert abs(solution(0.5, 0.25) - np.exp(-(np.pi**2) / 4)) < 1e-6

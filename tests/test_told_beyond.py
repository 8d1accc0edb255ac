"""How many conditions an evolution on an interval needs at each end; what is told beyond that is judged."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.evolutions.boundary_condition_count import redundant_boundary_conditions
from pibls.problem.forms.compilation import compile_problem

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)
LEFT, RIGHT = sp.Eq(x, 0), sp.Eq(x, 1)
HEAT, SOUND = [u.diff(t) - u.diff(x, 2)], [u.diff(t) + v.diff(x), v.diff(t) + u.diff(x)]
MODE = pibls.Initial(u, sp.sin(sp.pi * x))


def evolves(equations: Any, *conditions: Any, stop: Any = 1) -> pibls.Problem:
    return pibls.Problem(pibls.Interval(x, 0, 1).during(t, 0, stop), equations, conditions)


def at(end: Any, *expressions: Any) -> list[Any]:
    return [pibls.Condition(sp.Eq(e, 0), on=end) for e in expressions]


THREE = evolves(HEAT, *at(LEFT, u, u.diff(x) - 1), *at(RIGHT, u), MODE)
WALLS = (
    pibls.Dirichlet(u, 0),
    pibls.Dirichlet(v, 0),
    pibls.Initial(u, sp.sin(sp.pi * x) ** 2),
    pibls.Initial(v, 0),
)
SIMPLE = [u.diff(t, 2) + u.diff(x, 4)]
BEAM = [*at(LEFT, u, u.diff(x)), *at(RIGHT, u.diff(x, 2), u.diff(x, 3))]
REST = [pibls.Initial(u, 0), pibls.Initial(u.diff(t), 0)]
KDV = [u.diff(t) + u * u.diff(x) + u.diff(x, 3)]


@pytest.mark.parametrize(
    ("problem", "surplus"),
    [
        (evolves(HEAT, *at(LEFT, u), *at(RIGHT, u), MODE), 0),
        (THREE, 1),
        (evolves(HEAT, *at(LEFT, u, u.diff(x) - 1), MODE), 0),
        (evolves(SOUND, *WALLS), 1),
        (evolves(SOUND, *WALLS[1:]), 0),
        (evolves(HEAT, pibls.Periodic(u, x), MODE), 0),
        (evolves(SIMPLE, *BEAM, *REST), 0),
        (evolves(SIMPLE, *BEAM, *at(RIGHT, u - t), *REST), 1),
        (evolves(KDV, *at(LEFT, u), *at(RIGHT, u, u.diff(x)), pibls.Initial(u, 0)), 0),
        (evolves(KDV, *at(LEFT, u, u.diff(x)), *at(RIGHT, u, u.diff(x)), pibls.Initial(u, 0)), 1),
        (
            evolves(
                [x * u.diff(t) - x * u.diff(x, 2) - u.diff(x)], *at(LEFT, u.diff(x)), *at(RIGHT, u), MODE
            ),
            0,
        ),
    ],
    ids=[
        "heat",
        "three",
        "sideways",
        "sound, both walls",
        "sound",
        "ring",
        "beam",
        "beam, five",
        "KdV",
        "KdV, four",
        "r = 0",
    ],
)
def test_how_many_are_needed(problem: pibls.Problem, surplus: int) -> None:
    assert len(redundant_boundary_conditions(compile_problem(problem), problem.domain)) == surplus


@pytest.mark.parametrize("problem", [THREE, evolves(SOUND, *WALLS)], ids=["heat", "sound"])
def test_what_contradicts_the_others_is_named(problem: pibls.Problem) -> None:
    """These ended at the time limit, with the advice to raise it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-6)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert "already determine these values" in solution.message


def test_what_fits_the_others_does_no_harm() -> None:
    decays = sp.exp(-(sp.pi**2) * t)
    told = [*at(LEFT, u, u.diff(x) - sp.pi * decays), *at(RIGHT, u)]
    solution = pibls.solve(evolves(HEAT, *told, MODE, stop=sp.Rational(1, 4)), tol=1e-6)
    assert solution.converged
    assert abs(solution(0.5, 0.25) - np.exp(-(np.pi**2) / 4)) < 1e-6

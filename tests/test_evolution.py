"""Following an evolution from its start: which problems, over which times, and where it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import linear_sum_assignment

import pibls
from pibls.adaptive.evolution import assigned, evolution_of
from pibls.problem.forms.lowering import lower

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(t)
LINE = pibls.Interval(t, 0, 2)
ROD = pibls.Interval(x, 0, 1).during(t, 1, 3)
BOX = pibls.Box({x: (0, 1), t: (0, 1)})
GROWTH = v.diff(t) - v * (1 - v)
HEAT = u.diff(t) - u.diff(x, 2) + u**3
RATES = [pibls.Initial(v, 1), pibls.Initial(v.diff(t), 0)]
SIDES = pibls.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1)))


@pytest.mark.parametrize(
    ("problem", "ends"),
    [
        (pibls.Problem(LINE, [GROWTH], [pibls.Initial(v, 1)]), (0, 2)),
        (pibls.Problem(LINE, [GROWTH], [pibls.Dirichlet(v, 1, on=sp.Eq(t, 0))]), (0, 2)),
        (pibls.Problem(LINE, [GROWTH], [pibls.Dirichlet(v, 1, on=sp.Eq(t, 2))]), (2, 0)),  # backwards
        (pibls.Problem(LINE, [v.diff(t, 2) - sp.sin(v)], RATES), (0, 2)),
        (pibls.Problem(LINE, [v.diff(t, 2) - sp.sin(v)], [pibls.Dirichlet(v, 1)]), None),
        (pibls.Problem(LINE, [v.diff(t, 2) - sp.sin(v)], [pibls.Initial(v, 1)]), None),  # a rate is missing
        (pibls.Problem(ROD, [HEAT], [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))]), (1, 3)),
        (pibls.Problem(ROD, [HEAT], [pibls.Periodic(u, x), pibls.Initial(u, 1)]), (1, 3)),
        (pibls.Problem(ROD, [HEAT], [pibls.Dirichlet(u, 0), pibls.Dirichlet(u, 0, on=sp.Eq(t, 3))]), (3, 1)),
        (pibls.Problem(BOX, [HEAT], [SIDES, pibls.Dirichlet(u, 0, on=sp.Eq(t, 0))]), (0, 1)),
        (pibls.Problem(BOX, [HEAT], [SIDES, pibls.Dirichlet(u, 0, on=sp.Eq(t, 1))]), (1, 0)),
        (pibls.Problem(BOX, [HEAT], [pibls.Dirichlet(u, 0)]), None),
    ],
)  # fmt: skip
def test_what_can_be_followed(problem: pibls.Problem, ends: tuple[float, float] | None) -> None:
    found = evolution_of(lower(problem), problem.domain)
    assert (None if found is None else (found.start, found.stop)) == ends


def test_it_is_followed_to_its_end() -> None:
    problem = pibls.Problem(LINE, [GROWTH], [pibls.Initial(v, sp.Rational(1, 10))])
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.converged
    s = np.linspace(0, 2, 101)
    assert np.abs(solution(s) - 1 / (1 + 9 * np.exp(-s))).max() <= solution.error.max <= 1e-6


BLOWUP = pibls.Problem(LINE, [v.diff(t) - v**2], [pibls.Initial(v, 1)])


def blown() -> Any:
    with pytest.warns(pibls.ConvergenceWarning, match="It ends at"):
        return pibls.solve(BLOWUP, tol=1e-6)


def test_where_it_cannot_go_on_it_says_so() -> None:
    """v = 1/(1 - t): what is found holds until then, and is NaN after."""
    solution = blown()
    assert solution.status is pibls.Status.STOPPED
    until, why = solution.notes["stopped"]
    assert 0.99 < until < 1.0 + 1e-9
    assert why
    assert solution.windows[-1][1] == until
    s = np.linspace(0, 0.9, 50)
    assert np.abs(solution(s) * (1 - s) - 1).max() < 1e-6
    assert np.isnan(solution(1.5))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_spring_that_is_stiffer_on_one_side(seed: int) -> None:
    """u'' + u + 3 max(u, 0) = 0: a quarter of cos 2t, then half a turn of sin t; u'' bends at 0."""
    t = sp.Symbol("t")
    u = sp.Function("u")(t)
    problem = pibls.Problem(
        pibls.Interval(t, 0, 20),
        [u.diff(t, 2) + u + 3 * sp.Max(u, 0)],
        [pibls.Initial(u, 1), pibls.Initial(u.diff(t), 0)],
    )
    solution = pibls.solve(problem, tol=1e-8, seed=seed)
    times = np.linspace(0, 20, 1001)
    phase = (times + np.pi / 4) % (1.5 * np.pi)
    exact = np.where(phase < np.pi / 2, np.sin(2 * phase), -2 * np.sin(phase - np.pi / 2))
    assert solution.converged
    assert np.abs(solution(times) - exact).max() < solution.error.max < 1e-8


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4), (7, 7)])
def test_each_equation_is_assigned_an_unknown_of_its_own(shape: tuple[int, int]) -> None:
    """As SciPy does it, whether all ways are tried or not."""
    gain = np.random.default_rng(1).random(shape)
    assert list(assigned(gain)) == list(linear_sum_assignment(gain, maximize=True)[1])

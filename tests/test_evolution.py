"""Initial value problems: their detection, direction of time, and the end of the computed solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import linear_sum_assignment

import pibls
from pibls.analysis.evolution import evolution_of, max_assignment
from pibls.problem.forms.compilation import compile_problem

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
    ("problem", "interval"),
    [
        (pibls.Problem(LINE, [GROWTH], [pibls.Initial(v, 1)]), (0, 2)),
        (pibls.Problem(LINE, [GROWTH], [pibls.Dirichlet(v, 1, on=sp.Eq(t, 0))]), (0, 2)),
        (pibls.Problem(LINE, [GROWTH], [pibls.Dirichlet(v, 1, on=sp.Eq(t, 2))]), (2, 0)),  # backwards
        (pibls.Problem(LINE, [v.diff(t, 2) - sp.sin(v)], RATES), (0, 2)),
        (pibls.Problem(LINE, [v.diff(t, 2) - sp.sin(v)], [pibls.Dirichlet(v, 1)]), None),
        (pibls.Problem(LINE, [v.diff(t, 2) - sp.sin(v)], [pibls.Initial(v, 1)]), None),  # no rate
        (pibls.Problem(ROD, [HEAT], [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))]), (1, 3)),
        (pibls.Problem(ROD, [HEAT], [pibls.Periodic(u, x), pibls.Initial(u, 1)]), (1, 3)),
        (pibls.Problem(ROD, [HEAT], [pibls.Dirichlet(u, 0), pibls.Dirichlet(u, 0, on=sp.Eq(t, 3))]), (3, 1)),
        (pibls.Problem(BOX, [HEAT], [SIDES, pibls.Dirichlet(u, 0, on=sp.Eq(t, 0))]), (0, 1)),
        (pibls.Problem(BOX, [HEAT], [SIDES, pibls.Dirichlet(u, 0, on=sp.Eq(t, 1))]), (1, 0)),
        (pibls.Problem(BOX, [HEAT], [pibls.Dirichlet(u, 0)]), None),
    ],
)  # fmt: skip
def test_detection_of_evolutions_and_their_direction(
    problem: pibls.Problem, interval: tuple[float, float] | None
) -> None:
    found = evolution_of(compile_problem(problem), problem.domain)
    assert (None if found is None else (found.start, found.stop)) == interval


def test_logistic_growth_is_integrated_to_the_final_time() -> None:
    problem = pibls.Problem(LINE, [GROWTH], [pibls.Initial(v, sp.Rational(1, 10))])
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.converged
    s = np.linspace(0, 2, 101)
    assert np.abs(solution(s) - 1 / (1 + 9 * np.exp(-s))).max() <= solution.error.max <= 1e-6


BLOW_UP = pibls.Problem(LINE, [v.diff(t) - v**2], [pibls.Initial(v, 1)])


def solve_blow_up() -> Any:
    with pytest.warns(pibls.ConvergenceWarning, match="It ends at"):
        return pibls.solve(BLOW_UP, tol=1e-6)


def test_blow_up_gives_an_incomplete_solution() -> None:
    """v = 1/(1 - t): the solution is accurate until shortly before t = 1 and NaN afterwards."""
    solution = solve_blow_up()
    assert solution.status is pibls.Status.INCOMPLETE
    end, reason = solution.notes["stopped"]
    assert 0.99 < end < 1.0 + 1e-9
    assert reason
    assert solution.windows[-1][1] == end
    s = np.linspace(0, 0.9, 50)
    assert np.abs(solution(s) * (1 - s) - 1).max() < 1e-6
    assert np.isnan(solution(1.5))


@pytest.mark.parametrize("seed", [0, 1])
def test_oscillator_with_piecewise_linear_stiffness(seed: int) -> None:
    """u'' + u + 3 max(u, 0) = 0: a quarter period of cos 2t, then half a period of sin t; u'' has a kink."""
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
def test_assignment_of_unknowns_to_equations_agrees_with_scipy(shape: tuple[int, int]) -> None:
    """Both by exhaustive search (small) and by the general algorithm (large)."""
    gain = np.random.default_rng(1).random(shape)
    assert list(max_assignment(gain)) == list(linear_sum_assignment(gain, maximize=True)[1])

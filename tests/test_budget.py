"""One budget for a solve: what still fits, what is told, and that a time limit is used and kept."""

from __future__ import annotations

import pytest
import sympy as sp

import pibls
from pibls.search import budget as budgets
from pibls.search.budget import Budget, OutOfTimeError, Progress


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(budgets, "time", made)
    return made


def test_each_plan_has_its_own_pace(clock: Clock) -> None:
    budget = Budget(0.0, 10.0, 4000)
    slow, quick, new = object(), object(), object()
    budget.charge(slow, work=0.1, seconds=2.0)
    budget.charge(quick, work=0.1, seconds=0.2)
    assert budget.pace(slow) == pytest.approx(20.0)
    assert budget.pace(new) == budget.pace(quick) == pytest.approx(2.0)
    assert budget.allows(quick, 4.0)
    assert not budget.allows(slow, 4.0)
    clock.now = 9.5
    assert not budget.allows(quick, 4.0)
    clock.now = 10.5
    with pytest.raises(OutOfTimeError):
        budget.check()


def test_a_callback_is_not_left_alone_for_long(clock: Clock) -> None:
    told: list[Progress] = []
    budget = Budget(0.0, None, 4000, told.append)
    budget.check()
    assert not told
    for second in range(1, 11):
        clock.now = float(second)
        budget.check()
    assert 3 <= len(told) <= 5
    assert told[-1].seconds >= 9.0
    assert not budget.history, "nothing has been found yet"


def test_there_is_an_answer_even_without_any_time() -> None:
    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2), sp.exp(u) * sp.sin(9 * x))], [pibls.Dirichlet(u, 0)]
    )
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, time_limit=1e-9)
    assert not solution.converged
    assert solution.status.name == "TIME_LIMIT"
    assert solution.nodes <= 64

"""Time windows of ODEs: behaviour on both sides of each threshold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.budget import Budget
from pibls.adaptive.evolutions.accumulated_error import with_rounding
from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.problem.forms.compilation import compile_problem
from pibls.status import Status
from pibls.time.discretizations import WithoutSpace
from pibls.time.ode import companion_solution as companion_solution
from pibls.time.ode.setup import ode_setup
from pibls.time.ode.windows import ODEWindows
from pibls.time.step_control import WindowErrors
from pibls.time.trajectory import Tolerances
from tests.strategy_helpers import make_candidate

t = sp.Symbol("t")
TOLERANCES = Tolerances(1e-9, 1e-6)


# -- the strategy --


def cubic_decay(unknowns: int, rate: float = 1.0) -> ValidationContext:
    w = [sp.Function(f"w{k}")(t) for k in range(unknowns)]
    equations = [unknown.diff(t) + rate * unknown + unknown**3 for unknown in w]
    problem = pibls.Problem(pibls.Interval(t, 0, 1), equations, [pibls.Initial(unknown, 1) for unknown in w])
    return ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-6)


def test_number_of_collocation_points() -> None:
    few, many = (ode_setup(b.compiled, b.evolution) for b in (cubic_decay(2), cubic_decay(6)))
    assert few is not None
    assert many is not None
    assert 28 <= few.collocation.radau.s <= 40
    assert 20 <= many.collocation.radau.s < few.collocation.radau.s


@pytest.mark.parametrize(("rate", "minimum", "maximum"), [(1.0, 0.02, 0.6), (1000.0, 2e-5, 6e-4)])
def test_length_of_the_first_window(rate: float, minimum: float, maximum: float) -> None:
    context = cubic_decay(1, rate)
    setup = ode_setup(context.compiled, context.evolution)
    assert setup is not None
    assert context.evolution is not None
    windows = ODEWindows(context.evolution, setup.collocation, setup.initial_values, TOLERANCES)
    _, length = windows.initial_state()
    assert minimum < length < maximum


@pytest.mark.parametrize(
    ("reached", "fraction", "factor"),
    [(8, 1e-24, 5.8), (8, 0.1, 1.1), (12, 0.1, 1.1)],
    ids=["limited by the spectrum", "limited by the residual", "both limits are close"],
)
def test_next_length_follows_from_the_decay_of_the_coefficients(
    reached: int, fraction: float, factor: float
) -> None:
    context = cubic_decay(1)
    setup = ode_setup(context.compiled, context.evolution)
    assert setup is not None
    assert context.evolution is not None
    allowed = Tolerances(1e-10, 1e-8)
    windows = ODEWindows(context.evolution, setup.collocation, setup.initial_values, allowed)
    relative = np.where(np.arange(32) < reached, 1.0, 1e-11)
    solved: Any = SimpleNamespace(
        relative=relative, errors=WindowErrors(0.0, 0.0, fraction * allowed.residual)
    )
    ratio = allowed.spectral_tail / windows.predicted_tail(solved, allowed)
    assert 0.9 * factor < 0.85 * ratio ** (1.0 / windows.step_rule.order) < 1.1 * factor


def ode_strategy() -> Any:
    return TimeWindowStrategy(cubic_decay(1), Budget(0.0, None, 4000), discretization=WithoutSpace())


@pytest.mark.parametrize(("times", "status"), [(0.5, Status.ROUNDING_LIMIT), (5.0, None)])
def test_tolerances_of_the_next_run(
    times: float, status: Status | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = ode_strategy()
    strategy.tolerances = Tolerances(times * DEFAULT.window_rounding[0], 1e-6)
    monkeypatch.setattr(TimeWindowStrategy, "relative_error", lambda *_: 2e-6)
    monkeypatch.setattr(TimeWindowStrategy, "report", lambda *_, **__: None)
    before = strategy.tolerances.residual
    first = SimpleNamespace(stopped=None, end_time=1.0, windows=(), cells=1)
    strategy._conclude(first, make_candidate(1e-6))
    assert strategy.status is status
    if status is None:
        assert 0.02 < strategy.tolerances.residual / before < 0.1


def test_tolerances_of_the_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = ode_strategy()
    monkeypatch.setattr(TimeWindowStrategy, "_integrate", lambda *_: None)
    strategy.advance()
    assert 1e-6 < strategy.tolerances.residual < 1e-5
    assert 3e-11 < strategy.tolerances.spectral_tail < 3e-10


def test_comparison_points_and_reports() -> None:
    strategy = ode_strategy()
    assert strategy.applies
    strategy.advance()
    assert 128 <= len(strategy.error.history) * 4 <= 1024
    assert strategy.best.settings["windows"] == len(strategy.best.space.edges) - 1
    strategy.budget.history.clear()
    check = strategy._check(True)
    for windows in range(1, 101):
        check(0.0, windows, 1)
    assert 4 <= len(strategy.budget.history) <= 16


def test_rounding_is_added_to_the_estimate() -> None:
    estimate = ErrorEstimate(1e-6, 1e-6, history=((0.5, 1e-6),))
    error = replace(estimate, each=(estimate,))
    raised = with_rounding(error, np.array([0.0, 1.0]), np.array([[1e-3, 1e-3]]))
    assert 1e-3 < raised.max < 5e-3
    assert 1e-3 < raised.l2 < 5e-3
    assert 1e-3 < raised.history[0][1] < 5e-3


@pytest.mark.parametrize(
    ("changes", "minimum", "maximum"),
    [
        ([0.4**k for k in range(400)], 4, 12),  # limited number of steps
        ([1e-3, 1e-9, 1e-12], 2, 2),  # exact
        ([1e-3, 1e-5, 1e-12], 3, 3),
    ],
)
def test_newton_steps_of_the_companion_solution(
    changes: list[float], minimum: int, maximum: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[float] = []
    points: list[int] = []

    class FakeCompanion(SimpleNamespace):
        def newton_step(self, _: Any) -> float:
            steps.append(changes[len(steps)])
            return steps[-1]

        def function(self, _: Any) -> None: ...
        def rounding(self) -> None: ...

    def of(n: int, order: int) -> Any:
        points.append(n)

    windows = SimpleNamespace(edges=np.zeros(2))
    monkeypatch.setattr(
        companion_solution, "_CompanionWindows", lambda *_: FakeCompanion(jumps={}, windows=windows)
    )
    for name in ("LinearizedWindows", "Collocation"):
        monkeypatch.setattr(companion_solution, name, lambda *_: None)
    monkeypatch.setattr(companion_solution, "Radau", SimpleNamespace(of=of))
    monkeypatch.setattr(companion_solution, "_halved_windows", lambda *_: (np.zeros(2), None, None, None))
    trajectory: Any = SimpleNamespace(edges=None, evolution=None, windows=())
    first: Any = SimpleNamespace(radau=SimpleNamespace(s=32, order=1), equations=None)
    companion_solution.companion_solution(trajectory, (), first, np.ones(1), set())
    assert minimum <= len(steps) <= maximum
    assert 20 <= points[0] <= 28

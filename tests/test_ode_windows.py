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
from pibls.adaptive.evolutions.ode_strategy import ODEStrategy, _with_rounding
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.problem.forms.compilation import compile_problem
from pibls.status import Status
from pibls.time.ode import companion_solution as companion_solution
from pibls.time.ode.integrator import ODEIntegrator
from pibls.time.ode.setup import ode_setup
from pibls.time.time_stepping import TimeInterval
from pibls.time.trajectory import Tolerances
from tests.strategy_helpers import make_candidate

t = sp.Symbol("t")
TOLERANCES = Tolerances(1e-9, 1e-6)


class StubIntegrator(ODEIntegrator):
    """Integrator whose windows have a prescribed spectral tail and residual."""

    def __init__(self, tail: Any = 0.0, residual: Any = 0.0, *, converges: bool = True) -> None:
        line = SimpleNamespace(is_linear=False, groups=())
        self.collocation = SimpleNamespace(radau=SimpleNamespace(s=32, size=33), line=line)  # type: ignore[assignment]
        self.tolerances, self.check, self.converges = TOLERANCES, lambda *_: None, converges
        self.__dict__["time_interval"] = TimeInterval(0.0, 1.0)
        self._done, self._magnitudes, self._natural_magnitudes = [], np.ones(1), np.zeros(1)
        self._tail, self._left = tail, residual
        self.lengths: list[float] = []

    def _constant_guess(self, state: Any, last: Any, t: float, half: float) -> Any:
        self.lengths.append(2.0 * half)
        return SimpleNamespace(half=half)

    def _restricted_guess(self, state: Any, longer: Any, half: float) -> Any:
        return self._constant_guess(state, None, 0.0, half)

    def _solve_window(self, piece: Any) -> Any:
        return (
            SimpleNamespace(window=piece, balanced_sizes=np.zeros(1), half=piece.half)
            if self.converges
            else None
        )

    def _spectrum(self, settled: Any) -> Any:
        tail = self._tail(2.0 * settled.half) if callable(self._tail) else self._tail
        return None, np.full(32, tail), np.ones(1)

    def _residual_indicator(self, settled: Any) -> float:
        return float(self._left)

    def _relative_residuals(self, settled: Any) -> Any:
        return np.array([self._left])

    def attempt(self, length: float = 0.1) -> Any:
        return self._accepted_window((), None, 0.0, length)


def test_window_is_shortened_if_newton_fails() -> None:
    integrator = StubIntegrator(converges=False)
    assert isinstance(integrator.attempt(), str)
    ratios = np.array(integrator.lengths[1:]) / np.array(integrator.lengths[:-1])
    assert np.all((ratios > 0.2) & (ratios < 0.7))


@pytest.mark.parametrize(("times", "accepted"), [(5.0, True), (40.0, False)])
def test_accepted_spectral_tail(times: float, accepted: bool) -> None:
    integrator = StubIntegrator(lambda h: times * TOLERANCES.spectral_tail if h > 0.09 else 0.0)
    integrator.attempt()
    assert (len(integrator.lengths) == 1) is accepted


@pytest.mark.parametrize(("factor", "low", "high"), [(0.2, 0.1, 0.3), (1e3, 2.0, 5.0)])
def test_length_of_the_next_window_is_bounded(
    factor: float, low: float, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ODEIntegrator, "_growth_factor", lambda *_: factor)
    _, _, length = StubIntegrator().attempt(0.1)
    assert low < length / 0.1 < high


@pytest.mark.parametrize(("factor", "is_rounding"), [(1e2, True), (2e4, False)])
def test_residual_that_does_not_shrink_with_the_window_is_rounding(factor: float, is_rounding: bool) -> None:
    integrator = StubIntegrator(0.0, factor * TOLERANCES.residual)
    result = integrator.attempt()
    assert isinstance(result, str) is not is_rounding
    ratios = np.array(integrator.lengths[1:]) / np.array(integrator.lengths[:-1])
    assert np.any((ratios > 0.01) & (ratios < 0.1))  # a much shorter window was attempted


@pytest.mark.parametrize(
    ("reached", "fraction", "factor"),
    [(8, 1e-24, 5.8), (8, 0.1, 1.1), (12, 0.1, 1.1)],
    ids=["limited by the spectrum", "limited by the residual", "both limits are close"],
)
def test_growth_factor_of_the_window_length(reached: int, fraction: float, factor: float) -> None:
    integrator = StubIntegrator()
    integrator.tolerances = Tolerances(1e-10, 1e-8)
    relative = np.where(np.arange(32) < reached, 1.0, 1e-11)
    computed = integrator._growth_factor(relative, fraction * integrator.tolerances.residual, 1.0)
    assert 0.9 * factor < computed < 1.1 * factor


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
    integrator = ODEIntegrator(context.evolution, setup.collocation, setup.initial_values, TOLERANCES)
    state = integrator.initial_values.state
    integrator._magnitudes = np.concatenate([np.abs(s[:, :1]).max(axis=1, initial=0.0) for s in state])
    integrator._natural_magnitudes = np.zeros_like(integrator._magnitudes)
    assert minimum < integrator._first_length(state, 0.0) < maximum


def ode_strategy() -> Any:
    return ODEStrategy(cubic_decay(1), Budget(0.0, None, 4000))


@pytest.mark.parametrize(("times", "status"), [(0.5, Status.ROUNDING_LIMIT), (5.0, None)])
def test_tolerances_of_the_next_run(
    times: float, status: Status | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = ode_strategy()
    strategy.tolerances = Tolerances(times * DEFAULT.window_rounding[0], 1e-6)
    monkeypatch.setattr(ODEStrategy, "relative_error", lambda *_: 2e-6)
    monkeypatch.setattr(ODEStrategy, "_report", lambda *_: None)
    before = strategy.tolerances.residual
    strategy._conclude(SimpleNamespace(stopped=None), make_candidate(1e-6))
    assert strategy.status is status
    if status is None:
        assert 0.02 < strategy.tolerances.residual / before < 0.1


def test_tolerances_of_the_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = ode_strategy()
    monkeypatch.setattr(ODEStrategy, "_integrate", lambda _: None)
    strategy.advance()
    assert 1e-6 < strategy.tolerances.residual < 1e-5
    assert 3e-11 < strategy.tolerances.spectral_tail < 3e-10


def test_comparison_points_reports_and_work() -> None:
    strategy = ode_strategy()
    assert strategy.applies
    assert (
        128 <= len(strategy._comparison_points(SimpleNamespace(edges=np.linspace(0.0, 1.0, 3))).all) <= 1024
    )
    for windows in range(1, 101):
        strategy._check(0.0, windows)
    assert 4 <= len(strategy.budget.history) <= 16
    strategy.advance()
    steps = strategy.best.outcome.steps
    assert 5e-5 < strategy.budget.work_done / steps < 1e-3


def test_rounding_is_added_to_the_estimate() -> None:
    estimate = ErrorEstimate(1e-6, 1e-6, history=((0.5, 1e-6),))
    error = replace(estimate, each=(estimate,))
    second: Any = SimpleNamespace(rounding=np.array([[1e-3, 1e-3]]), t=np.array([0.0, 1.0]))
    raised = _with_rounding(error, second)
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

        def function(self) -> None: ...
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
    trajectory: Any = SimpleNamespace(equations=None, windows=(), magnitudes=None)
    first: Any = SimpleNamespace(radau=SimpleNamespace(s=32, order=1))
    companion_solution.companion_solution(trajectory, first, set())
    assert minimum <= len(steps) <= maximum
    assert 20 <= points[0] <= 28

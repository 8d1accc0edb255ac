"""How an orbit is followed: on one side of each threshold a window does this, on the other that."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.budget import Budget
from pibls.adaptive.evolutions.time_stepping import TimeInterval
from pibls.adaptive.evolutions.trajectory import Tolerances
from pibls.adaptive.ode import companion_solution as shadows
from pibls.adaptive.ode.integrator import ODEIntegrator
from pibls.adaptive.ode.strategy import ODEStrategy, _with_rounding, ode_setup
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.problem.forms.compilation import compile_problem
from pibls.status import Status
from tests.strategy_helpers import make_candidate

t = sp.Symbol("t")
ASKED = Tolerances(1e-9, 1e-6)


class Stub(ODEIntegrator):
    """Windows whose tail and residual are what they are told to be."""

    def __init__(self, tail: Any = 0.0, residual: Any = 0.0, *, settles: bool = True) -> None:
        line = SimpleNamespace(is_linear=False, groups=())
        self.collocation = SimpleNamespace(radau=SimpleNamespace(s=32, size=33), line=line)  # type: ignore[assignment]
        self.tolerances, self.check, self.settles = ASKED, lambda *_: None, settles
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
            if self.settles
            else None
        )

    def _spectrum(self, settled: Any) -> Any:
        tail = self._tail(2.0 * settled.half) if callable(self._tail) else self._tail
        return None, np.full(32, tail), np.ones(1)

    def _residual_indicator(self, settled: Any) -> float:
        return float(self._left)

    def _relative_residuals(self, settled: Any) -> Any:
        return np.array([self._left])

    def tried(self, length: float = 0.1) -> Any:
        return self._accepted_window((), None, 0.0, length)


def test_where_newton_does_not_settle() -> None:
    one = Stub(settles=False)
    assert isinstance(one.tried(), str)
    ratios = np.array(one.lengths[1:]) / np.array(one.lengths[:-1])
    assert np.all((ratios > 0.2) & (ratios < 0.7))


@pytest.mark.parametrize(("times", "accepted"), [(5.0, True), (40.0, False)])
def test_a_tail_that_a_window_may_have(times: float, accepted: bool) -> None:
    one = Stub(lambda h: times * ASKED.spectral_tail if h > 0.09 else 0.0)
    one.tried()
    assert (len(one.lengths) == 1) is accepted


@pytest.mark.parametrize(("factor", "low", "high"), [(0.2, 0.1, 0.3), (1e3, 2.0, 5.0)])
def test_the_length_after_one_that_was_accepted(
    factor: float, low: float, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ODEIntegrator, "_growth_factor", lambda *_: factor)
    _, _, length = Stub().tried(0.1)
    assert low < length / 0.1 < high


@pytest.mark.parametrize(("worst", "left"), [(1e2, True), (2e4, False)])
def test_what_much_shorter_windows_leave_too_is_rounding(worst: float, left: bool) -> None:
    one = Stub(0.0, worst * ASKED.residual)
    made = one.tried()
    assert isinstance(made, str) is not left
    ratios = np.array(one.lengths[1:]) / np.array(one.lengths[:-1])
    assert np.any((ratios > 0.01) & (ratios < 0.1))  # it was tried much shorter


@pytest.mark.parametrize(
    ("reached", "share", "factor"),
    [(8, 1e-24, 5.8), (8, 0.1, 1.1), (12, 0.1, 1.1)],
    ids=["the spectrum allows it", "the residual does not", "both say about the same"],
)
def test_how_much_longer_the_next_window_may_be(reached: int, share: float, factor: float) -> None:
    one = Stub()
    one.tolerances = Tolerances(1e-10, 1e-8)
    relative = np.where(np.arange(32) < reached, 1.0, 1e-11)
    found_factor = one._growth_factor(relative, share * one.tolerances.residual, 1.0)
    assert 0.9 * factor < found_factor < 1.1 * factor


# -- the plan --


def problem(unknowns: int, rate: float = 1.0) -> ValidationContext:
    w = [sp.Function(f"w{k}")(t) for k in range(unknowns)]
    equations = [one.diff(t) + rate * one + one**3 for one in w]
    made = pibls.Problem(pibls.Interval(t, 0, 1), equations, [pibls.Initial(one, 1) for one in w])
    return ValidationContext.of(compile_problem(made), made.domain, 0, 1e-6)


def test_points_of_a_window() -> None:
    few, many = (ode_setup(b.compiled, b.evolution) for b in (problem(2), problem(6)))
    assert few is not None
    assert many is not None
    assert 28 <= few.collocation.radau.s <= 40
    assert 20 <= many.collocation.radau.s < few.collocation.radau.s


@pytest.mark.parametrize(("rate", "least", "most"), [(1.0, 0.02, 0.6), (1000.0, 2e-5, 6e-4)])
def test_the_first_window(rate: float, least: float, most: float) -> None:
    context = problem(1, rate)
    setting = ode_setup(context.compiled, context.evolution)
    assert setting is not None
    assert context.evolution is not None
    orbit = ODEIntegrator(context.evolution, setting.collocation, setting.initial_values, ASKED)
    state = orbit.initial_values.state
    orbit._magnitudes = np.concatenate([np.abs(s[:, :1]).max(axis=1, initial=0.0) for s in state])
    orbit._natural_magnitudes = np.zeros_like(orbit._magnitudes)
    assert least < orbit._first_length(state, 0.0) < most


def orbit_plan() -> Any:
    return ODEStrategy(problem(1), Budget(0.0, None, 4000))


@pytest.mark.parametrize(("times", "status"), [(0.5, Status.ROUNDING_LIMIT), (5.0, None)])
def test_what_is_asked_for_next(times: float, status: Status | None, monkeypatch: pytest.MonkeyPatch) -> None:
    one = orbit_plan()
    one.tolerances = Tolerances(times * DEFAULT.window_rounding[0], 1e-6)
    monkeypatch.setattr(ODEStrategy, "relative_error", lambda *_: 2e-6)
    monkeypatch.setattr(ODEStrategy, "_report", lambda *_: None)
    before = one.tolerances.residual
    one._conclude(SimpleNamespace(stopped=None), make_candidate(1e-6))
    assert one.status is status
    if status is None:
        assert 0.02 < one.tolerances.residual / before < 0.1


def test_what_an_orbit_is_asked_for_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    one = orbit_plan()
    monkeypatch.setattr(ODEStrategy, "_integrate", lambda _: None)
    one.advance()
    assert 1e-6 < one.tolerances.residual < 1e-5
    assert 3e-11 < one.tolerances.spectral_tail < 3e-10


def test_places_reports_and_work() -> None:
    one = orbit_plan()
    assert one.estimate_cost() is not None
    assert 128 <= len(one._comparison_points(SimpleNamespace(edges=np.linspace(0.0, 1.0, 3))).all) <= 1024
    for windows in range(1, 101):
        one._check(0.0, windows)
    assert 4 <= len(one.budget.history) <= 16
    one.advance()
    steps = one.best.outcome.steps
    assert 5e-5 < one.budget.work_done / steps < 1e-3


def test_what_rounding_alone_makes_of_both_is_added() -> None:
    one = ErrorEstimate(1e-6, 1e-6, history=((0.5, 1e-6),))
    error = replace(one, each=(one,))
    second: Any = SimpleNamespace(rounding=np.array([[1e-3, 1e-3]]), t=np.array([0.0, 1.0]))
    more = _with_rounding(error, second)
    assert 1e-3 < more.max < 5e-3
    assert 1e-3 < more.l2 < 5e-3
    assert 1e-3 < more.history[0][1] < 5e-3


@pytest.mark.parametrize(
    ("changes", "least", "most"),
    [
        ([0.4**k for k in range(400)], 4, 12),  # not for ever
        ([1e-3, 1e-9, 1e-12], 2, 2),  # exact
        ([1e-3, 1e-5, 1e-12], 3, 3),
    ],
)
def test_steps_to_the_second_orbit(
    changes: list[float], least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[float] = []
    points: list[int] = []

    class Second(SimpleNamespace):
        def newton_step(self, _: Any) -> float:
            made.append(changes[len(made)])
            return made[-1]

        def function(self) -> None: ...
        def rounding(self) -> None: ...

    def of(n: int, order: int) -> Any:
        points.append(n)

    windows = SimpleNamespace(edges=np.zeros(2))
    monkeypatch.setattr(shadows, "_CompanionWindows", lambda *_: Second(jumps={}, windows=windows))
    for name in ("LinearizedWindows", "Collocation"):
        monkeypatch.setattr(shadows, name, lambda *_: None)
    monkeypatch.setattr(shadows, "Radau", SimpleNamespace(of=of))
    monkeypatch.setattr(shadows, "_halved_windows", lambda *_: (np.zeros(2), None, None, None))
    path: Any = SimpleNamespace(equations=None, windows=(), magnitudes=None)
    first: Any = SimpleNamespace(radau=SimpleNamespace(s=32, order=1))
    shadows.companion_solution(path, first, set())
    assert least <= len(made) <= most
    assert 20 <= points[0] <= 28

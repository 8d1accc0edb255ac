"""The integrator in time, with a toy spatial operator whose windows have prescribed errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.time.companion import integrate_companion
from pibls.time.integrator import Integrator
from pibls.time.interval import TimeInterval
from pibls.time.protocol import LayerRule
from pibls.time.step_control import StepController, StepRule, WindowErrors
from pibls.time.trajectory import STEP_TOO_SMALL, UNRESOLVED_DATA, Tolerances, Trajectory, WindowFailedError

TOLERANCES = Tolerances(1e-9, 1e-6)
RULE = LayerRule(first_length=1e-4, max_length=0.1, is_graded=False)


@dataclass
class ToySpace:
    """Windows with errors(t, h, n) for n functions in space."""

    errors: Callable[[float, float, int], WindowErrors]
    step_rule: StepRule = field(default_factory=lambda: StepRule(10.0))
    layer_rule: LayerRule | None = None
    incompatible: bool = False
    data: Callable[[float], float] = lambda h: 0.0
    max_functions: int = 100
    switch_times: tuple[float, ...] = ()
    min_length: float = 0.0
    newton_steps: int = 0
    is_refinable: bool = True
    attempts: list[tuple[float, float, int]] = field(default_factory=list)

    @property
    def time_interval(self) -> TimeInterval:
        return TimeInterval(0.0, 1.0, self.switch_times)

    def initial_state(self) -> tuple[int, float]:
        return 10, 0.1

    def cell_count(self, state: int) -> int:
        return 1

    def is_incompatible(self, state: int, t: float) -> bool:
        return self.incompatible

    def layer_state(self, state: int) -> int:
        return state

    def solve(self, state: int, t: float, stop: float) -> Any:
        self.attempts.append((t, stop - t, state))
        errors = self.errors(t, stop - t, state)
        return SimpleNamespace(errors=errors, functions=state, t=t, stop=stop)

    def data_residual(self, solved: Any) -> float:
        return self.data(solved.stop - solved.t)

    def refine(self, solved: Any, allowed: Tolerances) -> int | None:
        return solved.functions + 10 if solved.functions < self.max_functions else None

    def grade(self, solved: Any) -> None:
        return None

    def accept(self, solved: Any, relaxation: float) -> tuple[Any, int, None]:
        return SimpleNamespace(start=solved.t, stop=solved.stop), solved.functions, None

    def predicted_tail(self, solved: Any, allowed: Tolerances) -> float:
        return float(solved.errors.time_tail)

    def companion(self, trajectory: Trajectory, check: Any) -> None:
        return None


def integrated(space: ToySpace) -> tuple[Any, Integrator[Any, Any]]:
    evolution: Any = SimpleNamespace(start=0.0, stop=1.0, forward=True)
    integrator: Integrator[Any, Any] = Integrator(space, evolution, TOLERANCES)
    return integrator.run(), integrator


def spectral(scale: float) -> Callable[[float, float, int], WindowErrors]:
    """Return errors of a function that varies over a time ``scale``."""
    return lambda t, h, n: WindowErrors((h / scale) ** 10 * 1e-9, 0.0, 0.0)


@pytest.mark.parametrize("scale", [0.003, 0.03, 0.3])
def test_window_lengths_follow_the_solution(scale: float) -> None:
    space = ToySpace(spectral(scale))
    trajectory, _ = integrated(space)
    lengths = np.diff([0.0, *(w.stop for w in trajectory.windows)])
    assert trajectory.stopped is None
    assert trajectory.end_time == 1.0
    assert len(space.attempts) < len(trajectory.windows) + 8
    assert 0.6 * scale < np.median(lengths) <= scale


def test_windows_end_at_switching_times() -> None:
    trajectory, _ = integrated(ToySpace(spectral(0.4), switch_times=(0.37, 0.371)))
    assert {0.37, 0.371} <= {w.stop for w in trajectory.windows}


def test_window_is_shortened_if_its_equations_cannot_be_solved() -> None:
    def fail(t: float, h: float, n: int) -> WindowErrors:
        if h > 0.02:
            raise WindowFailedError
        return WindowErrors(0.0, 0.0, 0.0)

    space = ToySpace(fail)
    trajectory, _ = integrated(space)
    assert trajectory.stopped is None
    first, second, third = (h for _, h, _ in space.attempts[:3])
    assert 0.2 < second / first < 0.7
    assert space.attempts[3][1] == pytest.approx(third)  # no growth after a failure


@pytest.mark.parametrize("errors", [WindowErrors(np.nan, 0.0, 0.0), WindowErrors(1.0, 0.0, 1.0)])
def test_integration_stops_where_no_window_is_short_enough(errors: WindowErrors) -> None:
    trajectory, _ = integrated(ToySpace(lambda t, h, n: errors if t + h > 0.3 else WindowErrors(0, 0, 0)))
    assert trajectory.stopped == STEP_TOO_SMALL
    assert trajectory.end_time == pytest.approx(0.3, abs=1e-6)


def test_space_is_refined_where_its_tail_is_too_large() -> None:
    space = ToySpace(lambda t, h, n: WindowErrors(0.0, 1e-9 * 2.0 ** (30 - n), 0.0))
    trajectory, _ = integrated(space)
    assert trajectory.stopped is None
    assert space.attempts[-1][2] == 30


def test_best_resolution_within_the_limits_is_accepted() -> None:
    """The companion solution measures the error then."""
    trajectory, _ = integrated(
        ToySpace(lambda t, h, n: WindowErrors(0.0, 1e-7 * 0.9**n, 0.0), max_functions=30)
    )
    assert trajectory.stopped is None
    trajectory, _ = integrated(ToySpace(lambda t, h, n: WindowErrors(0.0, 1.0, 0.0), max_functions=30))
    assert trajectory.stopped is not None


@pytest.mark.parametrize("confirms", [False, True])
@pytest.mark.parametrize(("residual", "is_rounding"), [(1e2, True), (2e4, False)])
def test_error_that_does_not_decrease_with_the_window_is_rounding(
    residual: float, is_rounding: bool, confirms: bool
) -> None:
    steps = StepController(TOLERANCES, StepRule(10.0, confirms_rounding=confirms), 0.1)
    for _ in range(4):
        if not steps.accept_rounding(residual, 10, 1e-6):
            steps.shorten(residual)
    assert (steps.relaxation > residual) is is_rounding
    if is_rounding:
        assert (steps.length < 0.005) is confirms  # a much shorter window was attempted


def test_error_that_decreases_slowly_is_no_rounding() -> None:
    """The error at a jump of a derivative is O(h)."""
    steps = StepController(Tolerances(1e-9, 1e-6), StepRule(24.0, confirms_rounding=True), 0.1)
    for _ in range(8):
        excess = 100.0 * steps.length
        if not steps.accept_rounding(excess, 0, 1e-6):
            steps.shorten(excess)
    assert steps.relaxation == 1.0


def test_growth_of_windows() -> None:
    def factor(times: float, **rule: bool) -> float:
        steps = StepController(TOLERANCES, StepRule(10.0, **rule), 0.1)
        return steps.next_length(0.1, 1e-9 * (0.85 / times) ** 10) / 0.1

    assert factor(1.15) == pytest.approx(1.15)
    assert factor(1.15, keeps_factors=True) == 1.0
    assert factor(1.5, keeps_factors=True) == pytest.approx(1.5)
    assert 2.0 < factor(1e3) < 5.0


def test_data_between_the_collocation_times_shorten_a_window() -> None:
    space = ToySpace(spectral(0.3), data=lambda h: 1.0 if h > 0.01 else 0.0)
    trajectory, _ = integrated(space)
    assert max(w.stop - w.start for w in trajectory.windows) <= 0.01


def test_residual_without_space_shortens_the_window() -> None:
    """Without space to refine, a residual comes from time: at a jump of a derivative it is O(h)."""

    def errors(t: float, h: float, n: int) -> WindowErrors:
        return WindowErrors(0.0, 0.0, 1e-2 * h if t < 0.123456 < t + h else 0.0)

    rule = StepRule(24.0, confirms_rounding=True)
    trajectory, _ = integrated(ToySpace(errors, rule, is_refinable=False))
    assert trajectory.stopped is None
    across = next(w for w in trajectory.windows if w.start < 0.123456 < w.stop)
    assert across.stop - across.start <= 1e-4


# -- layers --


def layer(width: float) -> Callable[[float, float, int], WindowErrors]:
    """Return errors that space does not resolve before ``width``."""
    return lambda t, h, n: WindowErrors(0.0, 1.0 if t < width else 0.0, 0.0)


@pytest.mark.parametrize(("width", "resolved"), [(0.01, True), (0.3, False)])
def test_layer_after_incompatible_data(width: float, resolved: bool) -> None:
    trajectory, integrator = integrated(ToySpace(layer(width), layer_rule=RULE, incompatible=True))
    assert trajectory.windows[0].stop == pytest.approx(1e-4)
    assert (trajectory.stopped is None) is resolved
    if resolved:
        assert width <= integrator.layers[0.0] < 4.0 * width
    else:
        assert trajectory.stopped == UNRESOLVED_DATA


def test_layer_is_forgotten_if_its_first_window_is_resolved() -> None:
    _, integrator = integrated(ToySpace(layer(0.0), layer_rule=RULE, incompatible=True))
    assert integrator.layers == {}


def test_layer_after_a_switching_time() -> None:
    def errors(t: float, h: float, n: int) -> WindowErrors:
        return WindowErrors(0.0, 1.0 if 0.5 <= t < 0.51 else 0.0, 0.0)

    space = ToySpace(errors, layer_rule=RULE, switch_times=(0.5,))
    space.is_incompatible = lambda state, t: t == 0.5  # type: ignore[method-assign]
    trajectory, integrator = integrated(space)
    assert trajectory.stopped is None
    assert list(integrator.layers) == [0.5]


def test_start_that_is_hard_to_resolve_is_treated_as_a_layer() -> None:
    """Values match, but time derivatives do not: u_t = Δu + 1 from 0."""

    def errors(t: float, h: float, n: int) -> WindowErrors:
        return WindowErrors(1e-6, 0.0, 0.0) if t < 1e-3 and h > 2e-4 else WindowErrors(0.0, 0.0, 0.0)

    space = ToySpace(errors, layer_rule=RULE)
    trajectory, _ = integrated(space)
    assert trajectory.stopped is None
    jump = next(i for i, (_, h, _) in enumerate(space.attempts) if h < 1.01e-4)
    assert 3 <= jump <= 12


# -- companion solution --


def test_windows_of_the_companion_solution_are_halved_a_limited_number_of_times() -> None:
    attempts = []

    def fail(*_: Any) -> Any:
        attempts.append(1)
        raise WindowFailedError

    trajectory: Any = SimpleNamespace(evolution=None, stopped=None)
    windows = [(0.0, 1.0, None)]
    assert integrate_companion(trajectory, TimeInterval(0.0, 1.0), windows, fail, lambda *_: None) is None
    assert 20 <= len(attempts) <= 80

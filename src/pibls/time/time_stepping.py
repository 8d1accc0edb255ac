r"""Time stepping by windows u(t₀) → u(t₁) → …: base class of the steppers and control of window lengths.

Shared by all spatial discretizations, and partly by the ODE integrator (`time.ode.integrator`): the time
interval with its switching times, the loop over the windows and over the attempts at one (`step_control`),
the partial result at a deadline, and the companion solution, computed on windows with other end points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.problem.forms.compilation import CompiledProblem
from pibls.runtime.caching import cached_property
from pibls.time.context import EvolutionContext
from pibls.time.data_monitor import DataMonitor
from pibls.time.step_control import StateT, WindowAttempt
from pibls.time.thresholds import TIME_STEPPING
from pibls.time.trajectory import Trajectory, Window

STEP_TOO_SMALL = "no window is short enough; the solution may blow up, or the equation may be singular there"
COMPANION_FAILED = "the companion solution could not be computed"

ProgressCheck = Callable[[float, int, int], None]
"""Called with t, the number of windows (-1 within a window) and of cells; raises to stop."""


class WindowFailedError(Exception):
    """The equations of a time window could not be solved."""


class HasStop(Protocol):
    """A solved time window with an end."""

    @property
    def stop(self) -> float: ...


_ROUNDING = 1e-14  # fraction of the duration below which two times are equal

WindowT = TypeVar("WindowT", bound=HasStop)
ResolutionT = TypeVar("ResolutionT")
"""Spatial resolution of a window."""


@dataclass(frozen=True)
class TimeInterval:
    """Time interval of an evolution, divided at the times at which data or coefficients switch."""

    start: float
    stop: float
    switch_times: tuple[float, ...] = ()
    split_ratio: float = 1.6
    """The rest up to the next switching time is divided into two equal windows if it is less than this many
    times the window length."""

    @classmethod
    def of(cls, e: Evolution, compiled: CompiledProblem, **more: float) -> TimeInterval:
        levels = (level for axis, level in compiled.interfaces.planes if axis == e.axis)
        return cls(e.start, e.stop, tuple(levels), **more)

    @property
    def duration(self) -> float:
        return abs(self.stop - self.start)

    @property
    def direction(self) -> float:
        return 1.0 if self.stop > self.start else -1.0

    def is_finished(self, t: float) -> bool:
        return self.direction * (self.stop - t) <= _ROUNDING * self.duration

    def latest_end(self, t: float) -> float:
        """Return the next switching time, or the final time: a window from t must not end later."""
        ahead = [b for b in self.switch_times if self.direction * (b - t) > _ROUNDING * self.duration]
        return min(ahead, key=lambda b: self.direction * b, default=self.stop)

    def is_switch_time(self, t: float) -> bool:
        """Whether t is a switching time."""
        return any(abs(b - t) <= _ROUNDING * self.duration for b in self.switch_times)

    def one_sided(self, t: float, side: float) -> float:
        """Return a time just before (``side`` -1) or after (+1) a switching time t; t itself otherwise."""
        if not self.is_switch_time(t):
            return t
        return t + side * self.direction * 4e-15 * max(abs(t), self.duration)

    def collocation_times(self, t: float, stop: float, nodes: Array) -> Array:
        """Return the collocation times of a window for ``nodes`` in [0, 1]; the last lies before a switch."""
        times = t + (stop - t) * nodes
        times[-1] = self.one_sided(stop, -1.0)
        return np.asarray(times)

    def fit_length(self, t: float, h: float) -> float:
        """Return the length h, adapted so that no tiny window is left before the next switching time."""
        left = self.direction * (self.latest_end(t) - t)
        h = min(h, left)
        return 0.5 * left if h < left < self.split_ratio * h else h

    def window_end(self, t: float, h: float) -> float | None:
        """Return the end of a window of length h from t; None if it is too short for the rounding of t."""
        stop, end = t + self.direction * h, self.latest_end(t)
        whole = h >= self.direction * (end - t)  # two switching times may be arbitrarily close
        if not whole and h < max(TIME_STEPPING.min_relative_length * self.duration, 4e-16 * abs(t)):
            return None
        return end if self.direction * (end - stop) < 1e-12 * self.duration else stop


def integrate(
    time_interval: TimeInterval,
    initial: tuple[StateT, float],
    window: Callable[[StateT, float, float], tuple[WindowT, StateT, float] | str],
    done: list[WindowT],
    report: Callable[[float, StateT], None],
) -> str | None:
    """Append all windows to ``done``; return why the integration ended early, or None.

    ``initial`` is the initial state and the first length. ``window`` computes one window from a state, a time
    and a length, and returns it with the next state and length, or the reason for its failure. ``report`` is
    called after each window.
    """
    t, (state, h) = time_interval.start, initial
    while not time_interval.is_finished(t):
        found = window(state, t, time_interval.fit_length(t, h))
        if isinstance(found, str):
            return found
        accepted, state, h = found
        done.append(accepted)
        t = accepted.stop
        report(t, state)
    return None


@dataclass(kw_only=True)
class TimeStepper(ABC, Generic[StateT, ResolutionT]):
    """Integrates an evolution from its start to its end, window by window."""

    check: ProgressCheck = lambda t, windows, cells: None
    attempts: int = 0
    nonsmooth_since: float | None = None
    """Start of the part left unresolved because of nonsmooth initial data; None if there is none."""
    halves_failed_windows: ClassVar[bool] = False
    """Whether a prescribed window of the companion solution is halved if it fails."""
    layers: dict[float, float] = field(default_factory=dict)
    """Layers after incompatible initial and boundary data: time of the incompatibility → end of the layer."""
    expected_magnitudes: Array | None = None
    """max abs(u) of each unknown if it is known beforehand."""
    _magnitudes: Array = field(default_factory=lambda: np.empty(0))
    """max abs(u) of each unknown up to now."""
    _done: list[Window] = field(default_factory=list)

    @property
    @abstractmethod
    def context(self) -> EvolutionContext:
        """The problem with its validation points."""

    @cached_property
    def time_interval(self) -> TimeInterval:
        return TimeInterval.of(self.evolution, self.context.compiled)

    @cached_property
    def data_monitor(self) -> DataMonitor:
        return DataMonitor.sample(self.context)

    def _magnitude_floor(self, initial_magnitudes: Array) -> Array:
        """Return scales for unknowns that are zero initially, given max abs(u) of the initial data.

        Without them, u_t = Δu + 1 from zero is resolved relative to its tiny values from 1e-7 of the
        duration.
        """
        floor = np.full_like(initial_magnitudes, TIME_STEPPING.min_magnitude)
        return (
            floor
            if self.expected_magnitudes is None
            else np.where(initial_magnitudes == 0, self.expected_magnitudes, floor)
        )

    @property
    def evolution(self) -> Evolution:
        found = self.context.evolution
        assert found is not None
        return found

    @property
    @abstractmethod
    def newton_steps(self) -> int:
        """Number of Newton steps in all windows."""

    @abstractmethod
    def _begin(self) -> tuple[StateT, float]:
        """Return the initial state and a first window length."""

    @abstractmethod
    def _next_window(self, state: StateT, t: float, h: float) -> tuple[Window, StateT, float] | str:
        """Return an accepted window, the state at its end and the next length; or the reason for failure."""

    @abstractmethod
    def _companion_windows(self, trajectory: Trajectory) -> Iterable[tuple[float, float, ResolutionT]]:
        """Yield (start, stop, resolution) of the windows of the companion solution."""

    @abstractmethod
    def _prescribed_window(
        self, state: StateT | None, t: float, stop: float, chosen: ResolutionT
    ) -> tuple[Window, StateT]:
        """Return one of these windows and the state at its end; without a state, start from the initial data.

        Raises `WindowFailedError`.
        """

    @abstractmethod
    def _cell_count(self, state: StateT) -> int: ...

    def run(self) -> Trajectory:
        """Integrate up to the final time, or as far as possible."""
        done = self._done = []

        def report(t: float, state: StateT) -> None:
            self.check(t, len(done), self._cell_count(state))

        return self._trajectory(integrate(self.time_interval, self._begin(), self._next_window, done, report))

    def partial(self) -> Trajectory | None:
        """Return the windows computed up to an interruption; None if there are none."""
        return self._trajectory(None) if self._done else None

    def _trajectory(self, stopped: str | None) -> Trajectory:
        return Trajectory(tuple(self._done), self.evolution, stopped, self.newton_steps, self.attempts)

    def run_companion(self, trajectory: Trajectory) -> Trajectory:
        """Compute the companion solution of a trajectory on other windows."""
        self._done, state = [], None
        for t, stop, chosen in self._companion_windows(trajectory):
            ends = [stop]
            while ends:
                try:
                    window, state = self._prescribed_window(state, t, ends[-1], chosen)
                except WindowFailedError:
                    if (
                        not self.halves_failed_windows
                        or self.time_interval.window_end(t, 0.5 * abs(ends[-1] - t)) is None
                    ):
                        return self._trajectory(COMPANION_FAILED)
                    ends.append(0.5 * (t + ends[-1]))
                    continue
                self._done.append(window)
                t = ends.pop()
                self.check(t, -1, self._cell_count(state))
        return self._trajectory(trajectory.stopped)


@dataclass(kw_only=True)
class AdaptiveTimeStepper(TimeStepper[StateT, ResolutionT]):
    """Time stepper that adapts resolution, window length and tolerances until a window is accepted."""

    def _search_window(self, attempt: WindowAttempt[StateT]) -> tuple[Window, StateT, float] | str:
        """Repeat an attempt with other lengths, resolutions and tolerances until its window is accepted."""
        while True:
            attempt.number += 1
            self.attempts += 1
            self.check(attempt.t, -1, self._cell_count(attempt.start))
            stop = self.time_interval.window_end(attempt.t, attempt.h)
            if stop is None:
                return STEP_TOO_SMALL
            found = self._accepted_window(attempt, stop)
            if found is not None:
                return found

    @abstractmethod
    def _accepted_window(
        self, attempt: WindowAttempt[StateT], stop: float
    ) -> tuple[Window, StateT, float] | str | None:
        """Return a window up to ``stop`` if it is accepted, or why there is none; else change the attempt."""


def staggered_windows(
    trajectory: Trajectory,
    chosen: Sequence[ResolutionT],
    switch_times: Iterable[float],
    size: Callable[[ResolutionT], Any],
) -> Iterator[tuple[float, float, ResolutionT]]:
    """Yield (start, stop, resolution) of windows from the middle of one window to the middle of the next.

    They end at switching times. Of the two resolutions they take the one of larger ``size``.
    """
    ends, group, resolutions = {*switch_times, trajectory.end_time}, [], []
    for window, resolution in zip(trajectory.windows, chosen, strict=True):
        group.append(window)
        resolutions.append(resolution)
        if window.stop not in ends:
            continue
        edges = [group[0].start, *(0.5 * (x.start + x.stop) for x in group), window.stop]
        if len(group) == 1:
            edges[1] = 0.55 * window.start + 0.45 * window.stop
        pairs = zip([resolutions[0], *resolutions], [*resolutions, resolutions[-1]], strict=True)
        yield from zip(edges[:-1], edges[1:], (max(p, key=size) for p in pairs), strict=True)
        group, resolutions = [], []

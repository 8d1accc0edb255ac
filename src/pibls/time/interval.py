"""Time interval of an evolution, divided at the times at which data or coefficients switch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.problem.forms.compilation import CompiledProblem
from pibls.time.thresholds import TIME_STEPPING

_ROUNDING = 1e-14  # fraction of the duration below which two times are equal


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

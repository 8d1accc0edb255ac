"""Budget of a solve: time limit, node limit and progress callback."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pibls.adaptive.thresholds import SCHEDULER
from pibls.linalg.tree.engine import EngineProgress
from pibls.runtime.deadline import OutOfTimeError as OutOfTimeError
from pibls.runtime.interruption import raise_pending_interrupt


@dataclass(frozen=True)
class Progress:
    """State passed to a callback after each candidate, and before and during those that take long."""

    nodes: int
    residual: float
    """Relative residual at held-out points."""
    error: float | None
    """Estimated maximum error relative to max|u|, once there is an estimate."""
    seconds: float
    t: float | None = None
    """Time up to which an evolution has been integrated."""
    windows: int = 0
    cells: int = 1
    expected: float | None = None
    """Predicted seconds of the candidate now begun, if it takes much longer than all before."""
    share: EngineProgress | None = None
    """With an engine: memory per worker and finished tasks of the candidate now begun."""


@dataclass
class Budget:
    """Time and columns that may be used, with measured durations."""

    began: float
    time_limit: float | None
    max_nodes: int
    callback: Callable[[Progress], object] | None = None
    history: list[Progress] = field(default_factory=list)
    _current_step: tuple[str, float] = ("", 0.0)
    """Name and start time of the current step."""
    _durations: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Durations of the last two runs of each step."""
    _last_report: float = 0.0
    """Time of the last call of the callback."""

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.began

    def fits(self, seconds: float) -> bool:
        """Whether a candidate that takes so long fits into the time limit."""
        return (
            self.time_limit is None or self.spent + seconds <= SCHEDULER.time_limit_factor * self.time_limit
        )

    def time_at_share(self, share: float, most: float) -> float | None:
        """Return the time after a share of the rest of ``most`` times the limit; None without a limit."""
        if self.time_limit is None:
            return None
        spent, limit = self.spent, most * self.time_limit
        return spent + share * max(limit - spent, 0.0)

    def check(self, step: str = "", until: float | None = None) -> None:
        """Raise OutOfTimeError at the time limit, and call the callback regularly.

        ``step`` names the step that is about to start; it is empty inside a step. ``until`` replaces the time
        limit.
        """
        raise_pending_interrupt()
        limit, spent = self.time_limit if until is None else until, self.spent
        # Without any candidate yet, the limit may be exceeded to finish the first one.
        late = SCHEDULER.time_limit_factor if until is None and not self.history else 1.0
        ahead = self._predicted_duration(step, spent) if step else 0.0
        if limit is not None and (
            spent > late * limit or spent + ahead > SCHEDULER.time_limit_factor * limit
        ):
            raise OutOfTimeError
        if self.callback is not None and self.spent > self._last_report + SCHEDULER.report_interval:
            last = self.history[-1] if self.history else Progress(0, 0.0, None, 0.0)
            self._notify(replace(last, seconds=self.spent, expected=None))

    def _predicted_duration(self, step: str, spent: float) -> float:
        """Return the predicted duration of a step: the shorter of its last two runs."""
        before, began = self._current_step
        self._durations[before] = self._durations.get(before, (0.0, 0.0))[1], spent - began
        self._current_step = step, spent
        return min(self._durations.get(step, (0.0, 0.0)))

    def report(self, now: Progress) -> None:
        """Append to the history and call the callback."""
        self.history.append(now)
        self._notify(now)

    def _notify(self, now: Progress) -> None:
        self._last_report = self.spent
        if self.callback is not None:
            self.callback(now)

    def report_engine_progress(self, share: EngineProgress) -> None:
        """Call the callback with the progress of the engine, which is not stored in the history."""
        if self.callback is not None:
            last = self.history[-1] if self.history else Progress(0, 0.0, None, 0.0)
            self.callback(replace(last, seconds=self.spent, expected=None, share=share))

"""One budget for a whole solve: seconds, columns, and who is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pibls.linalg.distributed import Share


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each attempt, and before one that will take long."""

    nodes: int
    residual: float
    """Held-out residual, relative."""
    error: float | None
    """Estimated maximum error relative to max|u|, once there is an estimate."""
    seconds: float
    t: float | None = None
    """How far an evolution has been followed."""
    windows: int = 0
    cells: int = 1
    expected: float | None = None
    """Seconds that the attempt now begun is expected to take, where it is much more than all before."""
    share: Share | None = None
    """With an engine: the memory that the attempt now begun takes of each worker, and how far it is."""


class OutOfTimeError(Exception):
    """The time limit has come in the middle of an attempt."""


@dataclass
class Budget:
    """Seconds and columns that may be spent."""

    began: float
    time_limit: float | None
    max_nodes: int
    callback: Callable[[Progress], object] | None = None
    history: list[Progress] = field(default_factory=list)
    worked: float = 0.0
    """What was done so far (`search.work`)."""
    _took: float = 0.0

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.began

    def charge(self, work: float, seconds: float) -> None:
        """Count an attempt, and how long it took."""
        self.worked += work
        self._took += seconds

    @property
    def pace(self) -> float:
        """Seconds on the clock for one of work, on this machine as busy as it is."""
        return self._took / self.worked if self.worked > 0 else 1.0

    def allows(self, work: float) -> bool:
        """Whether an attempt that costs so much still fits."""
        return self.time_limit is None or self.spent + self.pace * work <= self.time_limit

    def check(self) -> None:
        """Raise where the time is over."""
        if self.time_limit is not None and self.spent > self.time_limit:
            raise OutOfTimeError

    def tell(self, now: Progress) -> None:
        """Remember, and pass on."""
        self.history.append(now)
        if self.callback is not None:
            self.callback(now)

    def tell_share(self, share: Share) -> None:
        """Pass on how the attempt that is under way is shared; nothing of it is remembered."""
        if self.callback is not None:
            last = self.history[-1] if self.history else Progress(0, 0.0, None, 0.0)
            self.callback(replace(last, seconds=self.spent, expected=None, share=share))

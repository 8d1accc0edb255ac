"""One budget for a whole solve: seconds, columns, and who is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pibls.adaptive.thresholds import LOOP
from pibls.deadline import OutOfTimeError as OutOfTimeError
from pibls.interruption import raise_lost
from pibls.linalg.tree.engine import Share


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each attempt, before one that will take long, and on the way of such."""

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
    _paces: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Work and seconds of each plan."""
    _asked: tuple[str, float] = ("", 0.0)
    """Before which step it was asked last whether there is still time, and when."""
    _steps: dict[str, tuple[float, float]] = field(default_factory=dict)
    """How long each step took the last two times."""
    _told: float = 0.0
    """When the callback was called last."""

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.began

    def charge(self, plan: object, work: float, seconds: float) -> None:
        """Count an attempt of a plan, and how long it took."""
        self.worked += work
        before = self._paces.get(id(plan), (0.0, 0.0))
        self._paces[id(plan)] = before[0] + work, before[1] + seconds

    def pace(self, plan: object) -> float:
        """Seconds on the clock for one of work, on this machine as busy as it is.

        What work is for one plan is not what it is for another: singular functions cost more than waves. A
        new plan is taken to be as quick as the quickest.
        """
        if id(plan) in self._paces:
            work, seconds = self._paces[id(plan)]
            return seconds / work if work > 0 else 1.0
        return min((s / w for w, s in self._paces.values() if w > 0), default=1.0)

    def allows(self, plan: object, work: float) -> bool:
        """Whether an attempt of a plan that costs so much still fits."""
        if self.time_limit is None:
            return True
        return self.spent + self.pace(plan) * work <= LOOP.slack * self.time_limit

    def until(self, share: float, most: float) -> float | None:
        """When a share of what is left of ``most`` times the limit will be over; None without a limit."""
        if self.time_limit is None:
            return None
        spent, limit = self.spent, most * self.time_limit
        return spent + share * max(limit - spent, 0.0)

    def check(self, step: str = "", until: float | None = None) -> None:
        """Called on the way of an attempt: raise where the time is over, and do not be silent for long.

        ``step``: what is about to be done, if it has a name; without one it is in the middle of a step.
        ``until``: another time than the limit.
        """
        raise_lost()
        limit, spent = self.time_limit if until is None else until, self.spent
        # Where nothing was found yet, what is nearly there is better than nothing.
        late = LOOP.slack if until is None and not self.history else 1.0
        ahead = self._ahead(step, spent) if step else 0.0
        if limit is not None and (spent > late * limit or spent + ahead > LOOP.slack * limit):
            raise OutOfTimeError
        if self.callback is not None and self.spent > self._told + LOOP.silence:
            last = self.history[-1] if self.history else Progress(0, 0.0, None, 0.0)
            self._pass_on(replace(last, seconds=self.spent, expected=None))

    def _ahead(self, step: str, spent: float) -> float:
        """How long a step will take: about as long as it did the last two times."""
        before, began = self._asked
        self._steps[before] = self._steps.get(before, (0.0, 0.0))[1], spent - began
        self._asked = step, spent
        return min(self._steps.get(step, (0.0, 0.0)))

    def tell(self, now: Progress) -> None:
        """Remember, and pass on."""
        self.history.append(now)
        self._pass_on(now)

    def _pass_on(self, now: Progress) -> None:
        self._told = self.spent
        if self.callback is not None:
            self.callback(now)

    def tell_share(self, share: Share) -> None:
        """Pass on how the attempt that is under way is shared; nothing of it is remembered."""
        if self.callback is not None:
            last = self.history[-1] if self.history else Progress(0, 0.0, None, 0.0)
            self.callback(replace(last, seconds=self.spent, expected=None, share=share))

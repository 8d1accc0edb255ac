"""A plan is a way of solving: it proposes its next attempt with what it will cost, and makes it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.adaptive.budget import Budget, Progress
from pibls.adaptive.candidate import Attempt
from pibls.adaptive.thresholds import LOOP
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import UNCHECKED, ErrorEstimate
from pibls.arrays import Array
from pibls.status import Status

_UNSOLVED = (Status.STALLED, Status.STEP_LIMIT)


@dataclass(frozen=True)
class Offer:
    """The next attempt of a plan."""

    work: float
    """What the attempt will cost (`search.work`)."""
    remaining: float
    """What the plan expects to need until the tolerance is met; infinite where it has no hope."""


@dataclass
class Plan(ABC):
    """A way of solving, with the best that it has found."""

    bench: Bench
    budget: Budget
    best: Attempt | None = None
    error: ErrorEstimate = UNCHECKED
    status: Status | None = None
    """How it ended, once it has."""
    tries: int = 3
    """Attempts after which it is plain that one makes no progress."""
    notes: dict[str, Any] = field(default_factory=dict)
    marks: list[float] = field(default_factory=list)
    """How far each attempt was from a solution: residuals or indicators, relative."""
    _measured: list[tuple[Attempt, Array]] = field(default_factory=list, repr=False)
    """What the errors of the last few attempts are measured against."""
    seen: list[Attempt] = field(default_factory=list, repr=False)
    """The last few attempts."""

    @abstractmethod
    def offer(self) -> Offer | None:
        """The next attempt; None where the plan has come to its end."""

    @abstractmethod
    def advance(self) -> None:
        """Make that attempt."""

    def settle(self) -> None:
        """Nothing more will be tried: compare with a second solution, if that was not done yet."""
        self.conclude()

    def conclude(self) -> None:  # noqa: B027 - most plans know nothing more
        """The time is over: what the attempts until now say of the error, without another one."""

    def hear_of(self, found: Attempt | None) -> None:  # noqa: B027 - most plans have no use for it
        """Be told of the best that was found until now, for a nonlinear problem to start from."""

    is_last_word = False
    """Whether no other plan goes below the floor of this one."""

    @property
    def made_no_progress(self) -> bool:
        """Whether its last attempt was no better than its first ones, and none was any good."""
        few = len(self.marks) < self.tries
        return not few and min(self.marks) > self.bench.limits.rough and self.marks[-1] > 0.3 * self.marks[0]

    @property
    def finds_nothing(self) -> bool:
        """Whether Newton's method ended nowhere, several times, and no closer than it had before.

        The first end may be further off than all others: that these are closer is no progress.
        """
        before = self.marks[: max(len(self.marks) + 1 - self.tries, 1)]
        if len(self.marks) < self.tries or min(self.marks) <= self.bench.limits.rough:
            return False
        return self.marks[-1] > 0.3 * min(before) and all(a.outcome.status in _UNSOLVED for a in self.seen)

    @property
    def is_stuck(self) -> bool:
        """Whether it came to the same function each time, with which the equations hold nowhere.

        What is merely not resolved changes with the number of functions, or is left in a few places.
        """
        last = self.seen[-1] if self.seen else None
        if last is None or not self.finds_nothing:
            return False
        worst = max(last.residuals.values(), key=lambda n: n.relative)
        return worst.rms > 0.1 * worst.max and all(
            a.values.shape == last.values.shape
            and bool(np.all(np.abs(a.values - last.values).max(axis=1) <= LOOP.same * last.sizes))
            for a in self.seen
        )

    def affords(self, work: float) -> bool:
        """Whether an attempt that costs so much still fits; a nonlinear one is ended in its middle if not."""
        return not self.bench.lowered.is_linear or self.budget.allows(self, work)

    def may_fit(self, work: float) -> bool:
        """Whether an attempt might fit that is not expected to, and can be ended in its middle."""
        return False

    @property
    def is_gaining(self) -> bool:
        """Whether its last attempt was much better than the one before."""
        return len(self.marks) > 1 and self.marks[-1] < 0.3 * self.marks[-2]

    @property
    def is_within_reach(self) -> bool:
        """Whether the estimate is not far above the tolerance."""
        if self.best is None or not self.error.checked:
            return False
        return self.excess(self.best, self.error) <= self.bench.limits.reach * self.bench.tol

    def excess(self, found: Attempt, error: ErrorEstimate) -> float:
        """The largest estimated error of an unknown, in units of what it is measured against.

        An estimate counts where the equations hold at all.
        """
        if not error.checked or not np.isfinite(error.max) or found.relative > self.bench.limits.fits:
            return math.inf
        scales = self.scales(found)
        shares = [
            e.max / s if s > 0 else (0.0 if e.max == 0 else math.inf)
            for e, s in zip(error.each, scales, strict=True)
        ]
        return max(shares)

    def scales(self, found: Attempt) -> Array:
        """What the error of each unknown is measured against."""
        bench = self.bench
        if bench.lowered.unknowns == 1:
            return found.sizes
        known = next((sizes for attempt, sizes in self._measured if attempt is found), None)
        if known is not None:
            return known
        sizes = bench.measured(*found.function, found.sizes)
        self._measured = [(found, sizes), *self._measured[:2]]
        return sizes

    def meets(self, found: Attempt, error: ErrorEstimate) -> bool:
        """Whether every unknown is within the tolerance."""
        return self.excess(found, error) <= self.bench.tol

    def _keep(self, found: Attempt, error: ErrorEstimate) -> None:
        """As the best, if its estimate is no larger than that of the best until now."""
        if (
            self.best is None
            or not self.error.checked
            or self.excess(found, error) <= self.excess(self.best, self.error)
        ):
            self.best, self.error = found, error

    def keep_better(self, best: Attempt | None, error: ErrorEstimate, notes: dict[str, Any]) -> None:
        """Go back to what was found before where more was asked for and brought rounding, or less time."""
        if best is None:
            return
        late, stopped = self.status is Status.TIME_LIMIT, self.status is Status.STOPPED
        # What went on past a pole is no better for that: its estimate says so.
        lost = self.excess(best, error) > self.bench.limits.fits
        worse = self.best is not None and self.excess(best, error) < self.excess(self.best, self.error)
        if worse if not (late or stopped) else late or not lost:
            self.best, self.error, self.notes = best, error, notes
            self.status = Status.FLOOR if stopped else self.status

    def tell(self, found: Attempt, error: float | None = None, **more: Any) -> None:
        """Report an attempt."""
        self.seen = [*self.seen[1 - self.tries :], found]
        self.budget.tell(Progress(found.space.nodes, found.relative, error, self.budget.spent, **more))

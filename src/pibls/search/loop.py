"""One loop over plans, one budget: what promises the tolerance soonest is done next."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.search.attempt import Attempt
from pibls.search.bench import Bench
from pibls.search.budget import Budget, OutOfTimeError, Progress
from pibls.search.cells import CellPlan
from pibls.search.estimate import UNCHECKED, ErrorEstimate
from pibls.search.following import WindowPlan
from pibls.search.plan import Plan
from pibls.search.waves import WavePlan
from pibls.solver import Method
from pibls.space import Space
from pibls.status import Status
from pibls.system.points import Points

_LONG = 5.0  # an attempt that takes longer than this many times all before it is announced
_POOR = 1e-2  # a residual above which nothing was found
_ROUNDING = 1e-9  # an estimate below which a floor is that of rounding, whatever the way
_SOON = 0.5  # seconds that waves alone may need before singular functions of weak corners are added
_SHORT = 2.0  # … unless it takes less than this many seconds


@dataclass
class Search:
    """The state of an automatic solve; the best of its plans is what was found so far at any moment."""

    bench: Bench
    budget: Budget
    points: Points | None = None
    method: Method | None = None
    guess: Space | None = None
    plans: list[Plan] = field(default_factory=list)
    status: Status = Status.NODE_LIMIT
    winner: Plan | None = None

    def __post_init__(self) -> None:
        waves = WavePlan(self.bench, self.budget, points=self.points, method=self.method, guess=self.guess)
        self.plans = [waves]
        if self.bench.extra:
            self.plans.append(
                WavePlan(
                    self.bench,
                    self.budget,
                    points=self.points,
                    method=self.method,
                    guess=self.guess,
                    extra=self.bench.extra,
                    patience=0.0 if self.bench.extra.strong or self.bench.pieced else _SOON,
                    tries=1,
                )
            )
        if self.bench.pieced is not None:
            self.plans = self.plans[-1:]  # what corners bring costs little beside all pieces
        elif self.points is None and self.method is None:
            divided: list[Plan] = [
                WindowPlan(self.bench, self.budget),
                CellPlan(self.bench, self.budget, guess=self.guess),
            ]
            able = [plan for plan in divided if plan.offer() is not None]
            # Across a jump no wave is smooth: there, only what has faces there will do.
            self.plans = able if self.bench.lowered.interfaces.planes and able else [*self.plans, *able]

    def run(self) -> None:
        """Search; an interruption ends it with the best so far, if there is one."""
        try:
            self._spend()
        except KeyboardInterrupt:
            if self.found is None:
                raise
            self.status = Status.INTERRUPTED
        except OutOfTimeError:
            self.status = Status.TIME_LIMIT
        if self.found is None:
            # A first width of waves, whatever it is worth: there is always an answer, with what it is worth.
            waves = WavePlan(self.bench, replace(self.budget, time_limit=None))
            waves.advance()
            self.plans.append(waves)

    def _spend(self) -> None:
        while True:
            offers = [(plan, offer) for plan in self.plans if (offer := plan.offer()) is not None]
            if not offers:
                self._at_the_end()
                return
            plan, offer = min(offers, key=lambda pair: pair[1].remaining)
            alone = self.bench.pieced is not None  # nothing else will ever do it: go on while there is room
            if not (alone or math.isfinite(offer.remaining)) and offer.seconds > 0.5 * self.budget.spent:
                self._at_the_end()  # what is not expected to help is not begun when it takes long
                return
            if self.found is not None and not self.budget.allows(offer.seconds):
                self.status = Status.TIME_LIMIT
                return
            if offer.seconds > max(_LONG * self.budget.spent, _SHORT) and self.found is not None:
                now = self.found
                self.budget.tell(
                    Progress(now.space.nodes, now.relative, None, self.budget.spent, expected=offer.seconds)
                )
            plan.hear_of(self.found)
            plan.advance()
            at_floor = plan.status is Status.FLOOR and plan.excess(_of(plan), plan.error) < (
                math.inf if plan.is_last_word else _ROUNDING
            )
            if plan.status is not None and (plan.status.final or at_floor):
                self.status, self.winner = plan.status, plan
                return

    def _at_the_end(self) -> None:
        """Nothing more is to be tried."""
        ended = [plan.status for plan in self.plans if plan.status is not None]
        for status in (Status.STOPPED, Status.MEMORY_LIMIT, Status.FLOOR, Status.NO_SOLUTION):
            if status in ended:
                self.status = status
                return
        # What is added for weak corners explains no contradiction: it has no say in this.
        usual = [p for p in self.plans if not (isinstance(p, WavePlan) and p.patience > 0)]
        poor = self.found is None or self.found.relative > _POOR
        if (
            self.bench.pieced is None
            and self.bench.lowered.is_linear
            and poor
            and all(plan.made_no_progress for plan in usual)
        ):
            self.status = Status.NO_SOLUTION
            return
        stalled = self.found is not None and self.found.outcome.status is Status.STALLED
        self.status = Status.STALLED if stalled else Status.NODE_LIMIT

    @property
    def best(self) -> Plan | None:
        """The plan that has found most."""
        if self.winner is not None:
            return self.winner
        having = [plan for plan in self.plans if plan.best is not None]
        if not having:
            return None
        return min(having, key=lambda p: (p.excess(_of(p), p.error), p.best.relative if p.best else np.inf))

    @property
    def found(self) -> Attempt | None:
        best = self.best
        return None if best is None else best.best

    @property
    def error(self) -> ErrorEstimate:
        """The estimate, withheld where the equations do not hold: then no comparison bounds the error."""
        best = self.best
        if best is None or best.best is None:
            return UNCHECKED
        if (
            self.status in (Status.UNDETERMINED, Status.NO_SOLUTION)
            or best.best.relative > self.bench.limits.fits
        ):
            return UNCHECKED
        return best.error


def _of(plan: Plan) -> Attempt:
    assert plan.best is not None
    return plan.best

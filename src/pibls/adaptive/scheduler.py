"""One loop over plans, one budget: what promises the tolerance soonest is done next."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pibls.adaptive.box_detection import boxed_in
from pibls.adaptive.budget import Budget, OutOfTimeError, Progress
from pibls.adaptive.candidate import Attempt
from pibls.adaptive.random_features.strategy import WavePlan
from pibls.adaptive.singular.enrich import Enrichment
from pibls.adaptive.strategy import Offer, Plan
from pibls.adaptive.thresholds import LOOP, PRODUCTS
from pibls.adaptive.validation.agreement import are_the_same
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import UNCHECKED, ErrorEstimate
from pibls.analysis.holes.holes import Around
from pibls.assembly.points import Points
from pibls.deadline import asked
from pibls.errors import ProblemError
from pibls.interruption import delivered, raise_lost
from pibls.linalg.tree.engine import EngineLostError
from pibls.nonlinear import GaussNewton, Method
from pibls.spaces import Space
from pibls.status import Status


@dataclass
class Search:
    """The state of an automatic solve; the best of its plans is what was found so far at any moment."""

    bench: Bench
    budget: Budget
    points: Points | None = None
    method: Method | None = None
    guess: Space | None = None
    later: Callable[[], Enrichment] | None = None
    """What weak corners and holes bring, tried when nothing else is nearly there."""
    around: Callable[[], Bench | None] | None = None
    """The problem with waves around the holes of its domain, tried at the same time."""
    whole: Bench | None = None
    """The problem without its pieces, where it is one: kinks may be less than what is asked for."""
    divided: bool = True
    """Whether domain and time may be divided."""
    plans: list[Plan] = field(default_factory=list)
    status: Status = Status.NODE_LIMIT
    winner: Plan | None = None
    awaited: Plan | None = None
    """What mostly ends it: all that divides the domain, and takes a while to import, is not asked before."""
    weak: Plan | None = None
    _minima: list[Attempt] = field(default_factory=list)
    """Where Newton's method ended with a residual that is left everywhere."""
    lost: str = ""
    """Why the engine was lost, if it was."""

    def _begin(self) -> None:
        """The plans that there are for such a problem."""
        self.plans = [self._waves(self.bench)]
        if self.bench.pieced is not None:
            # What corners bring costs little beside all pieces; and nothing else knows of these.
            extra = replace(self.bench.extra, around=Around())
            self.plans = [self._waves(self.bench, extra)]
            if self.whole is not None and self.points is None and self.method is None:
                self.plans += self._followed(self.whole)
            return
        if self.bench.extra.strong:
            # Beside a corner of a system nothing is gained by waves alone.
            alone = bool(self.bench.extra.fields)
            self.plans = [*([] if alone else self.plans), self._waves(self.bench, self.bench.extra)]
        faces = self.bench.lowered.interfaces
        if not self.divided or self.points is not None or self.method is not None:
            return
        orbit = self._orbit()
        if not self.bench.extra.strong and not faces.planes and (orbit or self.bench.evolution is None):
            self.awaited = orbit[0] if orbit else self.plans[0]
            self.plans += orbit
            return
        able = orbit + self._divided()
        # Across a jump no wave is smooth: there, only what has faces there will do.
        if faces.planes and able and (faces.inside or self.bench.evolution is not None):
            self.plans, self.later, self.around = able, None, None
        else:
            self.plans += able

    def _is_over(self, first: Plan) -> bool:
        """Whether others might be quicker, as soon as waves need long, or might find what these do not."""
        offer = first.offer()
        return offer is None or first.made_no_progress or offer.remaining >= min(PRODUCTS.usual.values())

    def _orbit(self) -> list[Plan]:
        """That of an ordinary evolution."""
        if self.bench.evolution is None or self.bench.lowered.dimension > 1:
            return []
        from pibls.adaptive.ode.strategy import OrbitPlan

        orbit = OrbitPlan(self.bench, self.budget)
        return [] if orbit.offer() is None else [orbit]

    def _divided(self) -> list[Plan]:
        """Plans that divide the domain, or follow an evolution."""
        from pibls.adaptive.cells.strategy import CellPlan

        divided = [
            *self._followed(self.bench),
            *self._products(),
            CellPlan(self.bench, self.budget, guess=self.guess),
        ]
        return [plan for plan in divided if plan.offer() is not None]

    def _products(self) -> list[Plan]:
        """Products along the axes, which take half a second to import: where there is no box, none."""
        if boxed_in(self.bench) is None:
            return []
        from pibls.adaptive.tensor_products.strategy import ProductPlan

        return [ProductPlan(self.bench, self.budget, guess=self.guess)]

    def _followed(self, bench: Bench) -> list[Plan]:
        """Plans that follow an evolution, which take a while to import: where there is none, none."""
        if bench.evolution is None:
            return []
        from pibls.adaptive.evolutions.strategy import WindowPlan
        from pibls.adaptive.evolutions.time_discretizations import InMoments, InRooms

        return [
            WindowPlan(bench, self.budget, way=InMoments()),
            WindowPlan(bench, self.budget, way=InRooms()),
        ]

    def _waves(self, bench: Bench, extra: Enrichment | None = None) -> WavePlan:
        more: dict[str, Any] = {} if extra is None else {"extra": extra, "tries": 1}
        return WavePlan(bench, self.budget, points=self.points, method=self.method, guess=self.guess, **more)

    def run(self) -> None:
        """Search; an interruption ends it with the best so far, if there is one."""
        try:
            more = self.plans
            self._begin()
            self.plans += more
            if self._has_unlocated_jumps:
                self.status = Status.DISCONTINUOUS_DATA
            else:
                self._spend()
            raise_lost()
        except KeyboardInterrupt:
            if self.found is None:
                raise
            delivered()
            self.status = Status.INTERRUPTED
        except OutOfTimeError:
            self.status = Status.TIME_LIMIT
            with asked(None):
                for plan in self.plans:
                    plan.conclude()
        except MemoryError:
            if self.found is None:
                raise
            self.status = Status.MEMORY_LIMIT
        except EngineLostError as reason:
            if self.found is None:
                raise
            self.status, self.lost = Status.INTERRUPTED, str(reason)
        if self.found is None:
            # A few waves, whatever they are worth: there is always an answer, with what it is worth.
            few = min(LOOP.few * self.bench.lowered.unknowns, self.budget.max_nodes)
            free = replace(self.budget, time_limit=None, max_nodes=few)
            newton = GaussNewton(rounds=0, continuation=0, max_steps=LOOP.steps)
            waves = WavePlan(self.bench, free, newton=newton)
            least = waves.least_nodes
            if least > self.budget.max_nodes:
                raise ProblemError(
                    "max_nodes",
                    expected=f"at least {least} for this problem",
                    got=self.budget.max_nodes,
                    remedy="Fewer functions make no basis: raise max_nodes.",
                )
            free.max_nodes = max(few, least)
            with asked(None):
                waves.advance()
            self.plans.append(waves)

    @property
    def _has_unlocated_jumps(self) -> bool:
        """Whether a Python function jumps at unknown places: no two solutions that agree say anything."""
        return self.bench.lowered.interfaces.unlocated > self.bench.tol

    def _spend(self) -> None:
        while True:
            if self.awaited is not None and self._is_over(self.awaited):
                self.awaited = None
                self.plans += self._divided()
            offers = [(plan, offer) for plan in self.plans if (offer := plan.offer()) is not None]
            if self.later is not None and all(offer.remaining > LOOP.soon for _, offer in offers):
                self._look_at_corners(self.later())
                continue
            if self.around is not None and all(offer.remaining > LOOP.soon for _, offer in offers):
                self._look_around(self.around())
                continue
            if not offers or self._is_stuck(offers):
                self._at_the_end()
                return
            known = self.found is not None
            fitting = [(p, o) for p, o in offers if not known or p.affords(o.work)]
            alone = self.bench.pieced is not None  # nothing else will ever do it: go on while there is room
            hopeful = [pair for pair in fitting if alone or math.isfinite(pair[1].remaining)]
            if not hopeful and len(fitting) < len(offers):
                self.status = Status.TIME_LIMIT
                self._settle()
                # With that in hand, what may not fit is begun: it is ended in its middle if it does not.
                fitting = hopeful = [
                    (p, o) for p, o in offers if o.remaining < math.inf and p.may_fit(o.work)
                ]
                if self.winner is not None or not fitting:
                    return
            plan, offer = min(fitting, key=lambda pair: pair[1].remaining)
            # Waves that do not yet resolve a wave gain little, and then everything at once.
            trifles = [(p, o) for p, o in fitting if o.work < LOOP.trifle * offer.remaining and p.is_gaining]
            plan, offer = min(trifles, key=lambda pair: pair[1].work, default=(plan, offer))
            if not hopeful and offer.work > 0.5 * self.budget.worked:
                # What is not expected to help is not begun when it takes long, unless little is missing.
                self._settle()
                if self.winner is not None or self.best is not plan or not plan.is_within_reach:
                    self._at_the_end()
                    return
            expected = self.budget.pace(plan) * offer.work
            if self.found is not None and expected > max(self.budget.spent, LOOP.silence):
                now = self.found
                self.budget.tell(
                    Progress(now.space.nodes, now.relative, None, self.budget.spent, expected=expected)
                )
            plan.hear_of(self.found)
            self._advance(plan)
            if self._stays_at_a_minimum(plan):
                self.status, self.winner = Status.NO_SOLUTION, plan
                return
            at_floor = plan.status is Status.FLOOR and plan.excess(_of(plan), plan.error) < (
                math.inf if plan.is_last_word else self.bench.limits.small
            )
            if at_floor and plan.is_last_word and self.around is not None:
                before = len(self.plans)
                self._look_around(self.around())
                if len(self.plans) > before:
                    continue
            # Of kinks that travel, windows have the last word where they are too small to be seen.
            rough = plan.bench is self.whole and plan.status is Status.ROUGH
            if plan.status is not None and (plan.status.final or at_floor) and not rough:
                self.status, self.winner = plan.status, plan
                return

    def _advance(self, plan: Plan) -> None:
        """Make the next attempt of a plan; one that memory is not enough for ends it with what it has."""
        try:
            plan.advance()
        except MemoryError:
            plan.status = Status.MEMORY_LIMIT
            with suppress(MemoryError):
                plan.conclude()

    def _stays_at_a_minimum(self, plan: Plan) -> bool:
        """Whether Newton's method ended at one local minimum of the residual in three spaces.

        A minimum that stays where it is, and stays as high, when functions are added is one of the equations
        and not of a basis; what is merely not resolved changes, or is left in a few places.
        """
        bench = self.bench
        alone = bench.evolution is not None or bench.pieced is not None
        if bench.lowered.is_linear or alone or not plan.seen:
            return False
        now = plan.seen[-1]
        if now.outcome.status is not Status.STALLED or not now.relative > bench.limits.contradiction:
            return False
        worst = max(now.residuals.values(), key=lambda n: n.relative)
        if worst.rms < 0.1 * worst.max or any(now is other for other in self._minima):
            return False
        same = [other for other in self._minima if are_the_same(now, other, bench.limits.settled)]
        self._minima.append(now)
        return len({a.space.columns for a in (now, *same)}) >= LOOP.minima

    def _is_stuck(self, offers: list[tuple[Plan, Offer]]) -> bool:
        """Whether all that is left found nothing, and has no hope or would only find the same again."""
        if self.bench.lowered.is_linear or self.bench.evolution is not None:
            return False
        hopeless = all(math.isinf(offer.remaining) for _, offer in offers)
        nothing = all(plan.finds_nothing for plan, _ in offers)
        return nothing and (hopeless or any(plan.is_stuck for plan, _ in offers))

    def _look_around(self, bench: Bench | None) -> None:
        """Try waves around the holes too."""
        self.around = None
        if bench is not None:
            self.plans.append(self._waves(bench, replace(bench.extra, around=Around())))

    def _look_at_corners(self, extra: Enrichment) -> None:
        """Try what weak corners and holes bring too."""
        self.later = None
        if extra:
            self.weak = self._waves(self.bench.judging(extra), extra)
            self.plans.append(self.weak)

    def _settle(self) -> None:
        """The best that was found is compared with a second solution: better late than no estimate."""
        having = [plan for plan in self.plans if plan.best is not None]
        if self.winner is not None or not having:
            return
        # An estimate that was made speaks for a plan, but not against one whose equations hold better.
        best, closest = self.best, min(having, key=lambda p: _of(p).relative)
        for plan in (closest, best):
            if plan is None or plan.status is not None:
                continue
            plan.settle()
            # That nothing solves it is said of a problem only by what was best before.
            if plan.status is not None and plan.status.final and (plan is best or plan.status.converged):
                self.status, self.winner = plan.status, plan
                return

    def _at_the_end(self) -> None:
        """Nothing more is to be tried."""
        self._settle()
        if self.winner is not None:
            return
        ended = [plan.status for plan in self.plans if plan.status is not None]
        if self.best is not None and self.best.status is Status.ROUGH:
            self.status = Status.ROUGH
            return
        for status in (Status.STOPPED, Status.MEMORY_LIMIT, Status.FLOOR, Status.NO_SOLUTION):
            if status in ended:
                self.status = status
                return
        # What is added for weak corners explains no contradiction: it has no say in this.
        usual = [plan for plan in self.plans if plan is not self.weak]
        poor = self.found is None or self.found.relative > self.bench.limits.rough
        if (
            self.bench.pieced is None
            and self.bench.lowered.is_linear
            and poor
            and all(plan.made_no_progress for plan in usual)
        ):
            self.status = Status.NO_SOLUTION
            return
        stalled = self.found is not None and self.found.outcome.status is Status.STALLED
        if stalled:
            self.status = Status.STALLED
            return
        best = self.best
        at_limit = best is None or best.offer() is None
        self.status = Status.NODE_LIMIT if at_limit else Status.SLOW

    @property
    def best(self) -> Plan | None:
        """The plan that has found most."""
        if self.winner is not None:
            return self.winner
        having = [plan for plan in self.plans if plan.best is not None]
        if not having:
            return None
        return min(having, key=self._rank)

    def _rank(self, plan: Plan) -> tuple[float, float]:
        found = _of(plan)
        return plan.excess(found, plan.error), found.relative

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
            self.status in (Status.UNDETERMINED, Status.NO_SOLUTION, Status.DISCONTINUOUS_DATA)
            or best.best.relative > self.bench.limits.fits
        ):
            return UNCHECKED
        return best.error


def _of(plan: Plan) -> Attempt:
    assert plan.best is not None
    return plan.best

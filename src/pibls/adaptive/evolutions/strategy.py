"""An evolution in windows as a plan: followed once, followed again in other windows, and compared."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.budget import OutOfTimeError, Progress
from pibls.adaptive.candidate import Attempt
from pibls.adaptive.evolution import jumps_in_time
from pibls.adaptive.evolutions.data_monitor import reason_to_stop
from pibls.adaptive.evolutions.time_discretizations import InMoments, Way
from pibls.adaptive.evolutions.trajectory import FULL, LATE, Demand, Followed, floor_of
from pibls.adaptive.strategy import Offer, Plan
from pibls.adaptive.thresholds import FOLLOWING, LOOP
from pibls.adaptive.validation.estimate import UNCHECKED, ErrorEstimate, Where, compare, norms_by_name
from pibls.arrays import Array, Mask
from pibls.assembly.judging import residuals_at
from pibls.assembly.points import PointSet
from pibls.basis.quasi import spread
from pibls.deadline import asked
from pibls.interruption import delivered
from pibls.linalg.threads import sensible_threads
from pibls.nonlinear import Outcome
from pibls.problem import Inside, Region
from pibls.status import Status

Layers = tuple[tuple[float, float], ...]
"""From when until when nothing is promised."""


def promised(t: Array, followed: Followed, layers: Layers) -> Mask:
    """Which times were reached, and lie in no layer."""
    low, high = sorted((followed.evolution.start, followed.until))
    keep = (t >= low) & (t <= high)
    for a, b in layers:
        sign = 1.0 if followed.evolution.forward else -1.0
        keep &= (sign * t < sign * a) | (sign * t >= sign * b)
    return np.asarray(keep)


def _every(X: Array, followed: Followed, entries: int) -> int:
    """Every which place is taken: to ask at each would take longer in a cube than to follow what is in it."""
    return 1 + len(X) * _largest(followed) // entries


def _largest(followed: Followed) -> int:
    """Functions in one box of a window: a place is in one."""
    return max(x.space.nodes // x.boxes for x in followed.windows)


def towards_ends(U: Array, more: Array, box: Array, whole: Array, axis: int) -> Array:
    """Places U in [0, 1]^d of a box, half of them ever closer to those of its sides that are sides of all.

    What a singular corner leaves in a box of n polynomials is largest within 1/n² of it: there are ``more``.
    """
    at = [(i, end) for i in range(len(box)) if i != axis for end in (0, 1) if box[i, end] == whole[i, end]]
    V = (U if len(at) < 2 else more).copy()
    for i, end in at:
        near = 10.0 ** (-2.0 * FOLLOWING.near * V[:, i])
        V[:, i] = np.where(V[:, i] < 0.5, 1.0 - near if end else near, 2.0 * V[:, i] - 1.0)
    return V


@dataclass
class WindowPlan(Plan):
    """Windows in time, each with its cells in space."""

    is_last_word = True  # what rounding leaves of an evolution, no longer window leaves less of
    way: Way = field(default_factory=InMoments)
    """How one window is solved."""
    demand: Demand | None = None
    _key: int = 0

    def offer(self) -> Offer | None:
        if (
            self.status is not None
            or self.bench.evolution is None
            or jumps_in_time(self.bench.lowered, self.bench.evolution)
        ):
            return None
        usual = self.way.seconds(self.bench)
        # It ends when its time does, with what it has until then.
        return None if usual is None else Offer(0.0, usual)

    def hear_of(self, found: Attempt | None) -> None:
        if found is not None and found.relative < self.bench.limits.fits:
            self.way.expected = found.sizes

    def advance(self) -> None:
        bench = self.bench
        if self.demand is None:
            self.demand = self.way.demand(bench)
        began = time.perf_counter()
        with sensible_threads(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            earlier = dict(self.notes)
            first = self._follow(None)
            if first is None or not first.windows or self.way.gives_up(first):
                self.status = Status.STALLED
                return
            found = self._judged(first, time.perf_counter() - began)
            known = self.best, self.error, earlier
            self.best, self.error = found, UNCHECKED
            self.tell(found, None, t=first.until, windows=len(first.windows), cells=first.cells)
            second = self._follow(first)
            if second is not None and second.windows and second.until == first.until:
                self.error = self._compared(first, found, second)
        self._conclude(first, found)
        self.keep_better(*known)

    def _compared(self, first: Followed, found: Attempt, second: Followed) -> ErrorEstimate:
        """The estimate, from when on one is promised; how it goes over time, from the start."""
        bench = self.bench
        rounding = 4.0 * bench.limits.rounding * len(first.windows)
        pair, unknowns = (found.function, second.function()), bench.lowered.unknowns
        everywhere = compare(*pair, unknowns, self._where(first), rounding=rounding)
        layers = self.notes.get("layers", ())
        if not layers:
            return everywhere
        # The first window that is resolved need not be the first that is right: the two agree a little later.
        e = first.evolution
        late = everywhere
        for factor in FOLLOWING.later:
            wider = tuple((began, began + factor * (since - began)) for began, since in layers)
            if max(abs(b - a) for a, b in wider) > self.way.layer * abs(e.stop - e.start):
                break
            self._note(wider)
            even = self._where(first, wider).even
            where = replace(self._where(first), even=even, left_out=wider)
            late = compare(*pair, unknowns, where, rounding=rounding)
            if self.excess(found, late) <= bench.tol:
                break
        return late

    def _conclude(self, first: Followed, found: Attempt) -> None:
        excess = self.excess(found, self.error)
        self.tell(found, excess, t=first.until, windows=len(first.windows), cells=first.cells)
        if first.stopped is not None:
            limits = {LATE: Status.TIME_LIMIT, FULL: Status.MEMORY_LIMIT}
            self.status = limits.get(first.stopped, Status.STOPPED)
            stopped = self.status is Status.STOPPED
            why = reason_to_stop(self.bench, first.until, first.stopped) if stopped else first.stopped
            self.notes["stopped"] = (first.until, why)
            return
        if excess <= self.bench.tol:
            self.status = Status.TOLERANCE
            return
        if "rough" in self.notes:
            self.status = Status.ROUGH
            return
        if self.way.is_exhausted:
            self.status = Status.NODE_LIMIT
            return
        assert self.demand is not None
        floor = floor_of(self.bench)
        if self.demand.tail <= floor or not math.isfinite(excess):
            self.status = Status.FLOOR
            return
        most, aim = self.way.tighter
        share = min(most, aim * self.bench.tol / excess)
        self.demand = Demand(self.demand.tail * share, self.demand.residual * share).above(self.bench)

    def _follow(self, before: Followed | None) -> Followed | None:
        bench = self.bench
        self._key += 1
        assert self.demand is not None

        until = self.budget.until(*((FOLLOWING.first, 1.0) if before is None else (1.0, LOOP.slack)))

        def check(t: float, windows: int, cells: int) -> None:
            self.budget.check(__name__, until)
            if windows > 0:
                nodes = self.way.nodes(bench) * cells
                self.budget.tell(Progress(nodes, 0.0, None, self.budget.spent, t, windows, cells))

        follower = self.way.follower(bench, self.demand, self._key, before, check)
        if follower is None:
            return None
        try:
            with asked(lambda step: self.budget.check(step, until)):
                found = follower.run() if before is None else follower.replay(before)
            if before is not None:
                return found
            self.notes.pop("rough", None)
            if follower.rough is not None:
                self.notes["rough"] = follower.rough
            self._note(tuple(follower.layers.items()))
            return found
        except OutOfTimeError:
            partial = follower.partial()
            if before is not None or partial is None:
                return None
            return replace(partial, stopped=LATE)
        except MemoryError:
            partial = follower.partial()
            if before is not None and before.stopped == FULL:
                return None
            if before is not None or partial is None:
                raise
            return replace(partial, stopped=FULL)
        except KeyboardInterrupt:
            delivered()
            partial = follower.partial()
            if before is None and partial is not None:
                self.best = self._judged(replace(partial, stopped="interrupted"), 0.0)
                self.notes["stopped"] = (partial.until, "it was interrupted there")
            raise

    def _note(self, layers: Layers) -> None:
        """When nothing is promised: after a beginning, or a switch, that does not fit."""
        for note in ("layers", "promised"):
            self.notes.pop(note, None)
        if layers:
            self.notes["layers"] = layers
        e = self.bench.evolution
        for began, since in layers:
            if e is not None and began == e.start:
                self.notes["promised"] = since

    def _judged(self, followed: Followed, seconds: float) -> Attempt:
        """The function found, judged where it exists."""
        bench, e = self.bench, followed.evolution
        space, w = followed.function()
        layers = self.notes.get("layers", ())
        points: dict[Region, PointSet] = {}
        begun = {bench.lowered.residuals[i].region for i in e.beginning}
        for region, chosen in bench.held_out.items():
            t = chosen.sites[0][:, e.axis]
            keep = promised(t, followed, layers)
            if "promised" in self.notes and region in begun:
                keep &= False
            points[region] = chosen.select(keep)
        X = self._where(followed, layers).all
        X = X[:: _every(X, followed, FOLLOWING.compared)]
        narrow = bench.narrow[promised(bench.narrow[:, e.axis], followed, layers)]
        if len(narrow):
            # However many places there are, what is narrow counts.
            X = np.concatenate([X, np.resize(narrow, (max(len(narrow), len(X) // 2), len(bench.box)))])
        points[Inside()] = PointSet.inside(X)
        half = np.median(np.abs([x.stop - x.start for x in followed.windows]))
        box = bench.box.copy()
        box[e.axis] = (0.0, half)
        judged, values = residuals_at(bench.lowered, points, space, w, box)
        residuals = norms_by_name(judged)
        outcome = Outcome(w, 0.0, followed.steps, Status.SOLVED)
        work = self.way.seconds(bench) or seconds
        self.budget.charge(self, work, seconds)
        return Attempt(space, outcome, residuals, values, seconds, work, {"windows": len(followed.windows)})

    def _where(self, followed: Followed, layers: Layers = ()) -> Where:
        """Places in every window and cell; the norm's points are those that the evolution has reached.

        Nothing in ``layers`` is among them.
        """
        e, bench = followed.evolution, self.bench
        d = len(bench.box)
        parts = []
        total = FOLLOWING.share * sum(window.space.nodes for window in followed.windows)
        # More are not made to be left out: not all are in the domain, and of a cube few are asked.
        asked_at = FOLLOWING.compared // _largest(followed)
        share = FOLLOWING.share / max(total / (4.0 * min(FOLLOWING.most, asked_at)), 1.0)
        for window in followed.windows:
            # A piece with many functions has room for an error in many places: at the root of their number
            # the largest of Gray and Scott's spots was missed, and the estimate was 0.8 of the error.
            boxes = window.space.boxes_in(bench.box)
            count = max(FOLLOWING.times, int(share * window.space.nodes / len(boxes)))
            U, more = spread(count, d, 7), spread(FOLLOWING.cornered * count, d, 7)
            for box in boxes:
                V = towards_ends(U, more, box, bench.box, e.axis) if d > 2 else U
                X = box[:, 0] + (box[:, 1] - box[:, 0]) * V
                X[:, e.axis] = window.start + (window.stop - window.start) * V[:, e.axis]
                parts.append(X)
            parts[-1][-1, e.axis] = window.stop
        X = np.concatenate(parts)
        X = X[np.asarray(bench.domain.contains(X), dtype=bool)]
        if len(X) > FOLLOWING.most:
            X = np.concatenate([X[:: len(X) // FOLLOWING.most + 1], X[-1:]])  # the end of time is among them
        X = X[:: -_every(X, followed, FOLLOWING.compared)]  # from the end of time on
        t = bench.where.even[:, e.axis]
        X = X[promised(X[:, e.axis], followed, layers)]
        return Where(X, bench.where.even[promised(t, followed, layers)], e.axis)

"""An ordinary evolution as a plan: its orbit, a second one beside it, and the difference of the two."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.budget import OutOfTimeError, Progress
from pibls.adaptive.candidate import Attempt
from pibls.adaptive.evolution import Evolution
from pibls.adaptive.evolutions.data_monitor import reason_to_stop
from pibls.adaptive.evolutions.trajectory import LATE, Demand
from pibls.adaptive.ode.companion_solution import Shadow, shadow
from pibls.adaptive.ode.initial import InitialValues, beginning_of, kicks_of
from pibls.adaptive.ode.orbit import Orbit, Path
from pibls.adaptive.ode.origin import is_free
from pibls.adaptive.strategy import Offer, Plan
from pibls.adaptive.thresholds import FOLLOWING, ORBITS
from pibls.adaptive.validation.estimate import (
    UNCHECKED,
    ErrorEstimate,
    Where,
    compare,
    norms_by_name,
    worst_of,
)
from pibls.arrays import Array
from pibls.assembly.evolutions.line import Line
from pibls.assembly.judging import residuals_at
from pibls.assembly.points import PointSet
from pibls.basis.polynomials.chebyshev import Chebyshev
from pibls.basis.polynomials.radau import Radau
from pibls.basis.quasi import spread
from pibls.interruption import delivered
from pibls.linalg.threads import sensible_threads
from pibls.nonlinear import Outcome
from pibls.nonlinear.collocation import Collocation
from pibls.problem import Inside, Region
from pibls.problem.forms.lowering import LoweredProblem
from pibls.status import Status


@dataclass(frozen=True)
class Setting:
    """What is made once: the equations, the tables and the beginning."""

    collocation: Collocation
    beginning: InitialValues


def setting_of(lowered: LoweredProblem, e: Evolution | None) -> Setting | None:
    """For an evolution of one coordinate whose equations are as many as its unknowns; else None."""
    inside = tuple(r for r in lowered.residuals if r.region.is_inside)
    equations = replace(lowered, residuals=inside)
    if e is None or lowered.dimension != 1 or len(equations.residuals) != lowered.unknowns:
        return None
    if len(equations.residuals) + len(e.beginning) != len(lowered.residuals) or lowered.interfaces.jumping:
        return None
    line = Line.of(equations, e.orders, e.start)
    beginning = beginning_of(lowered, e, line.groups)
    if beginning is None:
        return None
    points = ORBITS.points[lowered.unknowns >= ORBITS.many]
    return Setting(Collocation(line, Radau.of(points, max(e.orders))), beginning)


@dataclass
class OrbitPlan(Plan):
    """Windows in time for ordinary differential equations."""

    is_last_word = True  # what rounding leaves of an evolution, no longer window leaves less of
    asked: Demand | None = None
    _setting: Setting | None = None
    _told: int = 0
    _looked: bool = field(default=False)

    def offer(self) -> Offer | None:
        if self.status is not None:
            return None
        if not self._looked:
            self._looked = True
            self._setting = setting_of(self.bench.lowered, self.bench.evolution)
        # It is cheaper than anything else that could be tried.
        return None if self._setting is None else Offer(0.0, -1.0)

    def advance(self) -> None:
        bench = self.bench
        if self.asked is None:
            tail, residual = bench.limits.orbit_tail * bench.tol, bench.limits.window_residual * bench.tol
            self.asked = Demand(tail, residual).above(bench)
        began = time.perf_counter()
        with sensible_threads(1), np.errstate(all="ignore"):
            path = self._follow()
            if path is None or not path.steps:
                self.status = Status.STALLED
                return
            found = self._judged(path, time.perf_counter() - began)
            known = self.best, self.error, dict(self.notes)
            self.best, self.error = found, UNCHECKED
            self._tell(path, found, None)
            assert self._setting is not None
            if is_free(path, self._setting.collocation):
                self.status = Status.UNDETERMINED
                return
            second = self._second(path)
            if second is not None:
                where = self._where(path, second.until)
                error = compare(found.function, second.function, bench.lowered.unknowns, where)
                self.error = _with_rounding(error, second)
                if second.until != path.until:
                    self.error = _parted(self.error, found.sizes, (second.until, path.until))
            if self.excess(found, self.error) > bench.limits.fits:
                self.error = _doubtful(self.error, found.sizes, bench.limits.fits, path.until)
        self._conclude(path, found)
        self.keep_better(*known)

    def _conclude(self, path: Path, found: Attempt) -> None:
        excess = self.excess(found, self.error)
        self._tell(path, found, excess)
        if path.stopped is not None:
            late = path.stopped == LATE
            why = path.stopped if late else reason_to_stop(self.bench, path.until, path.stopped)
            self.notes["stopped"] = (path.until, why)
            self.status = Status.TIME_LIMIT if late else Status.STOPPED
            return
        if excess <= self.bench.tol:
            self.status = Status.TOLERANCE
            return
        assert self.asked is not None
        if self.asked.tail <= self.bench.limits.window_floor[0] or not math.isfinite(excess):
            self.status = Status.FLOOR
            return
        share = 0.1 * min(1.0, self.bench.tol / excess)
        self.asked = Demand(self.asked.tail * share, self.asked.residual * share).above(self.bench)

    def _tell(self, path: Path, found: Attempt, excess: float | None) -> None:
        self.tell(found, excess, t=path.until, windows=len(path.steps), cells=1)

    def _follow(self) -> Path | None:
        assert self._setting is not None
        assert self.asked is not None
        self._told = 0
        bench, collocation = self.bench, self._setting.collocation
        e = bench.evolution
        assert e is not None
        kicks = kicks_of(bench.lowered, e, collocation.line)
        watched = bench.narrow[:, 0]
        orbit = Orbit(e, collocation, self._setting.beginning, self.asked, self._check, watched, kicks)
        try:
            return orbit.run()
        except OutOfTimeError:
            return orbit.partial(LATE)
        except KeyboardInterrupt:
            delivered()
            partial = orbit.partial("it was interrupted there")
            if partial is not None:
                self.best = self._judged(partial, 0.0)
                self.notes["stopped"] = (partial.until, partial.stopped)
            raise

    def _check(self, t: float, windows: int) -> None:
        self.budget.check()
        if windows >= self._told + ORBITS.every:
            self._told = windows
            assert self._setting is not None
            nodes = self._setting.collocation.radau.size * windows
            self.budget.tell(Progress(nodes, 0.0, None, self.budget.spent, t, windows, 1))

    def _second(self, path: Path) -> Shadow | None:
        assert self._setting is not None
        if path.stopped == LATE:
            return None
        switched = {level for _, level in self.bench.lowered.interfaces.planes}
        return shadow(path, self._setting.collocation, switched)

    def _judged(self, path: Path, seconds: float) -> Attempt:
        """The function found, judged where it exists."""
        bench = self.bench
        space, w = path.function()
        low, high = space.edges[0], space.edges[-1]
        points: dict[Region, PointSet] = {}
        for region, chosen in bench.held_out.items():
            t = chosen.sites[0][:, 0]
            keep = (t >= low) & (t <= high)
            points[region] = chosen.select(keep)
        X = np.concatenate([self._where(path).all, *(p.sites[0] for r, p in points.items() if r.is_inside)])
        # At a switch itself the equation is that of one side, and the function may be that of the other.
        switched = np.array([level for _, level in bench.lowered.interfaces.planes])
        X = X[(np.abs(X - switched) > 1e-14 * (high - low)).all(axis=1)]
        points[Inside()] = PointSet((X,), np.zeros_like(X))
        half = float(np.median(np.diff(space.edges)))
        judged, values = residuals_at(bench.lowered, points, space, w, np.array([[0.0, half]]))
        residuals = norms_by_name(judged)
        assert self._setting is not None
        settings = {"basis": Chebyshev(self._setting.collocation.radau.size), "windows": len(path.steps)}
        outcome = Outcome(w, 0.0, path.effort, Status.SOLVED)
        work = ORBITS.work * path.effort
        self.budget.charge(self, work, seconds)
        return Attempt(space, outcome, residuals, values, seconds, work, settings)

    def _where(self, path: Path, until: float | None = None) -> Where:
        """Places in every window; the norm's points are those that the evolution has reached (both have)."""
        edges = path.edges
        U = spread(max(FOLLOWING.times, ORBITS.places // (len(edges) - 1)), 1, 7)[:, 0].copy()
        U[-1] = 1.0
        X = (edges[:-1, None] + np.diff(edges)[:, None] * U).reshape(-1, 1)
        if len(X) > FOLLOWING.most:
            X = X[:: len(X) // FOLLOWING.most + 1]
        low, high = min(edges[0], edges[-1]), max(edges[0], edges[-1])
        X = np.clip(X, low, high)
        if until is not None:
            low, high = min(edges[0], until), max(edges[0], until)
        X, even = (A[(A[:, 0] >= low) & (A[:, 0] <= high)] for A in (X, self.bench.where.even))
        return Where(X, even, 0)


def _with_rounding(error: ErrorEstimate, second: Shadow) -> ErrorEstimate:
    """What rounding alone makes of both orbits is added: they may be off alike by chance."""
    by = ORBITS.deviations
    each = [
        e.with_history(
            zip((t for t, _ in e.history), _added(e.history, second.t, by * r), strict=True),
            l2=e.l2 + by * float(np.sqrt(np.mean(r**2))),
        )
        for e, r in zip(error.each, second.rounding, strict=True)
    ]
    return replace(worst_of(each), pair=error.pair)


def _added(history: tuple[tuple[float, float], ...], t: Array, more: Array) -> list[float]:
    """Errors over time with the largest of ``more``, given at times t, in the stretches beside each time."""
    times, errors = np.array(history).T
    order = np.argsort(t)
    out = errors + np.interp(times, t[order], more[order])
    # An end of a window between two times counts for both.
    place = np.searchsorted(times, t)
    for k in (np.maximum(place - 1, 0), np.minimum(place, len(times) - 1)):
        np.maximum.at(out, k, errors[k] + more)
    return [float(e) for e in out]


def _doubtful(error: ErrorEstimate, sizes: Array, fits: float, until: float) -> ErrorEstimate:
    """Where no digit is left two orbits may agree by chance: both may be as far off as they are large.

    That holds from the first time on at which the error of an unknown exceeds ``fits`` of its size.
    """
    if not error.each:
        return error
    lost = [t for e, size in zip(error.each, sizes, strict=True) for t, d in e.history if d > fits * size]
    since = min(lost, key=lambda t: -abs(t - until), default=until)
    each = [
        e.with_history(
            (t, max(d, 2.0 * float(size)) if abs(t - until) <= abs(since - until) else d)
            for t, d in e.history
        )
        for e, size in zip(error.each, sizes, strict=True)
    ]
    return replace(worst_of(each), pair=error.pair)


def _parted(error: ErrorEstimate, sizes: Array, times: tuple[float, ...]) -> ErrorEstimate:
    """Nothing is known at some times, from where two orbits have parted on."""
    each = []
    for e, size in zip(error.each, sizes, strict=True):
        most = max(e.max, 2.0 * float(size))
        each.append(e.with_history(sorted((*e.history, *((t, most) for t in times))), l2=most))
    return replace(worst_of(each), pair=error.pair)

r"""N → 2N until κ|u - ũ| ≤ tol·max|u|: the automatic choice of everything.

The width is doubled, the scale follows from the width (`scale`), and held-out points decide. Before a
second, independent solution is paid for, its outcome is predicted: the last change of the solution,
times the fall of the held-out residual that came with it. Where doubling gains little, other families
of functions are tried at the same width (other scales per coordinate, ridge functions), and the one
that the held-out points prefer goes on: waves that lean towards a coordinate, ridge functions over the
whole domain, or waves joined by ridges that are centred where the residual is large.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pibls.basis import BasisSpec
from pibls.search.attempt import Attempt, Bench, attempt, left_over, where_large
from pibls.search.estimate import OTHER_SCALE, SAFETY, ErrorEstimate, compare
from pibls.search.family import BroadFamily, CellFamily, Family, LocalFamily, RidgeFamily, WaveFamily
from pibls.search.march import is_evolution, march
from pibls.solver import Method
from pibls.status import Status
from pibls.system.points import Points

_FIRST = {1: 32, 2: 128, 3: 256}
_FLAT = 0.5  # a doubling that does not halve the residual gains nothing …
_SMALL = 1e-9  # … and below this relative residual that means rounding
_AT_ONCE = 0.03  # relative residual, in units of tol, at which the first width is confirmed at once
_SLOW = 0.15  # a doubling that gains less than this factor asks for another family
_SMALL_ENOUGH = 1e-6  # relative residual at which the equations hold …
_FALLING, _FITS = 0.3, 0.1  # … or a larger one that still falls
_LARGE = 2e-2  # relative residual that is no solution
_SAME = 1e-3  # two solutions that differ more than this, relatively, are different functions
_POOR, _NOTHING = 1e-3, 0.1  # residual and estimated error that at the last width are no solution
_SOFT = 1e-7  # stiffness below which some function costs nothing
_FIRM = 1e-3  # stiffness above which the first width may already be the last
_MOVES = 6
_GAIN, _CLEAR_GAIN = 0.7, 0.2
_DIVIDE = 2.0  # many columns in cells cost far less than in one piece: cells may be this much worse
_REACH = (10.0, 30.0)  # the steepest ridges that are added, relative to the size of the domain
_PLACES = 300
_ENOUGH = 300  # nodes below which the limit, and not the problem, is to blame
_ADRIFT_FROM = 1000  # columns from which three different functions in a row are no solution
_GIVE_UP = 2000  # columns before which nothing is called unsolvable: to try costs little
# Columns from which the domain may be divided into cells; on a line waves soon resolve anything.
_CELLS_FROM = {2: 512, 3: 1024}
_FOLLOWED = 1200  # columns up to which an evolution on a line is followed from its start
_SEARCHED = 600  # columns up to which other families are tried: beyond that it takes too long


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each attempt."""

    nodes: int
    residual: float
    """Held-out residual, relative."""
    error: float | None
    """Estimated maximum error relative to max|u|, once there is an estimate."""
    seconds: float


@dataclass
class Search:
    """The state of an automatic solve; ``best`` is what was found so far at any moment."""

    bench: Bench
    tol: float
    max_nodes: int
    time_limit: float | None
    points: Points | None
    method: Method | None
    callback: Callable[[Progress], object] | None
    began: float
    best: Attempt | None = None
    error: ErrorEstimate = field(default=ErrorEstimate(math.inf, math.inf))
    status: Status = Status.NODE_LIMIT
    history: list[Progress] = field(default_factory=list)
    _key: int = 0
    _seconds: float = 0.0
    """How long the attempt before the last took."""
    _ridges_tried: bool = False
    _confirmed: Attempt | None = None

    def run(self) -> None:
        """Search; an interruption ends it with the best so far, if there is one."""
        try:
            self._grow()
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.status = Status.INTERRUPTED
        self._admit()

    def _grow(self) -> None:
        """Widen until the tolerance is met or nothing more is to be gained."""
        d = self.bench.lowered.dimension
        family: Family = WaveFamily.isotropic(d)
        last, slow, adrift = None, 0, 0
        for nodes in self._widths(d):
            if last is not None and self._out_of_time(last):
                self.status = Status.TIME_LIMIT
                break
            if isinstance(family, LocalFamily) and last is not None:
                family = family.around(self._places(last))
            now = self._try(family.spec(nodes), last)
            if last is not None and self._is_slow(now, last):
                now = self._followed(family.spec(nodes), now)
            if last is not None and self._is_slow(now, last):
                family, now = self._other_family(family, now, nodes)
                slow = slow + 1 if now.relative > _FLAT * last.relative else 0
            self._accept(now, last)
            if self._finished(now, last, family, nodes):
                break
            adrift = adrift + 1 if self._is_adrift(now, last) else 0
            if adrift >= 2 and nodes * self.bench.lowered.unknowns >= _ADRIFT_FROM:
                self.status = Status.NO_SOLUTION
                break
            if slow >= 3 and now.relative > _LARGE and nodes * self.bench.lowered.unknowns >= _GIVE_UP:
                self.status = Status.NO_SOLUTION
                break
            last = now
        else:
            self._at_the_limit(last, family)
            if adrift >= 2 and not self.status.converged:
                self.status = Status.NO_SOLUTION

    def _admit(self) -> None:
        """Where the equations do not hold, no comparison of two such functions bounds the error."""
        if self.best is None or self.status.converged:
            return
        if self.best.relative > _LARGE or self.status in (Status.UNDETERMINED, Status.NO_SOLUTION):
            self.error = ErrorEstimate(math.inf, math.inf)
        # An estimate as large as the solution says that nothing was found, however small the residual:
        # next to a blow-up the terms of the equation are so large that any residual looks small.
        share = _NOTHING if self.best.relative > _POOR else 1.0
        unsolved = self.error.max > share * self.best.size
        if self.status is Status.NODE_LIMIT and unsolved and self.best.spec.size >= _ENOUGH:
            self.status = Status.NO_SOLUTION

    def _widths(self, d: int) -> Iterator[int]:
        most = max(self.max_nodes // self.bench.lowered.unknowns // 2 * 2, 2)  # waves come in pairs
        nodes = min(_FIRST.get(d, 512), most)
        while nodes < most:
            yield nodes
            nodes *= 2
        yield most

    def _try(self, spec: BasisSpec, start: Attempt | None, *, probe: bool = False) -> Attempt:
        self._key += 1
        now = attempt(self.bench, spec, self.points, self.method, self._key, start, probe=probe)
        self._report(now, None)
        return now

    @cached_property
    def _is_evolution(self) -> bool:
        """Whether this is a nonlinear evolution that may be followed from its start."""
        lowered = self.bench.lowered
        return self.method is None and not lowered.is_linear and is_evolution(lowered, self.bench.domain)

    def _followed(self, spec: BasisSpec, now: Attempt) -> Attempt:
        """Of a nonlinear evolution that was not found at once, the solution followed from its start."""
        lowered = self.bench.lowered
        small = spec.size * lowered.unknowns <= (_FOLLOWED if lowered.dimension == 1 else _SEARCHED)
        if not (small and self._is_evolution and now.relative > _POOR):
            return now
        self._key += 1
        found = march(self.bench, spec, self._key, self._out_of_time_now)
        if found is None or not found.relative < _GAIN * now.relative:
            return now
        self._report(found, None)
        return found

    def _report(self, now: Attempt, error: float | None) -> None:
        seconds = time.perf_counter() - self.began
        self.history.append(Progress(now.spec.size, now.relative, error, seconds))
        if self.callback is not None:
            self.callback(self.history[-1])

    def _accept(self, now: Attempt, last: Attempt | None) -> None:
        """Keep the better one; until a second solution is there, the last change is the estimate."""
        if self.best is None or last is None or now.relative < self.best.relative:
            other, self.best = last, now
        else:
            other = now
        if other is not None:
            self.error = compare(self.best.values, other.values)

    def _is_slow(self, now: Attempt, last: Attempt) -> bool:
        return now.relative > max(_SLOW * last.relative, 1e-7)

    def _is_adrift(self, now: Attempt, last: Attempt | None) -> bool:
        """Small residuals, and another function each time: next to a blow-up any residual looks small."""
        if last is None or self.bench.lowered.is_linear:
            return False
        if not _NOTHING * last.relative < now.relative < _LARGE:
            return False
        return compare(now.values, last.values).max > SAFETY * _NOTHING * now.size

    def _finished(self, now: Attempt, last: Attempt | None, family: Family, nodes: int) -> bool:
        """Whether an independent second solution confirms that this is the end."""
        flat = last is not None and _SMALL > now.relative > _FLAT * last.relative
        if not flat and not self._promising(now, last):
            return False
        second = self._try(family.spec(nodes, OTHER_SCALE), now, probe=True)
        self._confirm(now, second)
        if self._undetermined(now, second):
            self.status = self._why_undetermined(now)
            return True
        if last is None and second.stiffness < _FIRM:
            return False
        if self.error.max <= self.tol * now.size:
            self.status = Status.TOLERANCE
            return True
        if flat:
            self.status = Status.FLOOR
        return flat

    def _promising(self, now: Attempt, last: Attempt | None) -> bool:
        """Whether a second solution is likely to agree within the tolerance."""
        if last is None:
            # Zero fits every problem without data, also those with other solutions: look twice.
            return now.size > 0 and now.relative < min(_AT_ONCE * self.tol, _SMALL)
        # Two solutions that agree prove nothing while the equations do not hold: a local minimum.
        enough = max(_SMALL_ENOUGH, min(10.0 * self.tol, _FITS / 10.0))
        if not (now.relative < enough or now.relative < min(_FALLING * last.relative, _FITS)):
            return False
        change = compare(now.values, last.values).max
        fall = min(1.0, now.relative / last.relative if last.relative > 0 else 1.0)
        return change * fall <= self.tol * now.size

    def _confirm(self, now: Attempt, second: Attempt) -> None:
        self.error = compare(now.values, second.values)
        self._confirmed = now
        self.best = now if now.relative <= 2.0 * second.relative else second
        self._report(self.best, self.error.max / now.size if now.size else 0.0)

    def _undetermined(self, now: Attempt, second: Attempt) -> bool:
        """Whether the equations hold, but for more than one function."""
        if max(now.relative, second.relative) > _SMALL:
            return False
        lowered = self.bench.lowered
        order = max(sum(j.alpha) for r in lowered.residuals for j in (*r.linear, *r.nonlinear))
        # Rows are scaled by the fastest function, so that the slow ones weigh less as the basis grows.
        usual = min(1.0, 128.0 * lowered.dimension / now.spec.size) ** order
        different = self.error.max > SAFETY * _SAME * now.size
        return different or second.stiffness < _SOFT * usual

    def _why_undetermined(self, now: Attempt) -> Status:
        """Too many solutions, or none: contradictory data are met only by a solution that runs away."""
        return Status.NO_SOLUTION if left_over(self.bench, now) > _FITS else Status.UNDETERMINED

    def _at_the_limit(self, last: Attempt | None, family: Family) -> None:
        if last is None or last is self._confirmed or self._out_of_time(last):
            return
        second = self._try(family.spec(last.spec.size, OTHER_SCALE), last, probe=True)
        self._confirm(last, second)
        if self._undetermined(last, second):
            self.status = self._why_undetermined(last)
        elif self.error.max <= self.tol * last.size and last.relative < _FITS:
            self.status = Status.TOLERANCE

    def _out_of_time(self, last: Attempt) -> bool:
        if self.time_limit is None:
            return False
        # Twice the columns and rows are up to eight times the work; as much more as the last step took.
        growth = min(max(last.seconds / self._seconds, 2.0), 8.0) if self._seconds else 2.0
        self._seconds = last.seconds
        return time.perf_counter() - self.began + growth * last.seconds > self.time_limit

    def _other_family(self, family: Family, now: Attempt, nodes: int) -> tuple[Family, Attempt]:
        """The family that the held-out points prefer at this width."""
        d = self.bench.lowered.dimension
        small = nodes * self.bench.lowered.unknowns <= _SEARCHED
        candidates = family.neighbours() if small or isinstance(family, CellFamily) else []
        if not isinstance(family, CellFamily) and nodes >= _CELLS_FROM.get(d, math.inf):
            candidates += [CellFamily((c,) * d) for c in (2, 4)]
        if small and isinstance(family, WaveFamily):
            if not self._ridges_tried:
                candidates += [RidgeFamily(kind, d) for kind in ("tanh", "gaussian")] + [BroadFamily(d)]
                self._ridges_tried = True
            places = self._places(now)
            candidates += [LocalFamily(d, reach, places) for reach in _REACH]
        for _ in range(_MOVES):
            found = []
            for other in candidates:
                if self._out_of_time_now():
                    break
                found.append((other, self._try(other.spec(nodes), now)))
            if not found:
                break
            chosen, result = min(found, key=lambda pair: pair[1].relative)
            # On a line waves soon resolve anything, and then converge faster than ridges: another kind
            # must be clearly better.
            gain = _CLEAR_GAIN if d == 1 and type(chosen) is not type(family) else _GAIN
            if isinstance(chosen, CellFamily) and not small and type(chosen) is not type(family):
                gain = _DIVIDE
            if not result.relative < gain * now.relative:
                break
            # Go on in the direction that helped, while it helps.
            candidates = chosen.further(family)
            family, now = chosen, result
        return family, now

    def _places(self, found: Attempt) -> tuple[tuple[float, ...], ...]:
        return where_large(self.bench, found, _PLACES, self._key)

    def _out_of_time_now(self) -> bool:
        return self.time_limit is not None and time.perf_counter() - self.began > 0.5 * self.time_limit

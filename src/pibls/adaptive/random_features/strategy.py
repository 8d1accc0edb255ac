r"""N → 2N until κ|u - ũ| ≤ tol·max|u|: one basis of waves over the whole domain.

The width is doubled, the scale follows from the width (`basis.scale`), and held-out points decide. Before a
second, independent solution is paid for, its outcome is predicted: the last change of the solution,
times the fall of the held-out residual that came with it. Where doubling gains little, waves that lean
towards a coordinate are tried at the same width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.candidate import NEWTON, Attempt, attempt, misfits
from pibls.adaptive.random_features.coupled import coupled
from pibls.adaptive.random_features.family import WaveFamily
from pibls.adaptive.singular.enrich import Enrichment
from pibls.adaptive.strategy import Offer, Plan
from pibls.adaptive.subdomains.family import PieceFamily
from pibls.adaptive.thresholds import WAVES
from pibls.adaptive.validation.agreement import are_the_same, compared
from pibls.adaptive.validation.conditioning import left_over
from pibls.adaptive.validation.estimate import at_least, compare, estimated
from pibls.adaptive.work import dense
from pibls.analysis.coverage import bare, unbegun
from pibls.assembly.points import Points
from pibls.basis.scale import scale_for
from pibls.nonlinear import GaussNewton, Method
from pibls.spaces import Choice, Space
from pibls.status import Status


@dataclass
class WavePlan(Plan):
    """One basis of waves, ever wider."""

    points: Points | None = None
    method: Method | None = None
    newton: GaussNewton = NEWTON
    guess: Space | None = None
    family: WaveFamily | PieceFamily = field(default_factory=lambda: WaveFamily((1.0,)))
    last: Attempt | None = None
    now: Attempt | None = None
    extra: Enrichment = field(default_factory=Enrichment)
    """Functions beside the waves."""
    _earlier: Attempt | None = None
    """The attempt before the last."""
    _key: int = 0
    _course: list[tuple[int, float]] = field(default_factory=list, repr=False)
    """Width and residual of each attempt."""
    _tried: int = 0
    """Widths that were tried."""
    _same: int = 0
    """Doublings that changed nothing."""
    _compared_one: Attempt | None = None
    """The attempt that the estimate is of."""

    def __post_init__(self) -> None:
        self.family = self.bench.family

    @property
    def _most(self) -> int:
        most = self.budget.max_nodes // self.bench.lowered.unknowns - self._added(self._tried)
        return most // 2 * 2  # waves come in pairs

    def _added(self, tried: int) -> int:
        """Functions beside the waves after so many widths."""
        return self.extra.at(tried).size if self.extra else 0

    @property
    def _next(self) -> int | None:
        """The next width, if there is one."""
        first = WAVES.first.get(self.bench.lowered.dimension, 512)
        if self.extra and not self.extra.around and not self._is_algebraic:
            first //= 2  # what is singular is not theirs to resolve
        if self.bench.tol >= self.bench.limits.loose and self.bench.lowered.dimension > 1:
            first = 7 * first // 8  # a loose tolerance is met by fewer functions
        if self.bench.pieced is not None:
            blocks = self.bench.pieced.blocks
            first = int(min(first * blocks, max(WAVES.together, WAVES.each * blocks)))
        if self._most < 2:
            return None
        if self.now is None:
            return self._within(min(first, self._most), 0)
        width = self._width(self.now)
        return None if width >= self._most else self._within(min(self._wider(width), self._most), width)

    def _within(self, width: int, last: int) -> int | None:
        """That width, or the largest that fits below max_nodes with what pieces bring beside their waves."""
        if self.bench.pieced is None:
            return width
        extra = self.extra.at(self._tried) if self.extra else self.extra
        while width > last:
            if self._spec(self.family, width, 1.0, extra).size * self._unknowns <= self.budget.max_nodes:
                return width
            width -= max(width // 8 // 2 * 2, 2)
        return None

    @property
    def _unknowns(self) -> int:
        return self.bench.lowered.unknowns

    @property
    def least_nodes(self) -> int:
        """Columns of the smallest system that there is."""
        return self._spec(self.family, 2, 1.0, self.extra).size * self._unknowns

    def _wider(self, width: int) -> int:
        """Twice as wide; where that is expensive, as wide as the digits that are missing ask for.

        Digits grow about as the width does: 2000 waves leave 3e-8 in a cube, 4000 leave 1e-13.
        """
        assert self.now is not None
        digits = -math.log10(max(self.now.relative, 1e-300))
        limits, tol = self.bench.limits, self.bench.tol
        # At the limits of rounding more functions are worth more than their digits say.
        cheap = limits.searched if tol < limits.dense_below else WAVES.cheap if tol < limits.loose else 0
        if width * self.bench.lowered.unknowns < cheap or digits < WAVES.sure or self._is_algebraic:
            return 2 * width
        wanted = WAVES.spare - math.log10(self.bench.tol)
        return int(width * min(max(wanted / digits, WAVES.least_growth), 2.0)) // 2 * 2

    def _growth(self, factor: float) -> float:
        """Work of an attempt that many times wider over that of the last."""
        assert self.now is not None
        size: int = self.now.settings["basis"].size
        wider = max(factor, 1.0) * self._width(self.now) + self._added(self._tried)
        return float(WAVES.growth ** math.log2(max(wider / size, 1.0)))

    def _width(self, found: Attempt) -> int:
        spec = found.settings["basis"]
        waves = getattr(spec, "waves", None)
        if waves is not None:
            return int(waves)
        parts = getattr(spec, "parts", ()) if self.extra else ()
        if parts:
            return int(parts[0].size)
        # Functions of all unknowns together are fewer in a second solution, so they are counted there.
        fields = sum(f.size for f in getattr(spec, "fields", ()))
        return int(spec.size - fields - (self.extra.size - sum(f.size for f in self.extra.fields)))

    def offer(self) -> Offer | None:
        if self.status is not None or self._next is None:
            return None
        if self.now is None:
            columns = self.bench.lowered.unknowns * (self._added(0) + self._next)
            work = dense(columns, 1) if self.extra else 0.0
            return Offer(work, max(work, WAVES.long) if self._is_algebraic else work)
        work = self._growth(self._next / self._width(self.now)) * self.now.work
        cheap = self.bench.lowered.dimension == 1 and self._width(self.now) < WAVES.cheap
        if (not self._doubled or cheap) and (self.bench.evolution is None or self.now.relative < 0.1):
            return Offer(work, work)  # less than a doubling tells nothing about the rate
        needed = math.log10(max(self.now.relative, 1e-300) / (0.1 * self.bench.tol))
        rate = self._rate
        if needed <= 0:
            return Offer(work, work)
        if self._is_spectral:
            # Digits in proportion to the width.
            factor = (WAVES.spare - math.log10(self.bench.tol)) / -math.log10(self.now.relative)
            if factor * self._width(self.now) <= self._most:
                return Offer(work, max(work, self._growth(factor) * self.now.work))
        if self._is_algebraic:
            return Offer(work, max(WAVES.long, WAVES.hope * work))
        if self._tried < WAVES.widths and (self.extra.around or (self.extra.fields and self.extra.strong)):
            # Around holes, and at corners of systems, what is smooth is left to few waves, and nothing is
            # seen of it until they suffice.
            return Offer(work, WAVES.hope * work)
        if rate <= 0.3 or not math.isfinite(needed):
            return Offer(work, math.inf)
        steps = math.ceil(needed / rate)
        if self._width(self.now) * 2 ** (steps - 1) > self._most:
            return Offer(work, math.inf)
        return Offer(work, sum(self.now.work * self._growth(2.0**i) for i in range(1, steps + 1)))

    @property
    def _doubled(self) -> bool:
        """Whether the last attempt is twice as wide as the first, up to what rounding to pairs takes away."""
        return len(self._course) > 1 and self._course[-1][0] >= 2 * self._course[0][0] - 4

    @property
    def _rate(self) -> float:
        """Digits that a doubling of the width gains, since the last attempt that was at most half as wide.

        A step of 1.3 is no measure: in a ball with Robin conditions widths of 224, 290 and 376 leave 1.9e-5,
        5.0e-7 and 5.7e-7, and 488 are enough for 1e-6.
        """
        *before, (width, left) = self._course
        halved = [pair for pair in before if 2 * pair[0] <= width + 4] or before[:1]
        if not halved:
            return 0.0
        first, had = halved[-1]
        return math.log10(max(had, 1e-300) / max(left, 1e-300)) / max(math.log2(width / first), 0.5)

    @property
    def _is_spectral(self) -> bool:
        """Whether digits have come in proportion to the width, or faster."""
        if self.last is None or self.now is None:
            return False
        before, after = (-math.log10(max(a.relative, 1e-300)) for a in (self.last, self.now))
        return before > WAVES.begun and after / before > 0.9 * self._width(self.now) / self._width(self.last)

    @property
    def _is_algebraic(self) -> bool:
        """Whether corners of a nonlinear system leave more to waves than the powers that were added."""
        return bool(self.extra.fields) and self.extra.strong and not self.bench.lowered.is_linear

    def advance(self) -> None:
        nodes = self._next
        assert nodes is not None
        nearly = self.is_within_reach
        self._tried += 1
        now = self._attempt(self.family, nodes, self.now)
        if self._tried <= WAVES.choosing:
            now = self._other_share(now, nodes)
        limits = self.bench.limits
        if self.now is not None and now.relative > max(self._left(limits.slow, now, self.now), 1e-7):
            now = self._other_stretch(now, nodes)
        self._earlier, self.last, self.now = self.last, self.now, now
        self.marks.append(now.relative)
        self._course.append((self._width(now), now.relative))
        if self.best is None or now.relative < self.best.relative:
            self.best = now
        self._judge(ending=nearly)

    def _is_flat(self, now: Attempt, last: Attempt) -> bool:
        """Whether more functions gain nothing, so close to a solution that what is left is rounding."""
        limits = self.bench.limits
        return limits.small > now.relative > self._left(limits.flat, now, last)

    def _left(self, share: float, now: Attempt, last: Attempt) -> float:
        """What would be left of the last residual if a doubling left that share of it."""
        return float(share ** math.log2(self._width(now) / self._width(last)) * last.relative)

    def _attempt(
        self,
        family: WaveFamily | PieceFamily,
        nodes: int,
        start: Attempt | None,
        shrink: float = 1.0,
        *,
        probe: bool = False,
        judged: bool = True,
    ) -> Attempt:
        self._key += 1
        extra = self.extra.at(self._tried - 1) if self.extra else self.extra
        spec = self._spec(family, nodes, shrink, extra)
        bench = replace(self.bench, extra=extra) if self.extra else self.bench
        found = attempt(
            bench, spec, self.points, self.method, self._key, start, self.guess, probe=probe, judged=judged,
            quickly=self.bench.evolution is not None, newton=self.newton,
        )  # fmt: skip
        self.budget.charge(self, found.work, found.seconds)
        if judged:
            self.tell(found)
        return found

    def _other_share(self, now: Attempt, nodes: int) -> Attempt:
        """The share of functions of few coordinates that the held-out points prefer, in many dimensions."""
        d = self.bench.lowered.dimension
        some = coupled(self.bench.lowered, self.bench.domain, self.bench.box) if d > 3 else ()
        for other in self.family.others(some):
            if now.relative < self.bench.tol or not self.affords(now.work):
                break
            found = self._attempt(other, nodes, now)
            if found.relative < self.bench.limits.gain * now.relative:
                self.family, now = other, found
        return now

    def _spec(self, family: WaveFamily | PieceFamily, nodes: int, shrink: float, extra: Enrichment) -> Choice:
        """Waves, and what is added to them."""
        spec = family.spec(nodes, shrink)
        if self.bench.pieced is not None:
            return self.bench.pieced.joined(spec, shrink, extra)
        return extra.joined(spec, shrink)

    def _other_stretch(self, now: Attempt, nodes: int) -> Attempt:
        """The stretch that the held-out points prefer at this width."""
        columns = (nodes + self._added(self._tried - 1)) * self.bench.lowered.unknowns
        if columns > self.bench.limits.searched:
            return now
        candidates = self.family.neighbours()
        for _ in range(WAVES.moves):
            if not candidates or not self.affords(len(candidates) * now.work):
                break
            found = [(other, self._attempt(other, nodes, now)) for other in candidates]
            chosen, result = min(found, key=lambda pair: pair[1].relative)
            if not result.relative < self.bench.limits.gain * now.relative:
                break
            # Go on in the direction that helped, while it helps.
            candidates = chosen.further(self.family.stretch)
            self.family, now = chosen, result
        return now

    def settle(self) -> None:
        if self.now is not None and self.now is self.best and self._compared_one is not self.best:
            self._judge(ending=True)
        self.conclude()

    def conclude(self) -> None:
        """As long as attempts gain, the last that did changed more than it left."""
        best, limits = self.best, self.bench.limits
        if best is None or self._compared_one is best or best.relative > limits.fits:
            return
        before = [a for a in self.seen if best.relative < limits.slow * a.relative]
        if before:
            last = min(before, key=lambda a: a.relative)
            error = compare(best.function, last.function, self.bench.lowered.unknowns, self.bench.where)
            error = at_least(error, misfits(self.bench, best.residuals), self.bench.rounding(best.sizes))
            self.error, self._compared_one = min(self.error, error, key=lambda e: e.max), best

    def _judge(self, ending: bool = False) -> None:
        """Whether an independent second solution confirms that this is the end."""
        now, last, limits = self.now, self.last, self.bench.limits
        assert now is not None
        flat = last is not None and self._is_flat(now, last)
        at_limit = self._next is None or ending
        if self._contradictory(now, last):
            self.status = Status.NO_SOLUTION
            return
        if self._wanders(now):
            self.status = Status.UNDETERMINED
            return
        stale = self._is_stale(now, last)
        # Beside corners of systems residuals stop to fall before the solution does.
        settled = last is not None and self._left(limits.flat, now, last) < now.relative < limits.holds
        enough = stale or (settled and bool(self.extra.fields))
        if not (at_limit or stale or self._shows_ripples(now)):
            return
        if not (flat or at_limit or enough or self._promising(now, last)):
            return
        other, fall = last, 1.0 if last is None else min(1.0, now.relative / max(last.relative, 1e-300))
        if stale and self.best is not None:
            other, fall = (now if self.best is not now else last), 1.0
            if self.best is last and self._earlier is not None and self.extra.fields:
                # With the functions of its junctions a narrower one says more than a wider one that is worse.
                other, fall = self._earlier, min(1.0, self.best.relative / self._earlier.relative)
            now, flat = self.best, flat or self.best.relative < limits.holds
        if not self.affords(now.work):
            return
        # Where the first one holds to a loose tolerance, nothing is asked of how well the second one does.
        judged = not limits.small < now.relative < self.bench.tol or self.bench.tol < limits.loose
        second = self._attempt(
            self.family, self._width(now), now, limits.other_scale, probe=True, judged=judged
        )
        error = compared(self.bench, now, second, chosen=last is not None or judged or bool(self.extra))
        if self.bench.pieced is not None and other is not None:
            # What a corner of an interface leaves is the same in both; another width shows it.
            change = compare(
                now.function, other.function, len(error.each), self.bench.where, limits.safety * fall
            )
            error = max(error, change, key=lambda e: e.max)
        self._note_rounding(second)
        error = at_least(error, misfits(self.bench, now.residuals), self.bench.rounding(now.sizes))
        before, narrower = self.error, self._compared_one
        self.error = error
        self.best = self._compared_one = now if now.relative <= 2.0 * second.relative else second
        self.tell(self.best, self.excess(self.best, error))
        if self._undetermined(now, second):
            # Where a side or a rate is bare, what runs away is held by nothing there: nothing contradicts it.
            every = [(r.region, r.jets) for r in self.bench.lowered.residuals]
            told = [region for region, _ in every if not region.is_inside]
            runaway = left_over(self.bench, *now.function, now.residuals) > limits.fits
            closed = runaway and not bare(self.bench.domain, told) and not unbegun(self.bench.domain, every)
            self.status = Status.NO_SOLUTION if closed else Status.UNDETERMINED
        elif last is None and second.probed.stiffness < 1e-3 and not at_limit:
            return  # the first width: look twice
        elif self.meets(self.best, error) and now.relative < limits.fits:
            self.status = Status.TOLERANCE
            if narrower is not None and before.max < error.max and narrower.relative < self.best.relative:
                # Wider, rounding of high derivatives is more: what was looked at twice stands.
                self.error, self.best, self._compared_one = before, narrower, narrower
        elif flat:
            self.status = Status.FLOOR

    def _shows_ripples(self, now: Attempt) -> bool:
        """Whether waves that solve the equations by themselves are resolved, where that is cheap.

        Sine of 20πx beside a smooth solution of u'' + (20π)²u = f is not seen by 32 functions.
        """
        d, own = self.bench.lowered.dimension, self.bench.ripples
        if self.extra or self.bench.pieced is not None or own > scale_for("waves", WAVES.rippled, d):
            return True  # what is singular in a corner has waves of its own
        return own <= scale_for("waves", self._width(now), d)

    def _note_rounding(self, second: Attempt) -> None:
        """What rounding does to the solution is no secret to any plan."""
        if second.relative < self.bench.limits.holds and second.sizes.all():
            self.bench.moved.append(second.probed.rounding / second.sizes)

    def _is_stale(self, now: Attempt, last: Attempt | None) -> bool:
        """Whether pieces, which no other way knows, gained nothing by a doubling; or waves lost by it.

        What rounding leaves of a sixth derivative grows with the width: the narrower solution is better.
        """
        if last is None:
            return False
        limits = self.bench.limits
        if self.bench.pieced is None:
            lost = last.relative < min(limits.holds, limits.slow * now.relative)
            return last is self.best and lost and now.relative > self.bench.tol
        return now.relative > limits.flat * last.relative

    @property
    def is_last_word(self) -> bool:  # type: ignore[override]
        """In pieces, yes: no other plan knows them."""
        return self.bench.pieced is not None and len(self.bench.pieced.pieces) > 1

    def _contradictory(self, now: Attempt, last: Attempt | None) -> bool:
        """Whether the best function is the same at every width, and the equations hold nowhere.

        What is merely not resolved changes with the width, or is left over in a few places; of narrow data
        these are many.
        """
        limits = self.bench.limits
        linear = self.bench.lowered.is_linear and not len(self.bench.narrow)
        if last is None or not linear or now.relative < limits.contradiction:
            self._same = 0
            return False
        same = are_the_same(now, last, limits.settled)
        self._same = self._same + 1 if same else 0
        return self._same >= 2

    def _promising(self, now: Attempt, last: Attempt | None) -> bool:
        """Whether a second solution is likely to agree within the tolerance."""
        limits, tol = self.bench.limits, self.bench.tol
        if last is None:
            # Zero fits every problem without data, also those with other solutions: look twice.
            return now.sizes.max() > 0 and now.relative < limits.at_once[tol >= limits.loose] * tol
        columns = now.settings["basis"].size * self.bench.lowered.unknowns
        if columns > limits.searched and now.relative < 0.1 * tol:
            return True  # a wider one costs more than to ask
        # Two solutions that agree prove nothing while the equations do not hold: a local minimum.
        enough = max(limits.holds, min(10.0 * tol, 0.1 * limits.fits))
        falling = now.relative < min(0.3 * last.relative, limits.fits)
        if not (now.relative < enough or falling):
            return False
        if self._is_algebraic and now.relative < enough:
            return True  # the change of a doubling says little about the next one
        difference = now.values - last.values
        change = estimated(difference, difference, now.sizes, self.bench.where_held, limits.safety)
        fall = min(1.0, now.relative / last.relative if last.relative > 0 else 1.0)
        return self.excess(now, change) * fall <= tol

    def _undetermined(self, now: Attempt, second: Attempt) -> bool:
        """Whether the equations hold, but for more than one function."""
        limits = self.bench.limits
        if max(now.relative, second.relative) > limits.small:
            return False
        if np.any(np.abs(now.values - second.values).max(axis=1) > limits.different * self.scales(now)):
            return True
        if second.probed.stiffness > limits.suspect:
            return False
        if second.probed.stiffness < limits.soft:
            return True
        # Near a resonance it is small at every width; where a condition is missing, it sinks to rounding. In
        # rows of unit length, whose largest term is a derivative of order m, everything else weighs R^-m.
        width, d = self._width(now), self.bench.lowered.dimension
        half = self._attempt(self.family, max(width // 2, 2), now, limits.other_scale, probe=True)
        narrower = scale_for("waves", self._width(half), d) / scale_for("waves", width, d)
        usual = half.probed.stiffness * narrower**self.bench.lowered.order
        # Half as many functions that do not solve the equations have nothing to tell.
        return half.relative < limits.small and second.probed.stiffness < limits.sinking * usual

    def _wanders(self, now: Attempt) -> bool:
        """Whether a nonlinear solve ended at a function that nothing holds, in this basis and in another.

        Newton's method has no reason to stop along a family of solutions, and ends nowhere near rounding.
        """
        soft, width = self.bench.limits.soft, min(2 * self._width(now), self._most)
        if now.probed.stiffness > soft or not self.affords(now.work):
            return False
        other = self._attempt(self.family, width, now, self.bench.limits.other_scale, probe=True)
        return other.probed.stiffness < soft

r"""c(t₀) → c(t₁) → …: an evolution as coefficients in space that move, window after window.

Each window holds the equations at a few moments (`solver.stages`) and points in space (`system.lines`), and
is solved by Newton's method (`search.newton`). It is accepted where its series have fallen in space and in
time, and where the equations hold between the points (`search.tails`). Where the beginning contradicts what
holds at the sides, cells and windows are graded towards it, and what comes before the first window that is
resolved is not promised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pibls.arrays import Array
from pibls.search.beginning import Beginning, State, moved
from pibls.search.chain import Places
from pibls.search.evolution import Evolution
from pibls.search.followed import Demand, Followed, Window
from pibls.search.given import sizes_given
from pibls.search.grading import Grading
from pibls.search.newton import NoWindowError, Past, WindowSolver
from pibls.search.resolution import Resolution
from pibls.search.rough import RoughFollower, travels
from pibls.search.tails import left_between, spectra, tails_of
from pibls.search.thresholds import LINES
from pibls.solver.stages import stages
from pibls.system.lines import Lines

SHORT = "no window is short enough"
_TOO_MANY = "more cells would be needed than there may be"
_UNRESOLVED = "the beginning is not resolved"
_KINKS = "the beginning has kinks that travel"
_UNFIT = (_UNRESOLVED, _KINKS)


@dataclass
class LineFollower:
    """Follows an evolution from its start to its end."""

    demand: Demand
    places: Places
    functions: int
    """Of a cell on a line."""
    moments: int
    check: Callable[[float, int, int], None] = lambda t, windows, cells: None
    tries: int = 0
    rough: float | None = None
    promised: float | None = None
    """From when on anything is promised, where the beginning contradicts what holds at the sides."""
    kinks: RoughFollower | None = None
    """Who follows kinks that travel, where there are some."""
    shadowed: LineFollower | None = None
    """Who made the first solution."""
    resolutions: list[Resolution] = field(default_factory=list)
    """Those of the windows."""
    waves: bool = True
    """Whether periodic coordinates have waves instead of cells."""
    _sizes: Array = field(default_factory=lambda: np.empty(0))
    _noise: float = 1.0
    _seam: float = 0.0
    """What a seam leaves in space, where the beginning does not quite fit to itself round a ring."""
    _done: list[Window] = field(default_factory=list)
    _made: dict[Resolution, tuple[Lines, Lines]] = field(default_factory=dict)

    @cached_property
    def _solver(self) -> WindowSolver:
        return WindowSolver(self.places, stages(self.moments), self.demand.tail)

    @cached_property
    def _grading(self) -> Grading:
        return Grading(self.places)

    @cached_property
    def _beginning(self) -> Beginning:
        return Beginning(self.places)

    @property
    def _evolution(self) -> Evolution:
        return self.places.evolution

    @property
    def steps(self) -> int:
        """Of Newton's method, in all windows."""
        return self._solver.steps

    def run(self) -> Followed:
        """All windows; where it cannot go on, those until there."""
        rings = any(self.places.repeated)
        found = self._run() if not rings or self._is_smooth() else None
        if rings and (found is None or found.stopped == _TOO_MANY):
            self.waves, self.promised, self._solver.factors = len(self.places.free) > 1, None, None
            found = self._run()
        assert found is not None
        if found.stopped in _UNFIT and self._travels(self._first()):
            self.kinks = RoughFollower(
                self.places, self.functions, self.moments, self.demand.tail, self.check
            )
            self.rough, self.promised = self._evolution.start, None
            return self.kinks.run()
        return found

    def _first(self) -> State:
        return self._beginning.at(self._grading.first(self.functions, self.waves))

    def _travels(self, state: State) -> bool:
        """Whether what does not fit at the start is carried along."""
        return travels(self.places, state, self._lines(state.resolution)[0])

    def _is_smooth(self) -> bool:
        """Whether the beginning is smooth all round, where it should repeat itself."""
        if len(self.places.free) > 1:
            return True
        first = self._grading.first(self.functions, True)
        most = Resolution(first.tree, (LINES.most_waves,), first.repeated)
        state = self._beginning.at(most)
        left = float(spectra(most, state.rates).max())
        # What is carried along is no smaller in cells.
        return left <= self.demand.tail or (left <= LINES.seam * self.demand.tail and self._travels(state))

    def _run(self) -> Followed:
        e = self._evolution
        total, sign = abs(e.stop - e.start), 1.0 if e.forward else -1.0
        unknowns = self.places.bench.lowered.unknowns
        self._sizes = sizes_given(self.places.conditions, e.axis, (e.start, e.stop), unknowns)
        done = self._done = []
        self.resolutions = []
        breaks = sorted(
            level for axis, level in self.places.bench.lowered.interfaces.planes if axis == e.axis
        )
        state, stopped = (
            self._resolved(self._first()),
            None,
        )
        t, h = e.start, 0.02 * total
        past: Past | None = None
        while sign * (e.stop - t) > 1e-14 * total:
            ahead = [b for b in breaks if sign * (b - t) > 1e-13 * total]
            end = e.stop if not ahead else (min(ahead) if e.forward else max(ahead))
            left = sign * (end - t)
            h = min(h, left)
            if h < left < 1.6 * h:
                h = 0.5 * left
            found = self._window(state, past, t, h, sign, total, end)
            if isinstance(found, str):
                stopped = found
                break
            past, state, h = found
            done.append(self._solver.window(past))
            t = past.stop
            self.check(t, len(done), len(state.resolution.tree))
        return Followed(tuple(done), e, stopped, self.steps, self.tries)

    def partial(self) -> Followed | None:
        """What was followed until an interruption."""
        done = self._done if self.kinks is None else self.kinks.done
        if not done:
            return None
        return Followed(tuple(done), self._evolution, None, self.steps, self.tries)

    def replay(self, followed: Followed) -> Followed:
        """The same evolution in windows that reach from the middle of one to the middle of the next."""
        e = self._evolution
        switched = {level for axis, level in self.places.bench.lowered.interfaces.planes if axis == e.axis}
        done: list[Window] = []
        state: State | None = None
        past: Past | None = None
        assert self.shadowed is not None
        if self.shadowed.kinks is not None:
            return self.shadowed.kinks.replay(followed)
        self._sizes = self.shadowed._sizes
        for t, stop, chosen in _between(followed, self.shadowed.resolutions, switched):
            resolution = self._grading.finer(chosen)
            ends, halvings = [stop], 0
            while ends:
                if state is None:
                    state = self._beginning.at(resolution)
                else:
                    state = moved(self.places, state, resolution)
                try:
                    U, after = self._solved(state, past, t, ends[-1])
                except NoWindowError:
                    halvings += 1
                    if halvings > LINES.halvings:
                        return Followed(
                            tuple(done), e, "the second solution was lost", self.steps, self.tries
                        )
                    ends.append(0.5 * (t + ends[-1]))
                    continue
                past, state = self._solver.past(state, U, t, ends[-1]), State(resolution, after)
                done.append(self._solver.window(past))
                t = ends.pop()
                self.check(t, -1, len(resolution.tree))
        return Followed(tuple(done), e, followed.stopped, self.steps, self.tries)

    def _lines(self, found: Resolution) -> tuple[Lines, Lines]:
        """The rows, and those that judge."""
        if found not in self._made:
            if len(self._made) > 4:
                self._made.clear()
            self._made[found] = self.places.lines(found), self.places.checks(found)
        return self._made[found]

    def _resolved(self, state: State) -> State:
        """The beginning, at a resolution that has it, as far as it can be had."""
        # What is left out here stays in a wave for ever: it has to be below what windows may leave.
        wanted = max(LINES.begun * self.demand.tail, 1e-14)
        for _ in range(LINES.rounds):
            across = spectra(state.resolution, state.rates)
            finer = self._grading.refined(state.resolution, across / wanted, np.zeros(len(across)))
            if across.max() <= wanted or finer is None:
                break
            before, state = state, self._beginning.at(finer)
            if finer.repeated == (True,) and across.max() <= LINES.seam * self.demand.tail:
                gained = across.max() / max(float(spectra(finer, state.rates).max()), 1e-300)
                if gained < LINES.rough_gain:
                    self._seam = 2.0 * float(across.max())
                    return before
        return state

    def _window(
        self, state: State, past: Past | None, t: float, h: float, sign: float, total: float, end: float
    ) -> tuple[Past, State, float] | str:
        """One accepted window, where the next begins and its length; or why there is none."""
        first = past is None
        before: tuple[float, float, int] | None = None
        easing = max(1.0, 0.7 * self._noise)
        since = abs(t - self._evolution.start)
        layered = self.promised is not None and self.promised == t
        if first:
            misfit = self._beginning.misfit(state, self._lines(state.resolution)[0])
            layered = misfit > max(LINES.misfit[0] * self.demand.tail, LINES.misfit[1])
            unresolved = float(spectra(state.resolution, state.rates).max()) > LINES.seam * self.demand.tail
            if (layered or unresolved) and self._travels(state):
                return _KINKS
            if layered:
                h = LINES.first * total
        power = self.moments + 1.0
        for attempt in range(LINES.tries):
            self.tries += 1
            self.check(t, -1, len(state.resolution.tree))
            if h < max(LINES.shortest * total, 4e-16 * abs(t)):
                return SHORT
            stop = t + sign * h
            if sign * (end - stop) < 1e-12 * total:
                stop = end
            try:
                U, after = self._solved(state, past, t, stop)
            except NoWindowError:
                h *= 0.4
                continue
            along, across, sizes = self._tails(state, U)
            residual = self._left(state, U, t, stop)
            wide, between = float(across.max()), float(residual.max())
            if not all(map(math.isfinite, (along, wide, between))):
                h *= 0.3
                continue
            tail, rest = easing * self.demand.tail, easing * self.demand.residual
            across = across * min(1.0, tail / self._seam) if self._seam else across
            wide = float(across.max())
            narrow = wide <= tail and between <= rest
            if along <= tail and narrow:
                self._noise = easing
                if layered and first:
                    self.promised = None  # it was hard for another reason
                return self._accepted(state, U, after, t, stop, sizes, along / easing, across / easing)
            worst = max(along / tail, wide / tail, between / rest)
            if first and attempt == LINES.hard and not layered and along > tail:
                layered, h, before = True, LINES.first * total, None
                continue
            if layered and wide > tail:
                steeper = self._grading.steeper(state.resolution, across)
                if len(steeper.tree) > LINES.most_cells:
                    return _TOO_MANY
                if steeper != state.resolution:
                    state = self._beginning.at(steeper) if first else moved(self.places, state, steeper)
                    continue
            if layered and (h <= 1.001 * LINES.ratio * since or first):
                if since > LINES.layer * total or len(self._done) > LINES.forced:
                    return _UNRESOLVED
                done, following, _ = self._accepted(state, U, after, t, stop, sizes, along, across)
                self.promised = stop
                return done, following, since + h
            if (
                before is not None
                and worst > 0.3 * before[0]
                and (h <= 0.75 * before[1] or self._count(state) > before[2])
                # A beginning that does not fit also gains little by little: only rounding is that small.
                and worst * max(self.demand.tail, 1e-13) < (1e-11 if first or layered else 1e-6)
            ):
                easing *= 3.0 * worst
                if easing < 1e5:
                    continue
            helpless = before is not None and self._count(state) > before[2] and worst > 0.5 * before[0]
            before = (worst, h, self._count(state))
            # What is left between the points may be a matter of space or of time.
            unmet = wide <= tail and along <= tail and not helpless
            if (wide > max(tail, 0.1 * along) or unmet) and not layered:
                finer = self._grading.refined(state.resolution, across / tail, residual / rest)
                if finer is None:
                    return _TOO_MANY
                state = self._beginning.at(finer) if first else moved(self.places, state, finer)
                if along > 100.0 * tail and not layered:
                    h *= 0.5
                continue
            factor = LINES.safe * min(tail / along, rest / max(between, 1e-300)) ** (1.0 / power)
            h *= min(max(factor, 0.1), 0.7)
            if layered:
                h = max(h, LINES.ratio * since)
        return "no window was accepted"

    @staticmethod
    def _count(state: State) -> int:
        return len(state.resolution.tree) * state.resolution.functions

    def _accepted(
        self,
        state: State,
        U: Array,
        after: Array,
        t: float,
        stop: float,
        sizes: Array,
        along: float,
        across: Array,
    ) -> tuple[Past, State, float]:
        self._sizes = np.maximum(self._sizes, sizes)
        past = self._solver.past(state, U, t, stop)
        self.resolutions.append(state.resolution)
        h = abs(stop - t)
        if along < LINES.nothing:
            factor = LINES.growth
        else:
            factor = min(
                LINES.safe * (self.demand.tail / along) ** (1.0 / (self.moments + 1.0)), LINES.growth
            )
        if 0.95 <= factor < LINES.longer[len(state.resolution.sizes) > 1]:
            factor = 1.0  # another length needs other factors
        following = State(state.resolution, after)
        coarser = self._grading.joined(state.resolution, across, self.demand.tail)
        return past, moved(self.places, following, coarser), h * factor

    def _solved(self, state: State, past: Past | None, t: float, stop: float) -> tuple[Array, Array]:
        lines, _ = self._lines(state.resolution)
        return self._solver.solve(lines, state, past, t, stop, self._sizes)

    def _tails(self, state: State, U: Array) -> tuple[float, Array, Array]:
        return tails_of(self.places, state.resolution, U, self._solver.series(state, U), self._sizes)

    def _left(self, state: State, U: Array, t: float, stop: float) -> Array:
        _, checks = self._lines(state.resolution)
        st = self._solver.stages
        return left_between(self.places, state.resolution, checks, st, U, state.rates, (t, stop), self._sizes)


def _between(
    followed: Followed, cells: list[Resolution], switched: set[float]
) -> Iterator[tuple[float, float, Resolution]]:
    """(start, stop, resolution) of windows between the middles of others and where something jumps."""
    group: list[tuple[Window, Resolution]] = []
    for window, own in zip(followed.windows, cells, strict=True):
        group.append((window, own))
        if window.stop not in switched and window is not followed.windows[-1]:
            continue
        edges = [group[0][0].start, *(0.5 * (x.start + x.stop) for x, _ in group), window.stop]
        if len(group) == 1:
            edges[1] = 0.55 * window.start + 0.45 * window.stop
        mine = [r for _, r in group]
        pairs = zip([mine[0], *mine], [*mine, mine[-1]], strict=True)
        chosen = (max(p, key=lambda r: (len(r.tree), r.functions)) for p in pairs)
        yield from zip(edges[:-1], edges[1:], chosen, strict=True)
        group = []

r"""c(t₀) → c(t₁) → …: an evolution as coefficients in space that move, window after window.

Each window holds the equations at a few moments (`solver.stages`) and points in space
(`system.evolutions.lines`), and is solved by Newton's method (`newton`). It is accepted where its series
have fallen in space and in time, and where the equations hold between the points (`tails`). Where the
beginning contradicts what holds at the sides, cells and windows are graded towards it, and what comes
before the first window that is resolved is not promised.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.adaptive.evolutions.data_bounds import sizes_given
from pibls.adaptive.evolutions.grading import Grading
from pibls.adaptive.evolutions.initial_state import Beginning, State, moved
from pibls.adaptive.evolutions.line_mesh import Places
from pibls.adaptive.evolutions.newton import Past, WindowSolver
from pibls.adaptive.evolutions.nonsmooth import RoughFollower, travels
from pibls.adaptive.evolutions.resolution import Resolution
from pibls.adaptive.evolutions.tails import BETWEEN, SeenWindow, rounding_of, spectra, tails_of
from pibls.adaptive.evolutions.time_stepping import (
    SHORT,
    Easing,
    March,
    NoWindowError,
    between,
    lengthened,
    shortened,
)
from pibls.adaptive.evolutions.trajectory import Demand, Followed, Window
from pibls.adaptive.thresholds import LINES, MARCH
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.assembly.evolutions.lines import Lines
from pibls.caching import cached_property
from pibls.nonlinear.stages import stages

_TOO_MANY = "more cells would be needed than there may be"
_UNRESOLVED = "the beginning is not resolved"
_KINKS = "the beginning has kinks that travel"
_UNFIT = (_UNRESOLVED, _KINKS)


@dataclass(frozen=True)
class _Solved:
    """A window that was solved, whatever it is worth."""

    state: State
    U: Array
    after: Array
    t: float
    stop: float
    sizes: Array


Held = tuple[State, Past | None]
"""Where a window begins, and the window before."""


@dataclass
class LineFollower(March[Held, Resolution]):
    """Follows an evolution from its start to its end."""

    demand: Demand
    places: Places
    functions: int
    """Of a cell on a line."""
    moments: int
    kinks: RoughFollower | None = None
    """Who follows kinks that travel, where there are some."""
    shadowed: LineFollower | None = None
    """Who made the first solution."""
    resolutions: list[Resolution] = field(default_factory=list)
    """Those of the windows."""
    waves: bool = True
    """Whether periodic coordinates have waves instead of cells."""
    pieces: bool = False
    """Whether the sides of a box are divided, since its corners are singular."""
    halves = True
    _began: float = 0.0
    """Where the beginning was, or the last switch."""
    _rounding: float = 2.2e-16
    """What the series are off by from the beginning."""
    _seam: float = 0.0
    """What a seam leaves in space, where the beginning does not quite fit to itself round a ring."""
    _made: dict[Resolution, tuple[Lines, Lines]] = field(default_factory=dict)

    @cached_property
    def _solver(self) -> WindowSolver:
        return WindowSolver(self.places, stages(self.moments), self.demand.tail)

    @cached_property
    def _grading(self) -> Grading:
        return Grading(self.places, self.pieces)

    @cached_property
    def _beginning(self) -> Beginning:
        return Beginning(self.places)

    @property
    def of(self) -> Bench:
        return self.places.bench

    @property
    def effort(self) -> int:
        return self._solver.steps

    def run(self) -> Followed:
        rings = any(self.places.repeated)
        found = super().run() if not rings or self._is_smooth() else None
        if rings and (found is None or found.stopped == _TOO_MANY):
            self.waves, self.layers, self._solver.factors = len(self.places.free) > 1, {}, None
            found = super().run()
        assert found is not None
        framed = self.places.framed
        if found.stopped in (_TOO_MANY, _UNRESOLVED) and framed is not None and framed.joints:
            self.pieces, self.layers, self._solver.factors = True, {}, None
            del self._grading
            found = super().run()
        if found.stopped in _UNFIT and self._travels(self._first()):
            self.kinks = RoughFollower(
                self.places, self.functions, self.moments, self.demand.tail, check=self.check
            )
            self.rough, self.layers = self.evolution.start, {}
            return self.kinks.run()
        return found

    def partial(self) -> Followed | None:
        return super().partial() if self.kinks is None else self.kinks.partial()

    def replay(self, followed: Followed) -> Followed:
        assert self.shadowed is not None
        kinks = self.shadowed.kinks
        return super().replay(followed) if kinks is None else kinks.replay(followed)

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
        left = float(self._beginning.unresolved(state).max())
        # What is carried along is no smaller in cells.
        return left <= self.demand.tail or (left <= LINES.seam * self.demand.tail and self._travels(state))

    def _begun(self) -> tuple[Held, float]:
        e, unknowns = self.evolution, self.places.bench.lowered.unknowns
        self._sizes = sizes_given(self.places.conditions, e.axis, (e.start, e.stop), unknowns)
        self.resolutions = []
        first = self._first()
        begun = np.abs(first.rates[0]).max(axis=(0, 2))
        self._sizes = np.maximum(self._sizes, self._from_nothing(begun))
        return (self._resolved(first), None), MARCH.first * self.course.total

    def _cells(self, held: Held) -> int:
        return len(held[0].resolution.tree)

    def _others(self, followed: Followed) -> Iterator[tuple[float, float, Resolution]]:
        assert self.shadowed is not None
        self._sizes = self.shadowed._sizes
        chosen = self.shadowed.resolutions
        return between(followed, chosen, self.course.switched, lambda r: (len(r.tree), r.functions))

    def _given(self, held: Held | None, t: float, stop: float, chosen: Resolution) -> tuple[Window, Held]:
        resolution = self._grading.finer(chosen)
        past = None if held is None else held[1]
        state = self._beginning.at(resolution) if held is None else moved(self.places, held[0], resolution)
        U, after = self._solved(state, past, t, stop)
        past = self._solver.past(state, U, t, stop)
        return self._solver.window(past), (State(resolution, after), past)

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
        wanted = max(LINES.begun[len(state.resolution.sizes) > 1] * self.demand.tail, 1e-14)
        for _ in range(LINES.rounds):
            across = self._beginning.unresolved(state)
            finer = self._grading.refined(state.resolution, across / wanted, np.zeros(len(across)))
            if across.max() <= wanted or finer is None:
                break
            before, state = state, self._beginning.at(finer)
            if across.max() <= MARCH.noise and spectra(finer, state.rates).max() > 0.5 * across.max():
                self._rounding = 3.0 * float(across.max())
                return before
            if finer.repeated == (True,) and across.max() <= LINES.seam * self.demand.tail:
                gained = across.max() / max(float(spectra(finer, state.rates).max()), 1e-300)
                if gained < LINES.rough_gain:
                    self._seam = 2.0 * float(across.max())
                    return before
        return state

    def _window(self, held: Held, t: float, h: float) -> tuple[Window, Held, float] | str:
        state, past = held
        first, total = past is None, self.course.total
        easing = Easing(self.demand)
        in_cells = len(state.resolution.sizes) == 1
        begins = first or self.course.is_switched(t)
        if begins:
            self._began = t
        since = abs(t - self._began)
        layered = self._began in self.layers and self.layers[self._began] == t
        if begins:
            lines = self._lines(state.resolution)[0]
            misfit = self._beginning.misfit(state, lines, self.course.beside(t, 1.0), self._sizes)
            layered = misfit > self.demand.misfit
            rough = spectra(state.resolution, state.rates).max() > LINES.seam * self.demand.tail
            if (layered or (first and rough)) and self._travels(state):
                return _KINKS
            if layered:
                h = LINES.first[in_cells] * total
        attempt = -1
        while True:
            attempt += 1
            self.tries += 1
            self.check(t, -1, len(state.resolution.tree))
            stop = self.course.reached(t, h)
            if stop is None:
                return SHORT
            try:
                U, after = self._solved(state, past, t, stop)
            except NoWindowError:
                h *= 0.4
                continue
            along, across, sizes = self._tails(state, U, t, stop)
            residual = self._left(state, U, t, stop)
            wide, between = float(across.max()), float(residual.max())
            if not all(map(math.isfinite, (along, wide, between))):
                h *= 0.3
                continue
            asked, count = easing.eased, len(state.resolution.tree) * state.resolution.functions
            missed = self._missed(state, U, t, stop)
            if missed > asked.residual and between <= asked.residual:
                h *= shortened(asked, along, missed, self.moments)
                attempt -= 1  # nothing is hard here but what comes later
                continue
            across = across * min(1.0, asked.tail / self._seam) if self._seam else across
            wide = float(across.max())
            solved = _Solved(state, U, after, t, stop, sizes)
            if along <= asked.tail and wide <= asked.tail and between <= asked.residual:
                if layered and begins:
                    self.layers.pop(t, None)  # it was hard for another reason
                return self._accepted(solved, along / easing.factor, across / easing.factor)
            worst = max(along / asked.tail, wide / asked.tail, between / asked.residual)
            if begins and attempt == MARCH.hard and not layered and along > asked.tail:
                layered, h, easing.before = True, LINES.first[in_cells] * total, None
                continue
            if layered and wide > asked.tail:
                steeper = self._grading.steeper(state.resolution, across)
                if len(steeper.tree) > LINES.most_cells:
                    return _TOO_MANY
                if steeper != state.resolution:
                    state = self._beginning.at(steeper) if first else moved(self.places, state, steeper)
                    continue
            # One piece is as steep at its walls as it can be: no shorter window is any better.
            blurred = layered and wide > asked.tail and not in_cells
            if blurred or (layered and (h <= 1.001 * LINES.ratio * since or begins)):
                if since > LINES.layer[in_cells] * total:
                    return _UNRESOLVED
                window, following, _ = self._accepted(solved, along, across)
                self.layers[self._began] = stop
                return window, following, since + h
            # A beginning that does not fit also gains little by little: only rounding is that small.
            helpless = easing.is_helpless(worst, count)
            if easing.is_rounding(worst, h, count, limit=1e-11 if begins or layered else 1e-6):
                continue
            easing.before = (worst, h, count)
            # What is left between the points may be a matter of space or of time.
            unmet = wide <= asked.tail and along <= asked.tail and not helpless
            if (wide > max(asked.tail, 0.1 * along) or unmet) and not layered:
                finer = self._grading.refined(
                    state.resolution, across / asked.tail, residual / asked.residual
                )
                if finer is None:
                    return _TOO_MANY
                state = self._beginning.at(finer) if first else moved(self.places, state, finer)
                if along > 100.0 * asked.tail:
                    h *= 0.5
                continue
            h *= shortened(asked, along, between, self.moments)
            if layered:
                h = max(h, LINES.ratio * since)

    def _accepted(self, solved: _Solved, along: float, across: Array) -> tuple[Window, Held, float]:
        state, t, stop = solved.state, solved.t, solved.stop
        self._sizes = np.maximum(self._sizes, solved.sizes)
        past = self._solver.past(state, solved.U, t, stop)
        self.resolutions.append(state.resolution)
        h = abs(stop - t) * lengthened(self.demand.tail, along, self.moments)
        following = State(state.resolution, solved.after)
        tail = self.demand.tail
        coarser = self._grading.joined(state.resolution, across, tail)
        if state.resolution.edges:
            coarser = self._grading.coarser(state.resolution, across, tail)
            fewer = moved(self.places, following, coarser)
            left = spectra(coarser, fewer.rates, self._sizes)
            # One that is singular there is not joined; what others leave is no matter of these.
            ends = [left[[0, len(e) - 2], i].max() for i, e in enumerate(coarser.edges)]
            if max(ends) > LINES.joined * tail:
                coarser = state.resolution
        return self._solver.window(past), (moved(self.places, following, coarser), past), h

    def _solved(self, state: State, past: Past | None, t: float, stop: float) -> tuple[Array, Array]:
        lines, _ = self._lines(state.resolution)
        return self._solver.solve(lines, state, past, t, stop, self._sizes)

    def _tails(self, state: State, U: Array, t: float, stop: float) -> tuple[float, Array, Array]:
        series = self._solver.series(state, U)
        found = tails_of(self.places, state.resolution, U, series, self._sizes)
        tail = self.demand.tail
        if len(self._sizes) == 1 or max(found[0], float(found[1].max())) <= tail:
            return found
        lines, st = self._lines(state.resolution)[0], self._solver.stages
        rates = st.rates(U, state.rates, lines.highest, stop - t)
        moments = lines.at(self.course.moments(t, stop, st.nodes))
        since = abs(stop - self.evolution.start)
        off = rounding_of(self.places, moments, rates, since, self._solver.left)
        return tails_of(self.places, state.resolution, U, series, self._sizes, off / tail)

    def _left(self, state: State, U: Array, t: float, stop: float, at: Array = BETWEEN) -> Array:
        # What a tail that may be left makes of derivatives in a singular corner is no more than that.
        noise = max(self._rounding, self.demand.tail if self.pieces else 0.0)
        return self._seen(state, U, t, stop, noise, at).equations(self._lines(state.resolution)[1])

    def _missed(self, state: State, U: Array, t: float, stop: float) -> float:
        """What equations and conditions leave where the data are furthest from what the moments see."""
        at = self.watch.furthest(t, stop, self._solver.stages.nodes)
        if not len(at):
            return 0.0
        sides = self._seen(state, U, t, stop, self._rounding, at).sides(self._lines(state.resolution)[0])
        return max(sides, float(self._left(state, U, t, stop, at).max()))

    def _seen(self, state: State, U: Array, t: float, stop: float, left: float, at: Array) -> SeenWindow:
        found, st = state.resolution, self._solver.stages
        return SeenWindow(self.places, found, st, U, state.rates, (t, stop), self._sizes, left, at)

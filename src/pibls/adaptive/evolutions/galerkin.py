r"""c(t₀) → c(t₁) → …: an evolution on any shape as coefficients that move, window after window.

Each window holds the equations at a few moments (`solver.stages`); in space they are tested with the
functions themselves (`system.evolutions.projected`). A linear evolution whose coefficients rest keeps the
factors of its matrix from window to window. A window is accepted where what the last degrees add, in space
and in time, has fallen, and where equations and conditions hold between the points. Where the beginning
contradicts what holds at the walls, what comes before the first window that is resolved is not promised.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.adaptive.evolutions.galerkin_operator import Room, RoomPlaces
from pibls.adaptive.evolutions.galerkin_solver import RoomSolver, RoomState
from pibls.adaptive.evolutions.initial_state import given_at
from pibls.adaptive.evolutions.tails import BETWEEN, LAST, between_of
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
from pibls.adaptive.thresholds import LINES, MARCH, ROOMS
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.assembly.evolutions.lines import Term
from pibls.caching import cached_property
from pibls.nonlinear.stages import stages

CROWDED = "more functions would be needed than there may be"


@dataclass
class RoomFollower(March[RoomState, int]):
    """Follows an evolution from its start to its end."""

    demand: Demand
    places: RoomPlaces
    moments: int
    crowded: bool = False
    """Whether more functions than there may be were wanted."""
    shadowed: RoomFollower | None = None
    """Who made the first solution."""
    degrees: list[int] = field(default_factory=list)
    """Those of the windows."""
    _rooms: dict[int, Room] = field(default_factory=dict)

    @cached_property
    def _solver(self) -> RoomSolver:
        return RoomSolver(self.places, stages(self.moments), self.demand.tail)

    @property
    def of(self) -> Bench:
        return self.places.bench

    @property
    def effort(self) -> int:
        return self._solver.steps

    def _cells(self, state: RoomState) -> int:
        return 1

    def _others(self, followed: Followed) -> Iterator[tuple[float, float, int]]:
        """At a higher degree."""
        assert self.shadowed is not None
        self._sizes = self.shadowed._sizes
        more = ROOMS.second[self.places.bench.lowered.dimension]
        chosen = between(followed, self.shadowed.degrees, self.course.switched, lambda degree: degree)
        for t, stop, degree in chosen:
            yield t, stop, int(more * degree) + 2

    def _given(self, state: RoomState | None, t: float, stop: float, chosen: int) -> tuple[Window, RoomState]:
        room = self._room(chosen)
        state = self._at_start(room) if state is None else self._moved(state, room)
        U, after = self._solver.solve(state, t, stop, self._sizes)
        return self._solver.window(state, U, t, stop), RoomState(room, after)

    # -- rooms --

    def _room(self, degree: int) -> Room:
        if degree not in self._rooms:
            if len(self._rooms) > 2:
                self._rooms.clear()
            self._rooms[degree] = self.places.room(degree)
        return self._rooms[degree]

    def _finer(self, degree: int, small: bool = False) -> int | None:
        """The next degree, where little is left one step at a time; None where there may be no more."""
        some = (degree + 2 if small else int(ROOMS.more * degree) + 1, degree + 2)
        return next((better for better in some if self.places.columns(better) <= ROOMS.most), None)

    def _steepest(self, degree: int) -> int:
        """The degree of a beginning that does not fit."""
        most = ROOMS.layered
        while self.places.columns(degree + 1) <= most:
            degree += 1
        return degree

    def _begun(self) -> tuple[RoomState, float]:
        self._sizes = np.zeros(self.places.bench.lowered.unknowns)
        state = self._resolved()
        self._sizes = self._from_nothing(np.abs(state.rates[0, 0] @ state.room.values.T).max(axis=1))
        return state, MARCH.first * self.course.total

    def _resolved(self) -> RoomState:
        """The beginning, at a degree that has it, as far as it can be had."""
        degree = ROOMS.first
        wanted = max(ROOMS.begun * self.demand.tail, 1e-13)
        before: tuple[int, float] | None = None
        while True:
            self.check(self.evolution.start, -1, 1)
            state = self._at_start(self._room(degree))
            if self._contradicts(state):
                return self._at_start(self._room(self._steepest(degree)))
            across = self._across(state.room, np.moveaxis(state.rates, 0, -1), self._scale(state))
            if across <= wanted:
                return state
            if before is not None and 0.5 * before[1] < across < MARCH.noise:
                return self._at_start(self._room(before[0]))
            finer = self._finer(degree, small=across < MARCH.noise)  # it may be rounding
            if finer is None:
                return state
            before, degree = (degree, across), finer

    def _at_start(self, room: Room) -> RoomState:
        """∂_t^a u(x, t₀) from the initial conditions."""
        e = self.evolution
        X = np.column_stack([room.points, np.full(len(room.points), e.start)])
        values = given_at(self.places.bench.lowered, e, X)
        return RoomState(room, room.coefficients(values)[:, None])

    def _moved(self, state: RoomState, room: Room) -> RoomState:
        """The same functions at another degree."""
        if state.room is room:
            return state
        values = state.rates @ state.room.at(room.points).T
        return RoomState(room, room.coefficients(values))

    def _scale(self, state: RoomState) -> Array:
        size = np.abs(state.rates[:, 0] @ state.room.values.T).max(axis=2)
        size = np.where(size > 0, size, 1.0)
        return np.asarray(size.T)  # (unknowns, rates)

    def _contradicts(self, state: RoomState) -> bool:
        """Whether the beginning contradicts what holds at the walls.

        Its values are known there; its derivatives as far as its degree resolves them.
        """
        e, room = self.evolution, state.room
        sizes = np.abs(state.rates[0, 0] @ room.values.T).max(axis=1)
        limit = self.demand.misfit
        across = self._across(room, np.moveaxis(state.rates, 0, -1), self._scale(state))
        half = 0.5 * float((self.places.box[:, 1] - self.places.box[:, 0]).min())
        start = np.array([e.start])
        for g in room.lines.groups[len(self.places.equations) :]:
            if any(a >= e.orders[k] for _, k, _, a in g.terms):
                continue
            site = g.sites[0]
            X = site.points[0].copy()
            X[:, e.axis] = e.start
            given = given_at(self.places.bench.lowered, e, X)
            values = [
                site.tables(alpha)[0] @ state.rates[a, 0, k] if sum(alpha) else given[a, k]
                for _, k, alpha, a in g.terms
            ]
            order = max(sum(alpha) for _, _, alpha, _ in g.terms)
            J = np.array(values)[:, :, None]
            held = g.at(start)
            r = held.rest(J[g.known :]) + (held.coefficients * J[: g.known]).sum(axis=0)
            slopes = np.abs(np.concatenate([held.coefficients, held.slopes(J[g.known :])])).max(axis=(1, 2))
            natural = [sizes[k] * half ** -sum(alpha) for _, k, alpha, _ in g.terms]
            size = max(float((slopes * natural).max()), 1e-300)
            uncertain = 10.0 * across * room.degree ** (2 * order) if order else 0.0
            if float(np.abs(r).max(initial=0.0)) > max(limit, uncertain) * size:
                return True
        return False

    # -- one window --

    def _window(self, state: RoomState, t: float, h: float) -> tuple[Window, RoomState, float] | str:
        first, total = not self._done, self.course.total
        since = abs(t - self.evolution.start)
        layered = t in self.layers.values()
        if first and self._contradicts(state):
            layered, h = True, ROOMS.shortest * total
        easing, attempt = Easing(self.demand), -1
        while True:
            attempt += 1
            self.tries += 1
            self.check(t, -1, 1)
            stop = self.course.reached(t, h)
            if stop is None:
                return SHORT
            try:
                U, after = self._solver.solve(state, t, stop, self._sizes)
            except NoWindowError:
                h *= 0.4
                continue
            along, wide, sizes = self._tails(state, U)
            between = self._left(state, U, t, stop)
            if not all(map(math.isfinite, (along, wide, between))):
                h *= 0.3
                continue
            asked, degree = easing.eased, state.room.degree
            at = self.watch.furthest(t, stop, self._solver.stages.nodes)
            missed = self._left(state, U, t, stop, at) if len(at) else 0.0
            if missed > asked.residual and between <= asked.residual:
                h *= shortened(asked, along, missed, self.moments)
                attempt -= 1
                continue
            if along <= asked.tail and wide <= asked.tail and between <= asked.residual:
                return self._accepted(state, U, after, t, stop, sizes, along / easing.factor)
            if first and attempt == MARCH.hard and not layered and along > asked.tail:
                # Its values fit, and not what they begin to do: u_t = Δu + 1 from 0.
                layered, h, easing.before = True, ROOMS.shortest * total, None
                state = self._at_start(self._room(self._steepest(degree)))
                continue
            if layered and wide > asked.tail:
                if since > LINES.layer[0] * total:
                    return "the beginning is not resolved"
                window, following, _ = self._accepted(state, U, after, t, stop, sizes, along)
                self.layers[self.evolution.start] = stop
                return window, following, since + h
            worst = max(along / asked.tail, wide / asked.tail, between / asked.residual)
            helpless = easing.is_helpless(worst, degree)
            if easing.is_rounding(worst, h, degree, least=0.5):
                continue
            easing.before = (worst, h, degree)
            narrow = wide <= asked.tail and along <= asked.tail and not helpless
            if wide > max(asked.tail, 0.1 * along) or narrow:
                finer = self._finer(degree)
                if finer is not None:
                    room = self._room(finer)
                    state = self._at_start(room) if first else self._moved(state, room)
                    continue
                if along <= asked.tail:
                    # As good as so many functions can be; how good that is, the second solution tells.
                    self.crowded = True
                    easing.factor = 1.01 * max(wide / self.demand.tail, between / self.demand.residual)
                    if easing.factor > MARCH.hopeless:
                        return CROWDED
                    continue
            h *= shortened(asked, along, between, self.moments)

    def _accepted(
        self, state: RoomState, U: Array, after: Array, t: float, stop: float, sizes: Array, along: float
    ) -> tuple[Window, RoomState, float]:
        self._sizes = np.maximum(self._sizes, sizes)
        window = self._solver.window(state, U, t, stop)
        self.degrees.append(state.room.degree)
        h = abs(stop - t) * lengthened(self.demand.tail, along, self.moments)
        return window, RoomState(state.room, after), h

    # -- judging --

    def _across(self, room: Room, U: Array, scale: Array) -> float:
        """What the last degrees add to functions (1, unknowns, n, …), relative."""
        last = np.abs(room.seen[:, room.low :] @ U[0, :, room.low :])
        size = last.max(axis=1)  # (unknowns, …)
        return float((size / (scale if scale.ndim == 2 else scale[:, None])).max(initial=0.0))

    def _tails(self, state: RoomState, U: Array) -> tuple[float, float, Array]:
        """The tails in time and space, and max|u| of each unknown."""
        room = state.room
        sizes = np.abs(room.seen @ U[0]).max(axis=(1, 2))
        both = np.maximum(self._sizes, sizes)
        scale = np.maximum(both, 1e-9 * float(both.max()))
        scale = np.where(scale > 0, scale, 1.0)
        late = np.abs(room.seen @ (self._solver.series(state, U)[0, ..., -2:] * LAST)).max(axis=(1, 2))
        return float((late / scale).max()), self._across(room, U, scale), sizes

    def _left(self, state: RoomState, U: Array, t: float, stop: float, at: Array = BETWEEN) -> float:
        """How well equations and conditions hold between the points, next to their terms."""
        checks, h = state.room.checks, stop - t
        seen = between_of(self._solver.stages, U, state.rates, checks.highest, h, self.evolution.orders, at)
        sizes = np.maximum(self._sizes, np.abs(state.room.seen @ U[0]).max(axis=(1, 2)))
        half = 0.5 * (self.places.box[:, 1] - self.places.box[:, 0])

        def natural(term: Term) -> Array:
            _, k, alpha, a = term
            scale = float(np.prod(half ** -np.array(alpha, dtype=float))) * (0.5 * abs(h)) ** -a
            return np.array([(MARCH.share if sum(alpha) else 1.0) * sizes[k] * scale])

        out = 0.0
        for r, size in checks.at(t + h * at).judged(seen, natural):
            most = float(size.max(initial=0.0))
            if most > 0:
                out = max(out, float(np.sqrt(np.mean(r**2))) / most)
        return out

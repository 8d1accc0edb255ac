r"""P r(Σ c_i(t) f_i) = 0 at the moments of one window: Newton's method on any shape.

The rows at the points are made square (`system.evolutions.projected`). A linear evolution whose
coefficients rest keeps the factors of its matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from pibls.adaptive.evolutions.contraction import Contraction, extended, series_of, start_from
from pibls.adaptive.evolutions.galerkin_operator import Room, RoomPlaces
from pibls.adaptive.evolutions.time_stepping import Course, NoWindowError, left_by_newton
from pibls.adaptive.evolutions.trajectory import Window
from pibls.adaptive.thresholds import MARCH, ROOMS
from pibls.arrays import Array
from pibls.assembly.evolutions.lines import Moments
from pibls.assembly.evolutions.projected import Projection, untested
from pibls.basis.polynomials.evolving import EvolvingBasis
from pibls.linalg.shifted import Dense, Shifted
from pibls.nonlinear.stages import Stages
from pibls.spaces import Whole

Squaring = Callable[[Array], Array]
"""Rows at points ↦ as many as there are functions."""


@dataclass(frozen=True)
class RoomState:
    """Where a window begins: ∂_t^a of all coefficients, (rates, 1, unknowns, n)."""

    room: Room
    rates: Array


@dataclass
class RoomFactors:
    """The factored matrix of a window, for those that follow."""

    room: Room
    h: float
    weights: list[Array]
    rows: Squaring
    parts: tuple[Array, ...]
    solver: Shifted


@dataclass
class RoomSolver:
    """Solves one window after another."""

    places: RoomPlaces
    stages: Stages
    tail: float
    """What a window may leave."""
    steps: int = 0
    factors: RoomFactors | None = None
    last: tuple[Room, Array, float, float] | None = None
    """The last window: its coefficients in space and time, start and stop."""

    def window(self, state: RoomState, U: Array, t: float, stop: float) -> Window:
        """The window as a function of space and time."""
        room, st, e = state.room, self.stages, self.places.evolution
        series = self.series(state, U)
        self.last = room, series, t, stop
        if not e.forward:
            series = series * (-1.0) ** np.arange(series.shape[-1])
        basis = EvolvingBasis(
            room.basis, st.count + 1, np.array([0.5 * (t + stop)]), np.array([0.5 * abs(stop - t)])
        )
        w = np.concatenate([(room.turn @ part).ravel() for part in series[0]])
        return Window(Whole.shared(basis, self.places.bench.lowered.unknowns), w, t, stop, math.nan)

    def series(self, state: RoomState, U: Array) -> Array:
        """Coefficients in time of every coefficient in space, (1, unknowns, n, s + 1)."""
        return series_of(self.stages, state.rates[0], U, self.places.evolution.orders)

    def solve(self, state: RoomState, t: float, stop: float, sizes: Array) -> tuple[Array, Array]:
        """The coefficients at all moments (1, unknowns, n, s), and the rates at the end.

        ``sizes`` is how large each unknown was before. Raises a `NoWindowError`.
        """
        st, h, room = self.stages, stop - t, state.room
        lines = room.lines
        course = Course.of(self.places.evolution, self.places.bench.lowered)
        moments = lines.at(course.moments(t, stop, st.nodes))
        shape = (1, lines.unknowns, lines.functions, st.count)
        U = np.repeat(state.rates[0][..., None], st.count, axis=-1)
        if not lines.is_linear:
            U = self._continued(state, t, stop, U, sizes)
        old, fresh = self.factors, False
        if (
            old is None
            or old.room is not room
            or not math.isclose(old.h, h, rel_tol=1e-9)
            or (lines.is_linear and not moments.has_operator(old.weights))
        ):
            old = None
        size = max(float(np.abs(U).max()), float(sizes.max(initial=0.0)), 1e-300)
        going = Contraction()
        for step in range(MARCH.steps):
            rates = st.rates(U, state.rates, lines.highest, h)
            if old is None:
                old, fresh = self._factored(moments, rates, room, h), True
            rests = lines.is_linear and moments.has_operator(old.weights)
            R = old.rows(moments.residual(rates))
            if not np.isfinite(R).all():
                raise NoWindowError
            change = st.together(old.solver.solve(st.apart(R))).reshape(shape)
            if step == 0:
                going.ratio = 1e-9 if rests else 0.1
            going.hear(float(np.abs(change).max()))
            self.steps += 1
            U = U - change
            size = max(size, float(np.abs(U).max()))  # what begins with 0 has none before
            enough = left_by_newton(self.tail) * size
            if going.is_there(enough) or going.is_rounding(1e3 * enough + 1e-11 * size):
                break
            old = None if going.wants_another(fresh) else old
        else:
            raise NoWindowError
        rates = st.rates(U, state.rates, lines.highest, h)
        return U, np.stack([r[..., -1] for r in rates[: lines.highest]])

    def _factored(self, moments: Moments, rates: list[Array], room: Room, h: float) -> RoomFactors:
        lines, old = moments.lines, self.factors
        walls = lines.groups[len(self.places.equations) :]
        still = all(a == 0 for g in walls for _, _, _, a in g.terms)
        try:
            if (
                old is not None
                and old.room is room
                and still
                and lines.is_linear
                and moments.has_operator(old.weights)
            ):
                weights, rows, parts = old.weights, old.rows, old.parts  # another length, that is all
            else:
                weights, rows, parts = self._squared(moments, rates, room, h)
            shifts = self.stages.values / h
            solver = Shifted.of(Dense(parts), shifts)
        except (np.linalg.LinAlgError, RuntimeError, ValueError):
            raise NoWindowError from None
        self.factors = RoomFactors(room, h, weights, rows, parts, solver)
        return self.factors

    def _squared(
        self, moments: Moments, rates: list[Array], room: Room, h: float
    ) -> tuple[list[Array], Squaring, tuple[Array, ...]]:
        """The coefficients of all rows, what makes the rows square, and the square matrices."""
        operator = moments.slopes(rates)
        whole = cast("Dense", operator.parts())  # of one cell
        if not self.places.order:
            return operator.weights, untested, whole.parts
        equations = len(self.places.equations)
        between = equations * len(room.points)
        B = np.zeros_like(whole.parts[0][between:])
        for a, M in enumerate(whole.parts):
            B += abs(h) ** -a * M[between:]
        ends = np.cumsum([0, *(g.rows for g in moments.lines.groups[equations:])]).tolist()
        groups = tuple(map(slice, ends[:-1], ends[1:]))
        tests = room.values * room.weights[:, None]
        rows = Projection.of(tests, self.places.order, B, room.wall_weights, groups, ROOMS.unfelt)
        return operator.weights, rows, tuple(rows(M) for M in whole.parts)

    def _continued(self, state: RoomState, t: float, stop: float, held: Array, sizes: Array) -> Array:
        """The last window's polynomials, a little further."""
        if self.last is None or self.last[0] is not state.room:
            return held
        _, series, start, end = self.last
        times = t + (stop - t) * self.stages.nodes
        return start_from(extended(series, (start, end), times), held, sizes)

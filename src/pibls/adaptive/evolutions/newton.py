r"""r(∂_t^a u, …) = 0 at the moments of one window: Newton's method with a matrix that is kept.

The matrix is taken once, as the mean over what the window goes through, and serves all steps, also those of
later windows as long as the steps contract; a linear evolution whose coefficients rest keeps it altogether.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pibls.adaptive.evolutions.contraction import Contraction, extended, series_of, start_from
from pibls.adaptive.evolutions.initial_state import State, moved
from pibls.adaptive.evolutions.line_mesh import Places
from pibls.adaptive.evolutions.resolution import Resolution, in_pieces
from pibls.adaptive.evolutions.time_stepping import Course, NoWindowError
from pibls.adaptive.evolutions.trajectory import Window
from pibls.adaptive.thresholds import LINES, MARCH
from pibls.arrays import Array
from pibls.assembly.evolutions.axial import Axial
from pibls.assembly.evolutions.lines import Lines, Moments
from pibls.assembly.evolutions.modal import Modal
from pibls.caching import cached_property
from pibls.deadline import go_on
from pibls.linalg.krylov import gmres
from pibls.linalg.shifted import Shifted
from pibls.nonlinear.stages import Stages


@dataclass
class Factors:
    """The factored matrix of a window, for those that follow."""

    resolution: Resolution
    h: float
    weights: list[Array]
    solver: Shifted | Modal | Axial
    is_whole: bool
    """Whether it is the operator itself, not its mean over space."""
    in_steps: bool = False
    """Whether it only makes the operator nearly the identity, and the rest is done in Krylov's steps."""
    moving: int = 0
    """The groups that these have to do with: where all sides are met at once, the equations. 0: all."""


@dataclass(frozen=True)
class Past:
    """The last window: its coefficients in space and time, from where the next one starts."""

    resolution: Resolution
    series: Array = field(repr=False)
    """(cells, unknowns, n, s + 1)."""
    start: float
    stop: float

    def at(self, places: Places, resolution: Resolution) -> Array:
        """The coefficients at another resolution."""
        if resolution == self.resolution:
            return self.series
        found = moved(places, State(self.resolution, np.moveaxis(self.series, -1, 0)), resolution)
        return np.moveaxis(found.rates, 0, -1)


@dataclass
class WindowSolver:
    """Solves one window after another."""

    places: Places
    stages: Stages
    tail: float
    """What a window may leave."""
    steps: int = 0
    left: float = 0.0
    """What Krylov's steps may have left in the last window, relative."""
    factors: Factors | None = field(default=None, repr=False)
    _varied: bool = False
    """Whether means over space do not serve: the coefficients vary too much."""

    @cached_property
    def course(self) -> Course:
        return Course.of(self.places.evolution, self.places.bench.lowered)

    def solve(
        self, lines: Lines, state: State, past: Past | None, t: float, stop: float, sizes: Array
    ) -> tuple[Array, Array]:
        """The coefficients at all moments (cells, unknowns, n, s), and the rates at the end.

        ``sizes`` is how large each unknown was before. Raises a `NoWindowError`.
        """
        st, h = self.stages, stop - t
        times = self.course.moments(t, stop, st.nodes)
        moments = lines.at(times)
        # Unknowns without a rate have no beginning: the last window's end is as good a start as any.
        U = np.repeat(state.rates[0][..., None], st.count, axis=-1)
        if past is not None and not lines.is_linear:
            U = self._continued(state, past, times, sizes)
        old, fresh = self.factors, False
        if (
            old is None
            or old.resolution != state.resolution
            or not math.isclose(old.h, h, rel_tol=1e-9)
            or (lines.is_linear and not moments.has_operator(old.weights))
        ):
            old = None
        size = max(float(np.abs(U).max()), float(sizes.max(initial=0.0)), 1e-300)
        going = Contraction()
        for step in range(MARCH.steps):
            go_on(__name__)
            rates = st.rates(U, state.rates, lines.highest, h)
            R = moments.residual(rates)
            if not np.isfinite(R).all():
                raise NoWindowError
            if old is None:
                old, fresh = self._factored(moments, rates, state.resolution, h), True
            if step == 0:
                going.ratio = 1e-9 if old.is_whole and moments.has_operator(old.weights) else 0.1
            share = MARCH.left[lines.highest > 1] if old.in_steps else MARCH.left[1]
            self.left = share * self.tail if old.in_steps else 0.0
            change, left = self._change(old, moments, rates, R, max(share * self.tail, 2e-16) * size)
            going.hear(float(np.sqrt(np.einsum("ckns,ckns->cks", change, change).max())))
            going.ratio = left if left is not None and lines.is_linear else going.ratio
            self.steps += 1
            U = U - change
            size = max(size, float(np.abs(U).max()))  # from nothing, it is known only now
            # What is left here goes into the rates at the end s²/h times as large, and on into later windows.
            enough = max(share * self.tail, 2e-16) * size
            if going.is_there(enough):
                break
            # Steps that no longer shrink are rounding, or lead away because the matrix is from elsewhere:
            # these had ended a window near a steady state after two.
            known = old.is_whole and (fresh or lines.is_linear)
            if going.is_rounding((1e3 * enough if known else 0.0) + 1e-11 * size):
                break
            if old.is_whole:
                old = None if going.wants_another(fresh) else old
            elif going.is_slower(LINES.contraction):
                if lines.columns > LINES.whole:
                    raise NoWindowError
                self._varied = True
                old = None
        else:
            raise NoWindowError
        rates = st.rates(U, state.rates, lines.highest, h)
        return U, np.stack([r[..., -1] for r in rates[: max(lines.highest, 1)]])

    def _change(
        self, factors: Factors, moments: Moments, rates: list[Array], R: Array, enough: float
    ) -> tuple[Array, float | None]:
        """What Newton's method takes off, and what Krylov's steps have left of that."""
        st, solver = self.stages, factors.solver

        def solved(R: Array) -> Array:
            return st.together(solver.solve(st.apart(R))).reshape(rates[0].shape)

        change = solved(R)
        size = max(float(np.linalg.norm(change)), 1e-300)
        left = 0.3 * enough / size
        if not factors.in_steps or left > LINES.krylov_lost:
            return change, None
        lines = moments.lines
        groups = factors.moving or len(lines.groups)
        apply, nothing = moments.changed(rates, groups), np.zeros((lines.highest, *change.shape[:-1]))

        def applied(v: Array) -> Array:
            return apply(st.rates(v, nothing, lines.highest, factors.h))

        rest = solved(R[: lines.firsts[groups]] - applied(change))
        share = float(np.linalg.norm(rest)) / size
        enough_left = max(left, LINES.krylov_left[lines.is_linear]) / max(share, 1e-300)
        if enough_left >= 1.0:
            return change + rest, None
        found = gmres(lambda v: solved(applied(v)), rest, left=enough_left, most=LINES.krylov_steps)
        if not found.left * share < LINES.krylov_lost:
            raise NoWindowError
        return change + found.z, found.left * share

    def _factored(self, moments: Moments, rates: list[Array], found: Resolution, h: float) -> Factors:
        operator, lines = moments.slopes(rates), moments.lines
        shifts = self.stages.values / h
        solver: Shifted | Modal | Axial | None = None
        in_steps, moving = False, 0
        try:
            small = lines.columns <= LINES.whole
            if lines.modes is not None and not (self._varied and small):
                solver = Modal.of(lines, lines.modes, operator.weights, shifts)
                rests = moments.has_operator(operator.weights)
                in_steps = len(found.sizes) > 1 and not (solver.is_exact and rests)
                if small and not solver.is_exact and rests:
                    solver, in_steps = None, False  # the whole matrix serves for ever
            if lines.frame is not None:
                rests = moments.has_operator(operator.weights)
                solver = Axial.of(lines, lines.frame, operator.weights, shifts)
                in_steps = solver is not None and not (solver.is_exact and rests)
                equations = len(lines.frame.order)
                if (
                    solver is not None
                    and solver.holds_sides
                    and moments.has_operator(operator.weights, equations)
                ):
                    moving = equations
                if in_steps and rests and small:
                    solver, in_steps = None, False  # the whole matrix serves for ever
                if solver is None and lines.columns > LINES.whole:
                    raise NoWindowError
            if solver is None:
                solver = Shifted.of(operator.parts(), shifts)
        except (np.linalg.LinAlgError, RuntimeError, ValueError):
            raise NoWindowError from None
        whole = in_steps or solver.is_exact
        self.factors = Factors(found, h, operator.weights, solver, whole, in_steps, moving)
        return self.factors

    def _continued(self, state: State, past: Past, times: Array, sizes: Array) -> Array:
        """The last window's polynomials, a little further."""
        out = extended(past.at(self.places, state.resolution), (past.start, past.stop), times)
        held = np.repeat(state.rates[0][..., None], len(times), axis=-1)
        for k, order in enumerate(self.places.evolution.orders):
            if not order:
                held[:, k] = out[:, k]
        return start_from(out, held, sizes)

    def series(self, state: State, U: Array) -> Array:
        """Coefficients in time of every coefficient in space, (cells, unknowns, n, s + 1)."""
        return series_of(self.stages, state.rates[0], U, self.places.evolution.orders)

    def past(self, state: State, U: Array, t: float, stop: float) -> Past:
        """A window that the next one starts from."""
        return Past(state.resolution, self.series(state, U), t, stop)

    def window(self, past: Past) -> Window:
        """The window as a function of space and time."""
        found, e, st = past.resolution, self.places.evolution, self.stages
        t, stop, series = past.start, past.stop, past.series
        if not e.forward:
            series = series * (-1.0) ** np.arange(series.shape[-1])
        each = in_pieces(np.moveaxis(series, -1, 0), found)
        ordered = np.moveaxis(each, 0, 2 + e.axis)
        extent = min(t, stop), max(t, stop), st.count + 1
        if found.edges:
            lattice = self.places.lattice(found, *extent)
            return Window(lattice, lattice.ordered(ordered[0]).ravel(), t, stop, math.nan)
        space = self.places.space(found, *extent)
        return Window(space, np.ascontiguousarray(ordered).ravel(), t, stop, math.nan)

r"""r(∂_t^a u, …) = 0 at the moments of one window: Newton's method with a matrix that is kept.

The matrix is taken once, as the mean over what the window goes through, and serves all steps, also those of
later windows as long as the steps contract; a linear evolution whose coefficients rest keeps it altogether.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.linalg.shifted import Shifted
from pibls.problem import Jet
from pibls.search.beginning import State
from pibls.search.chain import Places
from pibls.search.followed import Window
from pibls.search.resolution import Resolution, coefficients_of
from pibls.search.thresholds import LINES
from pibls.solver.stages import Stages
from pibls.system.lines import Lines, Moments


class NoWindowError(Exception):
    """The equations of a window were not solved."""


@dataclass
class Factors:
    """The factored matrix of a window, for those that follow."""

    resolution: Resolution
    h: float
    weights: list[Array]
    solver: Shifted


@dataclass
class WindowSolver:
    """Solves one window after another."""

    places: Places
    stages: Stages
    tail: float
    """What a window may leave."""
    check: Callable[[], None] = field(default=lambda: None, repr=False)
    """Called before each factorisation; raises where the time is over."""
    steps: int = 0
    factors: Factors | None = field(default=None, repr=False)

    def solve(
        self, lines: Lines, state: State, previous: Window | None, t: float, stop: float, sizes: Array
    ) -> tuple[Array, Array]:
        """The coefficients at all moments (cells, unknowns, n, s), and the rates at the end.

        ``sizes`` is how large each unknown was before. Raises a `NoWindowError`.
        """
        st, h = self.stages, stop - t
        times = t + h * st.nodes
        times[-1] = stop
        moments = lines.at(times)
        shape = (lines.cells, lines.unknowns, lines.functions)
        # Unknowns without a rate have no beginning: the last window's end is as good a start as any.
        U = np.repeat(state.rates[0][..., None], st.count, axis=-1)
        if previous is not None and not lines.is_linear:
            U = self._continued(state, previous, times, sizes)
        old, last, fresh = self.factors, math.inf, False
        if (
            old is None
            or old.resolution != state.resolution
            or not math.isclose(old.h, h, rel_tol=1e-9)
            or (lines.is_linear and not moments.has_operator(old.weights))
        ):
            old = None
        size = max(float(np.abs(U).max()), float(sizes.max(initial=0.0)), 1e-300)
        enough = max(1e-3 * self.tail, 2e-16) * size
        slow = 0
        for step in range(LINES.steps):
            rates = st.rates(U, state.rates, lines.highest, h)
            R = moments.residual(rates)
            if not np.isfinite(R).all():
                raise NoWindowError
            if old is None:
                old, fresh = self._factored(moments, rates, state.resolution, h), True
            Z = old.solver.solve(st.apart(R))
            change = st.together(Z).reshape(*shape, st.count)
            moved = float(np.abs(change).max())
            if not math.isfinite(moved):
                raise NoWindowError
            self.steps += 1
            U = U - change
            ratio = moved / last if math.isfinite(last) else (1e-9 if lines.is_linear else 0.1)
            if moved <= enough or moved * ratio / (1.0 - min(ratio, 0.9)) <= enough:
                break
            if step >= 1 and ratio > 0.7 and moved < 1e3 * enough + 1e-11 * size:
                break  # rounding
            if step >= 1 and ratio > LINES.contraction:
                slow += 1
                if (ratio > 2.0 and fresh and step > 2) or slow > 3:
                    raise NoWindowError
                if not fresh or ratio < 1.0:
                    old = None  # a matrix nearer to the solution
            last = moved
        else:
            raise NoWindowError
        rates = st.rates(U, state.rates, lines.highest, h)
        return U, np.stack([r[..., -1] for r in rates[: max(lines.highest, 1)]])

    def _factored(self, moments: Moments, rates: list[Array], found: Resolution, h: float) -> Factors:
        operator = moments.slopes(rates)
        try:
            solver = Shifted.of(operator.parts(), self.stages.values / h, self.check)
        except (np.linalg.LinAlgError, RuntimeError, ValueError):
            raise NoWindowError from None
        self.factors = Factors(found, h, operator.weights, solver)
        return self.factors

    def _continued(self, state: State, previous: Window, times: Array, sizes: Array) -> Array:
        """The last window's polynomials, a little further."""
        e, found = self.places.evolution, state.resolution
        site = self.places.grid(found, found.sizes)
        cells, n, d = site.points.shape
        X = np.repeat(site.points.reshape(-1, d), len(times), axis=0)
        X[:, e.axis] = np.tile(times, cells * n)
        jets = tuple(Jet(k, (0,) * d) for k in range(len(e.orders)))
        values = previous.space.values((X,), jets, previous.w)
        values = values.reshape(-1, cells, n, len(times)).transpose(1, 0, 3, 2)
        out = coefficients_of(values, found.sizes, found.repeated).transpose(0, 1, 3, 2)
        held = np.repeat(state.rates[0][..., None], len(times), axis=-1)
        for k, order in enumerate(e.orders):
            if not order:
                held[:, k] = out[:, k]
        far = np.abs(out - held).max()
        size = max(float(sizes.max()), 1e-300)
        return np.ascontiguousarray(out if np.isfinite(far) and far < 0.5 * size else held)

    def series(self, state: State, U: Array) -> Array:
        """Coefficients in time of every coefficient in space, (cells, unknowns, n, s + 1)."""
        st = self.stages
        out = np.empty((*U.shape[:3], st.count + 1))
        every = np.concatenate([state.rates[0][..., None], U], axis=-1)
        for k, order in enumerate(self.places.evolution.orders):
            out[:, k] = every[:, k] @ st.series.T if order else U[:, k] @ st.bare.T
        return out

    def window(self, state: State, U: Array, t: float, stop: float) -> Window:
        """The window as a function of space and time."""
        found, e, st = state.resolution, self.places.evolution, self.stages
        series = self.series(state, U)
        if not e.forward:
            series = series * (-1.0) ** np.arange(series.shape[-1])
        shape = (*series.shape[:2], *found.sizes, st.count + 1)
        ordered = np.moveaxis(series.reshape(shape), -1, 2 + e.axis)
        space = self.places.space(found, min(t, stop), max(t, stop), st.count + 1)
        return Window(space, np.ascontiguousarray(ordered).ravel(), t, stop, math.nan)

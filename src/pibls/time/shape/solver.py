r"""Newton's method for one time window of a Galerkin method: P r(Σ c_i(t) f_i) = 0 at the collocation times.

The projection P makes the rows at the points square (`assembly.evolutions.galerkin_projection`). A linear
evolution with constant coefficients keeps its matrix factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from pibls.arrays import Array
from pibls.assembly.evolutions.galerkin_projection import GalerkinProjection, unprojected
from pibls.assembly.evolutions.semidiscrete import SystemAtTimes
from pibls.basis.polynomials.space_time import SpaceTimeBasis
from pibls.linalg.shifted import DensePencil, ShiftedFactorization
from pibls.spaces import SingleDomainSpace
from pibls.time.interval import TimeInterval
from pibls.time.newton_convergence import (
    NewtonConvergence,
    extrapolate,
    newton_start,
    time_coefficients,
)
from pibls.time.radau_stages import RadauStages
from pibls.time.shape.operator import GalerkinOperator, GalerkinSpace
from pibls.time.step_control import newton_tolerance
from pibls.time.thresholds import GALERKIN, TIME_STEPPING
from pibls.time.trajectory import Window, WindowFailedError

Squaring = Callable[[Array], Array]
"""Map of rows at points to as many rows as there are functions."""


@dataclass(frozen=True)
class GalerkinState:
    """State at the start of a window: ∂_t^a of all coefficients, (time derivatives, 1, unknowns, n)."""

    space: GalerkinSpace
    rates: Array
    is_initial: bool = False
    """Whether it is given by the initial conditions."""


@dataclass
class GalerkinFactors:
    """Factored matrix of a window, reused by later windows."""

    space: GalerkinSpace
    h: float
    weights: list[Array]
    rows: Squaring
    parts: tuple[Array, ...]
    solver: ShiftedFactorization


@dataclass
class GalerkinSolver:
    """Solves the equations of time windows, reusing matrix factors."""

    operator: GalerkinOperator
    stages: RadauStages
    tail_tolerance: float
    """Tolerance of the spectral tails, from which the Newton tolerance follows."""
    newton_steps: int = 0
    factors: GalerkinFactors | None = None
    previous: tuple[GalerkinSpace, Array, float, float] | None = None
    """The last window: its space, its coefficients in space and time, start and stop."""

    def window(self, state: GalerkinState, U: Array, t: float, stop: float) -> Window:
        """Return the window as a function of space and time."""
        space, st, e = state.space, self.stages, self.operator.evolution
        series = self.series(state, U)
        self.previous = space, series, t, stop
        if not e.forward:
            series = series * (-1.0) ** np.arange(series.shape[-1])
        basis = SpaceTimeBasis(
            space.basis, st.count + 1, np.array([0.5 * (t + stop)]), np.array([0.5 * abs(stop - t)])
        )
        w = np.concatenate([(space.transform @ part).ravel() for part in series[0]])
        return Window(SingleDomainSpace.shared(basis, self.operator.context.compiled.unknowns), w, t, stop)

    def series(self, state: GalerkinState, U: Array) -> Array:
        """Return the Legendre coefficients in time of each coefficient in space, (1, unknowns, n, s + 1)."""
        return time_coefficients(self.stages, state.rates[0], U, self.operator.evolution.orders)

    def solve(self, state: GalerkinState, t: float, stop: float, magnitudes: Array) -> tuple[Array, Array]:
        """Return the coefficients at the collocation times (1, unknowns, n, s) and the final derivatives.

        ``magnitudes`` is max abs(u) of each unknown so far. Raises `WindowFailedError`.
        """
        st, h, space = self.stages, stop - t, state.space
        system = space.system
        time_interval = TimeInterval.of(self.operator.evolution, self.operator.context.compiled)
        at_times = system.at(time_interval.collocation_times(t, stop, st.nodes))
        shape = (1, system.unknowns, system.functions, st.count)
        U = np.repeat(state.rates[0][..., None], st.count, axis=-1)
        if not system.is_linear:
            U = self._extrapolated(state, t, stop, U, magnitudes)
        old, fresh = self._reusable_factors(at_times, space, h), False
        size = max(float(np.abs(U).max()), float(magnitudes.max(initial=0.0)), 1e-300)
        convergence = NewtonConvergence()
        for step in range(TIME_STEPPING.max_newton_steps):
            rates = st.time_derivatives(U, state.rates, system.time_order, h)
            if old is None:
                old, fresh = self._factored(at_times, rates, space, h), True
            is_constant = system.is_linear and at_times.has_coefficients(old.weights)
            R = old.rows(at_times.residual(rates))
            if not np.isfinite(R).all():
                raise WindowFailedError
            change = st.from_eigenbasis(old.solver.solve(st.to_eigenbasis(R))).reshape(shape)
            if step == 0:
                convergence.ratio = 1e-9 if is_constant else 0.1
            convergence.record_step(float(np.abs(change).max()))
            self.newton_steps += 1
            U = U - change
            size = max(size, float(np.abs(U).max()))  # zero initial data have no magnitude before
            enough = newton_tolerance(self.tail_tolerance) * size
            if convergence.has_converged(enough) or convergence.is_rounding(1e3 * enough + 1e-11 * size):
                break
            old = None if convergence.needs_new_jacobian(fresh) else old
        else:
            raise WindowFailedError
        rates = st.time_derivatives(U, state.rates, system.time_order, h)
        return U, np.stack([r[..., -1] for r in rates[: system.time_order]])

    def _reusable_factors(
        self, at_times: SystemAtTimes, space: GalerkinSpace, h: float
    ) -> GalerkinFactors | None:
        """Return the factors of an earlier window if they fit this one."""
        factors = self.factors
        if factors is None or factors.space is not space or not math.isclose(factors.h, h, rel_tol=1e-9):
            return None
        if at_times.system.is_linear and not at_times.has_coefficients(factors.weights):
            return None
        return factors

    def _factored(
        self, at_times: SystemAtTimes, rates: list[Array], space: GalerkinSpace, h: float
    ) -> GalerkinFactors:
        system, old = at_times.system, self.factors
        conditions = system.statements[len(self.operator.equations) :]
        is_stationary = all(a == 0 for g in conditions for _, _, _, a in g.terms)
        try:
            if (
                old is not None
                and old.space is space
                and is_stationary
                and system.is_linear
                and at_times.has_coefficients(old.weights)
            ):
                weights, rows, parts = old.weights, old.rows, old.parts  # only the window length differs
            else:
                weights, rows, parts = self._squared(at_times, rates, space, h)
            shifts = self.stages.eigenvalues / h
            solver = ShiftedFactorization.of(DensePencil(parts), shifts)
        except (np.linalg.LinAlgError, RuntimeError, ValueError):
            raise WindowFailedError from None
        self.factors = GalerkinFactors(space, h, weights, rows, parts, solver)
        return self.factors

    def _squared(
        self, at_times: SystemAtTimes, rates: list[Array], space: GalerkinSpace, h: float
    ) -> tuple[list[Array], Squaring, tuple[Array, ...]]:
        """Return the coefficients of all rows, the map that makes them square, and the square matrices."""
        jacobian = at_times.mean_jacobian(rates)
        whole = cast("DensePencil", jacobian.matrices())  # a single cell
        if not self.operator.matched_unknowns:
            return jacobian.weights, unprojected, whole.parts
        equations = len(self.operator.equations)
        between = equations * len(space.points)
        B = np.zeros_like(whole.parts[0][between:])
        for a, M in enumerate(whole.parts):
            B += abs(h) ** -a * M[between:]
        ends = np.cumsum([0, *(g.rows for g in at_times.system.statements[equations:])]).tolist()
        groups = tuple(map(slice, ends[:-1], ends[1:]))
        tests = space.values * space.weights[:, None]
        rows = GalerkinProjection.of(
            tests,
            self.operator.matched_unknowns,
            B,
            space.boundary_weights,
            groups,
            GALERKIN.boundary_rank_tolerance,
        )
        return jacobian.weights, rows, tuple(rows(M) for M in whole.parts)

    def _extrapolated(
        self, state: GalerkinState, t: float, stop: float, constant: Array, magnitudes: Array
    ) -> Array:
        """Return the polynomials of the last window, extrapolated to this one."""
        if self.previous is None or self.previous[0] is not state.space:
            return constant
        _, series, start, end = self.previous
        times = t + (stop - t) * self.stages.nodes
        return newton_start(extrapolate(series, (start, end), times), constant, magnitudes)

r"""Newton's method for one time window of collocation in space: r(∂_t^a u, …) = 0 at the collocation times.

The Jacobian is averaged over the window, factored once, and reused for all steps and for later windows as
long as the steps contract. A linear evolution with constant coefficients keeps it throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.assembly.evolutions.fourier_inverse import FourierInverse
from pibls.assembly.evolutions.fourier_modes import FourierModes
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem, SystemAtTimes
from pibls.assembly.evolutions.separable_inverse import SeparableInverse
from pibls.assembly.evolutions.tensor_layout import TensorLayout
from pibls.linalg.gmres import gmres
from pibls.linalg.shifted import ShiftedFactorization
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline
from pibls.time.box.initial_state import CollocationState, change_resolution
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.resolution import Resolution, per_interval
from pibls.time.interval import TimeInterval
from pibls.time.newton_convergence import (
    NewtonConvergence,
    extrapolate,
    newton_start,
    time_coefficients,
)
from pibls.time.radau_stages import RadauStages
from pibls.time.thresholds import COLLOCATION, TIME_STEPPING
from pibls.time.trajectory import Window, WindowFailedError


@dataclass
class CollocationFactors:
    """Factored matrix of a window, reused by later windows."""

    resolution: Resolution
    h: float
    weights: list[Array]
    solver: ShiftedFactorization | FourierInverse | SeparableInverse
    is_exact: bool
    """Whether it is the Jacobian itself, not its mean over space."""
    is_preconditioner: bool = False
    """Whether it is only a preconditioner for Krylov iterations."""
    krylov_groups: int = 0
    """Number of leading groups of rows in the Krylov iteration: the equations only, if the preconditioner
    satisfies the boundary conditions exactly; 0 for all groups."""


@dataclass(frozen=True)
class PreviousWindow:
    """The last window: its coefficients in space and time, used to extrapolate to the next one."""

    resolution: Resolution
    series: Array = field(repr=False)
    """(cells, unknowns, n, s + 1)."""
    start: float
    stop: float

    def at(self, operator: CollocationOperator, resolution: Resolution) -> Array:
        """Return the coefficients at another resolution."""
        if resolution == self.resolution:
            return self.series
        found = change_resolution(
            operator, CollocationState(self.resolution, np.moveaxis(self.series, -1, 0)), resolution
        )
        return np.moveaxis(found.rates, 0, -1)


@dataclass
class CollocationSolver:
    """Solves the equations of time windows, reusing matrix factors."""

    operator: CollocationOperator
    stages: RadauStages
    tail_tolerance: float
    """Tolerance of the spectral tails, from which the Newton tolerance follows."""
    newton_steps: int = 0
    krylov_residual: float = 0.0
    """Relative residual that the Krylov iteration may have left in the last window."""
    factors: CollocationFactors | None = field(default=None, repr=False)
    _needs_full_matrix: bool = False
    """Whether the coefficients vary too much in space for averaged operators."""

    @cached_property
    def time_interval(self) -> TimeInterval:
        return TimeInterval.of(self.operator.evolution, self.operator.context.compiled)

    def solve(
        self,
        system: SemidiscreteSystem,
        state: CollocationState,
        previous_window: PreviousWindow | None,
        t: float,
        stop: float,
        magnitudes: Array,
    ) -> tuple[Array, Array]:
        """Return the coefficients at the collocation times (cells, unknowns, n, s) and the final derivatives.

        ``magnitudes`` is max abs(u) of each unknown so far. Raises `WindowFailedError`.
        """
        st, h = self.stages, stop - t
        times = self.time_interval.collocation_times(t, stop, st.nodes)
        at_times = system.at(times)
        # Unknowns without time derivative have no initial value; the end of the last window is used.
        U = np.repeat(state.rates[0][..., None], st.count, axis=-1)
        if previous_window is not None and not system.is_linear:
            U = self._extrapolated(state, previous_window, times, magnitudes)
        factors, fresh = self._reusable_factors(at_times, state.resolution, h), False
        size = max(float(np.abs(U).max()), float(magnitudes.max(initial=0.0)), 1e-300)
        convergence = NewtonConvergence()
        for step in range(TIME_STEPPING.max_newton_steps):
            check_deadline(__name__)
            rates = st.time_derivatives(U, state.rates, system.time_order, h)
            R = at_times.residual(rates)
            if not np.isfinite(R).all():
                raise WindowFailedError
            if factors is None:
                factors, fresh = self._factored(at_times, rates, state.resolution, h), True
            if step == 0:
                is_newton = factors.is_exact and at_times.has_coefficients(factors.weights)
                convergence.ratio = 1e-9 if is_newton else 0.1
            tolerance = self._step_tolerance(factors, system)
            change, left = self._change(factors, at_times, rates, R, tolerance * size)
            convergence.record_step(float(np.sqrt(np.einsum("ckns,ckns->cks", change, change).max())))
            convergence.ratio = left if left is not None and system.is_linear else convergence.ratio
            self.newton_steps += 1
            U = U - change
            size = max(size, float(np.abs(U).max()))  # zero initial data have no magnitude before
            # An error here enters the final time derivatives s²/h times as large, and so the later windows.
            enough = tolerance * size
            if convergence.has_converged(enough):
                break
            # Steps that no longer shrink are rounding only if the Jacobian is exact. With an outdated one, a
            # window near a steady state ended after two steps.
            known = factors.is_exact and (fresh or system.is_linear)
            if convergence.is_rounding((1e3 * enough if known else 0.0) + 1e-11 * size):
                break
            if self._is_outdated(factors, convergence, fresh, system):
                factors = None
        else:
            raise WindowFailedError
        rates = st.time_derivatives(U, state.rates, system.time_order, h)
        return U, np.stack([r[..., -1] for r in rates[: max(system.time_order, 1)]])

    def _reusable_factors(
        self, at_times: SystemAtTimes, resolution: Resolution, h: float
    ) -> CollocationFactors | None:
        """Return the factors of an earlier window if they fit this one."""
        factors = self.factors
        if factors is None or factors.resolution != resolution:
            return None
        if not math.isclose(factors.h, h, rel_tol=1e-9):
            return None
        if at_times.system.is_linear and not at_times.has_coefficients(factors.weights):
            return None
        return factors

    def _step_tolerance(self, factors: CollocationFactors, system: SemidiscreteSystem) -> float:
        """Return the relative tolerance of a Newton step, and record the residual it may leave."""
        high_order = system.time_order > 1 if factors.is_preconditioner else True
        tolerance = TIME_STEPPING.newton_tail_fraction[high_order] * self.tail_tolerance
        self.krylov_residual = tolerance if factors.is_preconditioner else 0.0
        return max(tolerance, 2e-16)

    def _is_outdated(
        self,
        factors: CollocationFactors,
        convergence: NewtonConvergence,
        fresh: bool,
        system: SemidiscreteSystem,
    ) -> bool:
        """Whether new factors are needed, because the steps contract too slowly."""
        if factors.is_exact:
            return convergence.needs_new_jacobian(fresh)
        if not convergence.is_slower_than(COLLOCATION.max_contraction):
            return False
        if system.columns > COLLOCATION.max_dense_functions:
            raise WindowFailedError
        self._needs_full_matrix = True
        return True

    def _change(
        self,
        factors: CollocationFactors,
        at_times: SystemAtTimes,
        rates: list[Array],
        R: Array,
        enough: float,
    ) -> tuple[Array, float | None]:
        """Return the Newton step, and the relative residual of its Krylov iteration if there was one."""
        st, solver = self.stages, factors.solver

        def solved(R: Array) -> Array:
            return st.from_eigenbasis(solver.solve(st.to_eigenbasis(R))).reshape(rates[0].shape)

        change = solved(R)
        size = max(float(np.linalg.norm(change)), 1e-300)
        left = 0.3 * enough / size
        if not factors.is_preconditioner or left > COLLOCATION.max_krylov_residual:
            return change, None
        system = at_times.system
        groups = factors.krylov_groups or len(system.statements)
        apply, zero_state = (
            at_times.directional_derivative(rates, groups),
            np.zeros((system.time_order, *change.shape[:-1])),
        )

        def applied(v: Array) -> Array:
            return apply(st.time_derivatives(v, zero_state, system.time_order, factors.h))

        rest = solved(R[: system.first_rows[groups]] - applied(change))
        share = float(np.linalg.norm(rest)) / size
        enough_left = max(left, COLLOCATION.min_krylov_tolerance[system.is_linear]) / max(share, 1e-300)
        if enough_left >= 1.0:
            return change + rest, None
        found = gmres(
            lambda v: solved(applied(v)), rest, rtol=enough_left, max_steps=COLLOCATION.max_krylov_steps
        )
        if not found.relative_residual * share < COLLOCATION.max_krylov_residual:
            raise WindowFailedError
        return change + found.z, found.relative_residual * share

    def _factored(
        self, at_times: SystemAtTimes, rates: list[Array], resolution: Resolution, h: float
    ) -> CollocationFactors:
        jacobian = at_times.mean_jacobian(rates)
        try:
            factors = self._structured_factors(at_times, jacobian.weights, resolution, h)
            if factors is None:
                solver = ShiftedFactorization.of(jacobian.matrices(), self.stages.eigenvalues / h)
                factors = CollocationFactors(resolution, h, jacobian.weights, solver, solver.is_exact)
        except (np.linalg.LinAlgError, RuntimeError, ValueError):
            raise WindowFailedError from None
        self.factors = factors
        return factors

    def _structured_factors(
        self, at_times: SystemAtTimes, weights: list[Array], resolution: Resolution, h: float
    ) -> CollocationFactors | None:
        """Return a solver along each coordinate; None if the full matrix is factored instead."""
        system = at_times.system
        if system.layout is not None:
            return self._separable_factors(system.layout, at_times, weights, resolution, h)
        if system.fourier_modes is not None:
            return self._fourier_factors(system.fourier_modes, at_times, weights, resolution, h)
        return None

    def _fourier_factors(
        self,
        modes: FourierModes,
        at_times: SystemAtTimes,
        weights: list[Array],
        resolution: Resolution,
        h: float,
    ) -> CollocationFactors | None:
        """Return the inverse for each Fourier mode; None if the full matrix is factored instead."""
        system = at_times.system
        is_small = system.columns <= COLLOCATION.max_dense_functions
        if self._needs_full_matrix and is_small:
            return None
        solver = FourierInverse.of(system, modes, weights, self.stages.eigenvalues / h)
        is_constant = at_times.has_coefficients(weights)
        if is_small and not solver.is_exact and is_constant:
            return None  # constant coefficients: factor the full matrix once
        is_preconditioner = len(resolution.sizes) > 1 and not (solver.is_exact and is_constant)
        is_exact = is_preconditioner or solver.is_exact
        return CollocationFactors(resolution, h, weights, solver, is_exact, is_preconditioner)

    def _separable_factors(
        self,
        layout: TensorLayout,
        at_times: SystemAtTimes,
        weights: list[Array],
        resolution: Resolution,
        h: float,
    ) -> CollocationFactors | None:
        """Return a tensor-product inverse; None if the full matrix is factored instead."""
        system = at_times.system
        is_small = system.columns <= COLLOCATION.max_dense_functions
        is_constant = at_times.has_coefficients(weights)
        solver = SeparableInverse.of(system, layout, weights, self.stages.eigenvalues / h)
        if solver is None and not is_small:
            raise WindowFailedError
        if solver is None:
            return None
        is_preconditioner = not (solver.is_exact and is_constant)
        if is_preconditioner and is_constant and is_small:
            return None  # constant coefficients: factor the full matrix once
        equations = len(layout.equation_unknowns)
        is_reduced = solver.has_uniform_sides and at_times.has_coefficients(weights, equations)
        is_exact = is_preconditioner or solver.is_exact
        return CollocationFactors(
            resolution, h, weights, solver, is_exact, is_preconditioner, equations if is_reduced else 0
        )

    def _extrapolated(
        self, state: CollocationState, previous_window: PreviousWindow, times: Array, magnitudes: Array
    ) -> Array:
        """Return the polynomials of the last window, extrapolated to this one."""
        out = extrapolate(
            previous_window.at(self.operator, state.resolution),
            (previous_window.start, previous_window.stop),
            times,
        )
        constant = np.repeat(state.rates[0][..., None], len(times), axis=-1)
        for k, order in enumerate(self.operator.evolution.orders):
            if not order:
                constant[:, k] = out[:, k]
        return newton_start(out, constant, magnitudes)

    def series(self, state: CollocationState, U: Array) -> Array:
        """Return Legendre coefficients in time of the coefficients in space, (cells, unknowns, n, s + 1)."""
        return time_coefficients(self.stages, state.rates[0], U, self.operator.evolution.orders)

    def previous_window(self, state: CollocationState, U: Array, t: float, stop: float) -> PreviousWindow:
        """Return a solved window in the form used to extrapolate to the next one."""
        return PreviousWindow(state.resolution, self.series(state, U), t, stop)

    def window(self, previous_window: PreviousWindow) -> Window:
        """Return the window as a function of space and time."""
        found, e, st = previous_window.resolution, self.operator.evolution, self.stages
        t, stop, series = previous_window.start, previous_window.stop, previous_window.series
        if not e.forward:
            series = series * (-1.0) ** np.arange(series.shape[-1])
        each = per_interval(np.moveaxis(series, -1, 0), found)
        ordered = np.moveaxis(each, 0, 2 + e.axis)
        extent = min(t, stop), max(t, stop), st.count + 1
        if found.edges:
            tensor_grid = self.operator.tensor_grid(found, *extent)
            return Window(tensor_grid, tensor_grid.coefficients_from_axes(ordered[0]).ravel(), t, stop)
        space = self.operator.space(found, *extent)
        return Window(space, np.ascontiguousarray(ordered).ravel(), t, stop)

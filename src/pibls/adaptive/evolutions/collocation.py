"""Time stepping with collocation in space, on intervals and boxes.

The coefficients c(t₀) → c(t₁) → … in space advance by windows. Each window is a Radau collocation in time
(`nonlinear.radau_stages`) of the semidiscrete system (`assembly.evolutions.semidiscrete`), solved by Newton's
method (`collocation_solver`). It is accepted if its spectral tails in space and time are small and the
equations hold between the collocation points (`error_indicators`). If initial and boundary data are
incompatible, cells and windows are graded towards the incompatibility, and no error estimate is given before
the first resolved window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.adaptive.evolutions.collocation_solver import CollocationSolver, PreviousWindow
from pibls.adaptive.evolutions.data_bounds import boundary_data_bounds
from pibls.adaptive.evolutions.error_indicators import (
    CHECK_FRACTIONS,
    WindowResiduals,
    rounding_errors,
    space_tails,
    spectral_tails,
)
from pibls.adaptive.evolutions.initial_state import CollocationState, InitialData, change_resolution
from pibls.adaptive.evolutions.line_mesh import CollocationOperator
from pibls.adaptive.evolutions.nonsmooth import NonsmoothStepper, has_undamped_short_waves
from pibls.adaptive.evolutions.refinement import Refinement
from pibls.adaptive.evolutions.resolution import Resolution
from pibls.adaptive.evolutions.time_stepping import (
    STEP_TOO_SMALL,
    TimeStepper,
    ToleranceRelaxation,
    WindowFailedError,
    growth_factor,
    reduction_factor,
    staggered_windows,
)
from pibls.adaptive.evolutions.trajectory import Tolerances, Trajectory, Window
from pibls.adaptive.thresholds import COLLOCATION, TIME_STEPPING
from pibls.adaptive.validation.context import ValidationContext
from pibls.arrays import Array
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem
from pibls.nonlinear.radau_stages import radau_stages
from pibls.runtime.caching import cached_property

_CELL_LIMIT = "more cells are needed than the limit allows"
_UNRESOLVED = "the initial data are not resolved"
_PROPAGATING = "the initial data have discontinuous derivatives that propagate"
_NONSMOOTH_REASONS = (_UNRESOLVED, _PROPAGATING)


@dataclass(frozen=True)
class _SolvedWindow:
    """A solved window before it is accepted or rejected."""

    state: CollocationState
    U: Array
    after: Array
    t: float
    stop: float
    magnitudes: Array


_Start = tuple[CollocationState, PreviousWindow | None]
"""State at the start of a window, and the previous window."""


@dataclass
class CollocationStepper(TimeStepper[_Start, Resolution]):
    """Time stepper with collocation in space."""

    tolerances: Tolerances
    operator: CollocationOperator
    functions: int
    """Number of functions per cell of an interval."""
    stage_count: int
    nonsmooth_stepper: NonsmoothStepper | None = None
    """Stepper that takes over if discontinuous derivatives propagate."""
    primary: CollocationStepper | None = None
    """The stepper of the first solution, if this one computes the companion."""
    resolutions: list[Resolution] = field(default_factory=list)
    """The resolution of each window."""
    use_fourier: bool = True
    """Whether periodic coordinates use Fourier modes instead of cells."""
    divide_axes: bool = False
    """Whether the axes of a box are divided into intervals, for singular corners."""
    halves_failed_windows = True
    _layer_start: float = 0.0
    """Initial time or last switching time."""
    _initial_rounding: float = 2.2e-16
    """Relative rounding error of the initial coefficients."""
    _seam_tail: float = 0.0
    """Spectral tail of initial data that are not exactly periodic; zero if they are."""
    _systems: dict[Resolution, tuple[SemidiscreteSystem, SemidiscreteSystem]] = field(default_factory=dict)

    @cached_property
    def _solver(self) -> CollocationSolver:
        return CollocationSolver(self.operator, radau_stages(self.stage_count), self.tolerances.spectral_tail)

    @cached_property
    def _refinement(self) -> Refinement:
        return Refinement(self.operator, self.divide_axes)

    @cached_property
    def _initial_data(self) -> InitialData:
        return InitialData(self.operator)

    @property
    def context(self) -> ValidationContext:
        return self.operator.context

    @property
    def newton_steps(self) -> int:
        return self._solver.newton_steps

    def run(self) -> Trajectory:
        is_periodic = any(self.operator.periodic)
        found = super().run() if not is_periodic or self._is_smooth_around_period() else None
        if is_periodic and (found is None or found.stopped == _CELL_LIMIT):
            self.use_fourier, self.layers, self._solver.factors = len(self.operator.space_axes) > 1, {}, None
            found = super().run()
        assert found is not None
        face_conditions = self.operator.face_conditions
        if (
            found.stopped in (_CELL_LIMIT, _UNRESOLVED)
            and face_conditions is not None
            and face_conditions.interface_orders
        ):
            self.divide_axes, self.layers, self._solver.factors = True, {}, None
            del self._refinement
            found = super().run()
        if found.stopped in _NONSMOOTH_REASONS and self._has_undamped_short_waves(self._first_state()):
            self.nonsmooth_stepper = NonsmoothStepper(
                self.operator,
                self.functions,
                self.stage_count,
                self.tolerances.spectral_tail,
                check=self.check,
            )
            self.nonsmooth_since, self.layers = self.evolution.start, {}
            return self.nonsmooth_stepper.run()
        return found

    def partial(self) -> Trajectory | None:
        return super().partial() if self.nonsmooth_stepper is None else self.nonsmooth_stepper.partial()

    def run_companion(self, trajectory: Trajectory) -> Trajectory:
        assert self.primary is not None
        nonsmooth_stepper = self.primary.nonsmooth_stepper
        return (
            super().run_companion(trajectory)
            if nonsmooth_stepper is None
            else nonsmooth_stepper.run_companion(trajectory)
        )

    def _first_state(self) -> CollocationState:
        return self._initial_data.at(self._refinement.initial(self.functions, self.use_fourier))

    def _has_undamped_short_waves(self, state: CollocationState) -> bool:
        """Whether the equation propagates short waves without damping."""
        return has_undamped_short_waves(self.operator, state, self._system(state.resolution)[0])

    def _is_smooth_around_period(self) -> bool:
        """Whether the initial data are smooth as periodic functions."""
        if len(self.operator.space_axes) > 1:
            return True
        first = self._refinement.initial(self.functions, True)
        most = Resolution(first.tree, (COLLOCATION.max_fourier_functions,), first.periodic)
        state = self._initial_data.at(most)
        left = float(self._initial_data.unresolved_tails(state).max())
        # Undamped waves keep the tail; cells would not make it smaller.
        return left <= self.tolerances.spectral_tail or (
            left <= COLLOCATION.max_seam_tail * self.tolerances.spectral_tail
            and self._has_undamped_short_waves(state)
        )

    def _begin(self) -> tuple[_Start, float]:
        e, unknowns = self.evolution, self.operator.context.compiled.unknowns
        self._magnitudes = boundary_data_bounds(self.operator.conditions, e.axis, (e.start, e.stop), unknowns)
        self.resolutions = []
        first = self._first_state()
        initial_magnitudes = np.abs(first.rates[0]).max(axis=(0, 2))
        self._magnitudes = np.maximum(self._magnitudes, self._magnitude_floor(initial_magnitudes))
        return (
            self._resolved_initial_state(first),
            None,
        ), TIME_STEPPING.first_length * self.time_interval.duration

    def _cell_count(self, start: _Start) -> int:
        return len(start[0].resolution.tree)

    def _companion_windows(self, trajectory: Trajectory) -> Iterator[tuple[float, float, Resolution]]:
        assert self.primary is not None
        self._magnitudes = self.primary._magnitudes
        chosen = self.primary.resolutions
        return staggered_windows(
            trajectory, chosen, self.time_interval.switch_times, lambda r: (len(r.tree), r.functions)
        )

    def _prescribed_window(
        self, start: _Start | None, t: float, stop: float, chosen: Resolution
    ) -> tuple[Window, _Start]:
        resolution = self._refinement.companion(chosen)
        previous_window = None if start is None else start[1]
        state = (
            self._initial_data.at(resolution)
            if start is None
            else change_resolution(self.operator, start[0], resolution)
        )
        U, after = self._solve(state, previous_window, t, stop)
        previous_window = self._solver.previous_window(state, U, t, stop)
        return self._solver.window(previous_window), (CollocationState(resolution, after), previous_window)

    def _system(self, resolution: Resolution) -> tuple[SemidiscreteSystem, SemidiscreteSystem]:
        """Return the semidiscrete system and the equations at check points."""
        if resolution not in self._systems:
            if len(self._systems) > 4:
                self._systems.clear()
            self._systems[resolution] = (
                self.operator.system(resolution),
                self.operator.check_system(resolution),
            )
        return self._systems[resolution]

    def _resolved_initial_state(self, state: CollocationState) -> CollocationState:
        """Return the initial state at a resolution that resolves it, as far as rounding and limits allow."""
        # Undamped waves keep this error for ever, so it must be smaller than that of the windows.
        wanted = max(
            COLLOCATION.initial_tail_fraction[len(state.resolution.sizes) > 1]
            * self.tolerances.spectral_tail,
            1e-14,
        )
        for _ in range(COLLOCATION.max_initial_refinements):
            cell_tails = self._initial_data.unresolved_tails(state)
            finer = self._refinement.refine(state.resolution, cell_tails / wanted, np.zeros(len(cell_tails)))
            if cell_tails.max() <= wanted or finer is None:
                break
            before, state = state, self._initial_data.at(finer)
            if (
                cell_tails.max() <= TIME_STEPPING.max_rounding_tail
                and space_tails(finer, state.rates).max() > 0.5 * cell_tails.max()
            ):
                self._initial_rounding = 3.0 * float(cell_tails.max())
                return before
            if (
                finer.periodic == (True,)
                and cell_tails.max() <= COLLOCATION.max_seam_tail * self.tolerances.spectral_tail
            ):
                gained = cell_tails.max() / max(float(space_tails(finer, state.rates).max()), 1e-300)
                if gained < COLLOCATION.min_seam_gain:
                    self._seam_tail = 2.0 * float(cell_tails.max())
                    return before
        return state

    def _next_window(self, start: _Start, t: float, h: float) -> tuple[Window, _Start, float] | str:
        state, previous_window = start
        first, duration = previous_window is None, self.time_interval.duration
        relaxation = ToleranceRelaxation(self.tolerances)
        in_cells = len(state.resolution.sizes) == 1
        is_start = first or self.time_interval.is_switch_time(t)
        if is_start:
            self._layer_start = t
        since = abs(t - self._layer_start)
        in_layer = self._layer_start in self.layers and self.layers[self._layer_start] == t
        if is_start:
            system = self._system(state.resolution)[0]
            incompatibility = self._initial_data.incompatibility(
                state, system, self.time_interval.one_sided(t, 1.0), self._magnitudes
            )
            in_layer = incompatibility > self.tolerances.incompatibility_limit
            is_rough = (
                space_tails(state.resolution, state.rates).max()
                > COLLOCATION.max_seam_tail * self.tolerances.spectral_tail
            )
            if (in_layer or (first and is_rough)) and self._has_undamped_short_waves(state):
                return _PROPAGATING
            if in_layer:
                h = COLLOCATION.layer_first_length[in_cells] * duration
        attempt = -1
        while True:
            attempt += 1
            self.attempts += 1
            self.check(t, -1, len(state.resolution.tree))
            stop = self.time_interval.window_end(t, h)
            if stop is None:
                return STEP_TOO_SMALL
            try:
                U, after = self._solve(state, previous_window, t, stop)
            except WindowFailedError:
                h *= 0.4
                continue
            time_tail, cell_tails, magnitudes = self._spectral_tails(state, U, t, stop)
            residual = self._residual(state, U, t, stop)
            space_tail, max_residual = float(cell_tails.max()), float(residual.max())
            if not all(map(math.isfinite, (time_tail, space_tail, max_residual))):
                h *= 0.3
                continue
            allowed, count = relaxation.relaxed, len(state.resolution.tree) * state.resolution.functions
            data_residual = self._data_residual(state, U, t, stop)
            if data_residual > allowed.residual and max_residual <= allowed.residual:
                h *= reduction_factor(allowed, time_tail, data_residual, self.stage_count)
                attempt -= 1  # only later data are unresolved: this does not count as an attempt
                continue
            cell_tails = (
                cell_tails * min(1.0, allowed.spectral_tail / self._seam_tail)
                if self._seam_tail
                else cell_tails
            )
            space_tail = float(cell_tails.max())
            solved = _SolvedWindow(state, U, after, t, stop, magnitudes)
            if (
                time_tail <= allowed.spectral_tail
                and space_tail <= allowed.spectral_tail
                and max_residual <= allowed.residual
            ):
                if in_layer and is_start:
                    self.layers.pop(t, None)  # resolved: there is no layer after all
                return self._accept(solved, time_tail / relaxation.factor, cell_tails / relaxation.factor)
            excess = max(
                time_tail / allowed.spectral_tail,
                space_tail / allowed.spectral_tail,
                max_residual / allowed.residual,
            )
            if (
                is_start
                and attempt == TIME_STEPPING.attempts_before_layer
                and not in_layer
                and time_tail > allowed.spectral_tail
            ):
                in_layer, h, relaxation.previous = (
                    True,
                    COLLOCATION.layer_first_length[in_cells] * duration,
                    None,
                )
                continue
            if in_layer and space_tail > allowed.spectral_tail:
                graded = self._refinement.refine_layers(state.resolution, cell_tails)
                if len(graded.tree) > COLLOCATION.max_cells:
                    return _CELL_LIMIT
                if graded != state.resolution:
                    state = (
                        self._initial_data.at(graded)
                        if first
                        else change_resolution(self.operator, state, graded)
                    )
                    continue
            # A single cell cannot be graded further towards the boundary; shorter windows do not help.
            is_fully_graded = in_layer and space_tail > allowed.spectral_tail and not in_cells
            if is_fully_graded or (
                in_layer and (h <= 1.001 * COLLOCATION.min_layer_length_ratio * since or is_start)
            ):
                if since > COLLOCATION.max_layer_fraction[in_cells] * duration:
                    return _UNRESOLVED
                window, following, _ = self._accept(solved, time_tail, cell_tails)
                self.layers[self._layer_start] = stop
                return window, following, since + h
            # Incompatible data also converge slowly, so in a layer only much smaller errors are taken for
            # rounding.
            is_futile = relaxation.is_futile(excess, count)
            if relaxation.accept_rounding(excess, h, count, limit=1e-11 if is_start or in_layer else 1e-6):
                continue
            relaxation.previous = (excess, h, count)
            # A residual between the points may come from space or from time; refine space unless that did not
            # help.
            only_residual = (
                space_tail <= allowed.spectral_tail and time_tail <= allowed.spectral_tail and not is_futile
            )
            if (space_tail > max(allowed.spectral_tail, 0.1 * time_tail) or only_residual) and not in_layer:
                finer = self._refinement.refine(
                    state.resolution, cell_tails / allowed.spectral_tail, residual / allowed.residual
                )
                if finer is None:
                    return _CELL_LIMIT
                state = (
                    self._initial_data.at(finer) if first else change_resolution(self.operator, state, finer)
                )
                if time_tail > 100.0 * allowed.spectral_tail:
                    h *= 0.5
                continue
            h *= reduction_factor(allowed, time_tail, max_residual, self.stage_count)
            if in_layer:
                h = max(h, COLLOCATION.min_layer_length_ratio * since)

    def _accept(
        self, solved: _SolvedWindow, time_tail: float, cell_tails: Array
    ) -> tuple[Window, _Start, float]:
        state, t, stop = solved.state, solved.t, solved.stop
        self._magnitudes = np.maximum(self._magnitudes, solved.magnitudes)
        previous_window = self._solver.previous_window(state, solved.U, t, stop)
        self.resolutions.append(state.resolution)
        h = abs(stop - t) * growth_factor(self.tolerances.spectral_tail, time_tail, self.stage_count)
        following = CollocationState(state.resolution, solved.after)
        tail = self.tolerances.spectral_tail
        coarser = self._refinement.merge_cells(state.resolution, cell_tails, tail)
        if state.resolution.edges:
            coarser = self._refinement.coarsen_intervals(state.resolution, cell_tails, tail)
            fewer = change_resolution(self.operator, following, coarser)
            left = space_tails(coarser, fewer.rates, self._magnitudes)
            # Keep the intervals if the coarser ones next to the boundary do not resolve a corner singularity.
            ends = [left[[0, len(e) - 2], i].max() for i, e in enumerate(coarser.edges)]
            if max(ends) > COLLOCATION.merge_tail_fraction * tail:
                coarser = state.resolution
        return (
            self._solver.window(previous_window),
            (change_resolution(self.operator, following, coarser), previous_window),
            h,
        )

    def _solve(
        self, state: CollocationState, previous_window: PreviousWindow | None, t: float, stop: float
    ) -> tuple[Array, Array]:
        system, _ = self._system(state.resolution)
        return self._solver.solve(system, state, previous_window, t, stop, self._magnitudes)

    def _spectral_tails(
        self, state: CollocationState, U: Array, t: float, stop: float
    ) -> tuple[float, Array, Array]:
        series = self._solver.series(state, U)
        found = spectral_tails(self.operator, state.resolution, U, series, self._magnitudes)
        tail = self.tolerances.spectral_tail
        if len(self._magnitudes) == 1 or max(found[0], float(found[1].max())) <= tail:
            return found
        system, st = self._system(state.resolution)[0], self._solver.stages
        rates = st.time_derivatives(U, state.rates, system.time_order, stop - t)
        at_times = system.at(self.time_interval.collocation_times(t, stop, st.nodes))
        since = abs(stop - self.evolution.start)
        off = rounding_errors(self.operator, at_times, rates, since, self._solver.krylov_residual)
        return spectral_tails(self.operator, state.resolution, U, series, self._magnitudes, off / tail)

    def _residual(
        self, state: CollocationState, U: Array, t: float, stop: float, at: Array = CHECK_FRACTIONS
    ) -> Array:
        # At singular corners, tails within the tolerance cause large residuals of derivatives; allow for
        # them.
        noise = max(self._initial_rounding, self.tolerances.spectral_tail if self.divide_axes else 0.0)
        return self._window_residuals(state, U, t, stop, noise, at).equations(
            self._system(state.resolution)[1]
        )

    def _data_residual(self, state: CollocationState, U: Array, t: float, stop: float) -> float:
        """Return the residual where the data differ most from their interpolant at the collocation times."""
        at = self.data_monitor.worst_fraction(t, stop, self._solver.stages.nodes)
        if not len(at):
            return 0.0
        conditions = self._window_residuals(state, U, t, stop, self._initial_rounding, at).conditions(
            self._system(state.resolution)[0]
        )
        return max(conditions, float(self._residual(state, U, t, stop, at).max()))

    def _window_residuals(
        self, state: CollocationState, U: Array, t: float, stop: float, left: float, at: Array
    ) -> WindowResiduals:
        found, st = state.resolution, self._solver.stages
        return WindowResiduals(
            self.operator, found, st, U, state.rates, (t, stop), self._magnitudes, left, at
        )

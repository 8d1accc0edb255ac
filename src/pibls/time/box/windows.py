"""Time windows with collocation in space, on intervals and boxes.

The coefficients c(t₀) → c(t₁) → … in space advance by windows. Each window is a Radau collocation in time
(`time.radau_stages`) of the semidiscrete system (`assembly.evolutions.semidiscrete`), solved by Newton's
method (`box.solver`). Its spectral tails in space and time and its residuals between the collocation points
(`box.error_indicators`) tell whether it is accepted. If initial and boundary data are incompatible, cells are
graded towards the incompatibility.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem
from pibls.runtime.caching import cached_property
from pibls.time.box.data_bounds import boundary_data_bounds
from pibls.time.box.error_indicators import (
    CHECK_FRACTIONS,
    WindowResiduals,
    rounding_errors,
    space_tails,
    window_spectral_tails,
)
from pibls.time.box.initial_state import CollocationState, InitialData, change_resolution
from pibls.time.box.nonsmooth import has_undamped_short_waves
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.refinement import Refinement
from pibls.time.box.resolution import Resolution
from pibls.time.box.solver import CollocationSolver, PreviousWindow
from pibls.time.companion import CompanionSolution, integrate_companion, staggered_windows
from pibls.time.data_monitor import DataMonitor
from pibls.time.initial_values import magnitude_floor
from pibls.time.interval import TimeInterval
from pibls.time.protocol import LayerRule
from pibls.time.radau_stages import radau_stages
from pibls.time.step_control import StepRule, WindowErrors
from pibls.time.thresholds import COLLOCATION, TIME_STEPPING
from pibls.time.trajectory import IntegrationStoppedError, ProgressCheck, Tolerances, Trajectory, Window

CELL_LIMIT = "more cells are needed than the limit allows"
PROPAGATING_DISCONTINUITIES = "the initial data have discontinuous derivatives that propagate"


@dataclass(frozen=True)
class BoxState:
    """State at the start of a window, and the previous window."""

    state: CollocationState
    previous: PreviousWindow | None = None


@dataclass(frozen=True)
class SolvedBoxWindow:
    """A solved window before it is accepted or rejected."""

    start: BoxState
    U: Array
    after: Array
    t: float
    stop: float
    magnitudes: Array
    cell_tails: Array
    residual: Array
    """The largest residual in each cell."""
    errors: WindowErrors

    @property
    def resolution(self) -> Resolution:
        return self.start.state.resolution

    @property
    def functions(self) -> int:
        return len(self.resolution.tree) * self.resolution.functions


@dataclass
class CollocationWindows:
    """Spatial operator of collocation in space."""

    tolerances: Tolerances
    operator: CollocationOperator
    functions_per_cell: int
    """Number of functions per cell of an interval."""
    stage_count: int
    use_fourier: bool = True
    """Whether periodic coordinates use Fourier modes instead of cells."""
    divide_axes: bool = False
    """Whether the axes of a box are divided into intervals, for singular corners."""
    expected_magnitudes: Array | None = None
    """max abs(u) of each unknown if it is known beforehand."""
    magnitudes: Array = field(default_factory=lambda: np.empty(0))
    resolutions: list[Resolution] = field(default_factory=list)
    """The resolution of each accepted window."""
    min_length = 0.0
    is_refinable = True
    _initial_rounding: float = 2.2e-16
    """Relative rounding error of the initial coefficients."""
    _seam_tail: float = 0.0
    """Spectral tail of initial data that are not exactly periodic; zero if they are."""
    _systems: dict[Resolution, tuple[SemidiscreteSystem, SemidiscreteSystem]] = field(default_factory=dict)

    @property
    def evolution(self) -> Evolution:
        return self.operator.evolution

    @cached_property
    def time_interval(self) -> TimeInterval:
        return TimeInterval.of(self.evolution, self.operator.context.compiled)

    @cached_property
    def data_monitor(self) -> DataMonitor:
        return DataMonitor.sample(self.operator.context)

    @cached_property
    def step_rule(self) -> StepRule:
        return StepRule(self.stage_count + 1.0, keeps_factors=True)

    @cached_property
    def layer_rule(self) -> LayerRule:
        is_interval = len(self.operator.space_axes) == 1
        return LayerRule(
            COLLOCATION.layer_first_length[is_interval],
            COLLOCATION.max_layer_fraction[is_interval],
            is_graded=is_interval,
        )

    @property
    def newton_steps(self) -> int:
        return self._solver.newton_steps

    @cached_property
    def _solver(self) -> CollocationSolver:
        return CollocationSolver(self.operator, radau_stages(self.stage_count), self.tolerances.spectral_tail)

    @cached_property
    def _refinement(self) -> Refinement:
        return Refinement(self.operator, self.divide_axes)

    @cached_property
    def _initial_data(self) -> InitialData:
        return InitialData(self.operator)

    # -- initial data --

    def first_state(self) -> CollocationState:
        """Return the initial state at the first resolution."""
        return self._initial_data.at(self._refinement.initial(self.functions_per_cell, self.use_fourier))

    def has_undamped_short_waves(self, state: CollocationState) -> bool:
        """Whether the equation propagates short waves without damping."""
        return has_undamped_short_waves(self.operator, state, self._system(state.resolution)[0])

    def is_smooth_around_period(self) -> bool:
        """Whether the initial data are smooth as periodic functions."""
        if len(self.operator.space_axes) > 1:
            return True
        first = self._refinement.initial(self.functions_per_cell, True)
        most = Resolution(first.tree, (COLLOCATION.max_fourier_functions,), first.periodic)
        state = self._initial_data.at(most)
        left = float(self._initial_data.unresolved_tails(state).max())
        # Undamped waves keep the tail; cells would not make it smaller.
        return left <= self.tolerances.spectral_tail or (
            left <= COLLOCATION.max_seam_tail * self.tolerances.spectral_tail
            and self.has_undamped_short_waves(state)
        )

    def initial_state(self) -> tuple[BoxState, float]:
        e, unknowns = self.evolution, self.operator.context.compiled.unknowns
        self.magnitudes = boundary_data_bounds(self.operator.conditions, e.axis, (e.start, e.stop), unknowns)
        first = self.first_state()
        initial_magnitudes = np.abs(first.rates[0]).max(axis=(0, 2))
        floor = magnitude_floor(initial_magnitudes, self.expected_magnitudes)
        self.magnitudes = np.maximum(self.magnitudes, floor)
        start = BoxState(self._resolved_initial_state(first))
        return start, TIME_STEPPING.first_length * self.time_interval.duration

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

    # -- incompatible data --

    def is_incompatible(self, state: BoxState, t: float) -> bool:
        incompatibility = self._initial_data.incompatibility(
            state.state,
            self._system(state.state.resolution)[0],
            self.time_interval.one_sided(t, 1.0),
            self.magnitudes,
        )
        is_incompatible = incompatibility > self.tolerances.incompatibility_limit
        is_rough = state.previous is None and self._is_rough(state.state)
        if (is_incompatible or is_rough) and self.has_undamped_short_waves(state.state):
            raise IntegrationStoppedError(PROPAGATING_DISCONTINUITIES)
        return is_incompatible

    def _is_rough(self, state: CollocationState) -> bool:
        """Whether a state is far from being resolved."""
        tail = float(space_tails(state.resolution, state.rates).max())
        return tail > COLLOCATION.max_seam_tail * self.tolerances.spectral_tail

    def layer_state(self, state: BoxState) -> BoxState:
        return state

    def grade(self, solved: SolvedBoxWindow) -> BoxState | None:
        graded = self._refinement.refine_layers(solved.resolution, solved.cell_tails)
        if len(graded.tree) > COLLOCATION.max_cells:
            raise IntegrationStoppedError(CELL_LIMIT)
        return None if graded == solved.resolution else self._at_resolution(solved.start, graded)

    # -- one window --

    def cell_count(self, state: BoxState) -> int:
        return len(state.state.resolution.tree)

    def solve(self, state: BoxState, t: float, stop: float) -> SolvedBoxWindow:
        U, after = self._solve(state, t, stop)
        time_tail, cell_tails, magnitudes = self._spectral_tails(state.state, U, t, stop)
        residual = self._residual(state.state, U, t, stop)
        if self._seam_tail:
            cell_tails = cell_tails * min(1.0, self.tolerances.spectral_tail / self._seam_tail)
        errors = WindowErrors(time_tail, float(cell_tails.max()), float(residual.max()))
        return SolvedBoxWindow(state, U, after, t, stop, magnitudes, cell_tails, residual, errors)

    def refine(self, solved: SolvedBoxWindow, allowed: Tolerances) -> BoxState:
        finer = self._refinement.refine(
            solved.resolution, solved.cell_tails / allowed.spectral_tail, solved.residual / allowed.residual
        )
        if finer is None:
            raise IntegrationStoppedError(CELL_LIMIT)
        return self._at_resolution(solved.start, finer)

    def _at_resolution(self, start: BoxState, resolution: Resolution) -> BoxState:
        """Return the start of a window at another resolution."""
        if start.previous is None:
            return BoxState(self._initial_data.at(resolution))
        return BoxState(change_resolution(self.operator, start.state, resolution), start.previous)

    def predicted_tail(self, solved: SolvedBoxWindow, allowed: Tolerances) -> float:
        return solved.errors.time_tail

    def accept(self, solved: SolvedBoxWindow, relaxation: float) -> tuple[Window, BoxState, None]:
        state, resolution = solved.start.state, solved.resolution
        self.magnitudes = np.maximum(self.magnitudes, solved.magnitudes)
        previous = self._solver.previous_window(state, solved.U, solved.t, solved.stop)
        following = CollocationState(resolution, solved.after)
        coarser = self._coarser(following, solved.cell_tails / relaxation)
        following = change_resolution(self.operator, following, coarser)
        self.resolutions.append(resolution)
        return self._solver.window(previous), BoxState(following, previous), None

    def _coarser(self, following: CollocationState, cell_tails: Array) -> Resolution:
        """Return a resolution without cells and intervals that are not needed any more."""
        resolution, tail = following.resolution, self.tolerances.spectral_tail
        if not resolution.edges:
            return self._refinement.merge_cells(resolution, cell_tails, tail)
        coarser = self._refinement.coarsen_intervals(resolution, cell_tails, tail)
        fewer = change_resolution(self.operator, following, coarser)
        left = space_tails(coarser, fewer.rates, self.magnitudes)
        # Keep the intervals if the coarser ones next to the boundary do not resolve a corner singularity.
        ends = [left[[0, len(e) - 2], i].max() for i, e in enumerate(coarser.edges)]
        return resolution if max(ends) > COLLOCATION.merge_tail_fraction * tail else coarser

    def _solve(self, start: BoxState, t: float, stop: float) -> tuple[Array, Array]:
        system, _ = self._system(start.state.resolution)
        return self._solver.solve(system, start.state, start.previous, t, stop, self.magnitudes)

    def _spectral_tails(
        self, state: CollocationState, U: Array, t: float, stop: float
    ) -> tuple[float, Array, Array]:
        series = self._solver.series(state, U)
        found = window_spectral_tails(self.operator, state.resolution, U, series, self.magnitudes)
        tail = self.tolerances.spectral_tail
        if len(self.magnitudes) == 1 or max(found[0], float(found[1].max())) <= tail:
            return found
        system, st = self._system(state.resolution)[0], self._solver.stages
        rates = st.time_derivatives(U, state.rates, system.time_order, stop - t)
        at_times = system.at(self.time_interval.collocation_times(t, stop, st.nodes))
        since = abs(stop - self.evolution.start)
        off = rounding_errors(self.operator, at_times, rates, since, self._solver.krylov_residual)
        return window_spectral_tails(self.operator, state.resolution, U, series, self.magnitudes, off / tail)

    def _residual(
        self, state: CollocationState, U: Array, t: float, stop: float, at: Array = CHECK_FRACTIONS
    ) -> Array:
        # At singular corners, tails within the tolerance cause large residuals of derivatives; allow for
        # them.
        noise = max(self._initial_rounding, self.tolerances.spectral_tail if self.divide_axes else 0.0)
        return self._window_residuals(state, U, t, stop, noise, at).equations(
            self._system(state.resolution)[1]
        )

    def data_residual(self, solved: SolvedBoxWindow) -> float:
        state, t, stop = solved.start.state, solved.t, solved.stop
        at = self.data_monitor.worst_fraction(t, stop, self._solver.stages.nodes)
        if not len(at):
            return 0.0
        conditions = self._window_residuals(state, solved.U, t, stop, self._initial_rounding, at).conditions(
            self._system(state.resolution)[0]
        )
        return max(conditions, float(self._residual(state, solved.U, t, stop, at).max()))

    def _window_residuals(
        self, state: CollocationState, U: Array, t: float, stop: float, left: float, at: Array
    ) -> WindowResiduals:
        found, st = state.resolution, self._solver.stages
        return WindowResiduals(self.operator, found, st, U, state.rates, (t, stop), self.magnitudes, left, at)

    # -- companion solution --

    def companion(self, trajectory: Trajectory, check: ProgressCheck) -> CompanionSolution | None:
        second = CollocationWindows(
            self.tolerances,
            self.operator,
            self.functions_per_cell,
            self.stage_count + 1,
            self.use_fourier,
            self.divide_axes,
            magnitudes=self.magnitudes,
        )
        return integrate_companion(
            trajectory, self.time_interval, self._companion_windows(trajectory), second.prescribed, check
        )

    def _companion_windows(self, trajectory: Trajectory) -> Iterator[tuple[float, float, Resolution]]:
        chosen = staggered_windows(
            trajectory,
            self.resolutions,
            self.time_interval.switch_times,
            lambda r: (len(r.tree), r.functions),
        )
        for t, stop, resolution in chosen:
            yield t, stop, self._refinement.companion(resolution)

    def prescribed(
        self, start: BoxState | None, t: float, stop: float, resolution: Resolution
    ) -> tuple[Window, BoxState]:
        """Return one window at a resolution and the state at its end, from the initial data if no state."""
        start = (
            BoxState(self._initial_data.at(resolution))
            if start is None
            else BoxState(change_resolution(self.operator, start.state, resolution), start.previous)
        )
        U, after = self._solve(start, t, stop)
        previous = self._solver.previous_window(start.state, U, t, stop)
        return self._solver.window(previous), BoxState(CollocationState(resolution, after), previous)

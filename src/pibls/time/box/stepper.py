"""Time stepping with collocation in space, on intervals and boxes.

The coefficients c(t₀) → c(t₁) → … in space advance by windows. Each window is a Radau collocation in time
(`time.radau_stages`) of the semidiscrete system (`assembly.evolutions.semidiscrete`), solved by Newton's
method (`box.solver`). It is accepted if its spectral tails in space and time are small and the
equations hold between the collocation points (`box.error_indicators`). If initial and boundary data are
incompatible, cells and windows are graded towards the incompatibility, and no error estimate is given before
the first resolved window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

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
from pibls.time.box.nonsmooth import NonsmoothStepper, has_undamped_short_waves
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.refinement import Refinement
from pibls.time.box.resolution import Resolution
from pibls.time.box.solver import CollocationSolver, PreviousWindow
from pibls.time.context import EvolutionContext
from pibls.time.radau_stages import radau_stages
from pibls.time.step_control import (
    ToleranceRelaxation,
    WindowAttempt,
    WindowErrors,
    growth_factor,
    reduction_factor,
)
from pibls.time.thresholds import COLLOCATION, TIME_STEPPING
from pibls.time.time_stepping import AdaptiveTimeStepper, WindowFailedError, staggered_windows
from pibls.time.trajectory import Tolerances, Trajectory, Window

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
    cell_tails: Array
    residual: Array
    """The largest residual in each cell."""
    errors: WindowErrors


def _is_interval(resolution: Resolution) -> bool:
    """Whether space is an interval, divided into cells."""
    return len(resolution.sizes) == 1


_Start = tuple[CollocationState, PreviousWindow | None]
"""State at the start of a window, and the previous window."""


@dataclass
class CollocationStepper(AdaptiveTimeStepper[_Start, Resolution]):
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
    def context(self) -> EvolutionContext:
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
        is_start = previous_window is None or self.time_interval.is_switch_time(t)
        if is_start:
            self._layer_start = t
        attempt = WindowAttempt(
            start,
            t,
            h,
            is_start,
            since=abs(t - self._layer_start),
            in_layer=not is_start and self.layers.get(self._layer_start) == t,
            relaxation=ToleranceRelaxation(self.tolerances),
        )
        if is_start:
            is_incompatible = self._is_incompatible(state, t)
            is_rough = previous_window is None and self._is_rough(state)
            if (is_incompatible or is_rough) and self._has_undamped_short_waves(state):
                return _PROPAGATING
            if is_incompatible:
                attempt.enter_layer(self._first_layer_length(state.resolution))
        return self._search_window(attempt)

    def _is_incompatible(self, state: CollocationState, t: float) -> bool:
        """Whether the data at a start violate the boundary conditions after it."""
        incompatibility = self._initial_data.incompatibility(
            state,
            self._system(state.resolution)[0],
            self.time_interval.one_sided(t, 1.0),
            self._magnitudes,
        )
        return incompatibility > self.tolerances.incompatibility_limit

    def _is_rough(self, state: CollocationState) -> bool:
        """Whether a state is far from being resolved."""
        tail = float(space_tails(state.resolution, state.rates).max())
        return tail > COLLOCATION.max_seam_tail * self.tolerances.spectral_tail

    def _first_layer_length(self, resolution: Resolution) -> float:
        """Return the length of the first window of a layer."""
        return COLLOCATION.layer_first_length[_is_interval(resolution)] * self.time_interval.duration

    def _accepted_window(
        self, attempt: WindowAttempt[_Start], stop: float
    ) -> tuple[Window, _Start, float] | str | None:
        solved = self._solved_window(attempt, stop)
        if solved is None:
            return None
        allowed, errors = attempt.relaxation.relaxed, solved.errors
        if errors.are_within(allowed):
            if attempt.in_layer and attempt.is_start:
                self.layers.pop(attempt.t, None)  # resolved: there is no layer after all
            factor = attempt.relaxation.factor
            return self._accept(solved, errors.time_tail / factor, solved.cell_tails / factor)
        if attempt.may_be_layer(errors.time_tail):
            attempt.enter_layer(self._first_layer_length(solved.state.resolution))
            return None
        if attempt.in_layer and errors.space_tail > allowed.spectral_tail:
            graded = self._refinement.refine_layers(solved.state.resolution, solved.cell_tails)
            if len(graded.tree) > COLLOCATION.max_cells:
                return _CELL_LIMIT
            if graded != solved.state.resolution:
                self._change_resolution(attempt, graded)
                return None
        if attempt.in_layer and self._ends_grading(attempt, solved, allowed):
            return self._accept_in_layer(attempt, solved)
        return self._adapt(attempt, solved, allowed)

    def _solved_window(self, attempt: WindowAttempt[_Start], stop: float) -> _SolvedWindow | None:
        """Return the solved window; None, with a shorter attempt, if it fails or misses data in it."""
        (state, previous_window), t = attempt.start, attempt.t
        try:
            U, after = self._solve(state, previous_window, t, stop)
        except WindowFailedError:
            attempt.h *= 0.4
            return None
        time_tail, cell_tails, magnitudes = self._spectral_tails(state, U, t, stop)
        residual = self._residual(state, U, t, stop)
        errors = WindowErrors(time_tail, float(cell_tails.max()), float(residual.max()))
        if not errors.are_finite:
            attempt.h *= 0.3
            return None
        allowed = attempt.relaxation.relaxed
        data_residual = self._data_residual(state, U, t, stop)
        if data_residual > allowed.residual and errors.residual <= allowed.residual:
            attempt.h *= reduction_factor(allowed, time_tail, data_residual, self.stage_count)
            attempt.number -= 1  # only later data are unresolved: this does not count as an attempt
            return None
        if self._seam_tail:
            cell_tails = cell_tails * min(1.0, allowed.spectral_tail / self._seam_tail)
            errors = replace(errors, space_tail=float(cell_tails.max()))
        return _SolvedWindow(state, U, after, t, stop, magnitudes, cell_tails, residual, errors)

    def _ends_grading(
        self, attempt: WindowAttempt[_Start], solved: _SolvedWindow, allowed: Tolerances
    ) -> bool:
        """Whether neither finer cells nor shorter windows help to resolve a layer.

        A single cell cannot be graded further towards the boundary.
        """
        if solved.errors.space_tail > allowed.spectral_tail and not _is_interval(solved.state.resolution):
            return True
        return attempt.is_start or attempt.h <= 1.001 * COLLOCATION.min_layer_length_ratio * attempt.since

    def _accept_in_layer(
        self, attempt: WindowAttempt[_Start], solved: _SolvedWindow
    ) -> tuple[Window, _Start, float] | str:
        """Accept an unresolved window in a layer, unless the layer is too long."""
        max_fraction = COLLOCATION.max_layer_fraction[_is_interval(solved.state.resolution)]
        if attempt.since > max_fraction * self.time_interval.duration:
            return _UNRESOLVED
        window, following, _ = self._accept(solved, solved.errors.time_tail, solved.cell_tails)
        self.layers[self._layer_start] = solved.stop
        return window, following, attempt.since + attempt.h

    def _adapt(
        self, attempt: WindowAttempt[_Start], solved: _SolvedWindow, allowed: Tolerances
    ) -> str | None:
        """Relax the tolerances, refine space or shorten the window; return a reason if none is possible."""
        errors, resolution, relaxation = solved.errors, solved.state.resolution, attempt.relaxation
        excess, count = errors.excess(allowed), len(resolution.tree) * resolution.functions
        is_futile = relaxation.is_futile(excess, count)
        # Incompatible data also converge slowly, so in a layer only much smaller errors are taken for
        # rounding.
        max_error = 1e-11 if attempt.is_start or attempt.in_layer else 1e-6
        if relaxation.accept_rounding(excess, attempt.h, count, max_error=max_error):
            return None
        relaxation.previous = (excess, attempt.h, count)
        if not attempt.in_layer and errors.are_spatial(allowed, is_futile):
            finer = self._refinement.refine(
                resolution, solved.cell_tails / allowed.spectral_tail, solved.residual / allowed.residual
            )
            if finer is None:
                return _CELL_LIMIT
            self._change_resolution(attempt, finer)
            if errors.time_tail > 100.0 * allowed.spectral_tail:
                attempt.h *= 0.5
            return None
        attempt.h *= reduction_factor(allowed, errors.time_tail, errors.residual, self.stage_count)
        if attempt.in_layer:
            attempt.h = max(attempt.h, COLLOCATION.min_layer_length_ratio * attempt.since)
        return None

    def _change_resolution(self, attempt: WindowAttempt[_Start], resolution: Resolution) -> None:
        """Continue an attempt at another resolution."""
        state, previous_window = attempt.start
        changed = (
            self._initial_data.at(resolution)
            if previous_window is None
            else change_resolution(self.operator, state, resolution)
        )
        attempt.start = (changed, previous_window)

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
        found = window_spectral_tails(self.operator, state.resolution, U, series, self._magnitudes)
        tail = self.tolerances.spectral_tail
        if len(self._magnitudes) == 1 or max(found[0], float(found[1].max())) <= tail:
            return found
        system, st = self._system(state.resolution)[0], self._solver.stages
        rates = st.time_derivatives(U, state.rates, system.time_order, stop - t)
        at_times = system.at(self.time_interval.collocation_times(t, stop, st.nodes))
        since = abs(stop - self.evolution.start)
        off = rounding_errors(self.operator, at_times, rates, since, self._solver.krylov_residual)
        return window_spectral_tails(self.operator, state.resolution, U, series, self._magnitudes, off / tail)

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

"""Time windows with a Galerkin method in space, on a domain of any shape.

The coefficients c(t₀) → c(t₁) → … advance by windows. Each window is a Radau collocation in time
(`time.radau_stages`) of the equations tested with the basis functions
(`assembly.evolutions.galerkin_projection`). A linear problem with constant coefficients keeps its matrix
factors from window to window. The contributions of the highest degrees in space and time, and the residuals
of equations and conditions between the collocation points, tell whether a window is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.assembly.evolutions.semidiscrete import Term
from pibls.runtime.caching import cached_property
from pibls.spaces.spectral_tail import spectral_tail
from pibls.time.box.error_indicators import CHECK_FRACTIONS, LAST_WEIGHTS, values_between
from pibls.time.companion import CompanionSolution, integrate_companion, staggered_windows
from pibls.time.data_monitor import DataMonitor
from pibls.time.initial_values import initial_values_at, magnitude_floor
from pibls.time.interval import TimeInterval
from pibls.time.protocol import LayerRule
from pibls.time.radau_stages import radau_stages
from pibls.time.shape.operator import GalerkinOperator, GalerkinSpace
from pibls.time.shape.solver import GalerkinSolver, GalerkinState
from pibls.time.step_control import StepRule, WindowErrors
from pibls.time.thresholds import COLLOCATION, GALERKIN, TIME_STEPPING
from pibls.time.trajectory import ProgressCheck, Tolerances, Trajectory, Window


@dataclass(frozen=True)
class SolvedShapeWindow:
    """A solved window before it is accepted or rejected."""

    state: GalerkinState
    U: Array
    after: Array
    t: float
    stop: float
    magnitudes: Array
    errors: WindowErrors

    @property
    def functions(self) -> int:
        return self.state.space.functions


@dataclass
class GalerkinWindows:
    """Spatial operator of a Galerkin method; the resolution is a polynomial degree."""

    tolerances: Tolerances
    operator: GalerkinOperator
    stage_count: int
    check: ProgressCheck = lambda t, windows, cells: None
    expected_magnitudes: Array | None = None
    """max abs(u) of each unknown if it is known beforehand."""
    limit_reached: bool = False
    """Whether more functions were needed than `GALERKIN.max_columns` allows."""
    magnitudes: Array = field(default_factory=lambda: np.empty(0))
    degrees: list[int] = field(default_factory=list)
    """The degree of each accepted window."""
    min_length = 0.0
    is_refinable = True
    _spaces: dict[int, GalerkinSpace] = field(default_factory=dict)

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
        return LayerRule(GALERKIN.layer_first_length, COLLOCATION.max_layer_fraction[False], is_graded=False)

    @property
    def newton_steps(self) -> int:
        return self._solver.newton_steps

    @cached_property
    def _solver(self) -> GalerkinSolver:
        return GalerkinSolver(self.operator, radau_stages(self.stage_count), self.tolerances.spectral_tail)

    # -- spaces --

    def _space(self, degree: int) -> GalerkinSpace:
        if degree not in self._spaces:
            if len(self._spaces) > 2:
                self._spaces.clear()
            self._spaces[degree] = self.operator.space(degree)
        return self._spaces[degree]

    def _next_degree(self, degree: int, small: bool = False) -> int | None:
        """Return the next degree, the smallest step if ``small``; None if the column limit is reached."""
        some = (degree + 2 if small else int(GALERKIN.degree_growth * degree) + 1, degree + 2)
        return next(
            (better for better in some if self.operator.columns(better) <= GALERKIN.max_columns), None
        )

    def _layer_degree(self, degree: int) -> int:
        """Return the degree for incompatible initial data: the largest one within the limit of columns."""
        most = GALERKIN.layer_columns
        while self.operator.columns(degree + 1) <= most:
            degree += 1
        return degree

    def initial_state(self) -> tuple[GalerkinState, float]:
        self.magnitudes = np.zeros(self.operator.context.compiled.unknowns)
        state = self._resolved_initial_state()
        initial_magnitudes = np.abs(state.rates[0, 0] @ state.space.values.T).max(axis=1)
        self.magnitudes = magnitude_floor(initial_magnitudes, self.expected_magnitudes)
        return state, TIME_STEPPING.first_length * self.time_interval.duration

    def _resolved_initial_state(self) -> GalerkinState:
        """Return the initial state at a degree that resolves it, as far as rounding and the limit allow."""
        degree = GALERKIN.first_degree
        wanted = max(GALERKIN.initial_tail_fraction * self.tolerances.spectral_tail, 1e-13)
        before: tuple[int, float] | None = None
        while True:
            self.check(self.evolution.start, 0, 1)
            state = self._at_start(self._space(degree))
            if self._is_incompatible(state):
                return self._at_start(self._space(self._layer_degree(degree)))
            space_tail = self._space_tail(state.space, np.moveaxis(state.rates, 0, -1), self._scale(state))
            if space_tail <= wanted:
                return state
            if before is not None and 0.5 * before[1] < space_tail < TIME_STEPPING.max_rounding_tail:
                return self._at_start(self._space(before[0]))
            # A small tail may be rounding, so the degree is raised in small steps.
            next_degree = self._next_degree(degree, small=space_tail < TIME_STEPPING.max_rounding_tail)
            if next_degree is None:
                return state
            before, degree = (degree, space_tail), next_degree

    def _at_start(self, space: GalerkinSpace) -> GalerkinState:
        """Return the coefficients of ∂_t^a u(x, t₀) given by the initial conditions."""
        e = self.evolution
        X = np.column_stack([space.points, np.full(len(space.points), e.start)])
        values = initial_values_at(self.operator.context.compiled, e, X)
        return GalerkinState(space, space.coefficients(values)[:, None], is_initial=True)

    def _change_degree(self, state: GalerkinState, space: GalerkinSpace) -> GalerkinState:
        """Return the state projected to a space of another degree."""
        if state.space is space:
            return state
        values = state.rates @ state.space.at(space.points).T
        return GalerkinState(space, space.coefficients(values))

    def _scale(self, state: GalerkinState) -> Array:
        size = np.abs(state.rates[:, 0] @ state.space.values.T).max(axis=2)
        size = np.where(size > 0, size, 1.0)
        return np.asarray(size.T)  # (unknowns, rates)

    def _at_degree(self, state: GalerkinState, degree: int) -> GalerkinState:
        """Return the state at another degree, the initial state from the initial data."""
        space = self._space(degree)
        if space is not state.space and state.is_initial:
            return self._at_start(space)
        return self._change_degree(state, space)

    def is_incompatible(self, state: GalerkinState, t: float) -> bool:
        return state.is_initial and self._is_incompatible(state)

    def layer_state(self, state: GalerkinState) -> GalerkinState:
        return self._at_degree(state, self._layer_degree(state.space.degree))

    def _is_incompatible(self, state: GalerkinState) -> bool:
        """Whether the initial data violate the boundary conditions.

        Values at the boundary are exact; derivatives are known as far as the degree resolves them.
        """
        e, space = self.evolution, state.space
        magnitudes = np.abs(state.rates[0, 0] @ space.values.T).max(axis=1)
        limit = self.tolerances.incompatibility_limit
        space_tail = self._space_tail(space, np.moveaxis(state.rates, 0, -1), self._scale(state))
        half = 0.5 * float((self.operator.box[:, 1] - self.operator.box[:, 0]).min())
        start = np.array([e.start])
        for g in space.system.statements[len(self.operator.equations) :]:
            if any(a >= e.orders[k] for _, k, _, a in g.terms):
                continue
            site = g.sites[0]
            X = site.points[0].copy()
            X[:, e.axis] = e.start
            given = initial_values_at(self.operator.context.compiled, e, X)
            values = [
                site.tables(alpha)[0] @ state.rates[a, 0, k] if sum(alpha) else given[a, k]
                for _, k, alpha, a in g.terms
            ]
            order = max(sum(alpha) for _, _, alpha, _ in g.terms)
            J = np.array(values)[:, :, None]
            at_start = g.at(start)
            r = at_start.rest(J[g.linear_count :]) + (at_start.coefficients * J[: g.linear_count]).sum(axis=0)
            partials = np.abs(
                np.concatenate([at_start.coefficients, at_start.partials(J[g.linear_count :])])
            ).max(axis=(1, 2))
            natural = [magnitudes[k] * half ** -sum(alpha) for _, k, alpha, _ in g.terms]
            size = max(float((partials * natural).max()), 1e-300)
            uncertain = 10.0 * space_tail * space.degree ** (2 * order) if order else 0.0
            if float(np.abs(r).max(initial=0.0)) > max(limit, uncertain) * size:
                return True
        return False

    # -- one window --

    def cell_count(self, state: GalerkinState) -> int:
        return 1

    def solve(self, state: GalerkinState, t: float, stop: float) -> SolvedShapeWindow:
        U, after = self._solver.solve(state, t, stop, self.magnitudes)
        time_tail, space_tail, magnitudes = self._spectral_tails(state, U)
        errors = WindowErrors(time_tail, space_tail, self._residual(state, U, t, stop))
        return SolvedShapeWindow(state, U, after, t, stop, magnitudes, errors)

    def data_residual(self, solved: SolvedShapeWindow) -> float:
        t, stop = solved.t, solved.stop
        at = self.data_monitor.worst_fraction(t, stop, self._solver.stages.nodes)
        return self._residual(solved.state, solved.U, t, stop, at) if len(at) else 0.0

    def refine(self, solved: SolvedShapeWindow, allowed: Tolerances) -> GalerkinState | None:
        degree = self._next_degree(solved.state.space.degree)
        if degree is not None:
            return self._at_degree(solved.state, degree)
        self.limit_reached = self.limit_reached or solved.errors.time_tail <= allowed.spectral_tail
        return None

    def grade(self, solved: SolvedShapeWindow) -> None:
        return None

    def predicted_tail(self, solved: SolvedShapeWindow, allowed: Tolerances) -> float:
        return solved.errors.time_tail

    def accept(self, solved: SolvedShapeWindow, relaxation: float) -> tuple[Window, GalerkinState, None]:
        self.magnitudes = np.maximum(self.magnitudes, solved.magnitudes)
        space = solved.state.space
        window = self._solver.window(solved.state, solved.U, solved.t, solved.stop)
        self.degrees.append(space.degree)
        return window, GalerkinState(space, solved.after), None

    # -- error indicators --

    def _space_tail(self, space: GalerkinSpace, U: Array, scale: Array) -> float:
        """Return the relative contribution of the highest degrees to functions (1, unknowns, n, …)."""
        last = np.abs(space.check_values[:, space.low_degree_count :] @ U[0, :, space.low_degree_count :])
        size = last.max(axis=1)  # (unknowns, …)
        return float((size / (scale if scale.ndim == 2 else scale[:, None])).max(initial=0.0))

    def _spectral_tails(self, state: GalerkinState, U: Array) -> tuple[float, float, Array]:
        """Return the spectral tails in time and in space, and max abs(u) of each unknown."""
        space = state.space
        magnitudes = np.abs(space.check_values @ U[0]).max(axis=(1, 2))
        both = np.maximum(self.magnitudes, magnitudes)
        scale = np.maximum(both, 1e-9 * float(both.max()))
        scale = np.where(scale > 0, scale, 1.0)
        last_terms = space.check_values @ (self._solver.series(state, U)[0, ..., -2:] * LAST_WEIGHTS)
        return (
            float((spectral_tail(last_terms, -1, 2, kept=(0,)) / scale).max()),
            self._space_tail(space, U, scale),
            magnitudes,
        )

    def _residual(
        self, state: GalerkinState, U: Array, t: float, stop: float, at: Array = CHECK_FRACTIONS
    ) -> float:
        """Return the largest residual between the collocation points, relative to its terms."""
        check_system, h = state.space.check_system, stop - t
        seen = values_between(
            self._solver.stages, U, state.rates, check_system.time_order, h, self.evolution.orders, at
        )
        magnitudes = np.maximum(self.magnitudes, np.abs(state.space.check_values @ U[0]).max(axis=(1, 2)))
        half = 0.5 * (self.operator.box[:, 1] - self.operator.box[:, 0])

        def natural(term: Term) -> Array:
            _, k, alpha, a = term
            scale = float(np.prod(half ** -np.array(alpha, dtype=float))) * (0.5 * abs(h)) ** -a
            return np.array(
                [(TIME_STEPPING.spatial_term_weight if sum(alpha) else 1.0) * magnitudes[k] * scale]
            )

        out = 0.0
        for r, size in check_system.at(t + h * at).scaled_residuals(seen, natural):
            most = float(size.max(initial=0.0))
            if most > 0:
                out = max(out, float(np.sqrt(np.mean(r**2))) / most)
        return out

    # -- companion solution --

    def companion(self, trajectory: Trajectory, check: ProgressCheck) -> CompanionSolution | None:
        """Integrate on staggered windows with a higher degree."""
        second = GalerkinWindows(
            self.tolerances, self.operator, self.stage_count + 1, magnitudes=self.magnitudes
        )
        return integrate_companion(
            trajectory, self.time_interval, self._companion_windows(trajectory), second.prescribed, check
        )

    def _companion_windows(self, trajectory: Trajectory) -> Iterator[tuple[float, float, int]]:
        more = GALERKIN.companion_degree_ratio[self.operator.context.compiled.dimension]
        chosen = staggered_windows(
            trajectory, self.degrees, self.time_interval.switch_times, lambda degree: degree
        )
        for t, stop, degree in chosen:
            yield t, stop, int(more * degree) + 2

    def prescribed(
        self, state: GalerkinState | None, t: float, stop: float, degree: int
    ) -> tuple[Window, GalerkinState]:
        """Return one window at a degree and the state at its end, from the initial data if no state."""
        space = self._space(degree)
        state = self._at_start(space) if state is None else self._change_degree(state, space)
        U, after = self._solver.solve(state, t, stop, self.magnitudes)
        return self._solver.window(state, U, t, stop), GalerkinState(space, after)

"""Time stepping with a Galerkin method in space, on a domain of any shape.

The coefficients c(t₀) → c(t₁) → … advance by windows. Each window is a Radau collocation in time
(`time.radau_stages`) of the equations tested with the basis functions
(`assembly.evolutions.galerkin_projection`). A linear problem with constant coefficients keeps its matrix
factors from window to window. A window is accepted if the contributions of the highest degrees in space and
time are small and if equations and conditions hold between the collocation points. If initial and boundary
data are incompatible, no error estimate is given before the first resolved window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.assembly.evolutions.semidiscrete import Term
from pibls.runtime.caching import cached_property
from pibls.time.box.error_indicators import CHECK_FRACTIONS, LAST_WEIGHTS, values_between
from pibls.time.box.initial_state import initial_values_at
from pibls.time.context import EvolutionContext
from pibls.time.radau_stages import radau_stages
from pibls.time.shape.operator import GalerkinOperator, GalerkinSpace
from pibls.time.shape.solver import GalerkinSolver, GalerkinState
from pibls.time.step_control import (
    ToleranceRelaxation,
    WindowAttempt,
    WindowErrors,
    growth_factor,
    reduction_factor,
)
from pibls.time.thresholds import COLLOCATION, GALERKIN, TIME_STEPPING
from pibls.time.time_stepping import AdaptiveTimeStepper, WindowFailedError, staggered_windows
from pibls.time.trajectory import Tolerances, Trajectory, Window

COLUMN_LIMIT = "more basis functions are needed than the limit allows"


@dataclass(frozen=True)
class _SolvedWindow:
    """A solved window before it is accepted or rejected."""

    state: GalerkinState
    U: Array
    after: Array
    t: float
    stop: float
    magnitudes: Array
    errors: WindowErrors


@dataclass
class GalerkinStepper(AdaptiveTimeStepper[GalerkinState, int]):
    """Time stepper with a Galerkin method in space; the resolution is a polynomial degree."""

    tolerances: Tolerances
    operator: GalerkinOperator
    stage_count: int
    column_limit_reached: bool = False
    """Whether more functions were needed than `GALERKIN.max_columns` allows."""
    primary: GalerkinStepper | None = None
    """The stepper of the first solution, if this one computes the companion."""
    degrees: list[int] = field(default_factory=list)
    """The degree of each window."""
    _spaces: dict[int, GalerkinSpace] = field(default_factory=dict)

    @cached_property
    def _solver(self) -> GalerkinSolver:
        return GalerkinSolver(self.operator, radau_stages(self.stage_count), self.tolerances.spectral_tail)

    @property
    def context(self) -> EvolutionContext:
        return self.operator.context

    @property
    def newton_steps(self) -> int:
        return self._solver.newton_steps

    def _cell_count(self, state: GalerkinState) -> int:
        return 1

    def _companion_windows(self, trajectory: Trajectory) -> Iterator[tuple[float, float, int]]:
        """Yield staggered windows with a higher degree."""
        assert self.primary is not None
        self._magnitudes = self.primary._magnitudes
        more = GALERKIN.companion_degree_ratio[self.operator.context.compiled.dimension]
        chosen = staggered_windows(
            trajectory, self.primary.degrees, self.time_interval.switch_times, lambda degree: degree
        )
        for t, stop, degree in chosen:
            yield t, stop, int(more * degree) + 2

    def _prescribed_window(
        self, state: GalerkinState | None, t: float, stop: float, chosen: int
    ) -> tuple[Window, GalerkinState]:
        space = self._space(chosen)
        state = self._at_start(space) if state is None else self._change_degree(state, space)
        U, after = self._solver.solve(state, t, stop, self._magnitudes)
        return self._solver.window(state, U, t, stop), GalerkinState(space, after)

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

    def _begin(self) -> tuple[GalerkinState, float]:
        self._magnitudes = np.zeros(self.operator.context.compiled.unknowns)
        state = self._resolved_initial_state()
        self._magnitudes = self._magnitude_floor(np.abs(state.rates[0, 0] @ state.space.values.T).max(axis=1))
        return state, TIME_STEPPING.first_length * self.time_interval.duration

    def _resolved_initial_state(self) -> GalerkinState:
        """Return the initial state at a degree that resolves it, as far as rounding and the limit allow."""
        degree = GALERKIN.first_degree
        wanted = max(GALERKIN.initial_tail_fraction * self.tolerances.spectral_tail, 1e-13)
        before: tuple[int, float] | None = None
        while True:
            self.check(self.evolution.start, -1, 1)
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
        return GalerkinState(space, space.coefficients(values)[:, None])

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

    def _next_window(
        self, state: GalerkinState, t: float, h: float
    ) -> tuple[Window, GalerkinState, float] | str:
        attempt = WindowAttempt(
            state,
            t,
            h,
            is_start=not self._done,
            since=abs(t - self.evolution.start),
            in_layer=t in self.layers.values(),
            relaxation=ToleranceRelaxation(self.tolerances),
        )
        if attempt.is_start and self._is_incompatible(state):
            attempt.enter_layer(self._first_layer_length)
        return self._search_window(attempt)

    @property
    def _first_layer_length(self) -> float:
        """Length of the first window of a layer."""
        return GALERKIN.layer_first_length * self.time_interval.duration

    def _accepted_window(
        self, attempt: WindowAttempt[GalerkinState], stop: float
    ) -> tuple[Window, GalerkinState, float] | str | None:
        solved = self._solved_window(attempt, stop)
        if solved is None:
            return None
        allowed, errors = attempt.relaxation.relaxed, solved.errors
        if errors.are_within(allowed):
            return self._accept(solved, errors.time_tail / attempt.relaxation.factor)
        if attempt.may_be_layer(errors.time_tail):
            # The initial values are compatible but their time derivative is not: u_t = Δu + 1 from 0.
            attempt.enter_layer(self._first_layer_length)
            attempt.start = self._at_start(self._space(self._layer_degree(solved.state.space.degree)))
            return None
        if attempt.in_layer and errors.space_tail > allowed.spectral_tail:
            return self._accept_in_layer(attempt, solved)
        return self._adapt(attempt, solved, allowed)

    def _solved_window(self, attempt: WindowAttempt[GalerkinState], stop: float) -> _SolvedWindow | None:
        """Return the solved window; None, with a shorter attempt, if it fails or misses data in it."""
        state, t = attempt.start, attempt.t
        try:
            U, after = self._solver.solve(state, t, stop, self._magnitudes)
        except WindowFailedError:
            attempt.h *= 0.4
            return None
        time_tail, space_tail, magnitudes = self._spectral_tails(state, U)
        errors = WindowErrors(time_tail, space_tail, self._residual(state, U, t, stop))
        if not errors.are_finite:
            attempt.h *= 0.3
            return None
        allowed = attempt.relaxation.relaxed
        at = self.data_monitor.worst_fraction(t, stop, self._solver.stages.nodes)
        data_residual = self._residual(state, U, t, stop, at) if len(at) else 0.0
        if data_residual > allowed.residual and errors.residual <= allowed.residual:
            attempt.h *= reduction_factor(allowed, time_tail, data_residual, self.stage_count)
            attempt.number -= 1  # only later data are unresolved: this does not count as an attempt
            return None
        return _SolvedWindow(state, U, after, t, stop, magnitudes, errors)

    def _accept_in_layer(
        self, attempt: WindowAttempt[GalerkinState], solved: _SolvedWindow
    ) -> tuple[Window, GalerkinState, float] | str:
        """Accept an unresolved window in a layer, unless the layer is too long."""
        if attempt.since > COLLOCATION.max_layer_fraction[0] * self.time_interval.duration:
            return "the initial data are not resolved"
        window, following, _ = self._accept(solved, solved.errors.time_tail)
        self.layers[self.evolution.start] = solved.stop
        return window, following, attempt.since + attempt.h

    def _adapt(
        self, attempt: WindowAttempt[GalerkinState], solved: _SolvedWindow, allowed: Tolerances
    ) -> str | None:
        """Relax the tolerances, raise the degree or shorten the window; return why none is possible."""
        errors, degree, relaxation = solved.errors, solved.state.space.degree, attempt.relaxation
        excess = errors.excess(allowed)
        is_futile = relaxation.is_futile(excess, degree)
        if relaxation.accept_rounding(excess, attempt.h, degree, min_remaining_ratio=0.5):
            return None
        relaxation.previous = (excess, attempt.h, degree)
        if errors.are_spatial(allowed, is_futile):
            next_degree = self._next_degree(degree)
            if next_degree is not None:
                space = self._space(next_degree)
                attempt.start = (
                    self._at_start(space) if attempt.is_start else self._change_degree(attempt.start, space)
                )
                return None
            if errors.time_tail <= allowed.spectral_tail:
                return self._relax_at_column_limit(relaxation, errors)
        attempt.h *= reduction_factor(allowed, errors.time_tail, errors.residual, self.stage_count)
        return None

    def _relax_at_column_limit(self, relaxation: ToleranceRelaxation, errors: WindowErrors) -> str | None:
        """Accept the best solution within the limit of columns; the companion solution measures its error."""
        self.column_limit_reached = True
        relaxation.factor = 1.01 * max(
            errors.space_tail / self.tolerances.spectral_tail, errors.residual / self.tolerances.residual
        )
        return COLUMN_LIMIT if relaxation.factor > TIME_STEPPING.max_relaxation else None

    def _accept(self, solved: _SolvedWindow, time_tail: float) -> tuple[Window, GalerkinState, float]:
        self._magnitudes = np.maximum(self._magnitudes, solved.magnitudes)
        space, t, stop = solved.state.space, solved.t, solved.stop
        window = self._solver.window(solved.state, solved.U, t, stop)
        self.degrees.append(space.degree)
        h = abs(stop - t) * growth_factor(self.tolerances.spectral_tail, time_tail, self.stage_count)
        return window, GalerkinState(space, solved.after), h

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
        both = np.maximum(self._magnitudes, magnitudes)
        scale = np.maximum(both, 1e-9 * float(both.max()))
        scale = np.where(scale > 0, scale, 1.0)
        last_terms = np.abs(
            space.check_values @ (self._solver.series(state, U)[0, ..., -2:] * LAST_WEIGHTS)
        ).max(axis=(1, 2))
        return float((last_terms / scale).max()), self._space_tail(space, U, scale), magnitudes

    def _residual(
        self, state: GalerkinState, U: Array, t: float, stop: float, at: Array = CHECK_FRACTIONS
    ) -> float:
        """Return the largest residual between the collocation points, relative to its terms."""
        check_system, h = state.space.check_system, stop - t
        seen = values_between(
            self._solver.stages, U, state.rates, check_system.time_order, h, self.evolution.orders, at
        )
        magnitudes = np.maximum(self._magnitudes, np.abs(state.space.check_values @ U[0]).max(axis=(1, 2)))
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

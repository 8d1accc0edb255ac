r"""Integrator of evolutions by time windows u(t₀) → u(t₁) → …, over a `SpatialOperator`.

A window is solved, judged by its spectral tails and residuals, and repeated with another length, another
resolution in space or relaxed tolerances until it is accepted. Windows end at switching times. If the data at
the initial time or at a switching time are incompatible, a layer follows that is not resolved: its windows
are as long as the time since its start, until one of them is resolved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

from pibls.analysis.evolution import Evolution
from pibls.time.companion import CompanionSolution
from pibls.time.protocol import LayerRule, SolvedT, SpatialOperator, StateT
from pibls.time.step_control import StepController, WindowErrors
from pibls.time.thresholds import TIME_STEPPING
from pibls.time.trajectory import (
    STEP_TOO_SMALL,
    UNRESOLVED_DATA,
    UNRESOLVED_SPACE,
    IntegrationStoppedError,
    ProgressCheck,
    Tolerances,
    Trajectory,
    Window,
    WindowFailedError,
)


@dataclass
class _Attempt(Generic[StateT]):
    """The next attempt at a window."""

    state: StateT
    t: float
    steps: StepController
    is_start: bool
    """Whether the window follows the initial data or a switching time."""
    in_layer: bool
    """Whether the window is in a layer after incompatible data."""
    number: int = -1


_Accepted = tuple[Window, StateT, float]
"""A window, the state after it and the next length."""


@dataclass
class Integrator(Generic[StateT, SolvedT]):
    """Integrates an evolution from its start to its end, window by window."""

    space: SpatialOperator[StateT, SolvedT]
    evolution: Evolution
    tolerances: Tolerances
    check: ProgressCheck = lambda t, windows, cells: None
    layers: dict[float, float] = field(default_factory=dict)
    """Layers after incompatible data: time of the incompatibility → end of the layer."""
    done: list[Window] = field(default_factory=list)
    nonsmooth_since = None
    _layer_start: float = 0.0
    """Initial time or last switching time."""

    def run(self) -> Trajectory:
        """Integrate up to the final time, or as far as possible."""
        try:
            self._integrate()
        except IntegrationStoppedError as reason:
            return self._trajectory(str(reason))
        return self._trajectory(None)

    def partial(self) -> Trajectory | None:
        """Return the windows computed up to an interruption; None if there are none."""
        return self._trajectory(None) if self.done else None

    def companion(self, trajectory: Trajectory, check: ProgressCheck) -> CompanionSolution | None:
        """Compute the companion solution; None if that fails."""
        return self.space.companion(trajectory, check)

    def _trajectory(self, stopped: str | None) -> Trajectory:
        return Trajectory(tuple(self.done), self.evolution, stopped, self.space.newton_steps)

    def _integrate(self) -> None:
        interval = self.space.time_interval
        t, (state, h) = interval.start, self.space.initial_state()
        while not interval.is_finished(t):
            window, state, h = self._next_window(state, t, interval.fit_length(t, h))
            self.done.append(window)
            t = window.stop

    def _next_window(self, state: StateT, t: float, h: float) -> _Accepted[StateT]:
        """Return an accepted window; raises `IntegrationStoppedError`."""
        is_start = not self.done or self.space.time_interval.is_switch_time(t)
        if is_start:
            self._layer_start = t
        in_layer = not is_start and self.layers.get(self._layer_start) == t
        steps = StepController(self.tolerances, self.space.step_rule, h, self.space.min_length)
        attempt = _Attempt(state, t, steps, is_start, in_layer)
        rule = self.space.layer_rule
        if is_start and rule is not None and self.space.is_incompatible(state, t):
            self._enter_layer(attempt, rule)
        while True:
            attempt.number += 1
            self.check(t, len(self.done), self.space.cell_count(attempt.state))
            stop = self.space.time_interval.window_end(t, steps.length)
            if stop is None:
                raise IntegrationStoppedError(STEP_TOO_SMALL)
            found = self._accepted_window(attempt, stop)
            if found is not None:
                return found

    def _accepted_window(self, attempt: _Attempt[StateT], stop: float) -> _Accepted[StateT] | None:
        """Return the window up to ``stop`` if it is accepted; else change the attempt."""
        space, steps, rule = self.space, attempt.steps, self.space.layer_rule
        try:
            solved = space.solve(attempt.state, attempt.t, stop)
        except WindowFailedError:
            steps.fail()
            return None
        errors, allowed = solved.errors, steps.allowed
        if not errors.are_finite:
            steps.fail()
            return None
        if errors.residual <= allowed.residual:
            data_residual = space.data_residual(solved)
            if data_residual > allowed.residual:
                steps.shorten(WindowErrors(errors.time_tail, 0.0, data_residual).excess_in_time(allowed))
                attempt.number -= 1  # only later data are unresolved: this does not count as an attempt
                return None
        if errors.are_within(allowed):
            return self._accept(attempt, solved, stop)
        if rule is not None and self._may_be_layer(attempt, errors):
            self._enter_layer(attempt, rule)
            return None
        if rule is not None and attempt.in_layer:
            is_unresolved = errors.space_tail > allowed.spectral_tail
            graded = space.grade(solved) if is_unresolved else None
            if graded is not None:
                attempt.state = graded
                return None
            # Without grading, shorter windows do not resolve space.
            if (is_unresolved and not rule.is_graded) or attempt.is_start or self._is_shortest(attempt):
                return self._accept_in_layer(attempt, solved, stop, rule)
        self._adapt(attempt, solved, allowed)
        return None

    def _accept(self, attempt: _Attempt[StateT], solved: SolvedT, stop: float) -> _Accepted[StateT]:
        if attempt.in_layer and attempt.is_start:
            self.layers.pop(attempt.t, None)  # resolved: there is no layer after all
        window, state, first_length = self.space.accept(solved, attempt.steps.relaxation)
        if first_length is not None:
            return window, state, first_length
        tail = self.space.predicted_tail(solved, attempt.steps.allowed)
        return window, state, attempt.steps.next_length(abs(stop - attempt.t), tail)

    # -- layers --

    def _since(self, t: float) -> float:
        """Return the time since the initial data or the last switching time."""
        return abs(t - self._layer_start)

    def _enter_layer(self, attempt: _Attempt[StateT], rule: LayerRule) -> None:
        attempt.state, attempt.in_layer = self.space.layer_state(attempt.state), True
        attempt.steps.length = rule.first_length * self.space.time_interval.duration
        attempt.steps.previous = None

    def _may_be_layer(self, attempt: _Attempt[StateT], errors: WindowErrors) -> bool:
        """Whether so many attempts failed at the start that there must be a layer."""
        return (
            attempt.is_start
            and attempt.number == TIME_STEPPING.attempts_before_layer
            and not attempt.in_layer
            and errors.time_tail > attempt.steps.allowed.spectral_tail
        )

    def _is_shortest(self, attempt: _Attempt[StateT]) -> bool:
        """Whether a window in a layer is as short as the layer is old."""
        return attempt.steps.length <= 1.001 * TIME_STEPPING.min_layer_length_ratio * self._since(attempt.t)

    def _accept_in_layer(
        self, attempt: _Attempt[StateT], solved: SolvedT, stop: float, rule: LayerRule
    ) -> _Accepted[StateT]:
        """Accept an unresolved window in a layer, unless the layer is too long."""
        since = self._since(attempt.t)
        if since > rule.max_length * self.space.time_interval.duration:
            raise IntegrationStoppedError(UNRESOLVED_DATA)
        window, state, _ = self.space.accept(solved, 1.0)
        self.layers[self._layer_start] = stop
        return window, state, since + attempt.steps.length

    # -- rejected windows --

    def _adapt(self, attempt: _Attempt[StateT], solved: SolvedT, allowed: Tolerances) -> None:
        """Relax the tolerances, refine space or shorten the window."""
        errors, steps = solved.errors, attempt.steps
        excess = errors.excess(allowed)
        is_futile = steps.is_futile(excess, solved.functions)
        # Incompatible data also converge slowly, so only much smaller errors are taken for rounding.
        may_be_layer = self.space.layer_rule is not None and (attempt.is_start or attempt.in_layer)
        max_error = TIME_STEPPING.max_rounding_error[may_be_layer]
        if steps.accept_rounding(excess, solved.functions, max_error):
            return
        may_refine = self.space.is_refinable and not attempt.in_layer
        if may_refine and errors.are_spatial(allowed, is_futile):
            finer = self.space.refine(solved, allowed)
            if finer is not None:
                attempt.state = finer
                if errors.time_tail > 100.0 * allowed.spectral_tail:
                    steps.length *= 0.5
                return
            if errors.time_tail <= allowed.spectral_tail:
                self._accept_limit(steps, errors)
                return
        if attempt.in_layer:
            shortest = TIME_STEPPING.min_layer_length_ratio * self._since(attempt.t)
            steps.min_length = max(self.space.min_length, shortest)
        steps.shorten(errors.excess_in_time(allowed))

    def _accept_limit(self, steps: StepController, errors: WindowErrors) -> None:
        """Accept the best solution within the limits; the companion solution measures its error."""
        if not steps.relax(1.01 * errors.excess(steps.allowed)):
            raise IntegrationStoppedError(UNRESOLVED_SPACE)

r"""Time windows of ordinary differential equations: the spatial operator without space.

Windows are cheap: all share one set of points and tables (`basis.polynomials.radau`), and each is Newton's
method for a few dozen numbers (`ode.collocation`). The length of a window follows from the decay of the
Chebyshev coefficients of the solution. A window is accepted if its spectral tail and the residual between
the points are small; a rejected one is the initial guess of the next, shorter one. At switching times the
state may jump.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.basis.polynomials.radau import Radau
from pibls.runtime.caching import cached_property
from pibls.spaces.spectral_tail import decayed_spectrum
from pibls.time.companion import CompanionSolution
from pibls.time.interval import TimeInterval
from pibls.time.ode.collocation import Collocation, ConvergedWindow, ODEWindow
from pibls.time.ode.companion_solution import companion_solution
from pibls.time.ode.initial_values import Impulse, InitialValues
from pibls.time.ode.singular_start import has_free_solutions
from pibls.time.ode.solution_window import solution_window
from pibls.time.step_control import StepRule, WindowErrors, newton_tolerance
from pibls.time.thresholds import ODE, TIME_STEPPING
from pibls.time.trajectory import (
    ProgressCheck,
    Tolerances,
    Trajectory,
    Window,
    WindowFailedError,
)


@dataclass(frozen=True)
class ODEState:
    """u and its derivatives below the highest at the start of a window, by group, and the last window."""

    values: tuple[Array, ...]
    last: ODEWindow | None = None


@dataclass(frozen=True)
class SolvedODEWindow:
    """A solved window before it is accepted or rejected."""

    converged: ConvergedWindow
    stop: float
    coefficients: Array
    """Chebyshev coefficients (unknowns group by group, size)."""
    relative: Array
    """Their relative tails from each degree on."""
    magnitudes: Array
    errors: WindowErrors
    functions: int = 0


@dataclass
class ODEWindows:
    """Spatial operator of an ordinary differential equation."""

    evolution: Evolution
    collocation: Collocation
    initial_values: InitialValues
    tolerances: Tolerances
    data_extrema: Array = field(default_factory=lambda: np.empty(0))
    """Times of extreme data, at which residuals are checked for pulses between the points of a window."""
    impulses: tuple[Impulse, ...] = ()
    """Switching times, with the jumps of the state there."""
    newton_steps: int = 0
    accepted: list[ODEWindow] = field(default_factory=list)
    """The accepted windows as they were collocated."""
    min_length = 0.0
    is_refinable = False
    layer_rule = None
    _magnitudes: Array = field(default_factory=lambda: np.empty(0))
    _natural_magnitudes: Array = field(default_factory=lambda: np.empty(0))
    _rejected: ODEWindow | None = None
    """The last solved window: if it was rejected, the next guess."""

    @property
    def _radau(self) -> Radau:
        return self.collocation.radau

    @property
    def scale(self) -> Array:
        """Scale of each unknown for relative errors, group by group."""
        scale = np.maximum(self._magnitudes, self._natural_magnitudes)
        return np.where(scale > 0, scale, scale.max() or 1.0)

    @cached_property
    def time_interval(self) -> TimeInterval:
        e, impulses = self.evolution, tuple(k.t for k in self.impulses)
        return TimeInterval(e.start, e.stop, impulses, split_ratio=1.4)

    @cached_property
    def step_rule(self) -> StepRule:
        return StepRule(self._tail_start, confirms_rounding=True)

    @property
    def _tail_start(self) -> int:
        """Degree from which coefficients count as the spectral tail; the tail is O(h^degree)."""
        return int(ODE.tail_start_fraction * self._radau.s)

    def initial_state(self) -> tuple[ODEState, float]:
        state = self.initial_values.state
        self._magnitudes = np.concatenate([np.abs(s[:, :1]).max(axis=1, initial=0.0) for s in state])
        self._natural_magnitudes = np.zeros_like(self._magnitudes)
        return ODEState(state), self.first_length(state, self.evolution.start)

    def first_length(self, state: tuple[Array, ...], start: float) -> float:
        """Return a first length from the time scales of the solution in a tiny window."""
        duration, direction = self.time_interval.duration, self.time_interval.direction
        tiny = ODE.probe_length * duration
        converged = self._solve_window(self._constant_guess(state, None, start, 0.5 * direction * tiny))
        if converged is None:
            return 1e-3 * duration
        self._natural_magnitudes = np.maximum(self._natural_magnitudes, converged.balanced_sizes)
        lengths = [duration]
        for g in self.collocation.equations.groups:
            rates = np.abs(converged.U[g.rows]).max(axis=1).reshape(len(g.unknowns), g.order + 1)
            for rate, size in zip(rates, self.scale[g.columns], strict=True):
                # A quantity that is zero at the start is, in a tiny window, determined by its next
                # derivative.
                own = [max(rate[0], size), *rate[1:]]
                after = [*(10.0 * tiny * r for r in rate[1:]), 0.0]
                known = [(j, r) for j, r in enumerate(own) if r > after[j]]
                lengths += [(a / b) ** (1.0 / (k - j)) for (j, a), (k, b) in pairwise(known)]
        # In a window that is too long, Newton's method may converge to a spurious solution.
        caution = 1.0 if self.collocation.equations.is_linear else ODE.first_length_fraction
        return float(max(caution * min(lengths), 1e-7 * duration))

    def cell_count(self, state: ODEState) -> int:
        return 1

    def is_incompatible(self, state: ODEState, t: float) -> bool:
        return False

    def layer_state(self, state: ODEState) -> ODEState:
        return state

    def solve(self, state: ODEState, t: float, stop: float) -> SolvedODEWindow:
        half, rejected, self._rejected = 0.5 * (stop - t), self._rejected, None
        guess = (
            self._restricted_guess(state.values, rejected, half)
            if rejected is not None and rejected.start == t
            else self._constant_guess(state.values, state.last, t, half)
        )
        converged = self._solve_window(guess)
        if converged is None:
            raise WindowFailedError
        coefficients, relative, magnitudes = self._spectrum(converged)
        tail = float(relative[self._tail_start]) / ODE.tail_slack
        errors = WindowErrors(tail, 0.0, self._residual_indicator(converged))
        if errors.are_finite:
            self._rejected = converged.window
        return SolvedODEWindow(converged, stop, coefficients, relative, magnitudes, errors)

    def data_residual(self, solved: SolvedODEWindow) -> float:
        return 0.0  # the residual indicator includes the extreme data

    def refine(self, solved: SolvedODEWindow, allowed: Tolerances) -> None:
        return None

    def grade(self, solved: SolvedODEWindow) -> None:
        return None

    def predicted_tail(self, solved: SolvedODEWindow, allowed: Tolerances) -> float:
        """Return the tail at its first degree if coefficients decrease as they do up to the tolerance.

        Rounding does not hide their decay, as it does in the tail itself. Of the residual, no part is kept
        for safety.
        """
        first, aim = self._tail_start, allowed.spectral_tail
        degree_reached = max(int(np.argmax(solved.relative <= aim)), 3)
        residual = solved.errors.residual / allowed.residual
        return float(
            max(aim ** (first / degree_reached), aim * residual * TIME_STEPPING.safety_factor**first)
        )

    def accept(self, solved: SolvedODEWindow, relaxation: float) -> tuple[Window, ODEState, float | None]:
        converged, stop = solved.converged, solved.stop
        self._magnitudes, self._rejected = solved.magnitudes, None
        self._natural_magnitudes = np.maximum(self._natural_magnitudes, converged.balanced_sizes)
        C = solved.coefficients[self.collocation.equations.positions]
        window = solution_window(C, converged.window.start, stop)
        self.accepted.append(converged.window)
        values = self._end_state(converged)
        for impulse in self.impulses:
            if impulse.t == stop:  # the next window has no predecessor
                values = impulse.after(values, converged)
                return window, ODEState(values), self.first_length(values, stop)
        return window, ODEState(values, converged.window), None

    def companion(self, trajectory: Trajectory, check: ProgressCheck) -> CompanionSolution | None:
        """Solve all windows at half their length at once; None if Newton's method fails."""
        windows, jumps = self.accepted[: len(trajectory.windows)], set(self.time_interval.switch_times)
        return companion_solution(trajectory, windows, self.collocation, self.scale, jumps)

    def has_free_solutions(self, trajectory: Trajectory) -> bool:
        """Whether several solutions have the same initial values."""
        return has_free_solutions(self.accepted[0], trajectory.windows[0].stop, self.collocation, self.scale)

    def _end_state(self, converged: ConvergedWindow) -> tuple[Array, ...]:
        """Return u⁽ʲ⁾ for j below the order at the end of a window."""
        last = self._radau.s - 1
        out = []
        for g in self.collocation.equations.groups:
            U = converged.U[g.rows, last].reshape(-1, g.order + 1)
            out.append(U[:, : g.order])
        return tuple(out)

    def _solve_window(self, guess: ODEWindow) -> ConvergedWindow | None:
        tolerance = newton_tolerance(self.tolerances.spectral_tail)
        converged = self.collocation.solve_window(guess, self.scale, tolerance)
        if converged is not None:
            self.newton_steps += converged.steps
        return converged

    def _spectrum(self, converged: ConvergedWindow) -> tuple[Array, Array, Array]:
        """Return the Chebyshev coefficients, their relative tails from each degree on, and the magnitudes."""
        equations, r = self.collocation.equations, self._radau
        pairs = list(zip(equations.groups, converged.window.z, strict=True))
        C = np.concatenate([z @ r.coefficients[g.order] for g, z in pairs])
        U = np.concatenate([converged.U[g.rows][:: g.order + 1] for g in equations.groups])
        magnitudes = np.maximum(self._magnitudes, np.abs(U).max(axis=1))
        scale = np.maximum(np.maximum(magnitudes, converged.balanced_sizes), self._natural_magnitudes)
        scale = np.where(scale > 0, scale, scale.max() or 1.0)
        return C, decayed_spectrum(C / scale[:, None], 1), magnitudes

    def _residual_indicator(self, converged: ConvergedWindow) -> float:
        """Return the largest residual between the points, relative to its terms or to its effect.

        Where a spring constant changes as the mass passes its rest position, all terms vanish and the
        residual does not, but in a short window its effect on the solution is negligible.
        """
        effect = self._residuals_between(converged) / np.where(
            converged.derivative_terms > 0, converged.derivative_terms, 1.0
        )
        return float(
            np.minimum(
                self._relative_residuals(converged),
                effect * (self.tolerances.residual / self.tolerances.spectral_tail),
            ).max()
        )

    def _relative_residuals(self, converged: ConvergedWindow) -> Array:
        """Return the residual of each equation relative to its terms."""
        magnitudes = self._residuals_between(converged)
        known = np.where(converged.term_sizes > 0, converged.term_sizes, magnitudes)
        return np.asarray(magnitudes / np.where(known > 0, known, 1.0))

    def _residuals_between(self, converged: ConvergedWindow) -> Array:
        """Return the residual of each equation between the points and at extreme data."""
        F = converged.residual[:, self._radau.s :]
        magnitudes = np.sqrt(np.einsum("en,en->e", F, F) / F.shape[1])
        if len(self.data_extrema):
            magnitudes = np.maximum(
                magnitudes, self.collocation.max_residual_at(self.data_extrema, converged.window)
            )
        return np.asarray(magnitudes)

    def _constant_guess(
        self, state: tuple[Array, ...], last: ODEWindow | None, t: float, half: float
    ) -> ODEWindow:
        """Return a guess with constant highest derivatives, from the end of the last window."""
        z = []
        for i, g in enumerate(self.collocation.equations.groups):
            scaled_state = state[i] * half ** np.arange(float(g.order))
            eta = np.zeros((len(g.unknowns), self._radau.s))
            if last is not None:
                eta += (half / last.half) ** g.order * last.z[i][:, -1:]
            z.append(np.concatenate([scaled_state, eta], axis=1))
        return ODEWindow(t, half, tuple(z))

    def _restricted_guess(self, state: tuple[Array, ...], longer: ODEWindow, half: float) -> ODEWindow:
        """Return a guess from the first part of a longer, rejected window."""
        r, z = self._radau, []
        share = half / longer.half
        for i, g in enumerate(self.collocation.equations.groups):
            scaled_state = state[i] * half ** np.arange(float(g.order))
            eta = share**g.order * (longer.z[i][:, g.order :] @ r.restriction(share))
            z.append(np.concatenate([scaled_state, eta], axis=1))
        return ODEWindow(longer.start, half, tuple(z))

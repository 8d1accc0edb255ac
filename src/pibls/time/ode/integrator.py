r"""Integrator of ordinary differential equations by Radau collocation on adaptive time windows.

Windows are cheap: all share one set of points and tables (`basis.polynomials.radau`), and each is Newton's
method for a few dozen numbers (`time.ode.collocation`). The length of a window follows from the decay of
the Chebyshev coefficients of the solution. A window is accepted if its spectral tail and the residual
between the points are small; a rejected one is the initial guess of the next, shorter one. Windows end at
switching times, at which the state may jump. An error that a much shorter window does not reduce is
rounding: the tolerances are relaxed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.assembly.evolutions.ode_equations import ODESystem
from pibls.basis.polynomials.chebyshev import ChebyshevBasis
from pibls.basis.polynomials.radau import Radau
from pibls.runtime.caching import cached_property
from pibls.spaces import SingleDomainSpace, TimeWindows
from pibls.time.ode.collocation import Collocation, ConvergedWindow, ODEWindow
from pibls.time.ode.initial_values import Impulse, InitialValues
from pibls.time.step_control import newton_tolerance
from pibls.time.thresholds import ODE, TIME_STEPPING
from pibls.time.time_stepping import STEP_TOO_SMALL, TimeInterval, integrate
from pibls.time.trajectory import Tolerances


@dataclass(frozen=True)
class AcceptedWindow:
    """One accepted window and its Chebyshev coefficients (unknowns group by group, size)."""

    window: ODEWindow
    coefficients: Array
    stop: float


@dataclass(frozen=True)
class ODETrajectory:
    """Solution of an ODE up to the time that was reached."""

    evolution: Evolution
    equations: ODESystem
    size: int
    windows: tuple[AcceptedWindow, ...]
    stopped: str | None
    """Why the integration ended before the final time; None if it did not."""
    newton_steps: int = 0
    """Number of Newton steps."""
    magnitudes: Array = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def end_time(self) -> float:
        return self.windows[-1].stop

    @property
    def edges(self) -> Array:
        """End points of the windows, in the direction of integration."""
        return np.array([*(s.window.start for s in self.windows), self.end_time])

    def function(self) -> tuple[TimeWindows, Array]:
        """Return the space of all windows and the coefficients in it."""
        return function_of(self.edges, self.equations, np.array([s.coefficients for s in self.windows]))


def function_of(edges: Array, equations: ODESystem, coefficients: Array) -> tuple[TimeWindows, Array]:
    """Return the piecewise polynomial between edges with coefficients (windows, unknowns by group, size)."""
    size = coefficients.shape[2]
    order = np.argsort([k for g in equations.groups for k in g.unknowns])
    C = coefficients[:, order]
    if edges[-1] < edges[0]:
        # Integrated backwards: the same polynomials of -ξ.
        edges, C = edges[::-1], C[::-1] * (-1.0) ** np.arange(size)
    low, high = edges[:-1], edges[1:]
    centres, halves = 0.5 * (low + high)[:, None], 0.5 * (high - low)[:, None]
    bases = (ChebyshevBasis(size, c, h) for c, h in zip(centres, halves, strict=True))
    unknowns = C.shape[1]
    return TimeWindows(
        0, tuple(edges.tolist()), tuple(SingleDomainSpace.shared(b, unknowns) for b in bases)
    ), C.ravel()


_Start = tuple[tuple[Array, ...], ODEWindow | None]
"""State at the start of a window: u and its derivatives below the highest by group, and the last window."""


@dataclass
class _LengthSearch:
    """Length and tolerances of the next attempt at a window."""

    length: float
    relaxation: float = 1.0
    max_factor: float = field(default_factory=lambda: TIME_STEPPING.max_growth)
    """Largest length of the next window over this one."""
    before: tuple[float, float] | None = None
    """An earlier attempt with a clearly longer window: error over tolerance, and length."""
    shortened: tuple[float, float] | None = None
    """The same for the attempt before a large reduction, which shows whether the error is rounding."""
    rejected: ODEWindow | None = None
    """The last window if it was solved and rejected: the next guess."""

    def fail(self) -> None:
        """Continue after Newton's method failed."""
        self.length, self.max_factor = self.length * ODE.newton_failure_reduction, 1.0
        self.rejected = None

    def reject(self, window: ODEWindow, excess: float, tail_tolerance: float, stages: int) -> None:
        """Continue after a window whose error is ``excess`` times the tolerance.

        If a much shorter window does not help either, the error is rounding; the error at a jump of the data
        or of a derivative decreases with the length.
        """
        before, length, self.rejected = self.before, self.length, window
        if before is not None and excess > 0.3 * before[0] and length <= 0.75 * before[1]:
            if length > ODE.rounding_test_reduction * before[1]:
                self.before = self.shortened = (excess, length)
                self.length = 0.8 * ODE.rounding_test_reduction * length
                return
            if excess * max(tail_tolerance, 1e-13) < ODE.max_rounding_residual:
                self.relaxation *= 3.0 * excess
                if self.relaxation < TIME_STEPPING.max_relaxation:
                    return
        if before is None or length <= 0.75 * before[1] or excess <= 0.3 * before[0]:
            self.before = (excess, length)  # compare with clearly longer windows only
        share = TIME_STEPPING.safety_factor * excess ** (-1.0 / (ODE.tail_start_fraction * stages))
        self.length = length * share


@dataclass
class ODEIntegrator:
    """Integrates an ODE from its start to its end, window by window."""

    evolution: Evolution
    collocation: Collocation
    initial_values: InitialValues
    tolerances: Tolerances
    check: Callable[[float, int], None] = lambda t, windows: None
    """Called with t and the number of windows before each attempt; raises to stop."""
    data_extrema: Array = field(default_factory=lambda: np.empty(0))
    """Times of extreme data, at which residuals are checked for pulses between the points of a window."""
    impulses: tuple[Impulse, ...] = ()
    """Switching times, with the jumps of the state there."""
    newton_steps: int = 0
    _magnitudes: Array = field(default_factory=lambda: np.empty(0))
    _natural_magnitudes: Array = field(default_factory=lambda: np.empty(0))
    _done: list[AcceptedWindow] = field(default_factory=list)

    @property
    def _radau(self) -> Radau:
        return self.collocation.radau

    @property
    def _scale(self) -> Array:
        """Scale of each unknown for relative errors."""
        scale = np.maximum(self._magnitudes, self._natural_magnitudes)
        return np.where(scale > 0, scale, scale.max() or 1.0)

    @cached_property
    def time_interval(self) -> TimeInterval:
        e, impulses = self.evolution, tuple(k.t for k in self.impulses)
        return TimeInterval(e.start, e.stop, impulses, split_ratio=1.4)

    def run(self) -> ODETrajectory:
        """Integrate up to the final time, or as far as possible."""
        state = self.initial_values.state
        self._magnitudes = np.concatenate([np.abs(s[:, :1]).max(axis=1, initial=0.0) for s in state])
        self._natural_magnitudes = np.zeros_like(self._magnitudes)
        start: _Start = state, None
        initial = start, self._first_length(state, self.evolution.start)
        return self._trajectory(
            integrate(self.time_interval, initial, self._next_window, self._done, lambda t, start: None)
        )

    def _next_window(
        self, start: _Start, t: float, length: float
    ) -> tuple[AcceptedWindow, _Start, float] | str:
        """Return one window and the start of the next; after a switching time the next has no predecessor."""
        found = self._accepted_window(*start, t, length)
        if isinstance(found, str):
            return found
        accepted, converged, length = found
        state = self._end_state(converged)
        for impulse in self.impulses:
            if impulse.t == accepted.stop:
                state = impulse.after(state, converged)
                return accepted, (state, None), self._first_length(state, accepted.stop)
        return accepted, (state, accepted.window), length

    def partial(self, why: str) -> ODETrajectory | None:
        """Return the windows computed up to an interruption; None if there are none."""
        return self._trajectory(why) if self._done else None

    def _trajectory(self, stopped: str | None) -> ODETrajectory:
        equations = self.collocation.equations
        size = self._radau.size
        return ODETrajectory(
            self.evolution, equations, size, tuple(self._done), stopped, self.newton_steps, self._scale
        )

    def _end_state(self, converged: ConvergedWindow) -> tuple[Array, ...]:
        """Return u⁽ʲ⁾ for j below the order at the end of a window."""
        last = self._radau.s - 1
        out = []
        for g in self.collocation.equations.groups:
            U = converged.U[g.rows, last].reshape(-1, g.order + 1)
            out.append(U[:, : g.order])
        return tuple(out)

    def _first_length(self, state: tuple[Array, ...], start: float) -> float:
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
            for rate, size in zip(rates, self._scale[g.columns], strict=True):
                # A quantity that is zero at the start is, in a tiny window, determined by its next
                # derivative.
                own = [max(rate[0], size), *rate[1:]]
                after = [*(10.0 * tiny * r for r in rate[1:]), 0.0]
                known = [(j, r) for j, r in enumerate(own) if r > after[j]]
                lengths += [(a / b) ** (1.0 / (k - j)) for (j, a), (k, b) in pairwise(known)]
        # In a window that is too long, Newton's method may converge to a spurious solution.
        caution = 1.0 if self.collocation.equations.is_linear else ODE.first_length_fraction
        return float(max(caution * min(lengths), 1e-7 * duration))

    def _accepted_window(
        self, state: tuple[Array, ...], last: ODEWindow | None, t: float, length: float
    ) -> tuple[AcceptedWindow, ConvergedWindow, float] | str:
        """Return an accepted window and the next length; or the reason for failure."""
        search = _LengthSearch(length)
        while True:
            self.check(t, len(self._done))
            stop = self.time_interval.window_end(t, search.length)
            if stop is None:
                return STEP_TOO_SMALL
            half = 0.5 * (stop - t)
            guess = (
                self._constant_guess(state, last, t, half)
                if search.rejected is None
                else self._restricted_guess(state, search.rejected, half)
            )
            converged = self._solve_window(guess)
            if converged is None:
                search.fail()
                continue
            coefficients, relative, magnitudes = self._spectrum(converged)
            tail = float(relative[int(ODE.tail_start_fraction * self._radau.s)])
            residual = self._residual_indicator(converged)
            if not (math.isfinite(tail) and math.isfinite(residual)):
                search.fail()
                continue
            allowed = Tolerances(
                ODE.tail_slack * search.relaxation * self.tolerances.spectral_tail,
                search.relaxation * self.tolerances.residual,
            )
            if tail <= allowed.spectral_tail and residual <= allowed.residual:
                self._magnitudes = magnitudes
                self._natural_magnitudes = np.maximum(self._natural_magnitudes, converged.balanced_sizes)
                accepted = AcceptedWindow(converged.window, coefficients, stop)
                return accepted, converged, self._next_length(search, converged, relative, residual)
            excess = max(tail / allowed.spectral_tail, residual / allowed.residual)
            search.reject(converged.window, excess, self.tolerances.spectral_tail, self._radau.s)

    def _next_length(
        self, search: _LengthSearch, converged: ConvergedWindow, relative: Array, residual: float
    ) -> float:
        """Return the length of the window after an accepted one."""
        factor = self._growth_factor(relative, residual, search.relaxation)
        if search.shortened is not None:
            relative_residual = float(self._relative_residuals(converged).max())
            excess, length = search.shortened
            allowed = search.relaxation * self.tolerances.residual
            if 0.3 * excess * allowed < relative_residual < ODE.max_rounding_residual:
                # The relative residual is as large as before the reduction: rounding, hidden by the short
                # window.
                return length
        return search.length * min(factor, search.max_factor)

    def _solve_window(self, guess: ODEWindow) -> ConvergedWindow | None:
        tolerance = newton_tolerance(self.tolerances.spectral_tail)
        converged = self.collocation.solve_window(guess, self._scale, tolerance)
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
        largest = (np.abs(C) / scale[:, None]).max(axis=0)
        return C, np.maximum.accumulate(largest[::-1])[::-1], magnitudes

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

    def _growth_factor(self, relative: Array, residual: float, relaxation: float) -> float:
        """Return the length of the next window over this one; coefficients of degree j scale as length^j."""
        first = int(ODE.tail_start_fraction * self._radau.s)
        aim = relaxation * self.tolerances.spectral_tail
        degree_reached = max(int(np.argmax(relative <= aim)), 3)
        factor = TIME_STEPPING.safety_factor * aim ** (1.0 / first - 1.0 / degree_reached)
        return float(
            min(factor, (relaxation * self.tolerances.residual / max(residual, 1e-300)) ** (1.0 / first))
        )

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

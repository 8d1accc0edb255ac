r"""Time stepping for nonsmooth solutions of nondissipative equations, at one fixed resolution.

Parabolic equations smooth incompatible initial data; hyperbolic and dispersive ones, with modes exp(λ(κ)t +
iκx), Re λ ≈ 0 and Im λ → ∞, propagate discontinuities of the derivatives everywhere, so no local refinement
resolves them. They are integrated with cells of equal size, or with many Fourier modes, and a time resolution
that matches the one in space. The error estimate comes from a companion solution with twice the resolution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem
from pibls.spaces import Node, divided_at_planes
from pibls.time.box.error_indicators import space_tails, window_spectral_tails
from pibls.time.box.initial_state import CollocationState, InitialData
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.refinement import Refinement
from pibls.time.box.resolution import Resolution, fourier_size
from pibls.time.box.solver import CollocationSolver, PreviousWindow
from pibls.time.context import EvolutionContext
from pibls.time.radau_stages import radau_stages
from pibls.time.thresholds import COLLOCATION, TIME_STEPPING
from pibls.time.time_stepping import STEP_TOO_SMALL, TimeStepper, WindowFailedError
from pibls.time.trajectory import Trajectory, Window


def has_undamped_short_waves(
    operator: CollocationOperator, state: CollocationState, system: SemidiscreteSystem
) -> bool:
    """Whether short waves on an interval oscillate without damping.

    Decided with the spatial means of the coefficients at the start.
    """
    e = operator.evolution
    if len(operator.space_axes) > 1:
        return False
    rates = [r[..., None] for r in state.rates]
    rates += [np.zeros_like(rates[0])] * (system.time_order + 1 - len(rates))
    weights = system.at(np.array([e.start])).mean_jacobian(rates).weights
    half = 0.5 * float(np.ptp(operator.context.box[operator.space_axes[0]]))
    kappa = 0.5 * np.pi * COLLOCATION.max_fourier_functions / half
    k = system.unknowns
    A = np.zeros((system.time_order + 1, k, k), dtype=complex)
    for row, (g, W) in enumerate(zip(system.statements[:k], weights, strict=False)):
        for (_, unknown, alpha, a), w in zip(g.terms, W.mean(axis=1), strict=True):
            A[a, row, unknown] += w * (1j * kappa) ** alpha[0]
    growth = _roots(A) * (e.stop - e.start)  # over the whole duration
    return bool(
        np.any((growth.real > -COLLOCATION.undamped_rate) & (np.abs(growth.imag) > COLLOCATION.undamped_rate))
    )


def _roots(A: np.ndarray) -> np.ndarray:
    """Return the finite roots λ of det Σ λ^a A_a = 0."""
    from scipy.linalg import eigvals

    m, k = len(A) - 1, A.shape[1]
    # Scale λ to order one: for λ² = -1e15, the unscaled pencil gave no finite root.
    sizes = np.abs(A).max(axis=(1, 2))
    unit = (sizes[0] / sizes[m]) ** (1.0 / m) if m and sizes[0] > 0 and sizes[m] > 0 else 1.0
    A = A * unit ** np.arange(m + 1.0)[:, None, None]
    size = np.abs(A).max()
    left, right = np.eye(m * k, dtype=complex), np.eye(m * k, dtype=complex)
    left[:] = 0.0
    for a in range(m - 1):
        left[a * k : (a + 1) * k, (a + 1) * k : (a + 2) * k] = np.eye(k)
    for a in range(m):
        left[-k:, a * k : (a + 1) * k] = -A[a] / size
    right[-k:, -k:] = A[m] / size
    found = eigvals(left, right)
    return np.asarray(unit * found[np.isfinite(found)])


@dataclass(frozen=True)
class _WindowStart:
    """State at the start of a window, with the previous window; system and solver are shared by all."""

    state: CollocationState
    system: SemidiscreteSystem
    solver: CollocationSolver
    previous_window: PreviousWindow | None = None

    def after(self, previous_window: PreviousWindow, rates: Array) -> _WindowStart:
        return replace(
            self, state=CollocationState(self.state.resolution, rates), previous_window=previous_window
        )

    def solve_window(self, t: float, stop: float, sizes: Array) -> tuple[Array, Array, PreviousWindow]:
        """Return the values at the collocation times, the final derivatives and the window."""
        U, rates = self.solver.solve(self.system, self.state, self.previous_window, t, stop, sizes)
        return U, rates, self.solver.previous_window(self.state, U, t, stop)


@dataclass
class NonsmoothStepper(TimeStepper[_WindowStart, None]):
    """Time stepper at one fixed spatial resolution, for solutions that no refinement resolves."""

    operator: CollocationOperator
    functions: int
    stage_count: int
    tail_tolerance: float
    halves_failed_windows = True
    _tail_level: float = 0.0
    _solver: CollocationSolver | None = None

    @property
    def context(self) -> EvolutionContext:
        return self.operator.context

    @property
    def newton_steps(self) -> int:
        return 0 if self._solver is None else self._solver.newton_steps

    def _cell_count(self, start: _WindowStart) -> int:
        return len(start.state.resolution.tree)

    def _resolution(self, times: int) -> Resolution:
        first = Refinement(self.operator).initial(self.functions, True)
        if all(first.periodic):
            return Resolution(
                first.tree, (fourier_size(times * COLLOCATION.max_fourier_functions),), first.periodic
            )
        axis = self.operator.space_axes[0]

        def division(number: int, box: np.ndarray) -> Node:
            return divided_at_planes([(axis, float(box[axis].mean()))])

        tree = first.tree
        while len(tree) < times * COLLOCATION.nonsmooth_cells:
            tree = tree.refine(division)
        return Resolution(tree, first.sizes, first.periodic)

    def _begin(self) -> tuple[_WindowStart, float]:
        start = self._initial_start(1)
        left = space_tails(start.state.resolution, start.state.rates)
        self._tail_level = max(
            self.tail_tolerance, COLLOCATION.nonsmooth_time_tail_fraction * float(left.max())
        )
        return start, TIME_STEPPING.first_length * self.time_interval.duration

    def _initial_start(self, times: int) -> _WindowStart:
        state = InitialData(self.operator).at(self._resolution(times))
        self._solver = CollocationSolver(
            self.operator, radau_stages(self.stage_count), max(self._tail_level, self.tail_tolerance)
        )
        system = self.operator.system(state.resolution)
        self._magnitudes = np.zeros(system.unknowns)
        return _WindowStart(state, system, self._solver)

    def _next_window(
        self, start: _WindowStart, t: float, h: float
    ) -> tuple[Window, _WindowStart, float] | str:
        min_length = self.time_interval.duration / COLLOCATION.max_nonsmooth_windows
        while (stop := self.time_interval.window_end(t, h)) is not None:
            self.attempts += 1
            self.check(t, -1, self._cell_count(start))
            try:
                U, rates, new = start.solve_window(t, stop, self._magnitudes)
            except WindowFailedError:
                h = self.time_interval.fit_length(t, 0.4 * h)
                continue
            time_tail, across, magnitudes = window_spectral_tails(
                self.operator, new.resolution, U, new.series, self._magnitudes
            )
            self._tail_level = max(
                self._tail_level, COLLOCATION.nonsmooth_time_tail_fraction * float(across.max())
            )
            if not time_tail <= self._tail_level and h > 1.001 * min_length:
                factor = min(max(0.85 * (self._tail_level / time_tail) ** (1.0 / self.stage_count), 0.3), 0.8)
                h = self.time_interval.fit_length(t, max(h * factor, min_length))
                continue
            self._magnitudes = np.maximum(self._magnitudes, magnitudes)
            return (
                start.solver.window(new),
                start.after(new, rates),
                h * (1.5 if time_tail < 0.1 * self._tail_level else 1.0),
            )
        return STEP_TOO_SMALL

    def _companion_windows(self, trajectory: Trajectory) -> Iterator[tuple[float, float, None]]:
        """Yield windows of half the length; they use twice as many functions."""
        for window in trajectory.windows:
            middle = 0.5 * (window.start + window.stop)
            yield window.start, middle, None
            yield middle, window.stop, None

    def _prescribed_window(
        self, start: _WindowStart | None, t: float, stop: float, chosen: None
    ) -> tuple[Window, _WindowStart]:
        start = self._initial_start(2) if start is None else start
        _, rates, new = start.solve_window(t, stop, self._magnitudes)
        return start.solver.window(new), start.after(new, rates)

r"""Time stepping for nonsmooth solutions of nondissipative equations, at one fixed resolution.

Parabolic equations smooth incompatible initial data; hyperbolic and dispersive ones, with modes exp(λ(κ)t +
iκx), Re λ ≈ 0 and Im λ → ∞, propagate discontinuities of the derivatives everywhere, so no local refinement
resolves them. They are integrated with cells of equal size, or with many Fourier modes, and a time resolution
that matches the one in space. The error estimate comes from a companion solution with twice the resolution.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem
from pibls.runtime.caching import cached_property
from pibls.spaces import Node, divided_at_planes
from pibls.time.box.error_indicators import space_tails, window_spectral_tails
from pibls.time.box.initial_state import CollocationState, InitialData
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.refinement import Refinement
from pibls.time.box.resolution import Resolution, fourier_size
from pibls.time.box.solver import CollocationSolver, PreviousWindow
from pibls.time.companion import CompanionSolution, integrate_companion
from pibls.time.interval import TimeInterval
from pibls.time.radau_stages import radau_stages
from pibls.time.step_control import StepRule, WindowErrors
from pibls.time.thresholds import COLLOCATION, TIME_STEPPING
from pibls.time.trajectory import ProgressCheck, Tolerances, Trajectory, Window


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
class SolvedNonsmoothWindow:
    """A solved window and its spectral tail in time, relative to the level that is aimed at."""

    new: PreviousWindow
    after: Array
    magnitudes: Array
    errors: WindowErrors
    functions: int = 0


_State = tuple[CollocationState, PreviousWindow | None]
"""State at the start of a window, and the previous window."""


@dataclass
class NonsmoothWindows:
    """Spatial operator at one fixed resolution, for solutions that no refinement resolves."""

    tolerances: Tolerances
    operator: CollocationOperator
    functions_per_cell: int
    stage_count: int
    times: int = 1
    """Factor of the number of functions."""
    magnitudes: Array = field(default_factory=lambda: np.empty(0))
    tail_level: float = 0.0
    """Spectral tail in time that is aimed at: a fraction of that in space."""
    is_refinable = False
    layer_rule = None

    @cached_property
    def time_interval(self) -> TimeInterval:
        return TimeInterval.of(self.operator.evolution, self.operator.context.compiled)

    @cached_property
    def step_rule(self) -> StepRule:
        return StepRule(self.stage_count + 1.0, keeps_factors=True, detects_rounding=False)

    @property
    def min_length(self) -> float:
        return self.time_interval.duration / COLLOCATION.max_nonsmooth_windows

    @property
    def newton_steps(self) -> int:
        return self._solver.newton_steps

    @cached_property
    def _solver(self) -> CollocationSolver:
        level = max(self.tail_level, self.tolerances.spectral_tail)
        return CollocationSolver(self.operator, radau_stages(self.stage_count), level)

    @cached_property
    def resolution(self) -> Resolution:
        first = Refinement(self.operator).initial(self.functions_per_cell, True)
        if all(first.periodic):
            return Resolution(
                first.tree, (fourier_size(self.times * COLLOCATION.max_fourier_functions),), first.periodic
            )
        axis = self.operator.space_axes[0]

        def division(number: int, box: np.ndarray) -> Node:
            return divided_at_planes([(axis, float(box[axis].mean()))])

        tree = first.tree
        while len(tree) < self.times * COLLOCATION.nonsmooth_cells:
            tree = tree.refine(division)
        return Resolution(tree, first.sizes, first.periodic)

    @cached_property
    def _system(self) -> SemidiscreteSystem:
        return self.operator.system(self.resolution)

    def initial_state(self) -> tuple[_State, float]:
        state = InitialData(self.operator).at(self.resolution)
        self.magnitudes = np.zeros(self._system.unknowns)
        self._raise_level(space_tails(state.resolution, state.rates))
        return (state, None), TIME_STEPPING.first_length * self.time_interval.duration

    def _raise_level(self, across: Array) -> None:
        in_space = COLLOCATION.nonsmooth_time_tail_fraction * float(across.max())
        self.tail_level = max(self.tail_level, self.tolerances.spectral_tail, in_space)

    def cell_count(self, state: _State) -> int:
        return len(self.resolution.tree)

    def is_incompatible(self, state: _State, t: float) -> bool:
        return False

    def layer_state(self, state: _State) -> _State:
        return state

    def solve(self, state: _State, t: float, stop: float) -> SolvedNonsmoothWindow:
        U, after, new = self._solve(state, t, stop)
        time_tail, across, magnitudes = window_spectral_tails(
            self.operator, new.resolution, U, new.series, self.magnitudes
        )
        self._raise_level(across)
        tail = time_tail * self.tolerances.spectral_tail / self.tail_level
        if abs(stop - t) <= 1.001 * self.min_length:
            tail = min(tail, self.tolerances.spectral_tail)
        return SolvedNonsmoothWindow(new, after, magnitudes, WindowErrors(tail, 0.0, 0.0))

    def _solve(self, state: _State, t: float, stop: float) -> tuple[Array, Array, PreviousWindow]:
        """Return the values at the collocation times, the final derivatives and the window."""
        U, after = self._solver.solve(self._system, *state, t, stop, self.magnitudes)
        return U, after, self._solver.previous_window(state[0], U, t, stop)

    def data_residual(self, solved: SolvedNonsmoothWindow) -> float:
        return 0.0

    def refine(self, solved: SolvedNonsmoothWindow, allowed: Tolerances) -> None:
        return None

    def grade(self, solved: SolvedNonsmoothWindow) -> None:
        return None

    def predicted_tail(self, solved: SolvedNonsmoothWindow, allowed: Tolerances) -> float:
        return solved.errors.time_tail

    def accept(self, solved: SolvedNonsmoothWindow, relaxation: float) -> tuple[Window, _State, None]:
        self.magnitudes = np.maximum(self.magnitudes, solved.magnitudes)
        return self._solver.window(solved.new), self._after(solved.new, solved.after), None

    def _after(self, new: PreviousWindow, after: Array) -> _State:
        return CollocationState(self.resolution, after), new

    def companion(self, trajectory: Trajectory, check: ProgressCheck) -> CompanionSolution | None:
        """Integrate on windows of half the length, with twice as many functions."""
        second = replace(self, times=2, magnitudes=np.zeros(self._system.unknowns))
        edges = [(w.start, 0.5 * (w.start + w.stop), w.stop) for w in trajectory.windows]
        windows = [(t, stop, None) for a, b, c in edges for t, stop in ((a, b), (b, c))]
        return integrate_companion(trajectory, self.time_interval, windows, second.prescribed, check)

    def prescribed(self, state: _State | None, t: float, stop: float, chosen: None) -> tuple[Window, _State]:
        """Return one window and the state at its end, from the initial data if there is no state."""
        state = (InitialData(self.operator).at(self.resolution), None) if state is None else state
        _, after, new = self._solve(state, t, stop)
        return self._solver.window(new), self._after(new, after)

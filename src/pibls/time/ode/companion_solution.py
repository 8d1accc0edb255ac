r"""Companion solution of an ODE trajectory on windows of half the length, for its error estimate.

Newton's method starts from the first solution with all windows linearized at once (`linearized_windows`):
J δη + B δσ = -F, δσ⁺ = E δη + T δσ + gap. Windows of half the length with three quarters of the points have a
much smaller error, so the difference of the two solutions is the accumulated error of the first. The same
recurrence propagates the rounding error, since two solutions may deviate alike by chance. Chaotic solutions
diverge: where their distance is as large as the solutions, the linearization is meaningless and the companion
ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.assembly.evolutions.ode_equations import ODESystem
from pibls.basis.polynomials.chebyshev import chebyshev_values
from pibls.basis.polynomials.radau import Radau
from pibls.spaces import TimeWindows
from pibls.time.companion import CompanionSolution
from pibls.time.ode.collocation import Collocation, ODEWindow
from pibls.time.ode.linearized_windows import LinearizedWindows, end_matrix
from pibls.time.ode.solution_window import solution_window
from pibls.time.thresholds import ODE
from pibls.time.trajectory import Trajectory


def companion_solution(
    trajectory: Trajectory,
    windows: Sequence[ODEWindow],
    first: Collocation,
    magnitudes: Array,
    switch_times: set[float],
) -> CompanionSolution | None:
    """Return the companion of a trajectory with these windows; None if Newton's method fails.

    At ``switch_times`` the first solution may jump, and the companion jumps by the same amount. Errors of the
    unknowns are relative to ``magnitudes``, group by group.
    """
    old = first.radau
    new = Radau.of(max(int(ODE.companion_points_fraction * old.s), 4), old.order)
    equations = first.equations
    edges, half, z, jumps = _halved_windows(trajectory.edges, windows, equations, old, new)
    second = _CompanionWindows(LinearizedWindows(Collocation(equations, new), edges, half, z), jumps)
    for n, window in enumerate(trajectory.windows[:-1]):
        if window.stop in switch_times:
            second.jumps[2 * n + 1] = _state_jump(windows[n], windows[n + 1], equations, old)
    for _ in range(ODE.companion_newton_steps):
        change = second.newton_step(magnitudes)
        if not np.isfinite(change):
            return None
        if change < ODE.companion_change_tolerance:
            break
    ends = second.windows.edges[1:]
    return CompanionSolution(
        second.function(trajectory.evolution), float(ends[-1]), (ends, second.rounding())
    )


def _halved_windows(
    edges: Array, windows: Sequence[ODEWindow], equations: ODESystem, old: Radau, new: Radau
) -> tuple[Array, Array, list[Array], Array]:
    """Return the edges of the halved windows, half their lengths, z of each group, and zero jumps."""
    both = np.empty(2 * len(edges) - 1)
    both[::2], both[1::2] = edges, 0.5 * (edges[:-1] + edges[1:])
    # Not the difference of the edges, which is rounded in a window much shorter than t.
    half = np.repeat([0.5 * s.half for s in windows], 2)
    z, states = [], 0
    for i, g in enumerate(equations.groups):
        given = np.array([s.z[i] for s in windows])
        here = np.empty((2 * len(given), len(g.unknowns), g.order + new.s))
        here[::2], here[1::2] = (given @ _halving_matrix(old, new, g.order, side) for side in (0, 1))
        z.append(here)
        states += g.order * len(g.unknowns)
    return both, half, z, np.zeros((2 * len(windows) - 1, states))


def _halving_matrix(old: Radau, new: Radau, m: int, side: int) -> Array:
    """Return the matrix (m + s, m + s') from z of a window to z of its first or second half."""
    out = np.zeros((m + old.s, m + new.s))
    out[m:, m:] = (chebyshev_values(0.5 * (new.points - 1.0) + side, old.s) @ old.interpolation).T
    if side == 0:
        out[:m, :m] = np.eye(m)
    else:
        middle = chebyshev_values(np.zeros(1), old.size)[0]
        for j in range(m):  # u⁽ʲ⁾ is an unknown of order m - j
            out[j:, j] = old.coefficients[m - j] @ middle
    return out * 0.5 ** np.append(np.arange(float(m)), np.full(new.s, float(m)))


def _state_jump(before: ODEWindow, after: ODEWindow, equations: ODESystem, old: Radau) -> Array:
    """Return the jump (states,) of the derivatives below the highest between two windows."""
    out = []
    for g, first, second in zip(equations.groups, before.z, after.z, strict=True):
        powers = np.arange(float(g.order))
        end = (first @ end_matrix(old, g.order)) * before.half**-powers
        out.append((second[:, : g.order] * after.half**-powers - end).ravel())
    return np.concatenate(out)


@dataclass
class _CompanionWindows:
    """All halved windows, with Newton's method for them."""

    windows: LinearizedWindows
    jumps: Array
    variances: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Variance of the final state of each window due to rounding, (windows, states)."""

    def rounding(self) -> Array:
        """Return the standard deviations of the unknowns, (unknowns, windows); zero for algebraic ones."""
        equations, first, out = self.windows.collocation.equations, 0, {}
        for g in equations.groups:
            for i, k in enumerate(g.unknowns):
                column = first + i * g.order
                out[k] = np.sqrt(self.variances[:, column]) if g.order else np.zeros(len(self.variances))
            first += g.order * len(g.unknowns)
        return np.array([out[k] for k in sorted(out)])

    def function(self, evolution: Evolution) -> tuple[TimeWindows, Array]:
        positions = self.windows.collocation.equations.positions
        edges, C = self.windows.edges.tolist(), self.windows.coefficients()[:, positions]
        windows = [solution_window(c, a, b) for c, (a, b) in zip(C, pairwise(edges), strict=True)]
        return Trajectory(tuple(windows), evolution, None).function()

    def _state_magnitudes(self, magnitudes: Array) -> Array:
        """Return the magnitudes of the states: those of the unknowns, infinite for derivatives."""
        parts = []
        for g in self.windows.collocation.equations.groups:
            own = np.full((len(g.unknowns), g.order), np.inf)
            own[:, :1] = magnitudes[g.columns, None]
            parts.append(own.ravel())
        return np.concatenate(parts)

    def newton_step(self, magnitudes: Array) -> float:
        """Make one Newton step for all windows; return the largest relative change of an unknown."""
        carried, before, change = np.zeros(self.jumps.shape[1]), None, 0.0
        limits = self._state_magnitudes(magnitudes)
        covariance = np.zeros((len(carried), len(carried)))
        self.variances = np.zeros((len(self.windows.half), len(carried)))
        for part in self.windows.parts():
            low, found = part.start, self.windows.linearize(part)
            if found is None:
                return np.inf
            states = np.empty((part.stop - low, len(carried)))
            end = found.end + found.end_change[..., 0]
            noise = (ODE.rounding_per_window * np.maximum(np.abs(found.initial), np.abs(end))) ** 2
            for k in range(len(states)):
                if before is not None:
                    carried = before - found.initial[k]
                if not (np.abs(carried) < limits).all():
                    self.windows = self.windows.first(low + k)
                    return self.newton_step(magnitudes)
                states[k] = carried
                P = found.transfer[k]
                before = end[k] + P @ carried
                covariance = P @ covariance @ P.T
                covariance.flat[:: len(carried) + 1] += noise[k]
                self.variances[low + k] = covariance.diagonal()
                if low + k < len(self.jumps):
                    before = before + self.jumps[low + k]
            delta = found.particular[..., 0] + np.einsum("wnsq,wq->wns", found.influence, states)
            change = max(change, float((np.abs(delta).max(axis=2) / magnitudes).max()))
            self.windows.update(part, delta, states)
        return change

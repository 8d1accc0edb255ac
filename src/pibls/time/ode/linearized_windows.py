r"""All windows of an ODE trajectory, linearized at once: J δη + B δσ = -F, σ⁺ = E η + T σ.

The equations of all windows are evaluated as one array and their matrices solved in one call. The windows are
coupled by a recurrence for the few numbers that one passes to the next, which is left to the caller: the
companion solution (`time.ode.companion_solution`), or the solution at other parameters
(`inverse.ode_parameter_solver`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.basis.polynomials.radau import Radau
from pibls.time.ode.collocation import Collocation, just_before

_MAX_ENTRIES = 2_000_000  # of the matrices assembled together


def end_matrix(radau: Radau, m: int) -> Array:
    """Return the matrix (m + s, m) from z to half^j u⁽ʲ⁾ at the end of a window, j < m."""
    return radau.derivative_tables[m].reshape(m + radau.s, m + 1, -1)[:, :m, radau.s - 1]


@dataclass(frozen=True)
class WindowTransfer:
    """Linearized windows: δη = particular + influence δσ, δu₁ = end_change + transfer δσ.

    σ is the initial state and u₁ the final state of a window.
    """

    particular: Array
    """(windows, unknowns, s, right-hand sides)."""
    influence: Array
    initial: Array
    """Initial state of each window in the current iterate, (windows, states)."""
    end: Array
    """Final state of each window in the current iterate, (windows, states)."""
    end_change: Array
    """(windows, states, right-hand sides)."""
    transfer: Array


@dataclass
class LinearizedWindows:
    """All windows of a trajectory."""

    collocation: Collocation
    edges: Array
    half: Array
    z: list[Array]
    """For each group (windows, unknowns, m + s), as in `time.ode.collocation.ODEWindow`."""

    def parts(self) -> Iterator[slice]:
        """Yield slices of windows whose matrices are assembled together."""
        columns = self.collocation.radau.s * sum(len(g.unknowns) for g in self.collocation.equations.groups)
        count = max(_MAX_ENTRIES // columns**2, 1)
        for low in range(0, len(self.half), count):
            yield slice(low, min(low + count, len(self.half)))

    def first(self, count: int) -> LinearizedWindows:
        """Return the first ``count`` windows."""
        return LinearizedWindows(
            self.collocation, self.edges[: count + 1], self.half[:count], [z[:count] for z in self.z]
        )

    def coefficients(self) -> Array:
        """Return the Chebyshev coefficients, (windows, unknowns group by group, size)."""
        equations, radau = self.collocation.equations, self.collocation.radau
        pairs = zip(equations.groups, self.z, strict=True)
        return np.concatenate([z @ radau.coefficients[g.order] for g, z in pairs], axis=1)

    def times(self, part: slice) -> Array:
        """Return the collocation times of some windows, (windows, s); the last lies just before the end."""
        start, half = self.edges[:-1][part], self.half[part]
        t = start[:, None] + half[:, None] * (self.collocation.radau.points + 1.0)
        t[:, -1] = just_before(t[:, -1], start)
        return t

    def update(self, part: slice, delta: Array, states: Array) -> None:
        """Add changes of η (windows, unknowns, s) and of the initial states (windows, states)."""
        for z, more in zip(self.z, self.split(part, delta[..., None], states[..., None]), strict=True):
            z[part] += more[..., 0]

    def split(self, part: slice, delta: Array, states: Array) -> list[Array]:
        """Return changes of z from those of η (windows, unknowns, s, q) and states (windows, states, q)."""
        first, out, half = 0, [], self.half[part]
        for g in self.collocation.equations.groups:
            m, n = g.order, len(g.unknowns)
            own_states = states[:, first : first + n * m].reshape(len(half), n, m, states.shape[2])
            first += n * m
            initial = own_states * (half[:, None, None] ** np.arange(float(m)))[..., None]
            out.append(np.concatenate([initial, delta[:, g.columns]], axis=2))
        return out

    def linearize(self, part: slice, given: Array | None = None) -> WindowTransfer | None:
        """Linearize some windows about the current iterate; None if an equation is not finite there.

        Other right-hand sides (equations, windows, s, q) may be given in place of the residual.
        """
        equations, r = self.collocation.equations, self.collocation.radau
        half = self.half[part]
        s, count, n = r.s, len(half), len(equations.residuals)
        U, initial, end = self.derivatives(part)
        tables, flat = equations.tables(self.times(part).ravel()), U.reshape(equations.rows, -1)
        F = equations.residual(tables, flat).reshape(n, count, s, 1) if given is None else given
        G = (
            equations.jacobian(tables, flat, count * s)
            .reshape(n, equations.rows, count, s)
            .transpose(2, 0, 1, 3)
        )
        if not (np.isfinite(F).all() and np.isfinite(G).all()):
            return None
        G, scale = self.collocation.equilibrated(G, half)
        right = [(F.swapaxes(0, 1) / scale[..., None]).reshape(count, n * s, -1)]
        for g in equations.groups:
            m, k = g.order, len(g.unknowns)
            taylor = r.derivative_tables[m].reshape(m + s, m + 1, -1)[:m, :, :s]
            B = np.einsum("wekji,lji->weikl", G[:, :, g.rows].reshape(count, n, k, m + 1, s), taylor)
            B *= half[:, None, None, None, None] ** np.arange(float(m))
            right.append(B.reshape(count, n * s, k * m))
        try:
            found = np.linalg.solve(self.collocation.matrix(G), np.concatenate(right, axis=2))
        except np.linalg.LinAlgError:
            return None
        X: Array = -np.asarray(found, dtype=float).reshape(count, n, s, -1)
        q = F.shape[-1]
        end_change, transfer = self._end_changes(X, half, q)
        return WindowTransfer(X[..., :q], X[..., q:], initial, end, end_change, transfer)

    def derivatives(self, part: slice) -> tuple[Array, Array, Array]:
        """Return all derivatives U (rows, windows, s), and the states at both ends, (windows, states)."""
        equations, r, half = self.collocation.equations, self.collocation.radau, self.half[part]
        s, count = r.s, len(half)
        U = np.empty((equations.rows, count, s))
        initial, end = [], []
        for g, all_z in zip(equations.groups, self.z, strict=True):
            m, z = g.order, all_z[part]
            table = r.derivative_tables[m].reshape(m + s, m + 1, -1)[:, :, :s].reshape(m + s, -1)
            powers = half[:, None, None, None] ** -np.arange(m + 1.0)[:, None]
            found = (z @ table).reshape(count, len(g.unknowns), m + 1, s) * powers
            U[g.rows] = np.moveaxis(found.reshape(count, (m + 1) * len(g.unknowns), s), 0, 1)
            states = m * len(g.unknowns)
            initial.append((z[:, :, :m] * powers[:, :, :m, 0]).reshape(count, states))
            end.append(found[:, :, :m, -1].reshape(count, states))
        return U, np.concatenate(initial, axis=1), np.concatenate(end, axis=1)

    def _end_changes(self, X: Array, half: Array, q: int) -> tuple[Array, Array]:
        """Return changes of final states due to η (windows, states, q) and initial states (…, states)."""
        end_change, transfer, first = [], [], 0
        for g in self.collocation.equations.groups:
            m, k = g.order, len(g.unknowns)
            table, powers = end_matrix(self.collocation.radau, m), np.arange(float(m))
            moved = np.einsum("wksq,sl->wklq", X[:, g.columns], table[m:])
            moved *= half[:, None, None, None] ** -powers[:, None]
            end_change.append(moved[..., :q].reshape(len(half), k * m, q))
            through = moved[..., q:].copy()
            kept = table[:m].T * half[:, None, None] ** (powers - powers[:, None])
            for i in range(k):
                through[:, i, :, first + i * m : first + (i + 1) * m] += kept
            transfer.append(through.reshape(len(half), k * m, through.shape[-1]))
            first += k * m
        return np.concatenate(end_change, axis=1), np.concatenate(transfer, axis=1)

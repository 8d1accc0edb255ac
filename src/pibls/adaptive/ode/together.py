r"""J δη + B δσ = -F, σ⁺ = E η + T σ: the windows of an orbit, linearised all at once.

Their equations are evaluated as one array and their matrices solved in one call. What couples them is a
recurrence of the few numbers that one window hands to the next, which is for the caller to follow: a second
orbit beside the first (`search.orbits.shadow`), the same orbit at other parameters (`fitting.followed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.basis.polynomials.radau import Radau
from pibls.nonlinear.collocation import Collocation, just_before

_NUMBERS = 2_000_000  # entries of the matrices that are made at once


def ends(radau: Radau, m: int) -> Array:
    """z ↦ half^j u⁽ʲ⁾ at the end, j < m, (m + s, m)."""
    return radau.jets[m].reshape(m + radau.s, m + 1, -1)[:, :m, radau.s - 1]


@dataclass(frozen=True)
class Transfer:
    """δη = own + influence δσ, δu₁ = pushed + transfer δσ in each window, where σ is what it begins with."""

    own: Array
    """(windows, unknowns, s, right sides)."""
    influence: Array
    begun: Array
    """What it begins with until now, (windows, states), …"""
    end: Array
    """… and ends with."""
    pushed: Array
    """(windows, states, right sides)."""
    transfer: Array


@dataclass
class Together:
    """All windows of an orbit."""

    collocation: Collocation
    edges: Array
    half: Array
    z: list[Array]
    """For each group (windows, unknowns, m + s), as in `solver.collocation.OrbitPiece`."""

    def parts(self) -> Iterator[slice]:
        """Windows whose matrices are made at once."""
        columns = self.collocation.radau.s * sum(len(g.unknowns) for g in self.collocation.line.groups)
        count = max(_NUMBERS // columns**2, 1)
        for low in range(0, len(self.half), count):
            yield slice(low, min(low + count, len(self.half)))

    def until(self, count: int) -> Together:
        """The first of them."""
        return Together(
            self.collocation, self.edges[: count + 1], self.half[:count], [z[:count] for z in self.z]
        )

    def coefficients(self) -> Array:
        """Chebyshev coefficients, (windows, unknowns group by group, size)."""
        line, radau = self.collocation.line, self.collocation.radau
        pairs = zip(line.groups, self.z, strict=True)
        return np.concatenate([z @ radau.coefficients[g.order] for g, z in pairs], axis=1)

    def times(self, part: slice) -> Array:
        """The points of some windows, (windows, s); the end is taken from within."""
        start, half = self.edges[:-1][part], self.half[part]
        t = start[:, None] + half[:, None] * (self.collocation.radau.points + 1.0)
        t[:, -1] = just_before(t[:, -1], start)
        return t

    def move(self, part: slice, delta: Array, states: Array) -> None:
        """η and what the windows begin with, by (windows, unknowns, s) and (windows, states)."""
        for z, more in zip(self.z, self.split(part, delta[..., None], states[..., None]), strict=True):
            z[part] += more[..., 0]

    def split(self, part: slice, delta: Array, states: Array) -> list[Array]:
        """Changes of η (windows, unknowns, s, q) and of the beginnings (windows, states, q) as those of z."""
        first, out, half = 0, [], self.half[part]
        for g in self.collocation.line.groups:
            m, n = g.order, len(g.unknowns)
            mine = states[:, first : first + n * m].reshape(len(half), n, m, states.shape[2])
            first += n * m
            begun = mine * (half[:, None, None] ** np.arange(float(m)))[..., None]
            out.append(np.concatenate([begun, delta[:, g.columns]], axis=2))
        return out

    def linearised(self, part: slice, given: Array | None = None) -> Transfer | None:
        """The equations of some windows about what is known of them; None where they have no value.

        In place of the residual other right sides may be given, (equations, windows, s, q).
        """
        line, r = self.collocation.line, self.collocation.radau
        half = self.half[part]
        s, count, n = r.s, len(half), len(line.residuals)
        U, begun, end = self.derivatives(part)
        held, flat = line.held(self.times(part).ravel()), U.reshape(line.rows, -1)
        F = line.values(held, flat).reshape(n, count, s, 1) if given is None else given
        G = line.slopes(held, flat, count * s).reshape(n, line.rows, count, s).transpose(2, 0, 1, 3)
        if not (np.isfinite(F).all() and np.isfinite(G).all()):
            return None
        G, scale = self.collocation.equilibrated(G, half)
        right = [(F.swapaxes(0, 1) / scale[..., None]).reshape(count, n * s, -1)]
        for g in line.groups:
            m, k = g.order, len(g.unknowns)
            taylor = r.jets[m].reshape(m + s, m + 1, -1)[:m, :, :s]
            B = np.einsum("wekji,lji->weikl", G[:, :, g.rows].reshape(count, n, k, m + 1, s), taylor)
            B *= half[:, None, None, None, None] ** np.arange(float(m))
            right.append(B.reshape(count, n * s, k * m))
        try:
            found = np.linalg.solve(self.collocation.matrix(G), np.concatenate(right, axis=2))
        except np.linalg.LinAlgError:
            return None
        X: Array = -np.asarray(found, dtype=float).reshape(count, n, s, -1)
        q = F.shape[-1]
        pushed, transfer = self._handed(X, half, q)
        return Transfer(X[..., :q], X[..., q:], begun, end, pushed, transfer)

    def derivatives(self, part: slice) -> tuple[Array, Array, Array]:
        """U (rows, windows, s), and what is below the highest derivatives at both ends, (windows, states)."""
        line, r, half = self.collocation.line, self.collocation.radau, self.half[part]
        s, count = r.s, len(half)
        U = np.empty((line.rows, count, s))
        begun, end = [], []
        for g, all_z in zip(line.groups, self.z, strict=True):
            m, z = g.order, all_z[part]
            table = r.jets[m].reshape(m + s, m + 1, -1)[:, :, :s].reshape(m + s, -1)
            powers = half[:, None, None, None] ** -np.arange(m + 1.0)[:, None]
            found = (z @ table).reshape(count, len(g.unknowns), m + 1, s) * powers
            U[g.rows] = np.moveaxis(found.reshape(count, (m + 1) * len(g.unknowns), s), 0, 1)
            states = m * len(g.unknowns)
            begun.append((z[:, :, :m] * powers[:, :, :m, 0]).reshape(count, states))
            end.append(found[:, :, :m, -1].reshape(count, states))
        return U, np.concatenate(begun, axis=1), np.concatenate(end, axis=1)

    def _handed(self, X: Array, half: Array, q: int) -> tuple[Array, Array]:
        """What δη changes at the end, (windows, states, q), and what the beginning does, (…, states)."""
        pushed, transfer, first = [], [], 0
        for g in self.collocation.line.groups:
            m, k = g.order, len(g.unknowns)
            table, powers = ends(self.collocation.radau, m), np.arange(float(m))
            moved = np.einsum("wksq,sl->wklq", X[:, g.columns], table[m:])
            moved *= half[:, None, None, None] ** -powers[:, None]
            pushed.append(moved[..., :q].reshape(len(half), k * m, q))
            through = moved[..., q:].copy()
            kept = table[:m].T * half[:, None, None] ** (powers - powers[:, None])
            for i in range(k):
                through[:, i, :, first + i * m : first + (i + 1) * m] += kept
            transfer.append(through.reshape(len(half), k * m, through.shape[-1]))
            first += k * m
        return np.concatenate(pushed, axis=1), np.concatenate(transfer, axis=1)

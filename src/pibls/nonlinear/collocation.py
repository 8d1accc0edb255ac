r"""F(tᵢ, u(tᵢ), u'(tᵢ), …) = 0 at the points of a window: Newton's method for its highest derivatives.

With η = half^m u⁽ᵐ⁾ at Radau's points and everything below it an integral (`basis.polynomials.radau`), the
matrix is square, of full rank and well conditioned, so that a plain LU serves. Its factors serve again
while they contract.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from pibls.arrays import Array
from pibls.assembly.evolutions.line import Line, LineTables
from pibls.basis.polynomials.chebyshev import derivative, polynomials
from pibls.basis.polynomials.radau import Radau

_STEPS = 12
_FAST = 0.02  # a change that much smaller than the last one: the factors serve again
_ROUNDING = 1e-10  # a relative change below which one that no longer falls is rounding
_WORSE = 2.0  # a change that much larger than the last one does not lead to a solution
_TRIED = 3  # … after so many steps
_FAR, _LATE = 0.3, 7  # a relative change that large after so many steps: it is lost


@dataclass(frozen=True)
class OrbitPiece:
    """u on (start, start + 2 half): what it begins with, and its highest derivatives at the points."""

    start: float
    half: float
    z: tuple[Array, ...]
    """For each group (unknowns, m + s): half^j u⁽ʲ⁾ at the start for j < m, then η."""

    def powers(self, line: Line) -> Array:
        """half^-j of each row, (rows, 1): from derivatives by ξ to those by t."""
        return np.asarray(self.half ** -line.derivatives[:, None])


def just_before(end: Array, start: Array | float) -> Array:
    """An end that is rounded, from within: start + (end - start) may be off by a number or two."""
    return np.asarray(end - np.sign(end - start) * 4.0 * np.spacing(np.maximum(np.abs(end), np.abs(start))))


@dataclass(frozen=True)
class Settled:
    """A window that Newton's method has settled in."""

    piece: OrbitPiece
    U: Array
    """All derivatives at the points and between them, (rows, n)."""
    residual: Array
    """F there, (equations, n)."""
    terms: Array
    """The largest term of each equation."""
    felt: Array
    """What moves the unknowns and their derivatives by their own sizes within the window."""
    natural: Array
    """How large each unknown would be if its strongest term balanced the largest, group by group."""
    steps: int


@dataclass(frozen=True)
class Collocation:
    """One window at a time, all with the same tables."""

    line: Line
    radau: Radau

    def times(self, start: float, half: float) -> Array:
        """The points and the places between them; the end is taken from within, where nothing has jumped."""
        r = self.radau
        t = start + half * (r.grid + 1.0)
        t[r.s - 1] = just_before(t[r.s - 1], start)
        return np.asarray(t)

    def derivatives(self, piece: OrbitPiece) -> Array:
        """U (rows, n) of a piece."""
        parts = [
            (z @ self.radau.jets[g.order]).reshape(len(z) * (g.order + 1), -1)
            for g, z in zip(self.line.groups, piece.z, strict=True)
        ]
        U = parts[0] if len(parts) == 1 else np.concatenate(parts)
        U *= piece.powers(self.line)
        return U

    def largest_at(self, t: Array, piece: OrbitPiece) -> Array:
        """The largest |F| of each equation at those of some times that are in the piece, (equations,)."""
        xi = (t - piece.start) / piece.half - 1.0
        inside = np.abs(xi) < 1.0
        if not inside.any():
            return np.zeros(len(self.line.residuals))
        parts = []
        for g, z in zip(self.line.groups, piece.z, strict=True):
            C, T = z @ self.radau.coefficients[g.order], polynomials(xi[inside], self.radau.size)
            found = [C @ derivative(self.radau.size, j).T @ T.T for j in range(g.order + 1)]
            parts.append(np.stack(found, axis=1).reshape(len(z) * (g.order + 1), -1))
        U = np.concatenate(parts) * piece.powers(self.line)
        return np.asarray(np.abs(self.line.values(self.line.held(t[inside]), U)).max(axis=1))

    def matrix(self, G: Array) -> Array:
        """∂F/∂η (…, equations·s, unknowns·s) from the slopes by half^j u⁽ʲ⁾ (…, equations, rows, s)."""
        s, n = self.radau.s, G.shape[-3]
        A = np.empty((*G.shape[:-3], n, s, n, s))
        diagonal = np.einsum("...eiki->...eki", A)
        for g in self.line.groups:
            mine = G[..., g.rows, :].reshape(*G.shape[:-2], len(g.unknowns), g.order + 1, s)
            block = A[..., g.columns, :]
            if not g.order:
                block[...] = 0.0
            for fold in range(1, g.order + 1):
                c = mine[..., g.order - fold, :].swapaxes(-1, -2)[..., None]
                table = self.radau.integrals[fold][:s, None, :]
                if fold == 1:
                    np.multiply(c, table, out=block)
                else:
                    block += c * table
            diagonal[..., g.columns, :] += mine[..., g.order, :]
        return A.reshape(*G.shape[:-3], n * s, n * s)

    def equilibrated(self, G: Array, half: Array | float) -> tuple[Array, Array]:
        """∂F/∂U in units of half, each row divided by its largest entry (…, equations, s)."""
        G = G * np.asarray(half, dtype=float)[..., None, None, None] ** -self.line.derivatives[:, None]
        scale = np.abs(G).max(axis=-2)
        scale[scale == 0.0] = 1.0
        G /= scale[..., None, :]
        return G, scale

    def settle(self, piece: OrbitPiece, sizes: Array, tolerance: float) -> Settled | None:
        """Newton's method from a piece; None where it does not settle.

        ``sizes`` of the unknowns, group by group, are what a change is measured against.
        """
        s, line = self.radau.s, self.line
        held = line.held(self.times(piece.start, piece.half))
        U = self.derivatives(piece)
        F = line.values(held, U)
        if not np.isfinite(F).all():
            return None
        before, factors = np.inf, None
        for step in range(1, _STEPS + 1):
            if factors is None:
                slopes = line.slopes(held, U, s)
                G, scale = self.equilibrated(slopes, piece.half)
                there = U
                factors = _factored(self.matrix(G))
                if factors is None:
                    return None
            delta, _ = lapack.dgetrs(*factors, (F[:, :s] / scale).ravel(), trans=1)
            delta = delta.reshape(-1, s)
            piece = _moved(piece, line, delta)
            U = self.derivatives(piece)
            F = line.values(held, U)
            change = float((np.abs(delta).max(axis=1) / sizes).max())
            if not (np.isfinite(change) and np.isfinite(F).all()):
                return None
            rate = change / before if step > 1 else 1.0
            rounding = step > 1 and rate > 0.5 and change < _ROUNDING
            if line.is_linear or change * min(rate, 1.0) <= tolerance or rounding:
                return Settled(piece, U, F, *self._terms(held, slopes, there, piece.half, sizes), step)
            if (rate > _WORSE and step > _TRIED) or (change > _FAR and step > _LATE):
                return None
            if rate > _FAST:
                factors = None
            before = change
        return None

    def _terms(
        self, held: LineTables, G: Array, U: Array, half: float, sizes: Array
    ) -> tuple[Array, Array, Array]:
        """The largest term of each equation, what a change makes of it, the size that balances it."""
        terms = np.abs(G * U[:, : self.radau.s]).max(axis=(1, 2))
        terms = np.maximum(terms, np.abs(held.rest).max(axis=1))
        strongest = np.abs(G).max(axis=2) * abs(half) ** -self.line.derivatives
        felt = self._felt(np.abs(G).max(axis=2), np.abs(U).max(axis=1), abs(half), sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            balance = np.where(strongest > 0, terms[:, None] / strongest, np.inf).min(axis=0)
        parts = [balance[g.rows].reshape(-1, g.order + 1).min(axis=1) for g in self.line.groups]
        natural = np.concatenate(parts)
        return terms, felt, np.where(np.isfinite(natural), natural, 0.0)

    def _felt(self, slopes: Array, largest: Array, half: float, sizes: Array) -> Array:
        """min_j |∂F/∂u⁽ᵐ⁾| |u⁽ʲ⁾| half^(j-m): what moves u⁽ʲ⁾ by itself within the window, j < m."""
        out = np.zeros(len(slopes))
        for g in self.line.groups:
            m = g.order
            mine = largest[g.rows].reshape(-1, m + 1)[:, : max(m, 1)].copy()
            mine[:, 0] = np.maximum(mine[:, 0], sizes[g.columns])
            moved = (mine * half ** (np.arange(float(mine.shape[1])) - m)).min(axis=1)
            lead = slopes[:, g.rows].reshape(len(slopes), -1, m + 1)[:, :, m]
            out = np.maximum(out, (lead * moved).max(axis=1))
        return out


def _factored(A: Array) -> tuple[Array, Array] | None:
    lu, pivots, info = lapack.dgetrf(A.T, overwrite_a=1)
    return None if info != 0 or not np.isfinite(lu[-1, -1]) else (lu, pivots)


def _moved(piece: OrbitPiece, line: Line, delta: Array) -> OrbitPiece:
    z = []
    for g, old in zip(line.groups, piece.z, strict=True):
        new = old.copy()
        new[:, g.order :] -= delta[g.columns]
        z.append(new)
    return OrbitPiece(piece.start, piece.half, tuple(z))

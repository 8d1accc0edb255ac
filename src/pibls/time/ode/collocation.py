r"""Radau collocation of an ordinary differential equation on one time window, solved by Newton's method.

F(tᵢ, u(tᵢ), u'(tᵢ), …) = 0 at the Radau points. The unknowns are η = half^m u⁽ᵐ⁾ at the points; lower
derivatives are integrals (`basis.polynomials.radau`). The matrix is square and well conditioned, so that LU
factors are used, again in later steps while the iteration contracts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from pibls.arrays import Array
from pibls.assembly.evolutions.ode_equations import ODESystem, ODETables
from pibls.basis.polynomials.chebyshev import chebyshev_values, derivative_matrix
from pibls.basis.polynomials.radau import Radau

_MAX_STEPS = 12
_MAX_RATE_TO_KEEP_FACTORS = 0.02  # ratio of two changes up to which the factors are reused
_MAX_ROUNDING_CHANGE = 1e-10  # relative change below which stagnation is due to rounding
_MAX_GROWTH = 2.0  # ratio of two changes above which the iteration diverges …
_GROWTH_STEPS = 3  # … after this number of steps
_MAX_LATE_CHANGE, _LATE_STEPS = 0.3, 7  # a larger relative change after so many steps: diverged


@dataclass(frozen=True)
class ODEWindow:
    """The polynomial u on (start, start + 2 half): initial values and highest derivatives at the points."""

    start: float
    half: float
    z: tuple[Array, ...]
    """For each group (unknowns, m + s): half^j u⁽ʲ⁾ at the start for j < m, then η."""

    def powers(self, equations: ODESystem) -> Array:
        """Return half^-j for each row, (rows, 1): the factors from ξ-derivatives to t-derivatives."""
        return np.asarray(self.half ** -equations.derivative_orders[:, None])


def just_before(end: Array, start: Array | float) -> Array:
    """Return a time slightly before ``end``, since start + (end - start) may exceed it by rounding."""
    return np.asarray(end - np.sign(end - start) * 4.0 * np.spacing(np.maximum(np.abs(end), np.abs(start))))


@dataclass(frozen=True)
class ConvergedWindow:
    """A window in which Newton's method has converged."""

    window: ODEWindow
    U: Array
    """All derivatives on the grid of the Radau tables, (rows, n)."""
    residual: Array
    """F on the grid, (equations, n)."""
    term_sizes: Array
    """The largest term of each equation."""
    derivative_terms: Array
    """Size of the leading term of each equation if unknowns change by their own size in the window."""
    balanced_sizes: Array
    """Size of each unknown at which its strongest term balances the largest term, group by group."""
    steps: int


@dataclass(frozen=True)
class Collocation:
    """Radau collocation of the equations on one window at a time."""

    equations: ODESystem
    radau: Radau

    def times(self, start: float, half: float) -> Array:
        """Return the times of the grid; the end is moved slightly inside, before any discontinuity there."""
        r = self.radau
        t = start + half * (r.grid + 1.0)
        t[r.s - 1] = just_before(t[r.s - 1], start)
        return np.asarray(t)

    def derivatives(self, piece: ODEWindow) -> Array:
        """Return U, all derivatives on the grid, (rows, n)."""
        parts = [
            (z @ self.radau.derivative_tables[g.order]).reshape(len(z) * (g.order + 1), -1)
            for g, z in zip(self.equations.groups, piece.z, strict=True)
        ]
        U = parts[0] if len(parts) == 1 else np.concatenate(parts)
        U *= piece.powers(self.equations)
        return U

    def max_residual_at(self, t: Array, piece: ODEWindow) -> Array:
        """Return the largest |F| of each equation at the times t that are in the window, (equations,)."""
        xi = (t - piece.start) / piece.half - 1.0
        inside = np.abs(xi) < 1.0
        if not inside.any():
            return np.zeros(len(self.equations.residuals))
        parts = []
        for g, z in zip(self.equations.groups, piece.z, strict=True):
            C, T = z @ self.radau.coefficients[g.order], chebyshev_values(xi[inside], self.radau.size)
            found = [C @ derivative_matrix(self.radau.size, j).T @ T.T for j in range(g.order + 1)]
            parts.append(np.stack(found, axis=1).reshape(len(z) * (g.order + 1), -1))
        U = np.concatenate(parts) * piece.powers(self.equations)
        return np.asarray(np.abs(self.equations.residual(self.equations.tables(t[inside]), U)).max(axis=1))

    def matrix(self, G: Array) -> Array:
        """Return ∂F/∂η (…, equations·s, unknowns·s) from G = ∂F/∂(half^j u⁽ʲ⁾) (…, equations, rows, s)."""
        s, n = self.radau.s, G.shape[-3]
        A = np.empty((*G.shape[:-3], n, s, n, s))
        diagonal = np.einsum("...eiki->...eki", A)
        for g in self.equations.groups:
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
        """Return ∂F/∂(half^j u⁽ʲ⁾), rows divided by their largest entry, and these (…, equations, s)."""
        G = (
            G
            * np.asarray(half, dtype=float)[..., None, None, None]
            ** -self.equations.derivative_orders[:, None]
        )
        scale = np.abs(G).max(axis=-2)
        scale[scale == 0.0] = 1.0
        G /= scale[..., None, :]
        return G, scale

    def solve_window(self, piece: ODEWindow, sizes: Array, tolerance: float) -> ConvergedWindow | None:
        """Solve by Newton's method from an initial guess; return None if it does not converge.

        Changes are relative to the ``sizes`` of the unknowns, group by group.
        """
        s, equations = self.radau.s, self.equations
        held = equations.tables(self.times(piece.start, piece.half))
        U = self.derivatives(piece)
        F = equations.residual(held, U)
        if not np.isfinite(F).all():
            return None
        before, factors = np.inf, None
        for step in range(1, _MAX_STEPS + 1):
            if factors is None:
                slopes = equations.jacobian(held, U, s)
                G, scale = self.equilibrated(slopes, piece.half)
                there = U
                factors = _factored(self.matrix(G))
                if factors is None:
                    return None
            delta, _ = lapack.dgetrs(*factors, (F[:, :s] / scale).ravel(), trans=1)
            delta = delta.reshape(-1, s)
            piece = _moved(piece, equations, delta)
            U = self.derivatives(piece)
            F = equations.residual(held, U)
            change = float((np.abs(delta).max(axis=1) / sizes).max())
            if not (np.isfinite(change) and np.isfinite(F).all()):
                return None
            rate = change / before if step > 1 else 1.0
            if equations.is_linear or _has_converged(change, rate, step, tolerance):
                return ConvergedWindow(
                    piece, U, F, *self._term_sizes(held, slopes, there, piece.half, sizes), step
                )
            if _has_diverged(change, rate, step):
                return None
            if rate > _MAX_RATE_TO_KEEP_FACTORS:
                factors = None
            before = change
        return None

    def _term_sizes(
        self, held: ODETables, G: Array, U: Array, half: float, sizes: Array
    ) -> tuple[Array, Array, Array]:
        """Return `ConvergedWindow.term_sizes`, ``derivative_terms`` and ``balanced_sizes``."""
        terms = np.abs(G * U[:, : self.radau.s]).max(axis=(1, 2))
        terms = np.maximum(terms, np.abs(held.rest).max(axis=1))
        strongest = np.abs(G).max(axis=2) * abs(half) ** -self.equations.derivative_orders
        felt = self._derivative_terms(np.abs(G).max(axis=2), np.abs(U).max(axis=1), abs(half), sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            balance = np.where(strongest > 0, terms[:, None] / strongest, np.inf).min(axis=0)
        parts = [balance[g.rows].reshape(-1, g.order + 1).min(axis=1) for g in self.equations.groups]
        natural = np.concatenate(parts)
        return terms, felt, np.where(np.isfinite(natural), natural, 0.0)

    def _derivative_terms(self, slopes: Array, largest: Array, half: float, sizes: Array) -> Array:
        """Return max over unknowns of min_{j<m} |∂F/∂u⁽ᵐ⁾| |u⁽ʲ⁾| half^(j-m), for each equation."""
        out = np.zeros(len(slopes))
        for g in self.equations.groups:
            m = g.order
            mine = largest[g.rows].reshape(-1, m + 1)[:, : max(m, 1)].copy()
            mine[:, 0] = np.maximum(mine[:, 0], sizes[g.columns])
            moved = (mine * half ** (np.arange(float(mine.shape[1])) - m)).min(axis=1)
            lead = slopes[:, g.rows].reshape(len(slopes), -1, m + 1)[:, :, m]
            out = np.maximum(out, (lead * moved).max(axis=1))
        return out


def _has_converged(change: float, rate: float, step: int, tolerance: float) -> bool:
    """Whether the next change is within the tolerance, or changes consist of rounding errors."""
    is_rounding = step > 1 and rate > 0.5 and change < _MAX_ROUNDING_CHANGE
    return change * min(rate, 1.0) <= tolerance or is_rounding


def _has_diverged(change: float, rate: float, step: int) -> bool:
    """Whether changes grow, or are still large after many steps."""
    return (rate > _MAX_GROWTH and step > _GROWTH_STEPS) or (change > _MAX_LATE_CHANGE and step > _LATE_STEPS)


def _factored(A: Array) -> tuple[Array, Array] | None:
    lu, pivots, info = lapack.dgetrf(A.T, overwrite_a=1)
    return None if info != 0 or not np.isfinite(lu[-1, -1]) else (lu, pivots)


def _moved(piece: ODEWindow, equations: ODESystem, delta: Array) -> ODEWindow:
    z = []
    for g, old in zip(equations.groups, piece.z, strict=True):
        new = old.copy()
        new[:, g.order :] -= delta[g.columns]
        z.append(new)
    return ODEWindow(piece.start, piece.half, tuple(z))

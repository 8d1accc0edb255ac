r"""Radau collocation on [-1, 1]: u⁽ᵐ⁾(ξ) = Σᵢ ηᵢ ℓᵢ(ξ) at Radau points, and the integrals of this polynomial.

The last of the s points is the end of the interval: the method is stiffly accurate, and the value at the end
has order 2s - 1. The highest derivative is the unknown and lower derivatives are its integrals, so that
matrix entries are of order one for any degree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebint, chebvander

from pibls.arrays import Array
from pibls.basis.polynomials.chebyshev import chebyshev_values
from pibls.basis.polynomials.quadrature import jacobi_nodes

_LONG = np.longdouble
"""Tables are computed in extended precision and rounded once: rounding errors in their last digit accumulate
from window to window (a pendulum near its upper equilibrium loses a digit)."""


def _points(s: int) -> Any:
    """Return the zeros of P_{s-1} - P_s on (-1, 1], ascending; the last is 1."""
    x: Any = jacobi_nodes(s - 1, 1, 0).astype(_LONG)
    for _ in range(2):
        P: Any = np.ones_like(x)
        Q = x
        for n in range(1, s):
            P, Q = Q, ((2 * n + 1) * x * Q - n * P) / (n + 1)
        x = x + (P - Q) * (1 + x) / (s * (P + Q))  # Newton's method: (P - Q)' = -s (P + Q)/(1 + ξ)
    return np.append(x, _LONG(1))


def _inverted(A: Any) -> Any:
    """Return A⁻¹ by Gauss-Jordan elimination with pivoting, since LAPACK has no extended precision."""
    n = len(A)
    M = np.concatenate([A, np.eye(n, dtype=_LONG)], axis=1)
    for i in range(n):
        p = i + int(np.argmax(np.abs(M[i:, i])))
        M[[i, p]] = M[[p, i]]
        M[i] /= M[i, i]
        others = np.arange(n) != i
        M[others] -= M[others, i : i + 1] * M[i]
    return M[:, n:]


def _integrated(c: Any) -> Any:
    """Return ∫_{-1}^ξ of Chebyshev coefficients (size, k), whose last coefficient must be zero."""
    return chebint(c, lbnd=-1, axis=0)[: len(c)]


@dataclass(frozen=True)
class Radau:
    """Tables of the s-point Radau collocation for derivatives up to ``order``, at and between the points."""

    points: Array
    grid: Array
    """The collocation points, followed by equally many points in between for validation."""
    order: int
    integrals: tuple[Array, ...] = field(repr=False)
    """For each r, the matrix from values at the points to the r-fold integral from -1 on the grid, (n, s)."""
    derivative_tables: tuple[Array, ...] = field(repr=False)
    """For each order m: (u(-1), …, u⁽ᵐ⁻¹⁾(-1), η) ↦ u, u', …, u⁽ᵐ⁾ on the grid, (m + s, (m + 1) n)."""
    coefficients: tuple[Array, ...] = field(repr=False)
    """For each order m: (u(-1), …, u⁽ᵐ⁻¹⁾(-1), η) ↦ the Chebyshev coefficients of u, (m + s, size)."""
    interpolation: Array = field(repr=False)
    """η ↦ the Chebyshev coefficients of the polynomial through it, (s, s)."""

    @property
    def s(self) -> int:
        return len(self.points)

    @property
    def size(self) -> int:
        """Number of polynomials that span u."""
        return self.s + self.order

    def restriction(self, share: float) -> Array:
        """Return the matrix from η to values at the points of the first part of the interval, (s, s)."""
        return np.asarray(
            (chebyshev_values(share * (self.points + 1.0) - 1.0, self.s) @ self.interpolation).T
        )

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, s: int, order: int) -> Radau:
        size = s + order
        points = _points(s)
        between = np.cos(np.pi * (np.arange(s - 1, -1, -1) + 0.5) / s)
        grid = np.concatenate([points, between])
        T = chebvander(grid, size - 1)
        inverse = _inverted(chebvander(points, s - 1))
        raised = [np.concatenate([inverse, np.zeros((order, s), dtype=_LONG)])]
        for _ in range(order):
            raised.append(_integrated(raised[-1]))
        integrals = [T @ c for c in raised]
        integrals[0][:s] = np.eye(s)
        # (1 + ξ)^j/j! in Chebyshev polynomials: repeated integrals of 1.
        start = np.zeros((size, order), dtype=_LONG)
        if order:
            start[0, 0] = 1
        for j in range(1, order):
            start[:, j : j + 1] = _integrated(start[:, j - 1 : j])
        taylor = T @ start
        jets, coefficients = [], []
        for m in range(order + 1):
            table = np.zeros((m + 1, len(grid), m + s), dtype=_LONG)
            for j in range(m + 1):
                table[j, :, j:m] = taylor[:, : m - j]
                table[j, :, m:] = integrals[m - j]
            jets.append(_rounded(table.reshape(-1, m + s).T))
            coefficients.append(_rounded(np.concatenate([start[:, :m], raised[m]], axis=1).T))
        return cls(
            points.astype(float),
            grid.astype(float),
            order,
            tuple(_rounded(table) for table in integrals),
            tuple(jets),
            tuple(coefficients),
            inverse.astype(float),
        )


def _rounded(table: Any) -> Array:
    return np.ascontiguousarray(table, dtype=float)

r"""u⁽ᵐ⁾(ξ) = Σᵢ ηᵢ ℓᵢ(ξ): Radau's points on [-1, 1], and the integrals of polynomials that are given there.

The last of the s points is the end: a stiff component that has died out stays dead, and what is handed on
there is exact for polynomials of twice the degree. The highest derivative is the unknown, and everything
below it an integral, so that the matrices have entries of the order of one, whatever the degree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebint, chebvander

from pibls.arrays import Array
from pibls.basis.polynomials.chebyshev import polynomials
from pibls.basis.polynomials.nodes import jacobi

_LONG = np.longdouble
"""The tables are made in longer numbers and rounded once: errors of their entries in the last digit would add
up from window to window, a pendulum near its top loses a digit by it."""


def _points(s: int) -> Any:
    """The zeros of P_{s-1} - P_s on (-1, 1], ascending; the last is 1."""
    x: Any = jacobi(s - 1, 1, 0).astype(_LONG)
    for _ in range(2):
        P: Any = np.ones_like(x)
        Q = x
        for n in range(1, s):
            P, Q = Q, ((2 * n + 1) * x * Q - n * P) / (n + 1)
        x = x + (P - Q) * (1 + x) / (s * (P + Q))  # Newton's method: (P - Q)' = -s (P + Q)/(1 + ξ)
    return np.append(x, _LONG(1))


def _inverted(A: Any) -> Any:
    """A⁻¹ by Gauss and Jordan, with pivots: LAPACK has no longer numbers."""
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
    """∫_{-1}^ξ of Chebyshev coefficients (size, k); the last of them are zero."""
    return chebint(c, lbnd=-1, axis=0)[: len(c)]


@dataclass(frozen=True)
class Radau:
    """The tables of s points for derivatives up to ``order``, at them and at places between them."""

    points: Array
    grid: Array
    """The points, and after them as many places that are not collocated, to judge by."""
    order: int
    integrals: tuple[Array, ...] = field(repr=False)
    """The r-fold integral from -1 of what is given at the points, (points and places, s), for each r."""
    jets: tuple[Array, ...] = field(repr=False)
    """For each order m: (u(-1), …, u⁽ᵐ⁻¹⁾(-1), η) ↦ u, u', …, u⁽ᵐ⁾ one after another, (m + s, (m + 1) n)."""
    coefficients: tuple[Array, ...] = field(repr=False)
    """For each order m: the same ↦ the Chebyshev coefficients of u, (m + s, size)."""
    inverse: Array = field(repr=False)
    """η ↦ the Chebyshev coefficients of the polynomial through it, (s, s)."""

    @property
    def s(self) -> int:
        return len(self.points)

    @property
    def size(self) -> int:
        """How many polynomials span u."""
        return self.s + self.order

    def within(self, share: float) -> Array:
        """η ↦ the same polynomial at the points of an interval that is the first part of this one, (s, s)."""
        return np.asarray((polynomials(share * (self.points + 1.0) - 1.0, self.s) @ self.inverse).T)

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
        # (1 + ξ)^j/j! in Chebyshev polynomials: integrals of one.
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

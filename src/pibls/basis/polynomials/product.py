r"""Tensor-product basis f_{i₁}(ξ₁) ⋯ f_{i_d}(ξ_d), ξ = (x - centre)/half.

Along each coordinate the factors are Legendre polynomials P₀, …, P_{n-1} or, for a periodic coordinate,
trigonometric functions 1, cos πξ, sin πξ, …, sin πKξ, which satisfy periodic conditions exactly.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, Indices, MultiIndex


@lru_cache(maxsize=64)
def legendre_derivative_matrix(n: int) -> Array:
    """Return the coefficients of P'ⱼ in P₀, …, P_{n-1}: P'_j = Σ (2i+1) P_i over i = j-1, j-3, …"""
    D = np.zeros((n, n))
    for j in range(n):
        i = np.arange(j - 1, -1, -2)
        D[i, j] = 2 * i + 1
    return D


def legendre(s: Array, n: int, order: int = 0) -> Array:
    """Return ∂^order of P₀, …, P_{n-1} at s, (N, n)."""
    return legendre_tables(s, n, (order,))[order]


def legendre_tables(s: Array, n: int, orders: Collection[int]) -> dict[int, Array]:
    """Return ∂^order of P₀, …, P_{n-1} at s, (N, n), for several orders."""
    table: Array = np.asarray(np.polynomial.legendre.legvander(np.asarray(s), n - 1))
    out = {0: table}
    for order in range(1, max(orders) + 1):
        out[order] = table = table @ legendre_derivative_matrix(n)
    return out


def trigonometric(s: Array, n: int, order: int = 0) -> Array:
    """Return ∂^order of 1, cos πs, sin πs, cos 2πs, … at s, (N, n) with odd n."""
    most = n // 2
    # e^{iπks} by repeated doubling of k: one rounding error for each doubling.
    turned = np.empty((len(s), most + 1), dtype=complex)
    turned[:, 0] = 1.0
    turned[:, 1:2] = np.exp(1j * np.pi * np.asarray(s))[:, None]
    done = 1
    while done < most:
        more = min(done, most - done)
        turned[:, done + 1 : done + 1 + more] = turned[:, 1 : 1 + more] * turned[:, done : done + 1]
        done += more
    if order:
        turned *= (1j * np.pi * np.arange(most + 1)) ** order
    out = np.empty((len(turned), n))
    out[:, 0] = turned[:, 0].real
    # Re and Im of (iπk)^m e^{iπks} are the derivatives of the cosine and of the sine.
    out[:, 1::2], out[:, 2::2] = turned[:, 1:].real, turned[:, 1:].imag
    return out


def trigonometric_sums(u: Array, points: int, order: int = 0) -> Array:
    """Return ∂^order of Σ u_i f_i, f = 1, cos πs, sin πs, …, at ``points`` ≥ n equidistant midpoints.

    u is (…, n, m), the result (…, points, m), computed by a fast Fourier transform.
    """
    n = u.shape[-2]
    k = np.arange(n // 2 + 1)
    c = np.empty((*u.shape[:-2], len(k), u.shape[-1]), dtype=complex)
    c[..., 0, :] = 2.0 * u[..., 0, :]
    c[..., 1:, :] = u[..., 1::2, :] - 1j * u[..., 2::2, :]
    turned = 0.5 * points * (1j * np.pi * k) ** order * np.exp(1j * np.pi * k * (1.0 / points - 1.0))
    return np.asarray(np.fft.irfft(c * turned[:, None], points, axis=-2))


_ENTRIES_AT_ONCE = 1 << 19  # entries of intermediate sums along the first coordinate


@dataclass(frozen=True)
class ProductBasis:
    """``sizes`` factors along each coordinate, trigonometric along the ``periodic_axes``."""

    sizes: tuple[int, ...]
    periodic_axes: tuple[int, ...]
    centre: Array
    half: Array

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    def factors(self, X: Array, axis: int, orders: Collection[int]) -> dict[int, Array]:
        """Return ∂^order of the factors along an axis, (N, sizes[axis]), for several orders."""
        s, n = (X[:, axis] - self.centre[axis]) / self.half[axis], self.sizes[axis]
        if axis in self.periodic_axes:
            tables = {order: trigonometric(s, n, order) for order in orders}
        else:
            tables = legendre_tables(s, n, orders)
        return {k: tables[k] / self.half[axis] ** k if k else tables[k] for k in orders}

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        known = self._all_factors(X, alphas)
        out = []
        for alpha in alphas:
            table = np.ones((len(X), 1))
            for axis, order in enumerate(alpha):
                table = (table[:, :, None] * known[axis, order][:, None, :]).reshape(len(X), -1)
            out.append(np.asfortranarray(table))
        return out

    def linear_combinations(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """Return ∂^α A w for each wanted (α, w), (wanted, N), by sums over one coordinate after another."""
        out = np.empty((len(wanted), len(X)))
        step = max(_ENTRIES_AT_ONCE * self.sizes[0] // self.size, 1)
        known = self._all_factors(X, [alpha for alpha, _ in wanted])
        for first in range(0, len(X), step):
            rows = slice(first, first + step)
            for i, (alpha, w) in enumerate(wanted):
                left = known[0, alpha[0]][rows] @ w.reshape(self.sizes[0], -1)
                for axis, order in enumerate(alpha[1:], start=1):
                    left = left.reshape(len(left), self.sizes[axis], -1)
                    left = np.einsum("ni,nij->nj", known[axis, order][rows], left)
                out[i, rows] = left[:, 0]
        return out

    def _all_factors(self, X: Array, alphas: Sequence[MultiIndex]) -> dict[tuple[int, int], Array]:
        """Return the factors of these derivatives, by axis and order."""
        orders = [set(along) for along in zip(*alphas, strict=True)]
        return {
            (axis, order): table
            for axis, wanted in enumerate(orders)
            for order, table in self.factors(X, axis, wanted).items()
        }

    def rescaled(self, centre: Array, half: Array) -> ProductBasis:
        """Return the same functions in the coordinates (x - centre)/half."""
        return ProductBasis(self.sizes, self.periodic_axes, (self.centre - centre) / half, self.half / half)


_ENTRIES = 1 << 21  # coefficients gathered at once


@dataclass(frozen=True)
class CellProducts:
    """The same tensor-product functions in many cells; all points are evaluated at once, each in its cell."""

    sizes: tuple[int, ...]
    periodic_axes: tuple[int, ...]
    centres: Array
    halves: Array

    @classmethod
    def of(cls, bases: Sequence[object]) -> CellProducts | None:
        """Return the common products of the bases, or None if they differ or are of another kind."""
        found = [b for b in bases if isinstance(b, ProductBasis)]
        if not found or len(found) < len(bases) or len({(b.sizes, b.periodic_axes) for b in found}) > 1:
            return None
        centres, halves = np.array([b.centre for b in found]), np.array([b.half for b in found])
        return cls(found[0].sizes, found[0].periodic_axes, centres, halves)

    def linear_combinations(
        self, X: Array, cells: Indices, wanted: Sequence[tuple[MultiIndex, Array]]
    ) -> Array:
        """Return ∂^α A w, (wanted, N), for wanted (α, w), w (cells, functions), in the cell of each point."""
        out = np.empty((len(wanted), len(X)))
        step = max(_ENTRIES // int(np.prod(self.sizes)), 1)
        for first in range(0, len(X), step):
            part = slice(first, first + step)
            mine = cells[part]
            half = self.halves[mine]
            U = (X[part] - self.centres[mine]) / half
            known: dict[tuple[int, int], Array] = {}
            for i, (alpha, w) in enumerate(wanted):
                left = w[mine]
                for axis, order in enumerate(alpha):
                    if (axis, order) not in known:
                        family = trigonometric if axis in self.periodic_axes else legendre
                        table = family(U[:, axis], self.sizes[axis], order)
                        known[axis, order] = table / half[:, axis, None] ** order if order else table
                    left = left.reshape(len(U), self.sizes[axis], -1)
                    left = np.matmul(known[axis, order][:, None, :], left)[:, 0]
                out[i, part] = left[:, 0]
        return out

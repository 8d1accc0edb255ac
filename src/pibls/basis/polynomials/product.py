r"""a(x) = f_{i₁}(ξ₁) ⋯ f_{i_d}(ξ_d), ξ = (x - centre)/half: products of polynomials, or of whole waves.

Along each coordinate the factors are Legendre polynomials P₀, …, P_{n-1}, or, where the solution repeats
itself, 1, cos πξ, sin πξ, …, sin πKξ: waves with whole wavenumbers are periodic to rounding, with no rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, MultiIndex, Numbers


@lru_cache(maxsize=64)
def derivative_of(n: int) -> Array:
    """Coefficients of P'ⱼ in P₀, …, P_{n-1}: P'_j = Σ (2i+1) P_i over i = j-1, j-3, …"""
    D = np.zeros((n, n))
    for j in range(n):
        i = np.arange(j - 1, -1, -2)
        D[i, j] = 2 * i + 1
    return D


def legendre(s: Array, n: int, order: int = 0) -> Array:
    """∂^order of P₀, …, P_{n-1} at s, (N, n)."""
    table = np.polynomial.legendre.legvander(np.asarray(s), n - 1)
    for _ in range(order):
        table = table @ derivative_of(n)
    return np.asarray(table)


def waves(s: Array, n: int, order: int = 0) -> Array:
    """∂^order of 1, cos πs, sin πs, cos 2πs, … at s, (N, n) with odd n."""
    most = n // 2
    # e^{iπks} as products, twice as many at a time: one rounding error for each doubling.
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


def wave_sums(u: Array, points: int, order: int = 0) -> Array:
    """∂^order of Σ u_i f_i, f = 1, cos πs, sin πs, …, at ``points`` ≥ n midpoints of equal parts of [-1, 1].

    u is (…, n, m), the result (…, points, m): a Fourier transform instead of a table.
    """
    n = u.shape[-2]
    k = np.arange(n // 2 + 1)
    c = np.empty((*u.shape[:-2], len(k), u.shape[-1]), dtype=complex)
    c[..., 0, :] = 2.0 * u[..., 0, :]
    c[..., 1:, :] = u[..., 1::2, :] - 1j * u[..., 2::2, :]
    turned = 0.5 * points * (1j * np.pi * k) ** order * np.exp(1j * np.pi * k * (1.0 / points - 1.0))
    return np.asarray(np.fft.irfft(c * turned[:, None], points, axis=-2))


_ENTRIES_AT_ONCE = 1 << 19  # sums along the first coordinate that are made before they are used


@dataclass(frozen=True)
class ProductBasis:
    """``sizes`` factors along each coordinate; those in ``repeated`` are waves."""

    sizes: tuple[int, ...]
    repeated: tuple[int, ...]
    centre: Array
    half: Array

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    def factor(self, X: Array, axis: int, order: int) -> Array:
        """∂^order of the factors along an axis, (N, sizes[axis])."""
        s = (X[:, axis] - self.centre[axis]) / self.half[axis]
        family = waves if axis in self.repeated else legendre
        table = family(s, self.sizes[axis], order)
        return table / self.half[axis] ** order if order else table

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        known: dict[tuple[int, int], Array] = {}
        out = []
        for alpha in alphas:
            table = np.ones((len(X), 1))
            for axis, order in enumerate(alpha):
                if (axis, order) not in known:
                    known[axis, order] = self.factor(X, axis, order)
                table = (table[:, :, None] * known[axis, order][:, None, :]).reshape(len(X), -1)
            out.append(np.asfortranarray(table))
        return out

    def sums(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """∂^α A w for each wanted (α, w), (wanted, N): one coordinate after another, no table is made."""
        out = np.empty((len(wanted), len(X)))
        step = max(_ENTRIES_AT_ONCE * self.sizes[0] // self.size, 1)
        orders = {(axis, order) for alpha, _ in wanted for axis, order in enumerate(alpha)}
        known = {(axis, order): self.factor(X, axis, order) for axis, order in orders}
        for first in range(0, len(X), step):
            rows = slice(first, first + step)
            for i, (alpha, w) in enumerate(wanted):
                left = known[0, alpha[0]][rows] @ w.reshape(self.sizes[0], -1)
                for axis, order in enumerate(alpha[1:], start=1):
                    left = left.reshape(len(left), self.sizes[axis], -1)
                    left = np.einsum("ni,nij->nj", known[axis, order][rows], left)
                out[i, rows] = left[:, 0]
        return out

    def seen_from(self, centre: Array, half: Array) -> ProductBasis:
        """The same functions of the coordinates (x - centre)/half."""
        return ProductBasis(self.sizes, self.repeated, (self.centre - centre) / half, self.half / half)


_ENTRIES = 1 << 21  # coefficients gathered at once


@dataclass(frozen=True)
class Products:
    """The same products in many cells: all points are evaluated at once, each in its own."""

    sizes: tuple[int, ...]
    repeated: tuple[int, ...]
    centres: Array
    halves: Array

    @classmethod
    def of(cls, bases: Sequence[object]) -> Products | None:
        """None where they are something else, or not alike."""
        found = [b for b in bases if isinstance(b, ProductBasis)]
        if not found or len(found) < len(bases) or len({(b.sizes, b.repeated) for b in found}) > 1:
            return None
        centres, halves = (np.array([getattr(b, name) for b in found]) for name in ("centre", "half"))
        return cls(found[0].sizes, found[0].repeated, centres, halves)

    def sums(self, X: Array, cells: Numbers, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """∂^α A w for each wanted (α, w), w (cells, functions), of the cell of each point: (wanted, N)."""
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
                        family = waves if axis in self.repeated else legendre
                        table = family(U[:, axis], self.sizes[axis], order)
                        known[axis, order] = table / half[:, axis, None] ** order if order else table
                    left = left.reshape(len(U), self.sizes[axis], -1)
                    left = np.matmul(known[axis, order][:, None, :], left)[:, 0]
                out[i, part] = left[:, 0]
        return out

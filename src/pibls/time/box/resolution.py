r"""Spatial resolution of an evolution: cells, the functions in each cell, and their values at points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.polynomials.basis_1d import REFERENCE_INTERVAL, Basis1D
from pibls.basis.polynomials.product import trigonometric_sums
from pibls.runtime.caching import cached_property
from pibls.spaces import CellTree

_MIN_FFT_SIZE = 65  # Fourier modes from which FFT is faster than a table


@dataclass(frozen=True)
class Resolution:
    """Cells, and the number of functions in each of them along the coordinates of space."""

    tree: CellTree
    sizes: tuple[int, ...]
    periodic: tuple[bool, ...]
    edges: tuple[tuple[float, ...], ...] = ()
    """Breakpoints in [-1, 1] along each coordinate if the only cell is divided; empty otherwise."""
    orders: tuple[int, ...] = ()
    """Order of the lowest derivative that may jump at the breakpoints, along each coordinate."""

    @cached_property
    def bases(self) -> tuple[Basis1D, ...]:
        """The one-dimensional basis along each coordinate."""
        if not self.edges:
            return tuple(_basis(n, yes) for n, yes in zip(self.sizes, self.periodic, strict=True))
        every = zip(self.sizes, self.periodic, self.edges, self.orders, strict=True)
        return tuple(_basis(*one) for one in every)

    @property
    def raw_sizes(self) -> tuple[int, ...]:
        """Number of coefficients along each coordinate before continuity is imposed between intervals."""
        return tuple(s.broken_size for s in self.bases)

    @property
    def check_sizes(self) -> tuple[int, ...]:
        """Number of check points along each coordinate, distinct from the collocation points."""
        counts = (2 * s.broken_size if s.periodic else s.broken_size + 3 * s.intervals for s in self.bases)
        if len(self.sizes) == 1:
            return tuple(counts)
        return tuple(
            (n // s.intervals // 2 + 3) * s.intervals for n, s in zip(counts, self.bases, strict=True)
        )

    @property
    def functions(self) -> int:
        return int(np.prod(self.sizes))


@lru_cache(maxsize=64)
def _basis(
    size: int, repeats: bool, edges: tuple[float, ...] = REFERENCE_INTERVAL, order: int = 0
) -> Basis1D:
    return Basis1D(size, repeats, edges, order)


def shared_tables(U: Array, resolution: Resolution, half: Array) -> Callable[[MultiIndex], Array]:
    """Return a table of ∂^α of the functions at points U of the reference cell, for all cells."""
    known: dict[MultiIndex, Array] = {}

    def tables(alpha: MultiIndex) -> Array:
        if alpha not in known:
            scale = np.prod(half ** -np.array(alpha, dtype=float), axis=1)
            known[alpha] = scale[:, None, None] * tensor_values(U, resolution, alpha)
        return known[alpha]

    return tables


@lru_cache(maxsize=64)
def fourier_size(n: float) -> int:
    """Return the least odd number ≥ n with prime factors 3, 5 and 7 only, for fast Fourier transforms."""
    out = 2 * math.ceil((n - 1) / 2) + 1
    while True:
        left = out
        for p in (3, 5, 7):
            while left % p == 0:
                left //= p
        if left == 1:
            return out
        out += 2


def fourier_sums(
    resolution: Resolution, counts: tuple[int, ...], half: Array
) -> Callable[[MultiIndex, Array], Array] | None:
    """Return a function that evaluates derivatives of Fourier series by FFT; None if tables are as fast."""
    if resolution.periodic != (True,) or resolution.sizes[0] < _MIN_FFT_SIZE:
        return None
    return lambda alpha, u: trigonometric_sums(u, counts[0], alpha[0]) / half[0, 0] ** alpha[0]


def tensor_values(U: Array, resolution: Resolution, alpha: MultiIndex) -> Array:
    """Return ∂^α of the functions at points U (N, d) of the reference cell, (N, n)."""
    table = np.ones((len(U), 1))
    for i, (basis, order) in enumerate(zip(resolution.bases, alpha, strict=True)):
        one = basis.evaluate(U[:, i], order)
        table = (table[:, :, None] * one[:, None, :]).reshape(len(U), -1)
    return table


def to_coefficients(values: Array, resolution: Resolution) -> Array:
    """Return the coefficients (…, n) of functions with values (…, points) at the nodes."""
    return _along(values, resolution.raw_sizes, [s.from_values for s in resolution.bases])


def per_interval(coefficients: Array, resolution: Resolution) -> Array:
    """Return the coefficients (…, n₁, n₂, …) by interval of functions with coefficients (…, n)."""
    if not resolution.edges:
        return coefficients.reshape(*coefficients.shape[:-1], *resolution.sizes)
    made = _along(coefficients, resolution.sizes, [s.to_broken for s in resolution.bases])
    return made.reshape(*coefficients.shape[:-1], *resolution.raw_sizes)


def _along(values: Array, sizes: tuple[int, ...], matrices: list[Array]) -> Array:
    out = values.reshape(*values.shape[:-1], *sizes)
    for i, M in enumerate(matrices):
        axis = out.ndim - len(sizes) + i
        out = np.moveaxis(np.tensordot(M, out, axes=(1, axis)), 0, axis)
    return out.reshape(*values.shape[:-1], -1)

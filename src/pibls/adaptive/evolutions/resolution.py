r"""u(x, t) = Σ c_i(t) f_i(x) in each cell: which cells, which functions, and their tables at points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.polynomials.product import wave_sums
from pibls.basis.polynomials.strand import WHOLE, Strand
from pibls.caching import cached_property
from pibls.spaces import CellTree

_MANY = 65  # waves that a Fourier transform adds up faster than a table


@dataclass(frozen=True)
class Resolution:
    """Cells, and the functions in each of them along the coordinates of space."""

    tree: CellTree
    sizes: tuple[int, ...]
    repeated: tuple[bool, ...]
    edges: tuple[tuple[float, ...], ...] = ()
    """Where one cell is divided along each coordinate, as places in [-1, 1]; none: nowhere."""
    orders: tuple[int, ...] = ()
    """The derivatives from which on functions may jump there."""

    @cached_property
    def strands(self) -> tuple[Strand, ...]:
        """The functions along each coordinate."""
        if not self.edges:
            return tuple(_strand(n, yes) for n, yes in zip(self.sizes, self.repeated, strict=True))
        every = zip(self.sizes, self.repeated, self.edges, self.orders, strict=True)
        return tuple(_strand(*one) for one in every)

    @property
    def raw(self) -> tuple[int, ...]:
        """Coefficients along each coordinate, where pieces have their own."""
        return tuple(s.raw for s in self.strands)

    @property
    def checked(self) -> tuple[int, ...]:
        """Points along each coordinate at which equations are judged: not those at which they are held."""
        counts = (2 * s.raw if s.repeats else s.raw + 3 * s.pieces for s in self.strands)
        if len(self.sizes) == 1:
            return tuple(counts)
        return tuple((n // s.pieces // 2 + 3) * s.pieces for n, s in zip(counts, self.strands, strict=True))

    @property
    def functions(self) -> int:
        return int(np.prod(self.sizes))


@lru_cache(maxsize=64)
def _strand(size: int, repeats: bool, edges: tuple[float, ...] = WHOLE, order: int = 0) -> Strand:
    return Strand(size, repeats, edges, order)


def shared_tables(U: Array, found: Resolution, half: Array) -> Callable[[MultiIndex], Array]:
    """The functions at points U of the reference cell, the same in every cell up to its size."""
    known: dict[MultiIndex, Array] = {}

    def tables(alpha: MultiIndex) -> Array:
        if alpha not in known:
            scale = np.prod(half ** -np.array(alpha, dtype=float), axis=1)
            known[alpha] = scale[:, None, None] * product_of(U, found, alpha)
        return known[alpha]

    return tables


@lru_cache(maxsize=64)
def waves_from(n: float) -> int:
    """The least odd number from n on whose factors are 3, 5 and 7: Fourier transforms like it."""
    out = 2 * math.ceil((n - 1) / 2) + 1
    while True:
        left = out
        for p in (3, 5, 7):
            while left % p == 0:
                left //= p
        if left == 1:
            return out
        out += 2


def quick_sums(
    found: Resolution, counts: tuple[int, ...], half: Array
) -> Callable[[MultiIndex, Array], Array] | None:
    """What differentiates many waves round one ring; None where tables are as quick."""
    if found.repeated != (True,) or found.sizes[0] < _MANY:
        return None
    return lambda alpha, u: wave_sums(u, counts[0], alpha[0]) / half[0, 0] ** alpha[0]


def product_of(U: Array, found: Resolution, alpha: MultiIndex) -> Array:
    """∂^α of the functions at points of the reference cell, (N, n)."""
    table = np.ones((len(U), 1))
    for i, (strand, order) in enumerate(zip(found.strands, alpha, strict=True)):
        one = strand.at(U[:, i], order)
        table = (table[:, :, None] * one[:, None, :]).reshape(len(U), -1)
    return table


def coefficients_of(values: Array, found: Resolution) -> Array:
    """Values (…, points) at the nodes ↦ coefficients (…, n)."""
    return _along(values, found.raw, [s.from_values for s in found.strands])


def in_pieces(coefficients: Array, found: Resolution) -> Array:
    """Coefficients (…, n) ↦ those of the pieces, (…, n₁, n₂, …), each piece after the other."""
    if not found.edges:
        return coefficients.reshape(*coefficients.shape[:-1], *found.sizes)
    made = _along(coefficients, found.sizes, [s.in_pieces for s in found.strands])
    return made.reshape(*coefficients.shape[:-1], *found.raw)


def _along(values: Array, sizes: tuple[int, ...], matrices: list[Array]) -> Array:
    out = values.reshape(*values.shape[:-1], *sizes)
    for i, M in enumerate(matrices):
        axis = out.ndim - len(sizes) + i
        out = np.moveaxis(np.tensordot(M, out, axes=(1, axis)), 0, axis)
    return out.reshape(*values.shape[:-1], -1)

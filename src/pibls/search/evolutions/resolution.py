r"""u(x, t) = Σ c_i(t) f_i(x) in each cell: which cells, which functions, and their tables at points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.nodes import nodes_of
from pibls.basis.product import legendre, wave_sums, waves
from pibls.space import CellTree

_MANY = 65  # waves that a Fourier transform adds up faster than a table


@dataclass(frozen=True)
class Resolution:
    """Cells, and the functions in each of them along the coordinates of space."""

    tree: CellTree
    sizes: tuple[int, ...]
    repeated: tuple[bool, ...]

    @property
    def functions(self) -> int:
        return int(np.prod(self.sizes))


@lru_cache(maxsize=64)
def _to_coefficients(n: int, repeats: bool) -> Array:
    """From values at the n points to coefficients."""
    return np.asarray(np.linalg.inv((waves if repeats else legendre)(nodes_of(n, repeats), n)), dtype=float)


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
    for i, (n, yes, order) in enumerate(zip(found.sizes, found.repeated, alpha, strict=True)):
        one = (waves if yes else legendre)(U[:, i], n, order)
        table = (table[:, :, None] * one[:, None, :]).reshape(len(U), -1)
    return table


def coefficients_of(values: Array, sizes: tuple[int, ...], repeated: tuple[bool, ...]) -> Array:
    """Values (…, points) at the nodes ↦ coefficients (…, n)."""
    out = values.reshape(*values.shape[:-1], *sizes)
    for i, (n, yes) in enumerate(zip(sizes, repeated, strict=True)):
        axis = out.ndim - len(sizes) + i
        out = np.moveaxis(np.tensordot(_to_coefficients(n, yes), out, axes=(1, axis)), 0, axis)
    return out.reshape(values.shape)

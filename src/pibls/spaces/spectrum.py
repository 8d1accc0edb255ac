r"""u(x) = Σ c_i T_{i₁}(ξ₁) ⋯ T_{i_d}(ξ_d) in a cell: how far the coefficients have fallen along each axis.

A function that a cell resolves has small coefficients at the degrees that its basis can just still have.
Where they are large, the cell is too long along that axis, whatever the residual at some points says.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import ceil, comb

import numpy as np

from pibls.arrays import Array
from pibls.problem import Jet
from pibls.spaces.single_domain import Whole

_FROM, _BEYOND = 0.75, 4  # the degrees looked at: from this share of the highest to this many above it
_MIDDLE = (0.35, 0.5)  # the degrees against which the highest are held
_RANK = 0.8  # of N functions at the scale of the scale-width rule, so many are independent


def degree_in(nodes: int, d: int) -> int:
    """The degree of the polynomials in d variables that are as many as the independent functions."""
    degree = 0
    while comb(degree + 1 + d, d) <= _RANK * nodes:
        degree += 1
    return degree


@lru_cache(maxsize=32)
def _transform(n: int) -> tuple[Array, Array]:
    """Chebyshev nodes in [-1, 1], and the matrix from values there to coefficients."""
    angle = (np.arange(n) + 0.5) * np.pi / n
    matrix = 2.0 / n * np.cos(np.outer(np.arange(n), angle))
    matrix[0] *= 0.5
    return np.cos(angle), matrix


@lru_cache(maxsize=32)
def _grid(n: int, d: int) -> Array:
    """The tensor grid of the nodes."""
    nodes, _ = _transform(n)
    return np.stack(np.meshgrid(*(nodes,) * d, indexing="ij"), -1).reshape(-1, d)


def _coefficients(part: Whole, w: Array, box: Array, unknowns: int) -> tuple[Array, Array, int]:
    """The Chebyshev coefficients of each unknown (unknowns, n, …), max|u| and the degree that is resolved."""
    d = len(box)
    degree = degree_in(part.nodes, d)
    n = degree + 1 + _BEYOND
    _, matrix = _transform(n)
    jets = tuple(Jet(k, (0,) * d) for k in range(unknowns))
    # In the coordinates of the cell: in others, a short cell far from zero has few digits left.
    u = part.seen_from(box).values((_grid(n, d),), jets, w)
    c = u.reshape((unknowns,) + (n,) * d)
    for axis in range(1, d + 1):
        c = np.moveaxis(np.tensordot(matrix, c, axes=(1, axis)), 0, axis)
    return c, np.abs(u).max(axis=1), degree


def tails(part: Whole, w: Array, box: Array, unknowns: int) -> tuple[Array, Array]:
    """The largest coefficient at the highest degrees along each axis (unknowns, d); max|u| (unknowns,)."""
    c, sizes, degree = _coefficients(part, w, box, unknowns)
    return _largest(c, ceil(_FROM * degree), c.shape[1]), sizes


def left_at(part: Whole, w: Array, box: Array, unknowns: int, S: Array) -> Array:
    """max|u - p| (unknowns,) at some places S (n, d) in [-1, 1]^d, of which p are the lower degrees that fit.

    In a cell that the boundary cuts: outside of the domain the functions are whatever they happen to be, and
    coefficients over the whole cell tell of that.
    """
    d = len(box)
    powers = _powers(ceil(_FROM * degree_in(part.nodes, d)), d)
    if len(S) < len(powers):
        return np.zeros(unknowns)
    tables = np.polynomial.chebyshev.chebvander(S, max(map(max, powers)))
    A = np.stack([np.prod([tables[:, i, k] for i, k in enumerate(p)], axis=0) for p in powers], axis=1)
    u = part.seen_from(box).values((S,), tuple(Jet(k, (0,) * d) for k in range(unknowns)), w).T
    fitted = np.linalg.lstsq(A, u, rcond=1e-13)[0]
    return np.asarray(np.abs(u - A @ fitted).max(axis=0))


@lru_cache(maxsize=32)
def _powers(degree: int, d: int) -> tuple[tuple[int, ...], ...]:
    return tuple(p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree)


def fall(part: Whole, w: Array, box: Array, unknowns: int) -> Array:
    """Digits per degree by which the coefficients have been falling along each axis (unknowns, d)."""
    c, _, degree = _coefficients(part, w, box, unknowns)
    low, high = ceil(_MIDDLE[0] * degree), ceil(_MIDDLE[1] * degree)
    before, after = _largest(c, low, high + 1), _largest(c, ceil(_FROM * degree), degree + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.nan_to_num(np.log10(before / after), posinf=0.0, neginf=0.0)
    return np.asarray(digits / max(ceil(_FROM * degree) - low, 1))


def _largest(c: Array, first: int, stop: int) -> Array:
    """The largest coefficient with a degree in this range along each axis (unknowns, d)."""
    axes = range(1, c.ndim)
    return np.array(
        [[np.abs(np.take(part, range(first, stop), axis=axis - 1)).max() for axis in axes] for part in c]
    )

r"""Decay of the Chebyshev coefficients of u(x) = Σ c_i T_{i₁}(ξ₁) ⋯ T_{i_d}(ξ_d) in a cell along each axis.

If a cell resolves the solution, the coefficients at the highest degrees that its basis can represent are
small. If they are large, the cell is too long along that axis, even if the residual at some points is small.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import ceil, comb

import numpy as np

from pibls.arrays import Array
from pibls.problem import PartialDerivative
from pibls.spaces.single_domain import SingleDomainSpace

_TAIL_START = 0.75  # the tail begins at this fraction of the resolved degree …
_DEGREES_ABOVE = 4  # … and ends so many degrees above it
_MIDDLE = (0.35, 0.5)  # range of degrees, as fractions, with which the highest are compared
_INDEPENDENT_FRACTION = 0.8  # fraction of the random features that are numerically independent


def resolved_degree(nodes: int, d: int) -> int:
    """Return the total degree of as many polynomials in d variables as there are independent functions."""
    degree = 0
    while comb(degree + 1 + d, d) <= _INDEPENDENT_FRACTION * nodes:
        degree += 1
    return degree


@lru_cache(maxsize=32)
def _transform(n: int) -> tuple[Array, Array]:
    """Return Chebyshev nodes in [-1, 1] and the matrix from values at them to coefficients."""
    angle = (np.arange(n) + 0.5) * np.pi / n
    matrix = 2.0 / n * np.cos(np.outer(np.arange(n), angle))
    matrix[0] *= 0.5
    return np.cos(angle), matrix


@lru_cache(maxsize=32)
def _grid(n: int, d: int) -> Array:
    """Return the tensor grid of the nodes."""
    nodes, _ = _transform(n)
    return np.stack(np.meshgrid(*(nodes,) * d, indexing="ij"), -1).reshape(-1, d)


def _coefficients(part: SingleDomainSpace, w: Array, box: Array, unknowns: int) -> tuple[Array, Array, int]:
    """Return the Chebyshev coefficients of each unknown (unknowns, n, …), max|u| and the resolved degree."""
    d = len(box)
    degree = resolved_degree(part.nodes, d)
    n = degree + 1 + _DEGREES_ABOVE
    _, matrix = _transform(n)
    derivatives = tuple(PartialDerivative(k, (0,) * d) for k in range(unknowns))
    # In the coordinates of the cell, since a short cell far from the origin loses digits in others.
    u = part.rescaled(box).values((_grid(n, d),), derivatives, w)
    c = u.reshape((unknowns,) + (n,) * d)
    for axis in range(1, d + 1):
        c = np.moveaxis(np.tensordot(matrix, c, axes=(1, axis)), 0, axis)
    return c, np.abs(u).max(axis=1), degree


def spectral_tails(part: SingleDomainSpace, w: Array, box: Array, unknowns: int) -> tuple[Array, Array]:
    """Return the largest high-degree coefficient along each axis (unknowns, d), and max|u| (unknowns,)."""
    c, sizes, degree = _coefficients(part, w, box, unknowns)
    return _largest(c, ceil(_TAIL_START * degree), c.shape[1]), sizes


def high_degree_remainder(part: SingleDomainSpace, w: Array, box: Array, unknowns: int, S: Array) -> Array:
    """Return max|u - p| (unknowns,) at points S (n, d) in [-1, 1]^d, p the polynomial fit of lower degree.

    For cells that the boundary cuts: outside the domain the functions are arbitrary, and coefficients over
    the whole cell depend on them.
    """
    d = len(box)
    powers = _powers(ceil(_TAIL_START * resolved_degree(part.nodes, d)), d)
    if len(S) < len(powers):
        return np.zeros(unknowns)
    tables = np.polynomial.chebyshev.chebvander(S, max(map(max, powers)))
    A = np.stack([np.prod([tables[:, i, k] for i, k in enumerate(p)], axis=0) for p in powers], axis=1)
    u = part.rescaled(box).values((S,), tuple(PartialDerivative(k, (0,) * d) for k in range(unknowns)), w).T
    fitted = np.linalg.lstsq(A, u, rcond=1e-13)[0]
    return np.asarray(np.abs(u - A @ fitted).max(axis=0))


@lru_cache(maxsize=32)
def _powers(degree: int, d: int) -> tuple[tuple[int, ...], ...]:
    return tuple(p for p in product(range(degree + 1), repeat=d) if sum(p) <= degree)


def decay_rates(part: SingleDomainSpace, w: Array, box: Array, unknowns: int) -> Array:
    """Return the decay of the coefficients along each axis in decimal digits per degree, (unknowns, d)."""
    c, _, degree = _coefficients(part, w, box, unknowns)
    low, high = ceil(_MIDDLE[0] * degree), ceil(_MIDDLE[1] * degree)
    before, after = _largest(c, low, high + 1), _largest(c, ceil(_TAIL_START * degree), degree + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.nan_to_num(np.log10(before / after), posinf=0.0, neginf=0.0)
    return np.asarray(digits / max(ceil(_TAIL_START * degree) - low, 1))


def _largest(c: Array, first: int, stop: int) -> Array:
    """Return the largest coefficient with a degree in this range along each axis, (unknowns, d)."""
    axes = range(1, c.ndim)
    return np.array(
        [[np.abs(np.take(part, range(first, stop), axis=axis - 1)).max() for axis in axes] for part in c]
    )

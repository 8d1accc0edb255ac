r"""Spectral indicator: the coefficients c_i of u = Σ c_i f_{i₁}(ξ₁) ⋯ f_{i_d}(ξ_d) at the highest degrees.

If a cell, an interval or a time window resolves the solution, the coefficients at the highest degrees that
its basis can represent are small. If they are large, it is too long along that axis, even if the residual at
some points is small. `spectral_tail` serves all discretizations. Bases without degrees, as random features,
are first expanded in Chebyshev polynomials (`cell_tails`).
"""

from __future__ import annotations

from collections.abc import Collection
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


def decayed_spectrum(c: Array, axis: int, kept: Collection[int] = ()) -> Array:
    """Return max|c_j|, j ≥ i, for each degree i along an axis, over all other axes except those ``kept``.

    Single coefficients may vanish, as those of odd degrees of an even function.

    >>> decayed_spectrum(np.array([[1.0, 0.0, 0.1, 0.0], [0.5, 0.3, 0.0, 0.0]]), 1)
    array([1. , 0.3, 0.1, 0. ])
    """
    along = axis % c.ndim
    largest = np.abs(c).max(axis=tuple(i for i in range(c.ndim) if i != along and i not in kept))
    position = sum(i < along for i in kept)
    return np.flip(np.maximum.accumulate(np.flip(largest, position), axis=position), position)


def spectral_tail(c: Array, axis: int, last: int, kept: Collection[int] = ()) -> Array:
    """Return the largest of the ``last`` coefficients along an axis, for each index of the axes ``kept``.

    >>> spectral_tail(np.array([[1.0, 0.0, 0.1, 0.0], [0.5, 0.3, 0.0, 0.0]]), 1, 2, kept=(0,))
    array([0.1, 0. ])
    """
    along = axis % c.ndim
    ends = c[(slice(None),) * along + (slice(c.shape[along] - last, None),)]
    return np.asarray(np.abs(ends).max(axis=tuple(i for i in range(c.ndim) if i not in kept)))


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


def _coefficients(part: SingleDomainSpace, w: Array, box: Array, unknowns: int) -> tuple[Array, int]:
    """Return the Chebyshev coefficients of each unknown (unknowns, n, …), and the resolved degree."""
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
    return c, degree


def cell_tails(part: SingleDomainSpace, w: Array, box: Array, unknowns: int) -> Array:
    """Return the spectral tail of the functions in a cell along each axis, (unknowns, d)."""
    c, degree = _coefficients(part, w, box, unknowns)
    return _tails(c, c.shape[1] - ceil(_TAIL_START * degree))


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
    c, degree = _coefficients(part, w, box, unknowns)
    low, high, first = (ceil(share * degree) for share in (*_MIDDLE, _TAIL_START))
    before, after = _tails(c, high + 1 - low, high + 1), _tails(c, degree + 1 - first, degree + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.nan_to_num(np.log10(before / after), posinf=0.0, neginf=0.0)
    return np.asarray(digits / max(first - low, 1))


def _tails(c: Array, last: int, stop: int | None = None) -> Array:
    """Return the tails (unknowns, d) of coefficients (unknowns, n, …); only degrees below ``stop`` count."""
    below = [np.moveaxis(c, i, -1)[..., :stop] for i in range(1, c.ndim)]
    return np.stack([spectral_tail(part, -1, last, kept=(0,)) for part in below], axis=1)

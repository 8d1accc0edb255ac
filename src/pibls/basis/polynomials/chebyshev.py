r"""Chebyshev polynomials T₀(ξ), T₁(ξ), …, ξ = (x - centre)/half, on an interval.

On a short interval they approximate as well as equally many Fourier features and are better conditioned: T_j
is bounded by one, interpolation at Chebyshev points is well conditioned, and integrals are sums of Chebyshev
polynomials. They are not random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.checks import check_integer
from pibls.basis.protocol import Basis
from pibls.errors import ProblemError


@lru_cache(maxsize=64)
def derivative_matrix(size: int, order: int) -> Array:
    """Return the matrix from the coefficients of u to those of its derivative of this order, (size, size)."""
    D = np.zeros((size, size))
    for j in range(1, size):
        # T_j' = 2j (T_{j-1} + T_{j-3} + …), the last one halved where it is T₀.
        D[j - 1 :: -2, j] = 2.0 * j
    D[0] *= 0.5
    return np.asarray(np.linalg.matrix_power(D, order))


def chebyshev_values(xi: Array, size: int) -> Array:
    """Return T_j(ξ), (n, size); arguments are clipped to [-1, 1]."""
    return np.cos(np.arccos(np.clip(xi, -1.0, 1.0))[:, None] * np.arange(size))


@dataclass(frozen=True)
class Chebyshev:
    """T₀, …, T_{N-1} for one coordinate mapped to [-1, 1].

    >>> Chebyshev(12).size
    12
    """

    nodes: int

    def __post_init__(self) -> None:
        check_integer(self.nodes, "Chebyshev(nodes)", least=1)

    @property
    def size(self) -> int:
        return self.nodes

    def draw(self, box: Array, rng: np.random.Generator) -> ChebyshevBasis:
        if len(box) != 1:
            raise ProblemError(
                "Chebyshev(nodes)",
                expected="a problem of one coordinate",
                got=f"{len(box)} coordinates",
                remedy="Use Waves(nodes, scale), which works in any dimension.",
            )
        return ChebyshevBasis(self.nodes, box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0]))


@dataclass(frozen=True)
class ChebyshevBasis:
    """The first ``size`` Chebyshev polynomials of (x - centre)/half."""

    size: int
    centre: Array
    half: Array

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        T = self._table(X)
        return [
            np.asfortranarray(T @ derivative_matrix(self.size, k) / self.half[0] ** k if k else T)
            for (k,) in alphas
        ]

    def linear_combinations(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """Return ∂^α A w for each wanted (α, w), (wanted, N), by differentiating the coefficients."""
        W = [derivative_matrix(self.size, k) @ w / self.half[0] ** k if k else w for (k,), w in wanted]
        return np.asarray(np.array(W) @ self._table(X).T)

    def rescaled(self, centre: Array, half: Array) -> ChebyshevBasis:
        """Return the same functions in the coordinates (x - centre)/half."""
        return ChebyshevBasis(self.size, (self.centre - centre) / half, self.half / half)

    def _table(self, X: Array) -> Array:
        return chebyshev_values((X[:, 0] - self.centre[0]) / self.half[0], self.size)


def as_common_chebyshev(bases: Sequence[Basis]) -> list[ChebyshevBasis] | None:
    """Return the bases if all of them are Chebyshev polynomials of the same degree, else None."""
    found = [b for b in bases if isinstance(b, ChebyshevBasis)]
    return found if found and len(found) == len(bases) and len({b.size for b in found}) == 1 else None

r"""a(x) = T₀(ξ), T₁(ξ), …, ξ = (x - centre)/half: Chebyshev polynomials on an interval.

On a short piece of a line they span what as many waves span there, and are better conditioned: T_j is
bounded by one, values at good points and coefficients are two views of the same numbers, and an integral of
a sum is another such sum. Nothing is drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.checks import whole
from pibls.basis.protocol import Basis
from pibls.errors import ProblemError


@lru_cache(maxsize=64)
def derivative(size: int, order: int) -> Array:
    """The matrix from the coefficients of u to those of u⁽ᵏ⁾, (size, size)."""
    D = np.zeros((size, size))
    for j in range(1, size):
        # T_j' = 2j (T_{j-1} + T_{j-3} + …), the last one halved where it is T₀.
        D[j - 1 :: -2, j] = 2.0 * j
    D[0] *= 0.5
    return np.asarray(np.linalg.matrix_power(D, order))


def polynomials(xi: Array, size: int) -> Array:
    """T_j(ξ), (n, size); what rounding has put outside of [-1, 1] is taken for the end."""
    return np.cos(np.arccos(np.clip(xi, -1.0, 1.0))[:, None] * np.arange(size))


@dataclass(frozen=True)
class Chebyshev:
    """T₀, …, T_{N-1} for one coordinate mapped to [-1, 1].

    >>> Chebyshev(12).size
    12
    """

    nodes: int

    def __post_init__(self) -> None:
        whole(self.nodes, "Chebyshev(nodes)", least=1)

    @property
    def size(self) -> int:
        return self.nodes

    def draw(self, box: Array, rng: np.random.Generator) -> ChebyshevBasis:
        if len(box) != 1:
            raise ProblemError(
                "Chebyshev(nodes)",
                expected="a problem of one coordinate",
                got=f"{len(box)} coordinates",
                remedy="Use Waves(nodes, scale), which serves in any dimension.",
            )
        return ChebyshevBasis(self.nodes, box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0]))


@dataclass(frozen=True)
class ChebyshevBasis:
    """The first ``size`` of them for (x - centre)/half."""

    size: int
    centre: Array
    half: Array

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        T = self._table(X)
        return [
            np.asfortranarray(T @ derivative(self.size, k) / self.half[0] ** k if k else T) for (k,) in alphas
        ]

    def sums(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """∂^α A w for each wanted (α, w), (wanted, N): no table of derivatives is made."""
        W = [derivative(self.size, k) @ w / self.half[0] ** k if k else w for (k,), w in wanted]
        return np.asarray(np.array(W) @ self._table(X).T)

    def seen_from(self, centre: Array, half: Array) -> ChebyshevBasis:
        """The same functions of the coordinates (x - centre)/half."""
        return ChebyshevBasis(self.size, (self.centre - centre) / half, self.half / half)

    def _table(self, X: Array) -> Array:
        return polynomials((X[:, 0] - self.centre[0]) / self.half[0], self.size)


def alike(bases: Sequence[Basis]) -> list[ChebyshevBasis] | None:
    """The same bases where all of them are polynomials up to one degree; else None."""
    found = [b for b in bases if isinstance(b, ChebyshevBasis)]
    return found if found and len(found) == len(bases) and len({b.size for b in found}) == 1 else None

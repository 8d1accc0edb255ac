r"""a(x) = P_{i₁}(ξ₁) ⋯ P_{i_d}(ξ_d), i₁ + … + i_d ≤ n, ξ = (x - centre)/half: polynomials by their degree.

On a disc no direction is worse resolved than another; on any shape inside of the box they span what is
smooth there, and those of a degree less are the first of those of a degree more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from pibls.arrays import Array, MultiIndex, Numbers
from pibls.basis.polynomials.product import legendre


@lru_cache(maxsize=32)
def degrees_of(n: int, d: int) -> Numbers:
    """All (i₁, …, i_d) with a sum of at most n, (N, d), by their sum."""
    found = [i for i in product(range(n + 1), repeat=d) if sum(i) <= n]
    return np.array(sorted(found, key=lambda i: (sum(i), i)), dtype=np.intp).reshape(-1, d)


@dataclass(frozen=True)
class DegreeBasis:
    """All products of Legendre polynomials up to a ``degree``."""

    degree: int
    centre: Array
    half: Array

    @property
    def size(self) -> int:
        return math.comb(self.degree + len(self.centre), len(self.centre))

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        U, d = (X - self.centre) / self.half, len(self.centre)
        each = degrees_of(self.degree, d)
        known: dict[tuple[int, int], Array] = {}
        out = []
        for alpha in alphas:
            table = np.ones((len(X), self.size), order="F")
            for axis, order in enumerate(alpha):
                if (axis, order) not in known:
                    factor = legendre(U[:, axis], self.degree + 1, order)
                    known[axis, order] = np.asfortranarray(factor / self.half[axis] ** order)
                table *= known[axis, order][:, each[:, axis]]
            out.append(table)
        return out

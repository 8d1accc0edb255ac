r"""Polynomials of total degree n: P_{i₁}(ξ₁) ⋯ P_{i_d}(ξ_d), i₁ + … + i_d ≤ n, ξ = (x - centre)/half.

They resolve all directions equally, and can be used on any shape inside the box. Functions are sorted by
degree: those of a lower total degree come first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from pibls.arrays import Array, Indices, MultiIndex
from pibls.basis.polynomials.product import legendre


@lru_cache(maxsize=32)
def total_degree_indices(n: int, d: int) -> Indices:
    """Return all (i₁, …, i_d) with a sum of at most n, (N, d), sorted by their sum."""
    found = [i for i in product(range(n + 1), repeat=d) if sum(i) <= n]
    return np.array(sorted(found, key=lambda i: (sum(i), i)), dtype=np.intp).reshape(-1, d)


@dataclass(frozen=True)
class TotalDegreeBasis:
    """All products of Legendre polynomials up to a total ``degree``."""

    degree: int
    centre: Array
    half: Array

    @property
    def size(self) -> int:
        return math.comb(self.degree + len(self.centre), len(self.centre))

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        U, d = (X - self.centre) / self.half, len(self.centre)
        each = total_degree_indices(self.degree, d)
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

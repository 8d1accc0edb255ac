r"""The union A = [A₁ | A₂ | …] of several bases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.protocol import Basis, BasisSpec, interior_size, linear_combinations


@dataclass(frozen=True)
class Joined:
    """The functions of several specifications together."""

    parts: tuple[BasisSpec, ...]

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts)

    @property
    def interior_size(self) -> int:
        """Number of functions that determine the number of interior points; others need points elsewhere."""
        return sum(map(interior_size, self.parts))

    def draw(self, box: Array, rng: np.random.Generator) -> JoinedBasis:
        return JoinedBasis(tuple(p.draw(box, rng) for p in self.parts))


@dataclass(frozen=True)
class JoinedBasis:
    """Several drawn bases side by side."""

    parts: tuple[Basis, ...]

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        found = [p.jets(X, alphas) for p in self.parts]
        return [np.concatenate([A.T for A in group]).T for group in zip(*found, strict=True)]

    def linear_combinations(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """Return ∂^α A w for each wanted (α, w), (wanted, N), as a sum over the parts."""
        out, start = np.zeros((len(wanted), len(X))), 0
        for part in self.parts:
            mine = [(alpha, w[start : start + part.size]) for alpha, w in wanted]
            out += linear_combinations(part, X, mine)
            start += part.size
        return out

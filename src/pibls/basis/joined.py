r"""A = [A₁ | A₂ | …]: broad expansion, nodes of several kinds side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.protocol import Basis, BasisSpec, summed


@dataclass(frozen=True)
class Joined:
    """The functions of all parts together."""

    parts: tuple[BasisSpec, ...]

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts)

    @property
    def spread(self) -> int:
        """How many of them need points all over the domain; the others bring their own."""
        return sum(getattr(p, "spread", p.size) for p in self.parts)

    def draw(self, box: Array, rng: np.random.Generator) -> JoinedBasis:
        return JoinedBasis(tuple(p.draw(box, rng) for p in self.parts))


@dataclass(frozen=True)
class JoinedBasis:
    """Drawn parts side by side."""

    parts: tuple[Basis, ...]

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        found = [p.jets(X, alphas) for p in self.parts]
        return [np.concatenate([A.T for A in group]).T for group in zip(*found, strict=True)]

    def sums(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """∂^α A w for each wanted (α, w), part by part: some make no table of their functions."""
        out, start = np.zeros((len(wanted), len(X))), 0
        for part in self.parts:
            mine = [(alpha, w[start : start + part.size]) for alpha, w in wanted]
            out += summed(part, X, mine)
            start += part.size
        return out

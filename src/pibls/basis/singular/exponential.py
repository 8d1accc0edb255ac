r"""Exponential functions exp(g·x - s) cos(t·x + φ) for boundary layers; they are at most 1 at the boundary.

If w = g + it is a root of the symbol, P(w) = 0, the function solves P(∂)u = 0 exactly: a layer of width
1/|g|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex


@dataclass(frozen=True)
class ExponentialBasis:
    """Growths g and wave vectors t = ``turns`` (d, M), offsets s and phases φ (M,); not random."""

    growths: Array
    turns: Array
    offsets: Array
    phases: Array

    interior_size = 0
    """They solve the equation everywhere and need no interior points."""

    @property
    def size(self) -> int:
        return len(self.offsets)

    def draw(self, box: Array, rng: np.random.Generator) -> ExponentialBasis:
        return self

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        size = np.exp(X @ self.growths - self.offsets)
        if not self.turns.any():
            return [np.asfortranarray(size * self._factors(self.growths, alpha)) for alpha in alphas]
        waves = size * np.exp(1j * (X @ self.turns + self.phases))
        w = self.growths + 1j * self.turns
        return [np.asfortranarray((waves * self._factors(w, alpha)).real) for alpha in alphas]

    def _factors(self, w: Array, alpha: MultiIndex) -> Array:
        """Return w^α, (M,)."""
        return np.asarray(np.prod(w ** np.array(alpha)[:, None], axis=0))

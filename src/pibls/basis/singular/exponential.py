r"""a(x) = exp(g·x - s) cos(t·x + φ): functions that grow towards a wall and are 1 there at most.

With w = g + it a root of the symbol, P(w) = 0, it solves P(∂)u = 0 exactly: a layer of the width 1/|g|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex


@dataclass(frozen=True)
class ExponentialBasis:
    """Given by growths and turns (d, M), offsets and phases (M,); there is nothing to draw."""

    growths: Array
    turns: Array
    offsets: Array
    phases: Array

    spread = 0
    """They solve the equation everywhere: they need no points inside."""

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
        """∂^α is the product of powers of w."""
        return np.asarray(np.prod(w ** np.array(alpha)[:, None], axis=0))

r"""a(x) = exp(Σᵢ (xᵢ - cᵢ)/hᵢ): one function that is positive with all its derivatives.

About a constant some equations have no linearisation (log u' has none), and of some it says nothing
(u'² = 1). About this function they have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex


@dataclass(frozen=True)
class Growth:
    """Grows by e² from one side of the box (d, 2) to the other, in every coordinate."""

    box: Array

    @property
    def size(self) -> int:
        return 1

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        centre, half = self.box.mean(axis=1), 0.5 * np.ptp(self.box, axis=1)
        values = np.exp(((X - centre) / half).sum(axis=1, keepdims=True))
        return [np.asfortranarray(values / np.prod(half ** np.asarray(alpha))) for alpha in alphas]

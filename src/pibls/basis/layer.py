r"""∂^α φ(xW + β) = φ^{(|α|)}(xW + β) ⊙ W^α: one layer of ridge functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.activation import Activation


@dataclass(frozen=True)
class Layer:
    """φ(ξW + β) with ξ = (x - centre)/half: weights (d, M) and biases (M,) for [-1, 1]^d."""

    weights: Array
    biases: Array
    activation: Activation
    centre: Array
    half: Array

    @classmethod
    def on_box(cls, weights: Array, biases: Array, activation: Activation, box: Array) -> Layer:
        """The layer for inputs from ``box`` (d, 2), mapped to [-1, 1]^d."""
        return cls(weights, biases, activation, box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0]))

    @property
    def size(self) -> int:
        return len(self.biases)

    def activations(self, X: Array, orders: Iterable[int]) -> dict[int, Array]:
        """φ⁽ᵏ⁾ at the points, (N, M) in Fortran order, for each order k."""
        wanted = sorted(set(orders))
        # (WᵀXᵀ)ᵀ rather than XW: the result is in Fortran order, as LAPACK will want the system.
        s = (self.weights.T @ ((X - self.centre) / self.half).T).T
        s += self.biases
        return dict(zip(wanted, self.activation.derivatives(s, wanted), strict=True))

    def power(self, alpha: MultiIndex) -> Array:
        """W^α in the units of x: the factor that ∂^α brings, (M,)."""
        factor = np.ones(self.size)
        for w, h, a in zip(self.weights, self.half, alpha, strict=True):
            if a:
                factor *= (w / h) ** a
        return factor

r"""Random features a_j(x) = φ(w_j·x + b_j)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.activation import Activation, Sine, activation
from pibls.basis.checks import check_integer, check_positive_scale
from pibls.basis.layer import Layer

_MARGIN = 1.1  # ridge centres are drawn over a box this much larger than the domain


@dataclass(frozen=True)
class Features:
    """φ(w·x + b) with w uniform in the ball of radius ``scale``, for inputs mapped to [-1, 1].

    Sines have random phases. Ridge activations (tanh, gaussian, …) have b = -w·c with centres c drawn from a
    box slightly larger than the domain, so that no node is constant in the domain.

    >>> Features(100, scale=8.0).size
    100
    """

    nodes: int
    scale: float
    activation: str | Activation = "sin"

    def __post_init__(self) -> None:
        check_integer(self.nodes, "Features(nodes)", least=1)
        check_positive_scale(self.scale, "Features(scale)")
        activation(self.activation, "Features(activation)")

    @property
    def size(self) -> int:
        return self.nodes

    def draw(self, box: Array, rng: np.random.Generator) -> FeatureBasis:
        d = len(box)
        phi = activation(self.activation)
        direction = rng.standard_normal((d, self.nodes))
        direction /= np.linalg.norm(direction, axis=0)
        weights = self.scale * rng.random(self.nodes) ** (1.0 / d) * direction
        if isinstance(phi, Sine):
            biases = rng.uniform(0.0, 2.0 * np.pi, self.nodes)
        else:
            biases = -np.sum(weights * rng.uniform(-_MARGIN, _MARGIN, (d, self.nodes)), axis=0)
        return FeatureBasis(Layer.on_box(weights, biases, phi, box))


@dataclass(frozen=True)
class FeatureBasis:
    """Drawn random features: one layer."""

    layer: Layer

    @property
    def size(self) -> int:
        return self.layer.size

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        phi = self.layer.activations(X, map(sum, alphas))
        return [phi[sum(a)] * self.layer.weight_power(a) if any(a) else phi[0] for a in alphas]

r"""Ridge functions a_j(x) = φ(w_j·(x - c_j)) of many widths near given centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.basis.activation import Activation, activation
from pibls.basis.checks import check_integer, check_positive_scale
from pibls.basis.feature import FeatureBasis
from pibls.basis.layer import Layer


@dataclass(frozen=True)
class Ridges:
    """φ(w·(x - c)) with c near one of the ``centres``, |w| log-uniform from 1 to ``scale``.

    Wide and narrow ridges in all directions near given points, for example those where the residual of an
    earlier solution is large. The distance of c from its centre is proportional to the width of the ridge.
    """

    nodes: int
    scale: float
    centres: tuple[tuple[float, ...], ...]
    activation: str | Activation = "tanh"

    def __post_init__(self) -> None:
        check_integer(self.nodes, "Ridges(nodes)", least=1)
        check_positive_scale(self.scale, "Ridges(scale)")
        activation(self.activation, "Ridges(activation)")

    @property
    def size(self) -> int:
        return self.nodes

    def draw(self, box: Array, rng: np.random.Generator) -> FeatureBasis:
        d = len(box)
        direction = rng.standard_normal((d, self.nodes))
        direction /= np.linalg.norm(direction, axis=0)
        size = np.exp(rng.uniform(0.0, np.log(max(self.scale, 1.0)), self.nodes))
        chosen = np.array(self.centres)[rng.integers(0, len(self.centres), self.nodes)]
        half = 0.5 * (box[:, 1] - box[:, 0])
        centres = (chosen - box.mean(axis=1)) / half + rng.standard_normal((self.nodes, d)) / size[:, None]
        weights = size * direction
        biases = -np.sum(weights * centres.T, axis=0)
        return FeatureBasis(Layer.on_box(weights, biases, activation(self.activation), box))

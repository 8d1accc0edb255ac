r"""Homotopy from the linearized to the nonlinear system: r_λ(w) = (1 - λ)(J₀w - b₀) + λ r(w).

λ = 0 is the linearized system, λ = 1 the nonlinear system. Small steps of λ, each started from the last
solution, avoid local minima of ‖r‖ in which a direct iteration would end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.assembly.system_base import SystemBase
from pibls.linalg.matrix import Matrix, as_matrix
from pibls.nonlinear.protocol import Equations


@dataclass(frozen=True)
class Homotopy(SystemBase[Matrix]):
    """A weighted mean of a system and its linearization J₀ w = b₀."""

    system: Equations
    matrix: Matrix = field(repr=False)
    target: Array = field(repr=False)
    weight: float
    """λ."""
    is_linear = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.system.shape

    def residual(self, w: Array) -> Array:
        linear = self.matrix @ w - self.target
        return np.asarray((1.0 - self.weight) * linear + self.weight * self.system.residual(w))

    def values(self, w: Array) -> Array:
        return self.system.values(w)

    def values_of_constant(self, u: float) -> Array:
        return self.system.values_of_constant(u)

    def _linearized(self, v: Array) -> tuple[Matrix, Array]:
        J, b = self.system.linearize(v)
        J = as_matrix(J).blend(as_matrix(self.matrix), self.weight)
        return J, self.weight * b + (1.0 - self.weight) * self.target

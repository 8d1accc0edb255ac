r"""r_λ(w) = (1 - λ)(J₀w - b₀) + λ r(w): from the linearised problem to the nonlinear one.

At λ = 0 it is the linear system that every method starts from; at λ = 1 it is the problem. Small
steps of λ, each started from the last solution, lead around local minima of ‖r‖ in which a direct
descent ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.assembly.system_base import Asked
from pibls.linalg.matrix import Matrix, as_matrix
from pibls.nonlinear.protocol import Equations


@dataclass(frozen=True)
class Homotopy(Asked[Matrix]):
    """The blend of a system with its linearisation J₀ w = b₀."""

    system: Equations
    matrix: Matrix = field(repr=False)
    target: Array = field(repr=False)
    share: float
    """λ."""
    is_linear = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.system.shape

    def residual(self, w: Array) -> Array:
        linear = self.matrix @ w - self.target
        return np.asarray((1.0 - self.share) * linear + self.share * self.system.residual(w))

    def values(self, w: Array) -> Array:
        return self.system.values(w)

    def level(self, u: float) -> Array:
        return self.system.level(u)

    def _linearised(self, v: Array) -> tuple[Matrix, Array]:
        J, b = self.system.linearise(v)
        J = as_matrix(J).blend(self.matrix, self.share)
        return J, self.share * b + (1.0 - self.share) * self.target

"""A(x) = [a₁(x), …, a_M(x)]: functions with exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pibls.arrays import Array, MultiIndex


class Basis(Protocol):
    """M functions whose every derivative can be evaluated."""

    @property
    def size(self) -> int:
        """M."""

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        """∂^α A at the points X (N, d) for each α: arrays (N, M), in Fortran order.

        All multi-indices are asked for at once, so that each activation derivative is computed once.
        """


class BasisSpec(Protocol):
    """The hyperparameters of a basis: what is chosen, before anything is drawn."""

    @property
    def size(self) -> int:
        """How many functions `draw` gives."""

    def draw(self, box: Array, rng: np.random.Generator) -> Basis:
        """A basis for the box (d, 2), drawn at random."""


def jet(basis: Basis, X: Array, alpha: MultiIndex) -> Array:
    """∂^α A at the points X, (N, M)."""
    return basis.jets(X, [alpha])[0]

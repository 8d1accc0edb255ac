"""Protocols of a basis A(x) = [a₁(x), …, a_M(x)] and its specification, and evaluation of bases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pibls.arrays import Array, MultiIndex


class Basis(Protocol):
    """M functions whose partial derivatives of any order can be evaluated."""

    @property
    def size(self) -> int:
        """The number of functions M."""

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        """Return ∂^α A at the points X (N, d) for each α: arrays (N, M) in Fortran order.

        All multi-indices are passed at once, so that each derivative of an activation is computed once.
        """


class BasisSpec(Protocol):
    """The hyperparameters of a basis, before random weights are drawn."""

    @property
    def size(self) -> int:
        """The number of functions of a drawn basis."""

    def draw(self, box: Array, rng: np.random.Generator) -> Basis:
        """Return a basis for the box (d, 2) with random weights from ``rng``."""


def linear_combinations(basis: Basis, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
    """Return ∂^α A w for each wanted (α, w), (wanted, N).

    A basis with a method of this name need not form the matrices ∂^α A.
    """
    own = getattr(basis, "linear_combinations", None)
    if own is not None:
        found: Array = own(X, wanted)
        return found
    alphas = sorted({alpha for alpha, _ in wanted})
    tables = dict(zip(alphas, basis.jets(X, alphas), strict=True))
    return np.array([tables[alpha] @ w for alpha, w in wanted])


Operator = tuple[tuple[MultiIndex, float], ...]
"""A differential operator Σ c ∂^α with constant coefficients, as pairs (α, c)."""


def apply_operators(
    basis: Basis, X: Array, operators: Sequence[Operator], targets: Mapping[Operator, Array] | None = None
) -> list[Array]:
    """Return Σ c ∂^α A at the points for each operator, arrays (N, M) in Fortran order.

    ``targets``: output arrays for some operators, used if the basis supports them.
    """
    own = getattr(basis, "apply_operators", None)
    if own is not None:
        found: list[Array] = own(X, operators, targets)
        return found
    alphas = sorted({alpha for terms in operators for alpha, _ in terms})
    tables = dict(zip(alphas, basis.jets(X, alphas), strict=True))
    out = []
    for (alpha, c), *others in operators:
        A = tables[alpha] if c == 1.0 else c * tables[alpha]
        for beta, b in others:
            A = A + b * tables[beta]
        out.append(A)
    return out


@dataclass(frozen=True)
class RescaledBasis:
    """The basis U ↦ A(centre + half·U) in rescaled coordinates."""

    basis: Basis
    centre: Array
    half: Array

    @property
    def size(self) -> int:
        return self.basis.size

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        tables = self.basis.jets(self.centre + self.half * X, alphas)
        return [A * np.prod(self.half ** np.array(alpha)) for alpha, A in zip(alphas, tables, strict=True)]


def rescaled(basis: Basis, centre: Array, half: Array) -> Basis:
    """Return the same functions in the coordinates (x - centre)/half.

    A basis with a method of this name does it without rounding errors of the shift.
    """
    own = getattr(basis, "rescaled", None)
    if own is None:
        return RescaledBasis(basis, centre, half)
    found: Basis = own(centre, half)
    return found


def jet(basis: Basis, X: Array, alpha: MultiIndex) -> Array:
    """Return ∂^α A at the points X, (N, M)."""
    return basis.jets(X, [alpha])[0]

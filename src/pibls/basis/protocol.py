"""Protocols of a basis A(x) = [a₁(x), …, a_M(x)] and its specification, and evaluation of bases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from pibls.arrays import Array, MultiIndex

Operator = tuple[tuple[MultiIndex, float], ...]
"""A differential operator Σ c ∂^α with constant coefficients, as pairs (α, c)."""


class Basis(Protocol):
    """M functions whose partial derivatives of any order can be evaluated."""

    @property
    def size(self) -> int:
        """The number of functions M."""

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        """Return ∂^α A at the points X (N, d) for each α: arrays (N, M) in Fortran order.

        All multi-indices are passed at once, so that each derivative of an activation is computed once.
        """


@runtime_checkable
class CombiningBasis(Protocol):
    """A basis that evaluates linear combinations of its functions without the matrices ∂^α A."""

    def linear_combinations(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """Return ∂^α A w for each wanted (α, w), (wanted, N)."""


@runtime_checkable
class OperatorBasis(Protocol):
    """A basis that evaluates differential operators with constant coefficients directly."""

    def apply_operators(
        self, X: Array, operators: Sequence[Operator], targets: Mapping[Operator, Array] | None = None
    ) -> list[Array]:
        """Return Σ c ∂^α A at the points for each operator, in ``targets`` where given."""


@runtime_checkable
class RescalableBasis(Protocol):
    """A basis that is rescaled without rounding errors of the shift."""

    def rescaled(self, centre: Array, half: Array) -> Basis:
        """Return the same functions in the coordinates (x - centre)/half."""


class SizedSpec(Protocol):
    """A specification of functions."""

    @property
    def size(self) -> int:
        """The number of functions of a drawn basis."""


@runtime_checkable
class BasisSpec(SizedSpec, Protocol):
    """The hyperparameters of a basis, before random weights are drawn."""

    def draw(self, box: Array, rng: np.random.Generator) -> Basis:
        """Return a basis for the box (d, 2) with random weights from ``rng``."""


def is_basis_spec(given: object) -> bool:
    """Whether an argument is a specification of a basis."""
    return isinstance(given, BasisSpec)


@runtime_checkable
class PartlyInteriorSpec(Protocol):
    """A specification in which only some functions determine the number of interior points."""

    @property
    def interior_size(self) -> int:
        """The number of these functions; others need points elsewhere, or none."""


def is_partly_interior(given: object) -> bool:
    """Whether an argument is a specification in which only some functions need interior points."""
    return isinstance(given, PartlyInteriorSpec)


def interior_size(spec: SizedSpec) -> int:
    """Return the number of functions that determine the number of interior points."""
    return spec.interior_size if isinstance(spec, PartlyInteriorSpec) else spec.size


def linear_combinations(basis: Basis, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
    """Return ∂^α A w for each wanted (α, w), (wanted, N)."""
    if isinstance(basis, CombiningBasis):
        return basis.linear_combinations(X, wanted)
    alphas = sorted({alpha for alpha, _ in wanted})
    tables = dict(zip(alphas, basis.jets(X, alphas), strict=True))
    return np.array([tables[alpha] @ w for alpha, w in wanted])


def apply_operators(
    basis: Basis, X: Array, operators: Sequence[Operator], targets: Mapping[Operator, Array] | None = None
) -> list[Array]:
    """Return Σ c ∂^α A at the points for each operator, arrays (N, M) in Fortran order.

    ``targets``: output arrays for some operators, used if the basis supports them.
    """
    if isinstance(basis, OperatorBasis):
        return basis.apply_operators(X, operators, targets)
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
    """Return the same functions in the coordinates (x - centre)/half."""
    if isinstance(basis, RescalableBasis):
        return basis.rescaled(centre, half)
    return RescaledBasis(basis, centre, half)


def jet(basis: Basis, X: Array, alpha: MultiIndex) -> Array:
    """Return ∂^α A at the points X, (N, M)."""
    return basis.jets(X, [alpha])[0]

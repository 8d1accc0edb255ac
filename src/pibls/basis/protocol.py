"""A(x) = [a₁(x), …, a_M(x)]: functions with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def summed(basis: Basis, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
    """∂^α A w for each wanted (α, w), (wanted, N)."""
    sums = getattr(basis, "sums", None)
    if sums is not None:
        found: Array = sums(X, wanted)
        return found
    alphas = sorted({alpha for alpha, _ in wanted})
    tables = dict(zip(alphas, basis.jets(X, alphas), strict=True))
    return np.array([tables[alpha] @ w for alpha, w in wanted])


Operator = tuple[tuple[MultiIndex, float], ...]
"""Σ c ∂^α with numbers c, as pairs (α, c)."""


def operated(
    basis: Basis, X: Array, operators: Sequence[Operator], targets: Mapping[Operator, Array] | None = None
) -> list[Array]:
    """Σ c ∂^α A at the points for each operator, arrays (N, M) in Fortran order.

    ``targets``: where some of them may be written, if the basis can.
    """
    own = getattr(basis, "operated", None)
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
class Seen:
    """U ↦ A(centre + half·U): a basis in other coordinates."""

    basis: Basis
    centre: Array
    half: Array

    @property
    def size(self) -> int:
        return self.basis.size

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        tables = self.basis.jets(self.centre + self.half * X, alphas)
        return [A * np.prod(self.half ** np.array(alpha)) for alpha, A in zip(alphas, tables, strict=True)]


def seen_from(basis: Basis, centre: Array, half: Array) -> Basis:
    """The same functions of the coordinates (x - centre)/half; a basis that can, keeps all digits."""
    own = getattr(basis, "seen_from", None)
    if own is None:
        return Seen(basis, centre, half)
    found: Basis = own(centre, half)
    return found


def jet(basis: Basis, X: Array, alpha: MultiIndex) -> Array:
    """∂^α A at the points X, (N, M)."""
    return basis.jets(X, [alpha])[0]

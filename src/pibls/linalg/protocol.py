"""A linear solver factors a matrix once and applies the factors to any number of right-hand sides."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pibls.arrays import Array
from pibls.linalg.matrix import Matrix


class Factorization(Protocol):
    """A factored matrix."""

    @property
    def rank(self) -> int:
        """The numerical rank that was used."""

    def apply(self, b: Array) -> Array:
        """The minimum-norm least-squares solution of A w = b."""


@runtime_checkable
class Levered(Factorization, Protocol):
    """Factors that also tell how firmly the rows hold a value, as the search for missing conditions asks."""

    def leverage(self, values: Array) -> Array:
        """‖R⁻ᵀ a‖ for each row a of values (N, M): how far a·w may move per unit of residual."""

    def influence(self, values: Array, changes: Array) -> Array:
        """Σᵢ|∂(a·w)/∂bᵢ| cᵢ for each row a of values (N, M): how far changes of b may move a·w together."""


def levered(factors: object) -> Levered | None:
    """Factors themselves, if they tell that."""
    return factors if isinstance(factors, Levered) else None


class LinearSolver(Protocol):
    """Least squares for one matrix and any number of right-hand sides."""

    def factor(self, A: Matrix) -> Factorization:
        """Factor A, which is left unchanged."""


class ScaledSolver(Protocol):
    """A linear solver whose row norms and truncation can be prescribed, as nonlinear methods need."""

    @property
    def cond(self) -> float:
        """The smallest truncation, relative to the largest singular value."""

    def factor_scaled(self, A: Matrix, scale: Array, cond: float) -> Factorization:
        """Factor diag(1/scale)·A, truncated or regularised at ``cond``."""

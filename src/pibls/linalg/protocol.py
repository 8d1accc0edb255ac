"""Protocols of linear solvers: factor a matrix once, apply the factors to any number of right-hand sides."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from pibls.arrays import Array
from pibls.linalg.matrix import Matrix


class Factorization(Protocol):
    """A factored matrix."""

    @property
    def rank(self) -> int:
        """Numerical rank."""

    def apply(self, b: Array) -> Array:
        """Return the minimum-norm least-squares solution of A w = b."""


@runtime_checkable
class LeverageFactorization(Factorization, Protocol):
    """Factors that also give the sensitivity of functionals a·w, used to detect missing conditions."""

    def leverage(self, values: Array) -> Array:
        """Return ‖R⁻ᵀ a‖ for each row a of values (N, M): the possible change of a·w per unit of residual."""

    def influence(self, values: Array, changes: Array) -> Array:
        """Return Σᵢ|∂(a·w)/∂bᵢ| cᵢ for each row a of values (N, M): the largest change of a·w."""


def as_leverage_factorization(factors: object) -> LeverageFactorization | None:
    """Return the factors if they are a `LeverageFactorization`, else None."""
    return factors if isinstance(factors, LeverageFactorization) else None


@runtime_checkable
class LinearSolver(Protocol):
    """A least-squares solver for one matrix and any number of right-hand sides."""

    def factor(self, A: Matrix) -> Factorization:
        """Factor A, which is left unchanged."""


def is_linear_solver(given: object) -> bool:
    """Whether an argument is a linear solver; the class of one is not."""
    return isinstance(given, LinearSolver) and not isinstance(given, type)


class ScaledSolver(Protocol):
    """A linear solver whose row norms and truncation can be prescribed, as nonlinear methods need."""

    @property
    def cond(self) -> float:
        """The smallest truncation, relative to the largest singular value."""

    def factor_scaled(self, A: Matrix, scale: Array, cond: float) -> Factorization:
        """Factor diag(1/scale)·A, truncated or regularized at ``cond``."""

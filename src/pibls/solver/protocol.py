"""Two small protocols: linear solvers factor and apply, methods take a system to an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pibls.arrays import Array
from pibls.status import Status


class Equations(Protocol):
    """r(w) and J(w): what a method may ask of a system."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def is_linear(self) -> bool:
        """Whether J does not depend on w."""

    def residual(self, w: Array) -> Array:
        """r(w)."""

    def jacobian(self, w: Array) -> Array:
        """J(w)."""

    def values(self, w: Array) -> Array:
        """The solution and its derivatives where they enter nonlinearly."""


class Factorization(Protocol):
    """A factored matrix."""

    @property
    def rank(self) -> int:
        """The numerical rank that was used."""

    def apply(self, b: Array) -> Array:
        """The minimum-norm least-squares solution of A w = b."""


class LinearSolver(Protocol):
    """Least squares for one matrix and any number of right-hand sides."""

    def factor(self, A: Array) -> Factorization:
        """Factor A, which is left unchanged."""


@dataclass(frozen=True)
class Outcome:
    """Where a method ended: the coefficients, ½‖r‖², the steps taken, the rank used."""

    w: Array
    cost: float
    steps: int
    status: Status
    rank: int | None = None


class Method(Protocol):
    """An algorithm that takes a system to an outcome."""

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        """Minimise ‖r(w)‖²."""


def cost_of(r: Array) -> float:
    """½‖r‖²; infinite where the residual is not a number."""
    value = 0.5 * float(r @ r)
    return value if np.isfinite(value) else np.inf


def linear_start(system: Equations) -> tuple[Array, Array]:
    """J(0) and -r(0): the system with its nonlinear terms linearised about zero."""
    zero = np.zeros(system.shape[1])
    return system.jacobian(zero), -system.residual(zero)

"""Protocols of nonlinear methods and of the systems r(w) = 0 they solve, and initial values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.linalg.matrix import Matrix, is_finite
from pibls.linalg.protocol import Factorization
from pibls.status import Status


class Equations(Protocol):
    """A system of equations r(w) = 0 with Jacobian J(w), as methods use it."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    def is_linear(self) -> bool:
        """Whether J does not depend on w."""

    def residual(self, w: Array) -> Array:
        """Return the residual r(w)."""

    def jacobian(self, w: Array) -> Matrix:
        """Return the Jacobian J(w)."""

    def row_scales(self, J: Matrix) -> Array:
        """Return the divisors of the rows of J."""

    def values(self, w: Array) -> Array:
        """Return v: the derivatives of the solution that enter nonlinear terms, at the points."""

    def values_of_constant(self, u: float) -> Array:
        """Return v of the constant function u."""

    def linear_part(self) -> tuple[Matrix, Array]:
        """Return J and b of the system without nonlinear terms."""

    def linearize(self, v: Array) -> tuple[Matrix, Array]:
        """Return J and b of the system linearized about v; the solution of J w = b is the next w."""


@dataclass(frozen=True)
class Outcome:
    """Result of a method: the coefficients, the cost ½‖r‖², the number of steps, the status, the rank."""

    w: Array
    cost: float
    steps: int
    status: Status
    rank: int | None = None
    relative: float = 0.0
    """The last row-scaled residual relative to that of w = 0 (nonlinear methods)."""
    factors: Factorization | None = field(default=None, repr=False, compare=False)
    """The last factored Jacobian, if the method keeps it."""


class Method(Protocol):
    """An algorithm that solves a system."""

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        """Minimize ‖r(w)‖²."""


def check_nonnegative(method: str, **numbers: Any) -> None:
    """Raise a `ProblemError` for negative or non-finite parameters, and for counts that are not integers."""
    for name, value in numbers.items():
        counted = name in ("rounds", "max_steps", "continuation")
        kinds = (int, np.integer) if counted else (int, float, np.integer, np.floating)
        if not (isinstance(value, kinds) and math.isfinite(value) and value >= 0):
            raise ProblemError(
                f"{method}({name})",
                expected="a whole number of at least 0" if counted else "a finite number of at least 0",
                got=repr(value),
                remedy=f"Leave {name} out to use its default.",
            )


def cost_of(r: Array) -> float:
    """Return ½‖r‖², or infinity if the residual is not finite."""
    value = 0.5 * float(r @ r)
    return value if np.isfinite(value) else np.inf


START_CONSTANTS = (0.0, 1.0, -1.0, 0.1)
"""Constants that are tried in turn as initial values of a nonlinear problem."""


def starting_values(system: Equations) -> Array:
    """Return v of a constant about which the system can be linearized: zero, unless it is singular there."""
    for u in START_CONSTANTS:
        v = system.values_of_constant(u)
        if all(is_finite(part) for part in system.linearize(v)):
            return v
    raise ProblemError(
        "problem",
        expected="equations that are finite for some constant value of the unknowns",
        got=f"infinite or undefined terms at each of {START_CONSTANTS}",
        remedy="Rewrite the equation without the singularity, for example multiply by the denominator.",
    )


def linear_start(system: Equations) -> tuple[Matrix, Array]:
    """Return J and b of the system with its nonlinear terms linearized about a constant."""
    return system.linearize(starting_values(system))


_MAX_COST_RATIO = 2.0
"""Cost of a nonlinear minimum relative to that of the linearized problem up to which the basis limits it.

Fisher-KPP from noisy initial data with 400 nodes: 0.8 to 1.0. Minima of TC-9 to TC-11 that are solutions:
below 1e-3.
"""


def limited_by_basis(cost: float, linear_cost: float) -> bool:
    """Whether the cost of a minimum is limited by the basis.

    The linearized problem has a unique minimum. If its residual in this basis is as large as that of the
    nonlinear problem, more nodes are needed, not another initial guess.
    """
    return cost <= _MAX_COST_RATIO * linear_cost

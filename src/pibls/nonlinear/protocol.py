"""A method takes a system, r(w) and J(w), to an outcome."""

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
    """r(w) and J(w): what a method may ask of a system."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def is_linear(self) -> bool:
        """Whether J does not depend on w."""

    def residual(self, w: Array) -> Array:
        """r(w)."""

    def jacobian(self, w: Array) -> Matrix:
        """J(w)."""

    def row_sizes(self, J: Matrix) -> Array:
        """What the rows of J are divided by."""

    def values(self, w: Array) -> Array:
        """v: the solution and its derivatives where they enter nonlinearly."""

    def level(self, u: float) -> Array:
        """v of the constant function u."""

    def linear_part(self) -> tuple[Matrix, Array]:
        """J and b without the nonlinear terms."""

    def linearise(self, v: Array) -> tuple[Matrix, Array]:
        """J and b of the system linearised about v: its solution is the next w."""


@dataclass(frozen=True)
class Outcome:
    """Where a method ended: the coefficients, ½‖r‖², the steps taken, the rank used."""

    w: Array
    cost: float
    steps: int
    status: Status
    rank: int | None = None
    relative: float = 0.0
    """The last row-scaled residual, relative to that of zero (nonlinear methods)."""
    factors: Factorization | None = field(default=None, repr=False, compare=False)
    """The last factored Jacobian, where the method keeps it."""


class Method(Protocol):
    """An algorithm that takes a system to an outcome."""

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        """Minimise ‖r(w)‖²."""


def at_least_zero(method: str, **numbers: Any) -> None:
    """Refuse what a method cannot be told: lengths and tolerances below zero, counts that are not whole."""
    for name, value in numbers.items():
        counted = name in ("rounds", "max_steps", "continuation")
        kinds = (int, np.integer) if counted else (int, float, np.integer, np.floating)
        if not (isinstance(value, kinds) and math.isfinite(value) and value >= 0):
            raise ProblemError(
                f"{method}({name})",
                expected="a whole number of at least 0" if counted else "a finite number of at least 0",
                got=repr(value),
                remedy="Leave it out for the usual one.",
            )


def cost_of(r: Array) -> float:
    """½‖r‖²; infinite where the residual is not a number."""
    value = 0.5 * float(r @ r)
    return value if np.isfinite(value) else np.inf


LEVELS = (0.0, 1.0, -1.0, 0.1)
"""Constants from which a nonlinear problem is started, one after another."""


def starting_values(system: Equations) -> Array:
    """v of a constant about which the system can be linearised: zero, unless it is singular there."""
    for u in LEVELS:
        v = system.level(u)
        if all(is_finite(part) for part in system.linearise(v)):
            return v
    raise ProblemError(
        "problem",
        expected="equations that are finite for some constant value of the unknowns",
        got=f"infinite or undefined terms at each of {LEVELS}",
        remedy="Rewrite the equation without the singularity, for example multiply it out.",
    )


def linear_start(system: Equations) -> tuple[Matrix, Array]:
    """J and b of the system with its nonlinear terms linearised about a constant."""
    return system.linearise(starting_values(system))


_LINEAR_LOSSES = 2.0
"""Loss of a nonlinear minimum over that of the linearised problem, up to which the basis is its cause.

Fisher-KPP from noisy initial data with 400 nodes: 0.8 to 1.0. Minima of TC-9 to TC-11 that are solutions:
below 1e-3.
"""


def limited_by_basis(cost: float, linear_cost: float) -> bool:
    """Whether a minimum is as good as the basis allows, in any units.

    The linearised problem has one minimum. If its residual in this basis is as large as that of the nonlinear
    problem, more nodes are missing, not another start.
    """
    return cost <= _LINEAR_LOSSES * linear_cost

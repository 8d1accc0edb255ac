"""One problem of the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pibls
from pibls.arrays import Array

Function = Callable[..., Array]
"""Values of an unknown, from one array per coordinate."""


@dataclass(frozen=True)
class Samples:
    """Values of an unknown, known at points (n, d) only."""

    points: Array
    values: Array


Reference = Function | Samples
References = Mapping[str, Reference]
"""A reference for each unknown, by its name; unknowns without a reference are missing."""


def interior_points(problem: pibls.Problem, seed: int) -> Array:
    """Return 3000 random points inside the domain."""
    return np.asarray(problem.domain.interior(3000, np.random.default_rng([seed, 77])), dtype=float)


@dataclass(frozen=True)
class Entry:
    """A problem, a reference for each of its unknowns, and the accuracy that is required."""

    name: str
    set: str
    build: Callable[[], pibls.Problem]
    references: Callable[[], References]
    """References are computed when they are needed; an empty mapping for problems without a solution."""
    tol: float
    tags: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of `pibls.solve`."""
    has_solution: bool = True
    """Whether there is exactly one solution, or one of `alternatives` is found."""
    alternatives: Callable[[], Sequence[References]] = tuple
    """References of further solutions of a nonlinear problem; the nearest one counts."""
    accuracy: float = 0.0
    """Accuracy of the references, relative to max|u|."""
    required: float | None = None
    """Required error relative to max|u| of each unknown; by default 3 tol."""
    points: Callable[[pibls.Problem, int], Array] = interior_points
    """Points (n, d) at which errors are measured, for a seed."""
    verify: Callable[[], Any] | None = None
    """A check of the references that does not use the solver; its result has an attribute `ok`."""

    @property
    def limit(self) -> float:
        """Largest relative error of a solved problem."""
        return 3.0 * self.tol if self.required is None else self.required

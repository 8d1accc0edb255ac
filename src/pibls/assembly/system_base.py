"""Base class of assembled systems, with default implementations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import numpy as np

from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.linalg.matrix import Matrix, norms
from pibls.problem.forms.compilation import Residual
from pibls.runtime.caching import cached_property
from pibls.spaces import Space

if TYPE_CHECKING:
    from pibls.assembly.hybridized.cell_system import CellSystem
    from pibls.assembly.system import System


M = TypeVar("M", bound=Matrix)


class SystemBase(ABC, Generic[M]):
    """Residual r(w) and Jacobian J(w) of an assembled problem, with defaults shared by most systems.

    v denotes the values of the derivatives that enter nonlinearly, at all points.
    """

    is_linear: bool
    """Whether J does not depend on w."""

    fronts = 1
    """Number of matrices that are factored, each with its share of the columns."""
    has_singular_functions = False
    """Whether the basis has singular functions with one coefficient in several unknowns."""

    @property
    def nonlinear_residuals(self) -> Iterator[tuple[PointSet, Residual]]:
        """Points and residuals of the nonlinear equations, in the order of v."""
        return iter(())

    @abstractmethod
    def values(self, w: Array) -> Array:
        """Return v of the function with coefficients w."""

    def values_of(self, space: Space, w: Array) -> Array:
        """Return v of the function with coefficients w in any space."""
        parts = [space.values(points.sites, r.nonlinear, w).ravel() for points, r in self.nonlinear_residuals]
        return np.concatenate([np.empty(0), *parts])

    def values_of_constant(self, u: float) -> Array:
        """Return v of the constant function u."""
        parts = [
            np.full(len(p), 0.0 if any(derivative.alpha) else u)
            for p, r in self.nonlinear_residuals
            for derivative in r.nonlinear
        ]
        return np.concatenate([np.empty(0), *parts])

    @abstractmethod
    def _linearized(self, v: Array) -> tuple[M, Array]:
        """Return J and b of the system linearized about v."""

    @cached_property
    def _linear(self) -> tuple[M, Array]:
        return self._linearized(np.empty(0))  # one object, because it caches its row norms

    def linearize(self, v: Array) -> tuple[M, Array]:
        """Return J and b of the system linearized about v: min ‖J w - b‖ gives the next w. Do not modify."""
        return self._linear if self.is_linear else self._linearized(v)

    def linear_part(self) -> tuple[M, Array]:
        """Return J and b without the nonlinear terms, or linearized about zero if these are not separate."""
        return self.linearize(self.values_of_constant(0.0))

    def jacobian(self, w: Array) -> M:
        """Return J(w), (rows, columns). Do not modify it."""
        return self.linearize(self.values(w))[0]

    @property
    def as_single_matrix(self) -> Self | None:
        """This system if it has a single matrix, else None."""
        return self

    @property
    def conditioning_target(self) -> Self | None:
        """This system if its conditioning can be tested, else None."""
        return self

    @property
    def as_cell_system(self) -> CellSystem | None:
        """This system if each cell has its own rows, else None."""
        return None

    @property
    def as_stored(self) -> System | None:
        """This system if it stores its rows as assembled, else None."""
        return None

    def expand(self, w: Array) -> Array:
        """Return the coefficients of the space for the solution vector w."""
        return w

    def merge_columns(self, A: Array) -> Array:
        """Return the matrix A, given for the coefficients of the space, as a matrix for w."""
        return A

    def row_scales(self, J: Matrix) -> Array:
        """Return the divisors of the rows of J: their norms."""
        return norms(J, 1)

"""What is asked of a system beside r(w) and J(w): where most of them have the same answer, it is here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import numpy as np

from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.caching import cached_property
from pibls.linalg.matrix import Matrix, norms
from pibls.problem.forms.lowering import Residual
from pibls.spaces import Space

if TYPE_CHECKING:
    from pibls.assembly.hybridized.cells import CellSystem
    from pibls.assembly.system import System


M = TypeVar("M", bound=Matrix)


class Asked(ABC, Generic[M]):
    """The usual answers."""

    is_linear: bool
    """Whether J does not depend on w."""

    fronts = 1
    """Matrices that are factored, each with its share of the columns."""
    has_corners = False
    """Whether some of its functions are singular, with one coefficient in several unknowns."""

    @property
    def bent(self) -> Iterator[tuple[PointSet, Residual]]:
        """Where the solution enters nonlinearly: points and residuals, in the order of v."""
        return iter(())

    @abstractmethod
    def values(self, w: Array) -> Array:
        """v: the nonlinear jets at the points, where the solution enters nonlinearly."""

    def values_of(self, space: Space, w: Array) -> Array:
        """v of the function with coefficients w in any space."""
        parts = [space.values(points.sites, r.nonlinear, w).ravel() for points, r in self.bent]
        return np.concatenate([np.empty(0), *parts])

    def level(self, u: float) -> Array:
        """v of the constant function u."""
        parts = [np.full(len(p), 0.0 if any(jet.alpha) else u) for p, r in self.bent for jet in r.nonlinear]
        return np.concatenate([np.empty(0), *parts])

    @abstractmethod
    def _linearised(self, v: Array) -> tuple[M, Array]:
        """J and b of the system linearised about v."""

    @cached_property
    def _linear(self) -> tuple[M, Array]:
        return self._linearised(np.empty(0))  # one object, because it remembers its row norms

    def linearise(self, v: Array) -> tuple[M, Array]:
        """J and b of the system linearised about v: its solution is the next w. Do not write into them."""
        return self._linear if self.is_linear else self._linearised(v)

    def linear_part(self) -> tuple[M, Array]:
        """J and b without the nonlinear terms; linearised about zero where they are not kept apart."""
        return self.linearise(self.level(0.0))

    def jacobian(self, w: Array) -> M:
        """J(w), (rows, columns). Do not write into it."""
        return self.linearise(self.values(w))[0]

    @property
    def in_one_piece(self) -> Self | None:
        """Itself, where it has one matrix: neither cells nor halves."""
        return self

    @property
    def probed(self) -> Self | None:
        """Itself, where it can be asked how firmly it holds its solution."""
        return self

    @property
    def in_cells(self) -> CellSystem | None:
        """Itself, where each cell has its own rows."""
        return None

    @property
    def held(self) -> System | None:
        """Itself, where its rows are held as they were assembled."""
        return None

    def full(self, w: Array) -> Array:
        """The coefficients of the space."""
        return w

    def tied(self, A: Array) -> Array:
        """Rows for the coefficients of the space, as rows for w."""
        return A

    def row_sizes(self, J: Matrix) -> Array:
        """What the rows of J are divided by: their lengths."""
        return norms(J, 1)

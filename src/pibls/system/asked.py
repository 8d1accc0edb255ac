"""What is asked of a system beside r(w) and J(w): where most of them have the same answer, it is here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pibls.arrays import Array
from pibls.linalg.matrix import Matrix, norms

if TYPE_CHECKING:
    from pibls.system.cells import CellSystem
    from pibls.system.system import System


class Asked:
    """The usual answers."""

    fronts = 1
    """Matrices that are factored, each with its share of the columns."""
    has_corners = False
    """Whether some of its functions are singular, with one coefficient in several unknowns."""

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

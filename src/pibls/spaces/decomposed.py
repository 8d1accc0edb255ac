r"""A basis in each cell of a grid: A(x) = [χ₁(x) A₁(x) | … | χ_S(x) A_S(x)].

The cells do not overlap and each function is nonzero in one cell only, so that the matrix is block-sparse.
The cells are coupled through the traces on their faces (`assembly.hybridized.face_traces`), as in the local
extreme learning machine (locELM) of Dong and Li, with the traces as unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from pibls.arrays import Array
from pibls.basis.checks import check_integer
from pibls.basis.protocol import BasisSpec, is_basis_spec
from pibls.errors import ProblemError
from pibls.spaces.cell_space import CellSpace
from pibls.spaces.cell_tree import CellTree
from pibls.spaces.single_domain import SingleDomainSpace


@dataclass(frozen=True)
class Decomposed:
    """A basis ``local`` drawn independently in each cell of a grid of ``cells`` over the bounding box.

    >>> from pibls.basis import Features
    >>> Decomposed((4, 2), Features(50, scale=3.0)).size
    400
    """

    cells: tuple[int, ...]
    local: BasisSpec

    def __post_init__(self) -> None:
        cells = (self.cells,) if isinstance(self.cells, int) else tuple(self.cells)
        object.__setattr__(self, "cells", cells)
        for count in cells:
            check_integer(count, "Decomposed(cells)", least=1)
        if not is_basis_spec(self.local):
            raise ProblemError(
                "Decomposed(local)",
                expected="a basis for each cell",
                got=repr(self.local),
                remedy="Write Decomposed((4, 4), Features(100, scale=3.0)).",
            )

    @property
    def size(self) -> int:
        return prod(self.cells) * self.local.size

    def space(self, box: Array, rng: np.random.Generator, unknowns: int) -> CellSpace:
        """Return the space with drawn bases; all unknowns share the basis of a cell."""
        if len(self.cells) != len(box):
            raise ProblemError(
                "Decomposed(cells)",
                expected=f"a number of cells for each of the {len(box)} coordinates",
                got=repr(self.cells),
                remedy="Write Decomposed((4, 2), …) for four by two cells.",
            )
        tree = CellTree.grid(box, self.cells)
        parts = tuple(
            SingleDomainSpace.shared(self.local.draw(b, child), unknowns)
            for b, child in zip(tree.boxes, rng.spawn(len(tree)), strict=True)
        )
        return CellSpace(tree, parts)

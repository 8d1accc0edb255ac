r"""A(x) = [χ₁(x) A₁(x) | … | χ_S(x) A_S(x)]: a basis of its own in each cell of a grid.

The cells do not overlap, and a function belongs to one cell alone: most of the matrix is zero. What holds
the cells together are the traces on their faces (`system.divided.traces`), as in the local extreme learning
machine (locELM) of Dong and Li, with the traces as unknowns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from pibls.arrays import Array
from pibls.basis.checks import whole
from pibls.basis.protocol import BasisSpec
from pibls.errors import ProblemError
from pibls.spaces.cells import Cells
from pibls.spaces.single_domain import Whole
from pibls.spaces.tree import CellTree


@dataclass(frozen=True)
class Decomposed:
    """``local`` drawn anew in each cell of a grid of ``cells`` over the bounding box.

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
            whole(count, "Decomposed(cells)", least=1)
        if not (hasattr(self.local, "draw") and hasattr(self.local, "size")):
            raise ProblemError(
                "Decomposed(local)",
                expected="a basis for each cell",
                got=repr(self.local),
                remedy="Write Decomposed((4, 4), Features(100, scale=3.0)).",
            )

    @property
    def size(self) -> int:
        return prod(self.cells) * self.local.size

    def space(self, box: Array, rng: np.random.Generator, unknowns: int) -> Cells:
        """The drawn space: all unknowns share the basis of a cell."""
        if len(self.cells) != len(box):
            raise ProblemError(
                "Decomposed(cells)",
                expected=f"a number of cells for each of the {len(box)} coordinates",
                got=repr(self.cells),
                remedy="Write Decomposed((4, 2), …) for four by two cells.",
            )
        tree = CellTree.grid(box, self.cells)
        parts = tuple(
            Whole.shared(self.local.draw(b, child), unknowns)
            for b, child in zip(tree.boxes, rng.spawn(len(tree)), strict=True)
        )
        return Cells(tree, parts)

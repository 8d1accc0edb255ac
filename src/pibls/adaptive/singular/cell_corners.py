r"""Corner functions in cells, u_k = A_c w_{k,c} + B_k γ + C_{k,c} v_c.

Near a corner of a system the functions A_c of a cell converge slowly, however small the cell. The leading
corner functions B_k are used in all cells with the same coefficients γ. Functions C_{k,c} of higher degree
and of lower-order terms of the equations are singular in the cell of the corner only, and are added there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.thresholds import CELL_CORNERS
from pibls.arrays import Array, Mask
from pibls.assembly.cell_points import place_in_cell
from pibls.assembly.hybridized.cell_system import SharedCoefficients
from pibls.assembly.points import PointSet
from pibls.geometry import Domain
from pibls.problem import Region
from pibls.spaces import (
    CellSpace,
    SingleDomainSpace,
    VectorFunctions,
    coefficient_map,
    enriched_basis,
    without_enrichment,
)


@dataclass(frozen=True)
class CellCornerFunctions:
    """Corner functions of all cells, those of the cell of each corner, and their points."""

    global_functions: tuple[VectorFunctions, ...] = ()
    local_functions: tuple[VectorFunctions, ...] = ()
    enrichment: Enrichment = field(default_factory=Enrichment)

    @classmethod
    def of(cls, extra: Enrichment, share: float = 1.0) -> CellCornerFunctions:
        """Create the functions of an enrichment; for a ``share`` below 1 without the highest powers."""
        everywhere, here = [], []
        for f in extra.vector_functions:
            if not f.strong:
                continue
            most = math.floor(min(f.degrees)) + CELL_CORNERS.global_degree_range if f.exact else -math.inf
            everywhere.append(f.between(-math.inf, most))
            here.append(f.between(most, share * CELL_CORNERS.max_local_degree))
        return cls(tuple(f for f in everywhere if f.size), tuple(f for f in here if f.size), extra)

    def functions_in(self, box: Array) -> tuple[VectorFunctions, ...]:
        """Return the corner functions of a cell, the global ones first."""
        mine = (f for f in self.local_functions if bool(_contains(box, np.array([f.point]))[0]))
        return (*self.global_functions, *mine)

    def has_corner(self, box: Array) -> bool:
        """Whether a cell contains a corner with local functions."""
        return len(self.functions_in(box)) > len(self.global_functions)

    def enrich(self, cells: CellSpace) -> CellSpace:
        """Return the cells with corner functions."""
        parts = [
            SingleDomainSpace(tuple(enriched_basis(b, mine, 0, k) for k, b in enumerate(part.bases)))
            if mine
            else part
            for part, mine in zip(cells.parts, map(self.functions_in, cells.tree.boxes), strict=True)
        ]
        return CellSpace(cells.tree, tuple(parts))

    def shared_coefficients(self, cells: CellSpace, unknowns: int) -> SharedCoefficients:
        """Return which coefficients are shared by the unknowns of a cell, and by all cells."""
        index, apart = {}, {}
        for c, (part, box) in enumerate(zip(cells.parts, cells.tree.boxes, strict=True)):
            mine = self.functions_in(box)
            if mine:
                local = mine[len(self.global_functions) :]
                plain = SingleDomainSpace(
                    tuple(
                        enriched_basis(b, local, 0, k) for k, b in enumerate(without_enrichment(part).bases)
                    )
                )
                index[c], apart[c] = (
                    coefficient_map(part, mine, unknowns),
                    (plain, coefficient_map(plain, local, unknowns)),
                )
        return SharedCoefficients(index, sum(f.size for f in self.global_functions), apart)

    def place_points(
        self, regions: list[Region], domain: Domain, cell: Array, frame: Array, nodes: int
    ) -> dict[Region, PointSet]:
        """Return the points of some regions in a cell, graded towards its corners.

        Integrals cover the whole cell; all other points lie in ``frame``, the clipped cell.
        """
        found = {r: place_in_cell(r, domain, cell if r.is_integral else frame, nodes) for r in regions}
        if not self.has_corner(cell):
            return found
        mine = {r: points for r, points in found.items() if not r.is_integral}
        return found | self.enrichment.restricted_to(partial(_contains, cell)).add_fit_points(mine)

    def __bool__(self) -> bool:
        return bool(self.global_functions or self.local_functions)


def _contains(box: Array, X: Array) -> Mask:
    return np.asarray(((box[:, 0] <= X) & (box[:, 1] >= X)).all(axis=1))

r"""u_k = A_c w_{k,c} + B_k γ + C_{k,c} v_c: waves of a cell, functions of corners in all cells and in theirs.

Beside a corner of a system no polynomial of a cell is any good, however small the cell: the leading
functions of the corner, whose coefficients γ are the same in all cells, are taken out of what waves have to
do. What is left of higher degree, and of lower terms of the equations, is singular in one cell only, and is
added there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pibls.adaptive.singular.enrich import Enrichment
from pibls.adaptive.thresholds import CORNERED
from pibls.arrays import Array, Mask
from pibls.assembly.hybridized.cells import Shared
from pibls.assembly.placing import place_in
from pibls.assembly.points import PointSet
from pibls.geometry import Domain
from pibls.problem import Region
from pibls.spaces import Cells, TiedFunctions, Whole, bare, ties_of, with_fields


@dataclass(frozen=True)
class Cornered:
    """What corners bring to cells: functions of all of them, of some of them, and points."""

    everywhere: tuple[TiedFunctions, ...] = ()
    here: tuple[TiedFunctions, ...] = ()
    extra: Enrichment = field(default_factory=Enrichment)

    @classmethod
    def of(cls, extra: Enrichment, share: float = 1.0) -> Cornered:
        """For a ``share`` below 1 without the highest powers."""
        everywhere, here = [], []
        for f in extra.fields:
            if not f.strong:
                continue
            most = math.floor(min(f.degrees)) + CORNERED.above if f.exact else -math.inf
            everywhere.append(f.between(-math.inf, most))
            here.append(f.between(most, share * CORNERED.highest))
        return cls(tuple(f for f in everywhere if f.size), tuple(f for f in here if f.size), extra)

    def fields(self, box: Array) -> tuple[TiedFunctions, ...]:
        """Those of a cell; what all cells have comes first."""
        mine = (f for f in self.here if bool(_holds(box, np.array([f.point]))[0]))
        return (*self.everywhere, *mine)

    def holds(self, box: Array) -> bool:
        """Whether a cell has functions of its own corner."""
        return len(self.fields(box)) > len(self.everywhere)

    def space(self, cells: Cells) -> Cells:
        """The same cells with these functions."""
        parts = [
            Whole(tuple(with_fields(b, mine, 0, k) for k, b in enumerate(part.bases))) if mine else part
            for part, mine in zip(cells.parts, map(self.fields, cells.tree.boxes), strict=True)
        ]
        return Cells(cells.tree, tuple(parts))

    def shared(self, cells: Cells, unknowns: int) -> Shared:
        """Which coefficients are one: of all unknowns in a cell, and those of all cells."""
        index, apart = {}, {}
        for c, (part, box) in enumerate(zip(cells.parts, cells.tree.boxes, strict=True)):
            mine = self.fields(box)
            if mine:
                local = mine[len(self.everywhere) :]
                plain = Whole(tuple(with_fields(b, local, 0, k) for k, b in enumerate(bare(part).bases)))
                index[c], apart[c] = ties_of(part, mine, unknowns), (plain, ties_of(plain, local, unknowns))
        return Shared(index, sum(f.size for f in self.everywhere), apart)

    def placed(
        self, regions: list[Region], domain: Domain, cell: Array, frame: Array, nodes: int
    ) -> dict[Region, PointSet]:
        """The points of some regions in a cell, with more of them towards its corners.

        Integrals are to leave out nothing of the cell; all else is in its frame.
        """
        found = {r: place_in(r, domain, cell if r.is_sum else frame, nodes) for r in regions}
        if not self.holds(cell):
            return found
        mine = {r: points for r, points in found.items() if not r.is_sum}
        return found | self.extra.within(partial(_holds, cell)).placed(mine)

    def __bool__(self) -> bool:
        return bool(self.everywhere or self.here)


def _holds(box: Array, X: Array) -> Mask:
    return np.asarray(((box[:, 0] <= X) & (box[:, 1] >= X)).all(axis=1))

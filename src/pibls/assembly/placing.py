r"""𝒳 ∩ B: the points of a problem's regions in one cell B, as many as the functions of the cell need."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pibls.arrays import Array
from pibls.assembly.points import Points, PointSet
from pibls.geometry import Domain, time_of
from pibls.problem import Region

_INSIDE = 2.0  # points inside a cell for each of its functions
_FACE = 1.5


@lru_cache(maxsize=64)
def counts(nodes: int, d: int, sides: int) -> Points:
    """How many points a full cell of that many functions has, inside and on its ``sides``."""
    if d == 1:
        return Points(int(_INSIDE * nodes), 2, 1, rule="chebyshev")
    face = int(_FACE * (2 * nodes) ** ((d - 1) / d))
    rule = "chebyshev" if d == 2 else "sobol"
    return Points(int(_INSIDE * nodes), sides * face, face, rule="sobol", boundary_rule=rule)


def place_in(region: Region, domain: Domain, box: Array, nodes: int) -> PointSet:
    """The points of a region in a box of that many functions; none where the two do not meet."""
    d = len(box)
    sides = 2 * (d - (time_of(domain) is not None))
    return region.place(domain, counts(nodes, d, max(sides, 2)), np.random.default_rng(0), box)

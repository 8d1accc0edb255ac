r"""Collocation points of a problem's regions in one cell, as many as the basis of the cell needs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pibls.arrays import Array
from pibls.assembly.points import Points, PointSet
from pibls.geometry import Domain, time_of
from pibls.problem import Region

_POINTS_PER_FUNCTION = 2.0  # in the interior of a cell
_FACE_POINTS_FACTOR = 1.5


@lru_cache(maxsize=64)
def point_counts(nodes: int, d: int, sides: int) -> Points:
    """Return the number of points of a full cell with ``nodes`` functions, inside and on its ``sides``."""
    if d == 1:
        return Points(int(_POINTS_PER_FUNCTION * nodes), 2, 1, rule="chebyshev")
    face = int(_FACE_POINTS_FACTOR * (2 * nodes) ** ((d - 1) / d))
    rule = "chebyshev" if d == 2 else "sobol"
    return Points(int(_POINTS_PER_FUNCTION * nodes), sides * face, face, rule="sobol", boundary_rule=rule)


def place_in_cell(region: Region, domain: Domain, box: Array, nodes: int) -> PointSet:
    """Return the points of a region in a box with ``nodes`` functions; none if the two do not intersect."""
    d = len(box)
    sides = 2 * (d - (time_of(domain) is not None))
    return region.sample(domain, point_counts(nodes, d, max(sides, 2)), np.random.default_rng(0), box)

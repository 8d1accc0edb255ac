"""x = a and x = b, opposite each other: where something repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry import Boundary, Domain, time_of
from pibls.problem.regions.cover import cover
from pibls.problem.regions.points import Points, PointSet, too_few
from pibls.problem.regions.protocol import Pen, Region


@dataclass(frozen=True)
class Pair(Region):
    """x = a and x = b, point by point opposite each other."""

    axis: int
    low: float
    high: float

    sites = 2
    is_boundary = True
    has_normal = True

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """Points on the lower face stand for pairs: each carries its opposite along, wherever that is."""
        if points.boundary < 1:
            if box is not None:
                return PointSet.none(len(domain.coordinates), 2)
            raise too_few("boundary", name, points.boundary)
        found = cover(domain, points, rng, box, None, lambda face: face.plane() == (self.axis, self.low))
        opposite = found.points.copy()
        opposite[:, self.axis] = self.high
        return PointSet((found.points, opposite), found.normals)

    @property
    def period(self) -> int:  # type: ignore[override]
        return self.axis

    def mask(self, boundary: Boundary) -> Mask:
        # By the normal, not the position: the corners belong to the neighbouring faces too.
        return np.asarray(np.abs(boundary.normals[:, self.axis]) > 0.5, dtype=np.bool_)

    def follows(self, domain: Domain) -> bool:
        return time_of(domain) is not None and self.axis != len(domain.coordinates) - 1

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return "with its derivatives: periodic"

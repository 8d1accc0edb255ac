"""The two opposite faces x = a and x = b of a periodic coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.expressions import Coordinate
from pibls.geometry import Boundary, Domain, time_of
from pibls.problem.regions.boundary_sampling import sample_boundary
from pibls.problem.regions.points import Points, PointSet, missing_points_error
from pibls.problem.regions.protocol import Notation, Region


@dataclass(frozen=True)
class PeriodicFaces(Region):
    """The faces x = a and x = b; each row connects a point and the opposite one."""

    axis: int
    low: float
    high: float

    sites = 2
    is_boundary = True
    has_normal = True

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """Return pairs of points: those on the lower face in the box, and the opposite ones."""
        if points.boundary < 1:
            if box is not None:
                return PointSet.none(len(domain.coordinates), 2)
            raise missing_points_error("boundary", name, points.boundary)
        found = sample_boundary(
            domain, points, rng, box, None, lambda face: face.plane() == (self.axis, self.low)
        )
        opposite = found.points.copy()
        opposite[:, self.axis] = self.high
        return PointSet((found.points, opposite), found.normals)

    @property
    def periodic_axis(self) -> int:  # type: ignore[override]
        return self.axis

    def mask(self, boundary: Boundary) -> Mask:
        # By the normal and not the position, since corners also belong to the adjacent faces.
        return np.asarray(np.abs(boundary.normals[:, self.axis]) > 0.5, dtype=np.bool_)

    def allows_time_stepping(self, domain: Domain) -> bool:
        return time_of(domain) is not None and self.axis != len(domain.coordinates) - 1

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return "with its derivatives: periodic"

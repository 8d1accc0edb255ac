"""Curves and surfaces inside the domain, such as level sets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.basis.cube_points import CLOSED_RULES
from pibls.errors import ProblemError
from pibls.expressions import Coordinate
from pibls.geometry import Domain, Face, box_of
from pibls.geometry.faces.face import join_boundaries
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Notation, Region
from pibls.problem.regions.relation import Relation

_MAX_DOUBLINGS = 6  # of the number of candidate points


@dataclass(frozen=True)
class InnerSurface(Region):
    """The parts of given faces, such as those of a level set, that lie in the domain and satisfy a relation.

    It has two sides and therefore no outward normal.
    """

    is_inner_surface = True

    relation: Relation = field()
    faces: tuple[Face, ...] = field(compare=False)

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        ends = box_of(domain) if box is None else box
        lengths = ends[:, 1] - ends[:, 0]
        faces = self.faces if box is None else tuple(f for face in self.faces for f in face.clipped(box))
        rule = points.boundary_rule or points.rule
        found = []
        for face in faces:
            # As dense as on a side of the box.
            n = int(np.ceil(points.boundary / (2 * len(ends)) * face.measure(lengths)))
            wanted = n
            for _ in range(_MAX_DOUBLINGS if n else 0):
                here = face.at(CLOSED_RULES[rule](wanted, face.dimension, rng), rng)
                here = here.select(self._keep(domain, here.points))
                if len(here.points) >= 0.8 * n * self._share(face, domain):
                    break
                wanted *= 2
            if n:
                found.append(here)
        together = join_boundaries(found, len(ends)).points
        if box is None and not len(together):
            raise ProblemError(
                f"{name or 'condition'}: on",
                expected="a curve with points in the domain",
                got=self.relation.expression,
                remedy="Increase points.boundary, which also determines the density on curves inside.",
            )
        return PointSet.inside(together)

    def _keep(self, domain: Domain, X: Array) -> Mask:
        return np.asarray(domain.contains(X), dtype=np.bool_) & self.relation(X)

    def _share(self, face: Face, domain: Domain) -> float:
        return float(np.mean(self._keep(domain, face.dense_points())))

    def isolated_points(self, domain: Domain) -> Array:
        """Return about 64 points along it, for plots."""
        X = np.concatenate([face.dense_points() for face in self.faces])
        X = X[self._keep(domain, X)]
        return np.asarray(X[:: max(len(X) // 64, 1)])

    def allows_time_stepping(self, domain: Domain) -> bool:
        return False

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return f"inside, where {pen.relation(self.relation.expression)}"

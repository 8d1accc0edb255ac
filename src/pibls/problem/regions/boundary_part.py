"""A part Γ ⊂ ∂Ω of the boundary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.expressions import Coordinate
from pibls.geometry import Boundary, Domain, Face, faces_of, time_of
from pibls.problem.regions.boundary_sampling import PROBES, sample_boundary
from pibls.problem.regions.points import Points, PointSet, missing_points_error
from pibls.problem.regions.protocol import Notation, Region
from pibls.problem.regions.relation import Relation

_OWNER_PROBES = 32  # points of a face at which its owner is determined


@dataclass(frozen=True)
class BoundaryPart(Region):
    """The boundary points that satisfy the relation, belong to one of the owners and to none of ``taken``."""

    relation: Relation | None = None
    owners: tuple[object, ...] | None = field(default=None, hash=False)  # a user's shape need not be hashable
    taken: tuple[Region, ...] = ()

    is_boundary = True
    has_normal = True

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        if points.boundary < 1:
            if box is not None:
                return PointSet.none(len(domain.coordinates))
            raise missing_points_error("boundary", name, points.boundary)
        is_whole_boundary = self == BoundaryPart()
        probes = _OWNER_PROBES if self.covers_whole_faces else PROBES
        found = sample_boundary(
            domain,
            points,
            rng,
            box,
            None if is_whole_boundary else self.mask,
            probes=probes,
            cuts=self.breakpoints,
        )
        return PointSet((found.points,), found.normals)

    @property
    def covers_whole_faces(self) -> bool:  # type: ignore[override]
        return self.relation is None and all(r.covers_whole_faces for r in self.taken)

    def breakpoints(self, face: Face) -> Array:
        """Return the parameters at which it may begin or end along a face of one parameter."""
        if face.dimension != 1 or not face.has_chart:
            return np.empty(0)
        own = [] if self.relation is None else [self.relation.breakpoints(face)]
        return np.unique(
            np.concatenate([np.empty(0), *own, *(other.breakpoints(face) for other in self.taken)])
        )

    def mask(self, boundary: Boundary) -> Mask:
        keep = np.ones(len(boundary.points), dtype=np.bool_)
        if self.relation is not None:
            keep &= self.relation(boundary.points)
        if self.owners is not None:
            keep &= _owned(boundary.owners, self.owners)
        for other in self.taken:
            keep &= ~other.mask(boundary)
        return keep

    def allows_time_stepping(self, domain: Domain) -> bool:
        """Return True with time; on an interval, whether it does not contain the right end."""
        if time_of(domain) is not None:
            return True
        end = faces_of(domain)[-1]
        there = end.at(np.full((1, end.dimension), 0.5))
        return self.owners is None and not bool(self.mask(there).any())

    def without(self, taken: tuple[Region, ...]) -> BoundaryPart:
        return replace(self, taken=taken)

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        if self.relation is not None:
            return f"on the boundary where {pen.relation(self.relation.expression)}"
        if self.owners is not None:
            return f"on the boundary of {', '.join(map(pen.shape, self.owners))}"
        return "on the rest of the boundary" if self.taken else "on the boundary"


def _owned(owners: tuple[object, ...], wanted: tuple[object, ...]) -> Mask:
    """Return which owners are among the wanted ones; each object is compared once."""
    different = dict(zip(map(id, owners), owners, strict=True))
    known = {key: any(is_same_shape(owner, w) for w in wanted) for key, owner in different.items()}
    if len(set(known.values())) == 1:
        return np.full(len(owners), next(iter(known.values())), dtype=np.bool_)
    return np.fromiter(map(known.__getitem__, map(id, owners)), np.bool_, len(owners))


def is_same_shape(a: object, b: object) -> bool:
    """Return whether two shapes are identical or equal."""
    if a is b:
        return True
    try:
        return bool(a == b)
    except ValueError:  # shapes with arrays cannot be compared by ==; then only identical ones count
        return False

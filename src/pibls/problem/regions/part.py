"""Γ ⊂ ∂Ω: a part of the boundary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry import Boundary, Domain, Face, faces_of, time_of
from pibls.problem.regions.cover import PROBES, cover
from pibls.problem.regions.points import Points, PointSet, too_few
from pibls.problem.regions.protocol import Pen, Region
from pibls.problem.regions.relation import Relation

_FEW = 32  # places at which a face is asked for its owner


@dataclass(frozen=True)
class Part(Region):
    """The boundary points that the relation and the owner admit and no ``taken`` part claims."""

    relation: Relation | None = None
    owners: tuple[object, ...] | None = field(default=None, hash=False)  # a user's shape may have no hash
    taken: tuple[Region, ...] = ()

    is_boundary = True
    has_normal = True

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        if points.boundary < 1:
            if box is not None:
                return PointSet.none(len(domain.coordinates))
            raise too_few("boundary", name, points.boundary)
        whole = self == Part()
        probes = _FEW if self.by_owner else PROBES
        found = cover(domain, points, rng, box, None if whole else self.mask, probes=probes, cuts=self.cuts)
        return PointSet((found.points,), found.normals)

    @property
    def by_owner(self) -> bool:  # type: ignore[override]
        return self.relation is None and all(r.by_owner for r in self.taken)

    def cuts(self, face: Face) -> Array:
        """Where along a face of one parameter it may begin or end."""
        if face.dimension != 1 or not face.has_chart:
            return np.empty(0)
        own = [] if self.relation is None else [self.relation.cuts(face)]
        return np.unique(np.concatenate([np.empty(0), *own, *(other.cuts(face) for other in self.taken)]))

    def mask(self, boundary: Boundary) -> Mask:
        keep = np.ones(len(boundary.points), dtype=np.bool_)
        if self.relation is not None:
            keep &= self.relation(boundary.points)
        if self.owners is not None:
            keep &= _owned(boundary.owners, self.owners)
        for other in self.taken:
            keep &= ~other.mask(boundary)
        return keep

    def follows(self, domain: Domain) -> bool:
        """In time, always. On a line, where it leaves the end alone."""
        if time_of(domain) is not None:
            return True
        end = faces_of(domain)[-1]
        there = end.at(np.full((1, end.dimension), 0.5))
        return self.owners is None and not bool(self.mask(there).any())

    def without(self, taken: tuple[Region, ...]) -> Part:
        return replace(self, taken=taken)

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        if self.relation is not None:
            return f"on the boundary where {pen.relation(self.relation.expression)}"
        if self.owners is not None:
            return f"on the boundary of {', '.join(map(pen.thing, self.owners))}"
        return "on the rest of the boundary" if self.taken else "on the boundary"


def _owned(owners: tuple[object, ...], wanted: tuple[object, ...]) -> Mask:
    """Which owners are among the wanted ones; each different object is looked at once."""
    different = dict(zip(map(id, owners), owners, strict=True))
    known = {key: any(same(owner, w) for w in wanted) for key, owner in different.items()}
    if len(set(known.values())) == 1:
        return np.full(len(owners), next(iter(known.values())), dtype=np.bool_)
    return np.fromiter(map(known.__getitem__, map(id, owners)), np.bool_, len(owners))


def same(a: object, b: object) -> bool:
    """Whether two shapes are the same or equal."""
    if a is b:
        return True
    try:
        return bool(a == b)
    except ValueError:  # shapes that hold arrays have no single answer; then only the same one is equal
        return False

"""Interfaces Γ = Ω̄ₚ ∩ Ω̄_q between two subdomains, and regions restricted to subdomains."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, Rng
from pibls.basis.cube_points import CLOSED_RULES
from pibls.expressions import Coordinate
from pibls.geometry import Domain, Face
from pibls.geometry.faces.face import join_boundaries
from pibls.problem.regions.points import TENSOR_RULES, Points, PointSet
from pibls.problem.regions.protocol import Notation, Region

_POINT_RATIO = 1.5  # density of points on an interface relative to a side of a subdomain


@dataclass(frozen=True)
class Interface(Region):
    """The faces between two subdomains, with normals.

    ``lengths`` are the side lengths of the bounding box of the smaller subdomain.
    """

    subdomains: tuple[int, int]
    lengths: tuple[float, ...]
    faces: tuple[Face, ...] = field(compare=False)

    has_normal = True

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """Return points as dense as on the sides of the smaller subdomain, to which the counts refer."""
        d, found = len(self.lengths), []
        rule = points.boundary_rule or points.rule
        for face in self.faces:
            n = int(np.ceil(_POINT_RATIO * points.boundary / (2 * d) * face.measure(np.array(self.lengths))))
            U = CLOSED_RULES[rule](max(n, 3), face.dimension, rng)
            if face.is_closed and rule in TENSOR_RULES:
                levels, index = np.unique(U[:, 0], return_inverse=True)
                U = np.column_stack([(index.reshape(-1) + rng.random()) / len(levels), U[:, 1:]])
            found.append(face.at(U, rng))
        together = join_boundaries(found, d)
        return PointSet((together.points,), together.normals)

    def allows_time_stepping(self, domain: Domain) -> bool:
        return True

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return "across the interface"


@dataclass(frozen=True)
class SubdomainRegion(Region):
    """A region restricted to subdomains, one for each of its sites."""

    region: Region
    subdomains: tuple[int, ...]

    def __post_init__(self) -> None:
        region = self.region
        copied = {"sites": region.sites, "is_interior": region.is_interior, "is_boundary": region.is_boundary}
        for name, value in {**copied, "is_integral": region.is_integral}.items():
            object.__setattr__(self, name, value)

    @property
    def continues_condition(self) -> bool:
        return self.region.continues_condition

    @property
    def has_normal(self) -> bool:
        return self.region.has_normal

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """Return points of the whole region; the caller keeps those in the subdomains."""
        return self.region.sample(domain, points, rng, box, name=name)

    def allows_time_stepping(self, domain: Domain) -> bool:
        return self.region.allows_time_stepping(domain)

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return self.region.describe(coordinates, pen)

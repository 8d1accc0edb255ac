"""Γ = Ω̄ₚ ∩ Ω̄_q: where two pieces of the domain touch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array, Rng
from pibls.basis.quasi import CLOSED_RULES
from pibls.geometry import Domain, Face
from pibls.geometry.faces.face import join
from pibls.problem.regions.points import TENSOR, Points, PointSet
from pibls.problem.regions.protocol import Pen, Region

_CLOSER = 1.5  # points of an interface over those on a side of a piece: two pieces meet there


@dataclass(frozen=True)
class Interface(Region):
    """The faces between two pieces, with their normals; ``lengths`` are those of the smaller piece."""

    pieces: tuple[int, int]
    lengths: tuple[float, ...]
    faces: tuple[Face, ...] = field(compare=False)

    has_normal = True

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """As dense as on the sides of the smaller piece, for which the counts are."""
        d, found = len(self.lengths), []
        rule = points.boundary_rule or points.rule
        for face in self.faces:
            n = int(np.ceil(_CLOSER * points.boundary / (2 * d) * face.measure(np.array(self.lengths))))
            U = CLOSED_RULES[rule](max(n, 3), face.dimension, rng)
            if face.is_closed and rule in TENSOR:
                levels, index = np.unique(U[:, 0], return_inverse=True)
                U = np.column_stack([(index.reshape(-1) + rng.random()) / len(levels), U[:, 1:]])
            found.append(face.at(U, rng))
        together = join(found, d)
        return PointSet((together.points,), together.normals)

    def follows(self, domain: Domain) -> bool:
        return True

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return "across the interface"


@dataclass(frozen=True)
class Within(Region):
    """What of a region lies in some pieces, one for each of its sites: where the rows of these hold."""

    region: Region
    pieces: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("sites", "is_inside", "is_boundary", "is_sum"):
            object.__setattr__(self, name, getattr(self.region, name))

    @property
    def continues(self) -> bool:
        return self.region.continues

    @property
    def has_normal(self) -> bool:
        return self.region.has_normal

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """All of the region: who divides it keeps what belongs here."""
        return self.region.place(domain, points, rng, box, name=name)

    def follows(self, domain: Domain) -> bool:
        return self.region.follows(domain)

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return self.region.words(coordinates, pen)

"""A subdomain Ωₚ ⊂ Ω of a partition, as a domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate
from pibls.geometry.faces.face import Boundary, Face, rejection_sample
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, space_of, time_of
from pibls.geometry.shape import BuiltinDomain
from pibls.geometry.subdomains.partition import Partition
from pibls.geometry.subdomains.tiling import Tiling


@dataclass(frozen=True)
class Subdomain(BuiltinDomain):
    """One subdomain of a partition. Its faces are those of the whole domain, and ``inner_faces`` if given.

    The partition may be one of the spatial domain while the domain has a time coordinate.
    """

    domain: Domain
    partition: Partition | Tiling
    index: int
    inner_faces: tuple[Face, ...] = ()
    """Interfaces to other subdomains, if they are needed: quadrature rules end at them."""

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(self.domain.coordinates)

    @property
    def bounds(self) -> Array:
        box = np.array(box_of(self.domain))
        inner = self.partition.box(self.index)
        box[: len(inner)] = inner
        return box

    @property
    def faces(self) -> tuple[Face, ...]:
        return (*faces_of(self.domain), *self.inner_faces)

    @property
    def space(self) -> Domain:
        return self if self.inner_faces and time_of(self.domain) is None else space_of(self.domain)

    @property
    def time(self) -> Coordinate | None:
        return time_of(self.domain)

    @property
    def leaves(self) -> tuple[object, ...]:
        return leaves_of(self.domain)

    def contains(self, X: Array) -> Mask:
        inside = np.array(self.domain.contains(X), dtype=np.bool_)
        rows = np.flatnonzero(inside)
        inside[rows] = self.is_in_subdomain(X[rows])
        return inside

    def is_in_subdomain(self, X: Array) -> Mask:
        """Return which points of the domain lie in this subdomain."""
        known = X[:, : len(self.partition.domain.coordinates)]
        return np.asarray(self.partition.locate(known) == self.index, dtype=np.bool_)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        X = rejection_sample(self.contains, self.bounds, 0.3, n, rng)
        if not len(X):
            raise ProblemError(
                "domain",
                expected="materials thick enough that random points are found in them",
                got="a material that none of many random points lies in",
                remedy="Omit the thin layer, or make it thicker.",
            )
        return X if len(X) == n else X[rng.integers(len(X), size=n)]

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return self.domain.boundary(n, rng)

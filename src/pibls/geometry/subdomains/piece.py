"""Ωₚ ⊂ Ω: one piece of a divided domain, as a domain of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.geometry.faces.face import Boundary, Face, drawn_within
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, space_of, time_of
from pibls.geometry.shape import FullyKnown
from pibls.geometry.subdomains.division import Division
from pibls.geometry.subdomains.tiling import Tiling


@dataclass(frozen=True)
class Piece(FullyKnown):
    """What of a domain lies in one piece; its faces are all those of the domain, without the inner ones.

    The division may be one of space alone, and the domain have a time besides.
    """

    domain: Domain
    division: Division | Tiling
    number: int
    inner: tuple[Face, ...] = ()
    """Its faces towards other pieces, where they are wanted: a rule for integrals ends at them."""

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return tuple(self.domain.coordinates)

    @property
    def bounds(self) -> Array:
        box = np.array(box_of(self.domain))
        inner = self.division.box(self.number)
        box[: len(inner)] = inner
        return box

    @property
    def faces(self) -> tuple[Face, ...]:
        return (*faces_of(self.domain), *self.inner)

    @property
    def space(self) -> Domain:
        return self if self.inner and time_of(self.domain) is None else space_of(self.domain)

    @property
    def time(self) -> Any:
        return time_of(self.domain)

    @property
    def leaves(self) -> tuple[object, ...]:
        return leaves_of(self.domain)

    def contains(self, X: Array) -> Mask:
        inside = np.array(self.domain.contains(X), dtype=np.bool_)
        rows = np.flatnonzero(inside)
        inside[rows] = self.locates(X[rows])
        return inside

    def locates(self, X: Array) -> Mask:
        """Which points of the domain are in this piece."""
        known = X[:, : len(self.division.domain.coordinates)]
        return np.asarray(self.division.locate(known) == self.number, dtype=np.bool_)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        X = drawn_within(self.contains, self.bounds, 0.3, n, rng)
        if not len(X):
            raise ProblemError(
                "domain",
                expected="materials that are not too thin to find a point in",
                got="one of which nothing was found among many points",
                remedy="Leave the thin layer out, or make it wider.",
            )
        return X if len(X) == n else X[rng.integers(len(X), size=n)]

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return self.domain.boundary(n, rng)

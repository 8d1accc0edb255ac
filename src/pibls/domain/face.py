"""∂Ω as faces: X = X(U), n = n(U) for U in the unit cube of one dimension less.

A rule (Sobol, Chebyshev, …) lives in the unit cube, so a face that says where U goes can be sampled
by any rule. A shape without such a map (a user's own) is one `Cloud` that only draws at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from pibls.arrays import Array, Mask

if TYPE_CHECKING:
    from pibls.domain.protocol import Domain


class Boundary(NamedTuple):
    """Points (n, d) of a boundary, unit outward normals (n, d), and the shape that owns each point."""

    points: Array
    normals: Array
    owners: tuple[object, ...]

    def select(self, mask: Mask) -> Boundary:
        """The part where ``mask`` holds."""
        owners = tuple(o for o, keep in zip(self.owners, mask, strict=True) if keep)
        return Boundary(self.points[mask], self.normals[mask], owners)


def join(parts: list[Boundary], dimension: int) -> Boundary:
    """One boundary from several."""
    empty = np.empty((0, dimension))
    return Boundary(
        np.concatenate([empty, *(p.points for p in parts)]),
        np.concatenate([empty, *(p.normals for p in parts)]),
        tuple(o for p in parts for o in p.owners),
    )


class Face(Protocol):
    """One smooth piece of a boundary."""

    @property
    def dimension(self) -> int:
        """How many parameters U has."""

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        """The points for the parameters U (n, dimension) in [0, 1]."""

    def measure(self, lengths: Array) -> float:
        """Its size when coordinate i is measured in units of ``lengths[i]``."""

    def touches(self, X: Array, tolerance: Array) -> Mask:
        """Which of the points X lie on it, within ``tolerance`` per coordinate."""


@dataclass(frozen=True)
class FlatFace:
    """x_axis = bounds[axis, side]: a face of an axis-parallel box."""

    owner: object
    bounds: tuple[tuple[float, float], ...]
    axis: int
    side: int

    @property
    def dimension(self) -> int:
        return len(self.bounds) - 1

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        n, d = len(U), len(self.bounds)
        free = [i for i in range(d) if i != self.axis]
        X = np.empty((n, d))
        X[:, self.axis] = self.bounds[self.axis][self.side]
        for column, i in enumerate(free):
            low, high = self.bounds[i]
            u = U[:, column]
            # This form, unlike low + (high - low) u, gives both ends exactly.
            X[:, i] = low * (1.0 - u) + high * u
        normals = np.zeros((n, d))
        normals[:, self.axis] = 1.0 if self.side else -1.0
        return Boundary(X, normals, (self.owner,) * n)

    def measure(self, lengths: Array) -> float:
        sides = [(b - a) / lengths[i] for i, (a, b) in enumerate(self.bounds) if i != self.axis]
        return float(np.prod(sides))

    def touches(self, X: Array, tolerance: Array) -> Mask:
        low, high = np.array(self.bounds).T
        inside = np.all((low - tolerance <= X) & (high + tolerance >= X), axis=1)
        level = self.bounds[self.axis][self.side]
        on = np.abs(X[:, self.axis] - level) <= tolerance[self.axis]
        return np.asarray(inside & on, dtype=np.bool_)


@dataclass(frozen=True)
class Extruded:
    """face × (t0, t1): the part of a space-time boundary above a face of the space domain."""

    face: Face
    start: float
    stop: float

    @property
    def dimension(self) -> int:
        return self.face.dimension + 1

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        below = self.face.at(U[:, :-1], rng)
        t = self.start * (1.0 - U[:, -1]) + self.stop * U[:, -1]
        return Boundary(
            np.column_stack([below.points, t]),
            np.column_stack([below.normals, np.zeros(len(U))]),
            below.owners,
        )

    def measure(self, lengths: Array) -> float:
        return self.face.measure(lengths[:-1]) * (self.stop - self.start) / float(lengths[-1])

    def touches(self, X: Array, tolerance: Array) -> Mask:
        slack = tolerance[-1]
        during = (self.start - slack <= X[:, -1]) & (self.stop + slack >= X[:, -1])
        return np.asarray(self.face.touches(X[:, :-1], tolerance[:-1]) & during, dtype=np.bool_)


@dataclass(frozen=True)
class Cloud:
    """The whole boundary of a domain that only knows how to draw from it."""

    domain: Domain

    @property
    def dimension(self) -> int:
        return len(self.domain.coordinates) - 1

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        points, normals, owners = self.domain.boundary(len(U), rng)
        return Boundary(np.asarray(points, float), np.asarray(normals, float), tuple(owners))

    def measure(self, lengths: Array) -> float:
        # A cloud is the only face of its domain, so its size is never compared with another's.
        return 1.0

    def touches(self, X: Array, tolerance: Array) -> Mask:
        return np.zeros(len(X), dtype=np.bool_)


def draw(faces: tuple[Face, ...], n: int, lengths: Array, rng: np.random.Generator) -> Boundary:
    """n random points, uniform over all the faces together."""
    sizes = np.array([f.measure(lengths) for f in faces])
    counts = rng.multinomial(n, sizes / sizes.sum())
    parts = [f.at(rng.random((c, f.dimension)), rng) for f, c in zip(faces, counts, strict=True)]
    return join(parts, len(lengths))

"""∂Ω as faces: X = X(U), n = n(U) for U in the unit cube of one dimension less.

A rule (Sobol, Chebyshev, …) lives in the unit cube, so a face that says where U goes can be sampled
by any rule. A shape without such a map (a user's own) is one `Cloud` that only draws at random.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from pibls.arrays import Array, Mask

ON = 1e-9
"""How near to a face, relative to the bounds, is on it."""


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

    @property
    def has_chart(self) -> bool:
        """Whether `at` is a map of U; otherwise it draws at random, as many points as U has rows."""

    @property
    def is_closed(self) -> bool:
        """Whether it has no edge in its first parameter, like a circle: then no end needs more points."""

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        """The points for the parameters U (n, dimension) in [0, 1]."""

    def measure(self, lengths: Array) -> float:
        """Its size when coordinate i is measured in units of ``lengths[i]``."""

    def touches(self, X: Array, tolerance: Array) -> Mask:
        """Which of the points X lie on it, within ``tolerance`` per coordinate."""

    def normals(self, X: Array) -> Array | None:
        """The outward normals (n, d) at points that lie on it; None where it does not know them."""

    def plane(self) -> tuple[int, float] | None:
        """(axis, level) of a face that lies in the plane x_axis = level of space, else None."""

    def clipped(self, box: Array) -> tuple[Face, ...]:
        """The parts of it that bound what of the domain lies in ``box`` (d, 2), as faces of their own."""


def draw(faces: tuple[Face, ...], n: int, lengths: Array, rng: np.random.Generator) -> Boundary:
    """n random points, uniform over all the faces together."""
    sizes = np.array([f.measure(lengths) for f in faces])
    counts = rng.multinomial(n, sizes / sizes.sum())
    parts = [f.at(rng.random((c, f.dimension)), rng) for f, c in zip(faces, counts, strict=True)]
    return join(parts, len(lengths))


def owned_by(box: Array, X: Array, normals: Array) -> Mask:
    """Which boundary points (n, d) bound what lies in the box: seen from just inside the domain."""
    slack = ON * (box[:, 1] - box[:, 0])
    inward = X - 2 * slack * normals
    return np.asarray(np.all((box[:, 0] - slack <= inward) & (inward <= box[:, 1] + slack), axis=1))

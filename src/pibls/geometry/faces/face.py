"""Faces of a boundary: charts X = X(U) with normals n = n(U) for U in the unit cube of dimension d - 1.

Sampling rules (Sobol, Chebyshev, …) are defined in the unit cube, so a face with a chart can be sampled by
any of them. The boundary of a user-defined shape, which has no chart, is one `SampledFace`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, compress
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry.affine import Affine

ON_FACE_TOLERANCE = 1e-9
"""Points closer to a face than this, relative to the bounds, are on it."""
_MAX_ROUNDS = 60  # of rejection sampling


class Boundary(NamedTuple):
    """Points (n, d) of a boundary, unit outward normals (n, d), and the shape that owns each point."""

    points: Array
    normals: Array
    owners: tuple[object, ...]

    def select(self, mask: Mask) -> Boundary:
        """Return the points where ``mask`` is true."""
        if mask.all():
            return self
        return Boundary(self.points[mask], self.normals[mask], tuple(compress(self.owners, mask)))

    def flipped(self) -> Boundary:
        """Return the same points with reversed normals."""
        return self._replace(normals=-self.normals)


BoundaryFilter: TypeAlias = Callable[[Boundary], Mask]
"""A function that returns which points of a boundary to keep."""


def join_boundaries(parts: list[Boundary], dimension: int) -> Boundary:
    """Concatenate boundaries."""
    empty = np.empty((0, dimension))
    return Boundary(
        np.concatenate([empty, *(p.points for p in parts)]),
        np.concatenate([empty, *(p.normals for p in parts)]),
        tuple(chain.from_iterable(p.owners for p in parts)),
    )


class Face(Protocol):
    """One smooth face of a boundary."""

    @property
    def dimension(self) -> int:
        """The number of parameters U."""

    @property
    def has_chart(self) -> bool:
        """Whether `at` is a function of U; otherwise it draws as many random points as U has rows."""

    @property
    def is_closed(self) -> bool:
        """Whether the face is periodic in its first parameter, like a circle."""

    @property
    def is_slit_side(self) -> bool:
        """Whether the face is one side of a slit, with the domain on both sides."""

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        """Return the boundary points for the parameters U (n, dimension) in [0, 1].

        A face without a chart draws random points with ``rng``, by default with a fixed seed.
        """

    def measure(self, lengths: Array) -> float:
        """Return the length or area of the face, with coordinate i in units of ``lengths[i]``."""

    def touches(self, X: Array, tolerance: Array) -> Mask:
        """Return which of the points X lie on the face, within ``tolerance`` per coordinate."""

    def normals(self, X: Array) -> Array | None:
        """Return the outward normals (n, d) at points on the face, or None if they are not available."""

    def plane(self) -> tuple[int, float] | None:
        """Return (axis, level) if the face lies in the plane x_axis = level of space, else None."""

    def dense_points(self) -> Array:
        """Return many points of the face, (n, d), always the same."""

    def clipped(self, box: Array) -> tuple[Face, ...]:
        """Return the parts of the face that bound the part of the domain in ``box`` (d, 2)."""

    def trimmed(self, keep: BoundaryFilter, near: Array) -> tuple[Face, ...]:
        """Return the parts of the face where ``keep`` is true; ``near`` (n, d) are points of other faces."""

    def flipped(self) -> Face:
        """Return the face with reversed normals, for a shape that is subtracted."""

    def mapped(self, affine: Affine, owner: object) -> Face:
        """Return the image of the face under an affine map, with the given owner."""


class FacesKey:
    """A tuple of faces as a cache key, compared by identity."""

    def __init__(self, faces: tuple[Face, ...]) -> None:
        self.faces = faces

    def __hash__(self) -> int:
        return id(self.faces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FacesKey) and self.faces is other.faces


def draw_boundary(faces: tuple[Face, ...], n: int, lengths: Array, rng: np.random.Generator) -> Boundary:
    """Return n random points, uniform over the union of the faces."""
    sizes = np.array([f.measure(lengths) for f in faces])
    counts = rng.multinomial(n, sizes / sizes.sum())
    parts = [f.at(rng.random((c, f.dimension)), rng) for f, c in zip(faces, counts, strict=True)]
    return join_boundaries(parts, len(lengths))


def bisect(same: Callable[[Array], Mask], a: Array, b: Array, halvings: int = 50) -> tuple[Array, Array]:
    """Bisect between a and b, where ``same`` is true at a and false at b.

    Return the last points where it is true and the first where it is false, to rounding.
    """
    for _ in range(halvings):
        c = 0.5 * (a + b)
        if not np.any((c != a) & (c != b)):
            break
        is_same = same(c)
        a, b = np.where(is_same, c, a), np.where(is_same, b, c)
    return a, b


def intervals_where(
    holds: Callable[[Array], Mask], samples: Array, halvings: int = 50
) -> list[tuple[float, float]]:
    """Return the intervals of (0, 1) where ``holds`` is true; it may change once between two samples."""
    mask = holds(samples)
    if mask.all() or not mask.any():
        return [(0.0, 1.0)] if mask.all() else []
    changes = np.flatnonzero(mask[1:] != mask[:-1])
    first = mask[changes]
    a, b = bisect(lambda c: holds(c) == first, samples[changes], samples[changes + 1], halvings)
    ends_inside = np.where(first, a, b)  # the end of the bisection interval where it is true
    ends = np.concatenate([[0.0] if mask[0] else [], ends_inside, [1.0] if mask[-1] else []])
    return [(float(p), float(q)) for p, q in ends.reshape(-1, 2)]


def face_intervals(
    face: Face, parameters: Array, keep: BoundaryFilter, halvings: int = 50
) -> list[tuple[float, float]]:
    """Return the parameter intervals of a one-dimensional face where ``keep`` is true, with bisected ends.

    ``parameters`` increase from 0 to 1, so densely that ``keep`` changes at most once between two of them.
    """
    # Test between the parameters and slightly inside the ends, since other faces meet this one there.
    test_parameters = 0.5 * (parameters[1:] + parameters[:-1])
    test_parameters = np.concatenate(
        [[1e-3 * test_parameters[0]], test_parameters, [1.0 - 1e-3 * (1.0 - test_parameters[-1])]]
    )
    found = intervals_where(
        lambda u: np.asarray(keep(face.at(u[:, None])), dtype=np.bool_), test_parameters, halvings
    )
    out = [(p, q) for p, q in found if q - p > 1e-12]
    if face.is_closed and len(out) > 1 and found[0][0] == 0.0 and found[-1][1] == 1.0:
        # Join the first and the last interval of a closed curve.
        out = [*out[1:-1], (out[-1][0], 1.0 + out[0][1])]
    return out


def bounds_part_in_box(box: Array, X: Array, normals: Array) -> Mask:
    """Return which boundary points (n, d) bound the part of the domain in a box.

    They are tested slightly inside the domain.
    """
    slack = ON_FACE_TOLERANCE * (box[:, 1] - box[:, 0])
    inward = X - 2 * slack * normals
    return np.asarray(np.all((box[:, 0] - slack <= inward) & (inward <= box[:, 1] + slack), axis=1))


def rejection_sample(
    contains: Callable[[Array], Mask], bounds: Array, fraction: float, n: int, rng: np.random.Generator
) -> Array:
    """Return n random points of a box (d, 2) for which ``contains`` is true; fewer if that is very rare.

    ``fraction`` is approximately the part of the box that is inside.
    """
    low, high = bounds.T
    found = np.empty((0, len(low)))
    for _ in range(_MAX_ROUNDS):
        if len(found) >= n:
            break
        X = rng.uniform(low, high, (int(1.2 * (n - len(found)) / fraction) + 16, len(low)))
        found = np.concatenate([found, X[contains(X)]])
    return np.asarray(found[:n])

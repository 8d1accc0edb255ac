"""∂Ω as faces: X = X(U), n = n(U) for U in the unit cube of one dimension less.

A rule (Sobol, Chebyshev, …) lives in the unit cube, so a face that says where U goes can be sampled
by any rule. A shape without such a map (a user's own) is one `Cloud` that only draws at random.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, compress
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry.maps import Affine

ON = 1e-9
"""How near to a face, relative to the bounds, is on it."""
_ROUNDS = 60  # of looking for points inside, before nothing more is found


class Boundary(NamedTuple):
    """Points (n, d) of a boundary, unit outward normals (n, d), and the shape that owns each point."""

    points: Array
    normals: Array
    owners: tuple[object, ...]

    def select(self, mask: Mask) -> Boundary:
        """The part where ``mask`` holds."""
        if mask.all():
            return self
        return Boundary(self.points[mask], self.normals[mask], tuple(compress(self.owners, mask)))


Keep: TypeAlias = Callable[[Boundary], Mask]
"""Which points of a boundary stay."""


def join(parts: list[Boundary], dimension: int) -> Boundary:
    """One boundary from several."""
    empty = np.empty((0, dimension))
    return Boundary(
        np.concatenate([empty, *(p.points for p in parts)]),
        np.concatenate([empty, *(p.normals for p in parts)]),
        tuple(chain.from_iterable(p.owners for p in parts)),
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

    @property
    def is_thin(self) -> bool:
        """Whether the domain is on both sides of it: a lip of a slit."""

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        """The points for the parameters U (n, dimension) in [0, 1].

        Only a face without a chart draws, from ``rng``, or always the same where that is left out.
        """

    def measure(self, lengths: Array) -> float:
        """Its size when coordinate i is measured in units of ``lengths[i]``."""

    def touches(self, X: Array, tolerance: Array) -> Mask:
        """Which of the points X lie on it, within ``tolerance`` per coordinate."""

    def normals(self, X: Array) -> Array | None:
        """The outward normals (n, d) at points that lie on it; None where it does not know them."""

    def plane(self) -> tuple[int, float] | None:
        """(axis, level) of a face that lies in the plane x_axis = level of space, else None."""

    def dense(self) -> Array:
        """Many points of it, always the same: where it is."""

    def clipped(self, box: Array) -> tuple[Face, ...]:
        """The parts of it that bound what of the domain lies in ``box`` (d, 2), as faces of their own."""

    def trimmed(self, keep: Keep, near: Array) -> tuple[Face, ...]:
        """The parts of it that stay, as faces; other faces, seen at ``near`` (n, d), cut them out."""

    def flipped(self) -> Face:
        """The same with normals to the other side, for a shape that is taken away."""

    def mapped(self, affine: Affine, owner: object) -> Face:
        """Its image, which belongs to ``owner``."""


class Same:
    """Faces as the key of a cache: the same ones, not equal ones."""

    def __init__(self, faces: tuple[Face, ...]) -> None:
        self.faces = faces

    def __hash__(self) -> int:
        return id(self.faces)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.faces is other.faces


def draw(faces: tuple[Face, ...], n: int, lengths: Array, rng: np.random.Generator) -> Boundary:
    """n random points, uniform over all the faces together."""
    sizes = np.array([f.measure(lengths) for f in faces])
    counts = rng.multinomial(n, sizes / sizes.sum())
    parts = [f.at(rng.random((c, f.dimension)), rng) for f, c in zip(faces, counts, strict=True)]
    return join(parts, len(lengths))


def bisected(same: Callable[[Array], Mask], a: Array, b: Array, halvings: int = 50) -> tuple[Array, Array]:
    """Places between a and b, as close as numbers are: where it still is as at a, and where no longer."""
    for _ in range(halvings):
        c = 0.5 * (a + b)
        if not np.any((c != a) & (c != b)):
            break
        before = same(c)
        a, b = np.where(before, c, a), np.where(before, b, c)
    return a, b


def parts_held(
    holds: Callable[[Array], Mask], places: Array, halvings: int = 50
) -> list[tuple[float, float]]:
    """The parts of (0, 1) where something holds; between two of the places it changes once at most."""
    mask = holds(places)
    if mask.all() or not mask.any():
        return [(0.0, 1.0)] if mask.all() else []
    changes = np.flatnonzero(mask[1:] != mask[:-1])
    first = mask[changes]
    a, b = bisected(lambda c: holds(c) == first, places[changes], places[changes + 1], halvings)
    kept = np.where(first, a, b)  # the end that still belongs to it
    ends = np.concatenate([[0.0] if mask[0] else [], kept, [1.0] if mask[-1] else []])
    return [(float(p), float(q)) for p, q in ends.reshape(-1, 2)]


def stretches(face: Face, shares: Array, keep: Keep, halvings: int = 50) -> list[tuple[float, float]]:
    """The intervals of the parameter of a one-dimensional face where ``keep`` holds, ends by bisection.

    ``shares`` are places from 0 to 1, dense enough that between two of them it changes once at most.
    """
    # Not at the places themselves, and not at the very ends, where other faces meet this one.
    places = 0.5 * (shares[1:] + shares[:-1])
    places = np.concatenate([[1e-3 * places[0]], places, [1.0 - 1e-3 * (1.0 - places[-1])]])
    found = parts_held(lambda u: np.asarray(keep(face.at(u[:, None])), dtype=np.bool_), places, halvings)
    out = [(p, q) for p, q in found if q - p > 1e-12]
    if face.is_closed and len(out) > 1 and found[0][0] == 0.0 and found[-1][1] == 1.0:
        # One stretch through the beginning, not two.
        out = [*out[1:-1], (out[-1][0], 1.0 + out[0][1])]
    return out


def owned_by(box: Array, X: Array, normals: Array) -> Mask:
    """Which boundary points (n, d) bound what lies in the box: seen from just inside the domain."""
    slack = ON * (box[:, 1] - box[:, 0])
    inward = X - 2 * slack * normals
    return np.asarray(np.all((box[:, 0] - slack <= inward) & (inward <= box[:, 1] + slack), axis=1))


def drawn_within(
    contains: Callable[[Array], Mask], bounds: Array, share: float, n: int, rng: np.random.Generator
) -> Array:
    """n points of a box (d, 2), of which about that share is inside, that are; fewer where hardly any are."""
    low, high = bounds.T
    found = np.empty((0, len(low)))
    for _ in range(_ROUNDS):
        if len(found) >= n:
            break
        X = rng.uniform(low, high, (int(1.2 * (n - len(found)) / share) + 16, len(low)))
        found = np.concatenate([found, X[contains(X)]])
    return np.asarray(found[:n])

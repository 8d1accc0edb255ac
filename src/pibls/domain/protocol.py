"""Ω: what a shape must offer. A user's own shape needs no more than `Domain`.

The library itself asks for more: faces, the space without time, the time, the shapes it is made of. Every
`FullDomain` answers that; `full` makes one of any `Domain`.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard, cast, runtime_checkable

import numpy as np

from pibls.arrays import Array, Mask
from pibls.domain.cloud import Cloud
from pibls.domain.face import Boundary, Face
from pibls.domain.shape import FullyKnown


@runtime_checkable
class Domain(Protocol):
    """Where an equation holds."""

    @property
    def coordinates(self) -> tuple[Any, ...]:
        """The SymPy symbols, in the order of the columns of a point array."""

    @property
    def bounds(self) -> Any:
        """An array-like (d, 2) of lower and upper ends: a box that holds the domain."""

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        """n points inside, (n, d)."""

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        """n points of the boundary with outward normals and the shape that owns each."""

    def contains(self, X: Array) -> Mask:
        """Which of the points X (n, d) lie inside or on the boundary."""


class FullDomain(Domain, Protocol):
    """What the library asks of a domain; every `Shape`, and `During`, answers it."""

    @property
    def faces(self) -> tuple[Face, ...]:
        """The smooth pieces of the boundary; without start and end of a time."""

    @property
    def space(self) -> Domain:
        """The domain without its time."""

    @property
    def time(self) -> Any:
        """The time symbol, or None."""

    @property
    def leaves(self) -> tuple[object, ...]:
        """The shapes that own its boundary."""

    @property
    def has_sides(self) -> bool:
        """Whether (a, b) for each of its coordinates says all of it."""

    def between(self, axis: int, start: float, stop: float) -> Domain | None:
        """The same with one of its coordinates from start to stop; None where that is another shape."""


class Own:
    """A user's own shape, with what the library asks besides."""

    has_sides = False

    def __init__(self, shape: Domain) -> None:
        self.shape = shape

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return tuple(self.shape.coordinates)

    @property
    def bounds(self) -> Any:
        return self.shape.bounds

    @property
    def faces(self) -> tuple[Face, ...]:
        return (Cloud(self.shape),)

    @property
    def space(self) -> Domain:
        return self.shape

    @property
    def time(self) -> Any:
        return None

    @property
    def leaves(self) -> tuple[object, ...]:
        return (self.shape,)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return self.shape.interior(n, rng)

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return self.shape.boundary(n, rng)

    def contains(self, X: Array) -> Mask:
        return self.shape.contains(X)

    def between(self, axis: int, start: float, stop: float) -> Domain | None:
        return None


def full(domain: Domain) -> FullDomain:
    """The domain itself where it answers all that the library asks, else a wrapper that does."""
    return cast(FullDomain, domain) if isinstance(domain, FullyKnown) else Own(domain)


def is_domain(thing: Any) -> TypeGuard[Domain]:
    """Whether it is a shape, of the library or of a user; a class is none."""
    return isinstance(thing, Domain) and not isinstance(thing, type)


def faces_of(domain: Domain) -> tuple[Face, ...]:
    """The faces of a domain; a domain that does not name any is one cloud."""
    return full(domain).faces


def space_of(domain: Domain) -> Domain:
    """The domain without its time."""
    return full(domain).space


def time_of(domain: Domain) -> Any:
    """The time symbol of a domain, or None."""
    return full(domain).time


def leaves_of(domain: Domain) -> tuple[object, ...]:
    """The shapes that own the boundary of a domain."""
    return full(domain).leaves


def box_of(domain: Domain) -> Array:
    """The bounds as an array (d, 2)."""
    return np.asarray(domain.bounds, dtype=float).reshape(len(domain.coordinates), 2)


def lengths_of(domain: Domain) -> Array:
    """The side lengths of the bounding box, (d,)."""
    box = box_of(domain)
    return np.asarray(box[:, 1] - box[:, 0])


def within(domain: Domain, X: Array) -> Mask:
    """Which points lie in the closed domain, boundary points of a strict ``contains`` included."""
    inside = np.array(domain.contains(X), dtype=np.bool_)
    step = 1e-9 * lengths_of(domain)
    for axis in range(X.shape[1]):
        for sign in (-1.0, 1.0):
            doubtful = np.flatnonzero(~inside)
            if not len(doubtful):
                return inside
            moved = X[doubtful]
            moved[:, axis] += sign * step[axis]
            inside[doubtful] = domain.contains(moved)
    if not inside.all():
        # A corner needs a step in every coordinate at once: towards the middle of the bounds.
        doubtful = np.flatnonzero(~inside)
        middle = np.mean(box_of(domain), axis=1)
        inside[doubtful] = domain.contains(X[doubtful] + np.sign(middle - X[doubtful]) * step)
    return inside

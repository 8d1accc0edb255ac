"""Ω: what a shape must offer. A user's own shape needs no more than `Domain`.

The library itself asks for more: faces, the space without time, the time, the shapes it is made of. A
`FullyKnown` domain answers that; the functions here answer it for any.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.cloud import Cloud
from pibls.geometry.faces.face import Boundary, Face
from pibls.geometry.shape import FullyKnown


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


def is_domain(thing: Any) -> TypeGuard[Domain]:
    """Whether it is a shape, of the library or of a user; a class is none."""
    return isinstance(thing, Domain) and not isinstance(thing, type)


def _known(domain: Domain) -> Any:
    """The domain, if it is one that answers all that is asked here."""
    return domain if isinstance(domain, FullyKnown) else None


def faces_of(domain: Domain) -> tuple[Face, ...]:
    """The smooth pieces of the boundary, without start and end of a time; a user's own shape is one cloud."""
    known = _known(domain)
    return (Cloud(domain),) if known is None else known.faces


def space_of(domain: Domain) -> Domain:
    """The domain without its time."""
    known = _known(domain)
    return domain if known is None else known.space


def time_of(domain: Domain) -> Any:
    """The time symbol of a domain, or None."""
    known = _known(domain)
    return None if known is None else known.time


def leaves_of(domain: Domain) -> tuple[object, ...]:
    """The shapes that own the boundary of a domain."""
    known = _known(domain)
    return (domain,) if known is None else known.leaves


def has_sides(domain: Domain) -> bool:
    """Whether (a, b) for each of its coordinates says all of it."""
    return isinstance(domain, FullyKnown) and domain.has_sides


def between(domain: Domain, axis: int, start: float, stop: float) -> Domain | None:
    """The same with one of its coordinates from start to stop; None where that is another shape."""
    return domain.between(axis, start, stop) if isinstance(domain, FullyKnown) else None


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

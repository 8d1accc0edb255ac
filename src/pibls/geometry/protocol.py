"""The `Domain` protocol, and functions that query any object that implements it.

A user-defined shape only needs the members of `Domain`. The library also uses faces, the spatial domain, the
time coordinate and the primitive shapes. A `BuiltinDomain` provides these; the functions of this module
return defaults for other domains.
"""

from __future__ import annotations

from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np

from pibls.arrays import Array, Bounds, Mask
from pibls.expressions import Coordinate
from pibls.geometry.faces.face import Boundary, Face
from pibls.geometry.faces.sampled_face import SampledFace
from pibls.geometry.shape import BuiltinDomain


@runtime_checkable
class Domain(Protocol):
    """A domain Ω in which equations are posed."""

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The SymPy symbols of the coordinates, in the order of the columns of a point array."""

    @property
    def bounds(self) -> Bounds:
        """A bounding box: an array-like (d, 2) of lower and upper ends."""

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        """Return n random points in the interior, (n, d)."""

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        """Return n random boundary points with outward normals and the shape that owns each."""

    def contains(self, X: Array) -> Mask:
        """Return which of the points X (n, d) lie inside or on the boundary."""


def is_domain(thing: object) -> TypeGuard[Domain]:
    """Return whether ``thing`` is an instance of a domain, built in or user-defined."""
    return isinstance(thing, Domain) and not isinstance(thing, type)


def faces_of(domain: Domain) -> tuple[Face, ...]:
    """Return the smooth faces of the boundary, without initial and final time.

    A user-defined shape has a single `SampledFace`.
    """
    return domain.faces if isinstance(domain, BuiltinDomain) else (SampledFace(domain),)


def space_of(domain: Domain) -> Domain:
    """Return the spatial domain, without the time coordinate."""
    return domain.space if isinstance(domain, BuiltinDomain) else domain


def time_of(domain: Domain) -> Coordinate | None:
    """Return the time symbol of a domain, or None."""
    return domain.time if isinstance(domain, BuiltinDomain) else None


def leaves_of(domain: Domain) -> tuple[object, ...]:
    """Return the primitive shapes that own the boundary of a domain."""
    return domain.leaves if isinstance(domain, BuiltinDomain) else (domain,)


def is_box(domain: Domain) -> bool:
    """Return whether the domain is an axis-parallel box, defined by its bounds."""
    return isinstance(domain, BuiltinDomain) and domain.is_box


def with_range(domain: Domain, axis: int, start: float, stop: float) -> Domain | None:
    """Return the domain with another range of one coordinate; None where that is not supported."""
    return domain.with_range(axis, start, stop) if isinstance(domain, BuiltinDomain) else None


def box_of(domain: Domain) -> Array:
    """Return the bounds as an array (d, 2)."""
    return np.asarray(domain.bounds, dtype=float).reshape(len(domain.coordinates), 2)


def fills_box(domain: Domain) -> bool:
    """Return whether the domain is its bounding box, at 2,000 random points."""
    box = box_of(domain)
    X = box[:, 0] + (box[:, 1] - box[:, 0]) * np.random.default_rng(0).random((2000, len(box)))
    return bool(np.asarray(domain.contains(X), dtype=bool).all())


def lengths_of(domain: Domain) -> Array:
    """Return the side lengths of the bounding box, (d,)."""
    box = box_of(domain)
    return np.asarray(box[:, 1] - box[:, 0])


def within(domain: Domain, X: Array) -> Mask:
    """Return which points lie in the closed domain, also where ``contains`` excludes boundary points."""
    inside = np.array(domain.contains(X), dtype=np.bool_)
    step = 1e-9 * lengths_of(domain)
    for axis in range(X.shape[1]):
        for sign in (-1.0, 1.0):
            outside = np.flatnonzero(~inside)
            if not len(outside):
                return inside
            moved = X[outside]
            moved[:, axis] += sign * step[axis]
            inside[outside] = domain.contains(moved)
    if not inside.all():
        # A corner needs a step in all coordinates at once, towards the centre of the bounds.
        outside = np.flatnonzero(~inside)
        center = np.mean(box_of(domain), axis=1)
        inside[outside] = domain.contains(X[outside] + np.sign(center - X[outside]) * step)
    return inside

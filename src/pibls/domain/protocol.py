"""Ω: what a shape must offer. A user's own shape needs no more than `Domain`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from pibls.arrays import Array, Mask
from pibls.domain.face import Boundary, Cloud, Face


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


def faces_of(domain: Domain) -> tuple[Face, ...]:
    """The faces of a domain; a domain that does not name any is one cloud."""
    faces = getattr(domain, "faces", None)
    return tuple(faces) if faces is not None else (Cloud(domain),)


def box_of(domain: Domain) -> Array:
    """The bounds as an array (d, 2)."""
    return np.asarray(domain.bounds, dtype=float).reshape(len(domain.coordinates), 2)


def lengths_of(domain: Domain) -> Array:
    """The side lengths of the bounding box, (d,)."""
    box = box_of(domain)
    return np.asarray(box[:, 1] - box[:, 0])


def space_of(domain: Domain) -> Domain:
    """The domain without its time."""
    space: Domain = getattr(domain, "space", domain)
    return space


def time_of(domain: Domain) -> Any:
    """The time symbol of a domain, or None."""
    return getattr(domain, "time", None)

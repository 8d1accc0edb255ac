"""`Region`, the base class of the sets where equations and conditions hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.expressions import Coordinate, Logical
from pibls.geometry import Boundary, Domain, Face
from pibls.geometry.integrals.gauss import QuadratureRule

if TYPE_CHECKING:
    from pibls.problem.regions.points import Points, PointSet
    from pibls.problem.regions.relation import Relation


class Notation(Protocol):
    """Text output of relations, points and shapes, as plain text or HTML."""

    def relation(self, e: Logical) -> str:
        """Return the text of a relation between coordinates."""

    def point(self, values: Mapping[Coordinate, float]) -> str:
        """Return the text of a point, such as "x = 0.5, y = 0"."""

    def shape(self, value: object) -> str:
        """Return the text of a shape."""


class Region(ABC):
    """A set of points where a residual must vanish.

    The defaults are those of a region inside the domain that is neither all of it nor a part of its boundary.
    """

    sites: int = 1
    """Number of points that one row connects: 2 for a pair of periodic faces, else 1."""
    is_interior: bool = False
    """Whether it is the domain, where the equations hold."""
    is_boundary: bool = False
    """Whether it is a part of the boundary, which a condition without ``on`` then excludes."""
    is_window_start: bool = False
    """Whether it is the initial time of a time window, with data of the window before."""
    is_integral: bool = False
    """Whether it is an integral: its points make one row, shared by residuals of the same name."""
    is_inner_surface: bool = False
    """Whether it is a curve or surface inside the domain."""
    relation: Relation | None = None
    """The relation between coordinates that its points satisfy; None if there is none."""
    covers_whole_faces: bool = False
    """Whether every face of the boundary is in it entirely or not at all."""
    faces: tuple[Face, ...] = ()
    """The curves or surfaces inside the domain on which it lies."""
    is_whole_slice: bool = False
    """Whether it is the whole intersection of the domain with its plane."""
    periodic_axis: int | None = None
    """The axis along which the solution is periodic, for a pair of faces; else None."""

    @property
    def has_normal(self) -> bool:
        """Whether an outward normal, and so dn(u), is defined there."""
        return False

    @property
    def continues_condition(self) -> bool:
        """Whether it is a further term of the condition of the previous statement."""
        return False

    @abstractmethod
    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """Return points of the region in the whole domain, or in ``box`` (d, 2).

        In a box, the counts of ``points`` are those of a full box. If the boundary cuts the box, interior
        points are as many, as far as they can be found; points on a boundary or a slice are as dense. A
        region outside the box has no points. ``name`` is that of the condition, for error messages.
        """

    @abstractmethod
    def allows_time_stepping(self, domain: Domain) -> bool:
        """Whether its condition holds at the initial time or in the same way at all times.

        Only then can the problem be integrated forward in time.
        """

    @abstractmethod
    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        """Return a description such as "on the boundary where x = 0"."""

    def is_divisible(self, domain: Domain) -> bool:
        """Whether it can be divided among cells."""
        return True

    def cell_rule(self, domain: Domain, box: Array, n: int) -> QuadratureRule:
        """Return the quadrature rule of an integral in a cell of space, about n points along each side."""
        raise NotImplementedError

    def mask(self, boundary: Boundary) -> Mask:
        """Return which boundary points belong to it."""
        return np.zeros(len(boundary.points), dtype=np.bool_)

    def breakpoints(self, face: Face) -> Array:
        """Return the parameters at which it may begin or end along a face of one parameter."""
        return np.empty(0)

    def holds(self, X: Array) -> Mask:
        """Return which points of the domain in its plane belong to it."""
        return np.ones(len(X), dtype=np.bool_)

    def plane(self) -> tuple[int, float] | None:
        """Return (axis, level) of a slice of the domain, else None."""
        return None

    def isolated_points(self, domain: Domain) -> Array:
        """Return the points of which it consists, (n, d); none if it is a continuum."""
        return np.empty((0, len(domain.coordinates)))

    def without(self, taken: tuple[Region, ...]) -> Region:
        """Return the region without ``taken``; only a part of the boundary changes."""
        return self

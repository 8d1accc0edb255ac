"""Ω × (a, b): a body with a base and a height."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.geometry.checks.arguments import coordinate, distinct, ordered, signed
from pibls.geometry.checks.audit import check_domain
from pibls.geometry.faces.cloud import Cloud
from pibls.geometry.faces.extruded import Extruded
from pibls.geometry.faces.face import Boundary, Face, draw, join
from pibls.geometry.faces.flat import FlatFace
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, time_of
from pibls.geometry.shape import Shape, inside_of


@dataclass(frozen=True, init=False, repr=False)
class Extrusion(Shape):
    """Ω × (low, high). Its sides belong to the shapes of the base, bottom and top to itself.

    >>> import sympy as sp, pibls
    >>> x, y, z = sp.symbols("x y z")
    >>> rod = pibls.Disk((x, y), (0, 0), 1).extruded(z, 0, 3)
    >>> rod.coordinates, rod.bounds[2]
    ((x, y, z), (0.0, 3.0))
    """

    base: Domain
    axis: Any
    low: float
    high: float

    def __init__(self, base: Domain, z: Any, low: Any, high: Any) -> None:
        check_domain(base, "extruded: base")
        if time_of(base) is not None:
            raise ProblemError(
                "extruded: base",
                expected="a shape in space",
                got=f"{base!r}, which has a time",
                remedy="Make the body first, and add time to it with .during(t, t0, t1).",
            )
        coordinate(z, "extruded(z)")
        distinct((*base.coordinates, z), "extruded(z)")
        a, b = ordered(low, high, "extruded(low, high)")
        signed(z, a, b, "extruded(z)")
        for name, value in (("base", base), ("axis", z), ("low", a), ("high", b)):
            object.__setattr__(self, name, value)

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return (*self.base.coordinates, self.axis)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return (*((float(a), float(b)) for a, b in box_of(self.base)), (self.low, self.high))

    @property
    def leaves(self) -> tuple[object, ...]:
        return (self, *leaves_of(self.base))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The sides, the bottom and the top."""
        sides = faces_of(self.base)
        if not all(face.has_chart for face in sides):
            return (Cloud(self),)
        walls = tuple(Extruded(face, self.low, self.high) for face in sides)
        return (*walls, *self._ends)

    @cached_property
    def _ends(self) -> tuple[Face, ...]:
        d = len(self.base.coordinates)

        def above_base(boundary: Boundary) -> Mask:
            return np.asarray(self.base.contains(boundary.points[:, :-1]), dtype=np.bool_)

        flats = (FlatFace(self, self.bounds, d, side) for side in (0, 1))
        return tuple(end for flat in flats for end in flat.trimmed(above_base, np.empty((0, d + 1))))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return np.column_stack([self.base.interior(n, rng), rng.uniform(self.low, self.high, n)])

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        if self.faces[0].has_chart:
            return draw(self.faces, n, np.ones(len(self.coordinates)), rng)
        # The base can only be drawn from: how much of the boundary is wall, its points tell.
        (rim,) = Cloud(self.base).trimmed(
            lambda found: np.ones(len(found.points), dtype=np.bool_), np.empty(0)
        )
        d = len(self.base.coordinates)
        wall = rim.measure(np.ones(d)) * (self.high - self.low)
        ends = sum(end.measure(np.ones(d + 1)) for end in self._ends)
        k = int(rng.binomial(n, wall / (wall + ends)))
        below = Cloud(self.base).at(np.empty((k, 0)), rng)
        t = rng.uniform(self.low, self.high, k)
        side = Boundary(
            np.column_stack([below.points, t]), np.column_stack([below.normals, np.zeros(k)]), below.owners
        )
        return join([side, draw(self._ends, n - k, np.ones(d + 1), rng)], d + 1)

    def contains(self, X: Array) -> Mask:
        z = X[:, -1]
        return np.asarray(self.base.contains(X[:, :-1])) & (self.low <= z) & (self.high >= z)

    @property
    def inside(self) -> Any:
        return sp.And(inside_of(self.base), self.axis > self.low, self.axis < self.high)

    def __repr__(self) -> str:
        return f"({self.base!r}).extruded({self.axis}, {self.low:g}, {self.high:g})"

"""Extrusions Ω × (a, b) of a base along another coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Logical, Number
from pibls.geometry.checks.arguments import (
    check_coordinate,
    check_distinct_names,
    check_sign_assumption,
    ordered_ends,
)
from pibls.geometry.checks.domain_protocol import check_domain
from pibls.geometry.faces.extruded_face import ExtrudedFace
from pibls.geometry.faces.face import Boundary, Face, draw_boundary, join_boundaries
from pibls.geometry.faces.flat_face import FlatFace
from pibls.geometry.faces.sampled_face import SampledFace
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, time_of
from pibls.geometry.shape import Shape, inside_condition
from pibls.runtime.caching import cached_property


@dataclass(frozen=True, init=False, repr=False)
class Extrusion(Shape):
    """The extrusion Ω × (low, high); lateral faces are owned by the shapes of the base.

    >>> import sympy as sp, pibls
    >>> x, y, z = sp.symbols("x y z")
    >>> rod = pibls.Disk((x, y), (0, 0), 1).extruded(z, 0, 3)
    >>> rod.coordinates, rod.bounds[2]
    ((x, y, z), (0.0, 3.0))
    """

    base: Domain
    axis: Coordinate
    low: float
    high: float

    def __init__(self, base: Domain, z: Coordinate, low: Number, high: Number) -> None:
        check_domain(base, "extruded: base")
        if time_of(base) is not None:
            raise ProblemError(
                "extruded: base",
                expected="a shape without a time coordinate",
                got=f"{base!r}, which has a time coordinate",
                remedy="Extrude first, then add time with .during(t, t0, t1).",
            )
        check_coordinate(z, "extruded(z)")
        check_distinct_names((*base.coordinates, z), "extruded(z)")
        a, b = ordered_ends(low, high, "extruded(low, high)")
        check_sign_assumption(z, a, b, "extruded(z)")
        for name, value in (("base", base), ("axis", z), ("low", a), ("high", b)):
            object.__setattr__(self, name, value)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return (*self.base.coordinates, self.axis)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return (*((float(a), float(b)) for a, b in box_of(self.base)), (self.low, self.high))

    @property
    def leaves(self) -> tuple[object, ...]:
        return (self, *leaves_of(self.base))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The lateral faces, the bottom and the top."""
        base_faces = faces_of(self.base)
        if not all(face.has_chart for face in base_faces):
            return (SampledFace(self),)
        lateral = tuple(ExtrudedFace(face, self.low, self.high) for face in base_faces)
        return (*lateral, *self._ends)

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
            return draw_boundary(self.faces, n, np.ones(len(self.coordinates)), rng)
        # The boundary of the base can only be sampled: its measure is estimated from the samples.
        (edge,) = SampledFace(self.base).trimmed(
            lambda found: np.ones(len(found.points), dtype=np.bool_), np.empty(0)
        )
        d = len(self.base.coordinates)
        lateral = edge.measure(np.ones(d)) * (self.high - self.low)
        ends = sum(end.measure(np.ones(d + 1)) for end in self._ends)
        k = int(rng.binomial(n, lateral / (lateral + ends)))
        base_points = SampledFace(self.base).at(np.empty((k, 0)), rng)
        t = rng.uniform(self.low, self.high, k)
        lateral_points = Boundary(
            np.column_stack([base_points.points, t]),
            np.column_stack([base_points.normals, np.zeros(k)]),
            base_points.owners,
        )
        return join_boundaries([lateral_points, draw_boundary(self._ends, n - k, np.ones(d + 1), rng)], d + 1)

    def contains(self, X: Array) -> Mask:
        z = X[:, -1]
        return np.asarray(self.base.contains(X[:, :-1])) & (self.low <= z) & (self.high >= z)

    @property
    def inside(self) -> Logical:
        return sp.And(inside_condition(self.base), self.axis > self.low, self.axis < self.high)

    def __repr__(self) -> str:
        return f"({self.base!r}).extruded({self.axis}, {self.low:g}, {self.high:g})"

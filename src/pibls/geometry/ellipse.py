"""Ellipses ((x - c)·e₁/a)² + ((x - c)·e₂/b)² < 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.expressions import Coordinate, Logical, Number
from pibls.geometry.affine import Affine
from pibls.geometry.checks.arguments import (
    check_sign_assumptions,
    check_two_coordinates,
    point_of,
    positive_number,
    real_number,
)
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.arc_length import ArcLengthParametrization
from pibls.geometry.faces.curve import Curve
from pibls.geometry.faces.face import Face
from pibls.geometry.shape import Shape
from pibls.runtime.caching import cached_property


@dataclass(frozen=True, init=False)
class Ellipse(Shape):
    """The ellipse ((x - c)·e₁/a)² + ((x - c)·e₂/b)² < 1; ``angle`` is that of e₁ to the x-axis, in radians.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Ellipse((x, y), center=(0, 0), radii=(2, 1)).bounds
    ((-2.0, 2.0), (-1.0, 1.0))
    """

    coordinates: tuple[Coordinate, ...]
    center: tuple[float, ...]
    radii: tuple[float, ...]
    angle: float = 0.0

    def __init__(
        self,
        coordinates: Sequence[Coordinate],
        center: Sequence[Number],
        radii: Sequence[Number],
        angle: Number = 0.0,
    ) -> None:
        symbols = check_two_coordinates(coordinates, "Ellipse(coordinates)")
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "center", point_of(center, symbols, "Ellipse(center)"))
        halves = point_of(radii, symbols, "Ellipse(radii)")
        for r in halves:
            positive_number(r, "Ellipse(radii)")
        object.__setattr__(self, "radii", halves)
        object.__setattr__(self, "angle", real_number(angle, "Ellipse(angle)"))
        check_sign_assumptions(symbols, self.bounds, "Ellipse(coordinates)")

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        reach = np.hypot(*(self._axes * self.radii).T)
        return tuple((c - float(r), c + float(r)) for c, r in zip(self.center, reach, strict=True))

    @property
    def _axes(self) -> Array:
        """The unit vectors e₁, e₂ as columns; exact for angle 0."""
        c, s = (math.cos(self.angle), math.sin(self.angle)) if self.angle else (1.0, 0.0)
        return np.array([[c, -s], [s, c]])

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        return (Arc(EllipseCurve(self, self.center, self.radii, self._axes)),)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        r, a = np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
        X = np.column_stack([r * np.cos(a), r * np.sin(a)]) * self.radii
        return np.asarray(self.center + X @ self._axes.T)

    def contains(self, X: Array) -> Mask:
        local = (X - self.center) @ self._axes / self.radii
        return np.asarray((local**2).sum(axis=1) <= 1.0 + 1e-14)

    @property
    def inside(self) -> Logical:
        d = sp.Matrix([x - c for x, c in zip(self.coordinates, self.center, strict=True)])
        first, second = (sp.Matrix(self._axes).T * d) if self.angle else d
        a, b = self.radii
        return first**2 / a**2 + second**2 / b**2 < 1

    def mapped(self, affine: Affine) -> Shape:
        if not affine.is_similarity:
            return super().mapped(affine)
        center = affine.points(np.array([self.center]))[0]
        radii = tuple(affine.scale_factor * r for r in self.radii)
        first = affine.matrix @ self._axes[:, 0]
        return Ellipse(self.coordinates, tuple(center), radii, math.atan2(first[1], first[0]))

    def __repr__(self) -> str:
        center = ", ".join(f"{c:g}" for c in self.center)
        turned = f", angle={self.angle:g}" if self.angle else ""
        names = ", ".join(map(str, self.coordinates))
        radii = ", ".join(f"{r:g}" for r in self.radii)
        return f"Ellipse(({names}), center=({center}), radii=({radii}){turned})"


class EllipseCurve(ArcLengthParametrization, Curve):
    """The curve c + e₁ a cos(2πs) + e₂ b sin(2πs), counter-clockwise, parametrized by arc length."""

    is_closed = True

    def __init__(
        self, owner: object, center: tuple[float, ...], radii: tuple[float, ...], axes: Array
    ) -> None:
        self.owner = owner
        self._center, self._half = np.array(center), axes * radii
        # The curvature at the ends of the major axis grows with the ratio of the radii.
        self.segments = int(min(256 * max(max(radii) / min(radii), 1.0) ** 0.5, 8192))

    def curve_point(self, s: Array) -> Array:
        a = 2 * np.pi * s
        return np.asarray(self._center + np.column_stack([np.cos(a), np.sin(a)]) @ self._half.T)

    def curve_derivative(self, s: Array) -> Array:
        a = 2 * np.pi * s
        return np.asarray(2 * np.pi * np.column_stack([-np.sin(a), np.cos(a)]) @ self._half.T)

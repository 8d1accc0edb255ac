"""Balls |x - c| < r in two or more dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pibls.arrays import Array, Mask
from pibls.expressions import Coordinate, Logical, Number
from pibls.geometry.affine import Affine
from pibls.geometry.checks.arguments import (
    check_coordinates,
    check_sign_assumptions,
    point_of,
    positive_number,
)
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.curve import Curve
from pibls.geometry.faces.face import Boundary, Face
from pibls.geometry.faces.patch import Patch
from pibls.geometry.faces.surface import Surface
from pibls.geometry.shape import Shape
from pibls.runtime.caching import cached_property


@dataclass(frozen=True, init=False, repr=False)
class Ball(Shape):
    """The ball Σ (xᵢ - cᵢ)² < r².

    >>> import sympy as sp
    >>> x, y, z = sp.symbols("x y z")
    >>> Ball((x, y, z), center=(0, 0, 0), radius=2).bounds[2]
    (-2.0, 2.0)
    """

    coordinates: tuple[Coordinate, ...]
    center: tuple[float, ...]
    radius: float

    def __init__(self, coordinates: Sequence[Coordinate], center: Sequence[Number], radius: Number) -> None:
        name = type(self).__name__
        symbols = check_coordinates(coordinates, f"{name}(coordinates)", least=2, most=self._max_coordinates)
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "center", point_of(center, symbols, f"{name}(center)"))
        object.__setattr__(self, "radius", positive_number(radius, f"{name}(radius)"))
        check_sign_assumptions(symbols, self.bounds, f"{name}(coordinates)")

    _max_coordinates: ClassVar[int | None] = None
    """The largest number of coordinates allowed."""

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return tuple((c - self.radius, c + self.radius) for c in self.center)

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The circle or sphere, as a single face."""
        if len(self.coordinates) == 2:
            return (Arc(Circle(self, self.center, self.radius)),)
        return (Patch(Sphere(self, self.center, self.radius)),)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        d = len(self.center)
        X = rng.standard_normal((n, d))
        X *= self.radius * rng.random((n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True)
        return np.asarray(self.center + X)

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        X = rng.standard_normal((n, len(self.center)))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        return Boundary(self.center + self.radius * X, X, (self,) * n)

    def contains(self, X: Array) -> Mask:
        return np.asarray(((X - self.center) ** 2).sum(axis=1) <= self.radius**2 * (1 + 1e-14))

    @property
    def inside(self) -> Logical:
        pairs = zip(self.coordinates, self.center, strict=True)
        return sum((x - c if c else x) ** 2 for x, c in pairs) < self.radius**2

    def mapped(self, affine: Affine) -> Shape:
        if not affine.is_similarity:
            return super().mapped(affine)
        center = affine.points(np.array([self.center]))[0]
        return type(self)(self.coordinates, tuple(center), affine.scale_factor * self.radius)

    def __repr__(self) -> str:
        center, names = ", ".join(f"{c:g}" for c in self.center), ", ".join(map(str, self.coordinates))
        return f"{type(self).__name__}(({names}), center=({center}), radius={self.radius:g})"


class Circle(Curve):
    """The circle c + r (cos 2πu, sin 2πu)."""

    is_closed = True

    def __init__(self, owner: object, center: tuple[float, ...], radius: float) -> None:
        self.owner, self._center, self._radius = owner, np.array(center), radius

    def position(self, u: Array) -> Array:
        a = 2 * np.pi * u
        return np.asarray(self._center + self._radius * np.column_stack([np.cos(a), np.sin(a)]))

    def tangent(self, u: Array) -> Array:
        a = 2 * np.pi * u
        return np.column_stack([-np.sin(a), np.cos(a)])


class Sphere(Surface):
    """The sphere c + r n(U) with an area-preserving parametrization; the first parameter is the longitude."""

    is_closed = True

    def __init__(self, owner: object, center: tuple[float, ...], radius: float) -> None:
        self.owner, self._center, self.radius = owner, np.array(center), radius
        self.dimension = len(center) - 1
        self.cells_per_side = {2: 24, 3: 10}.get(self.dimension, 4)

    def normal(self, U: Array) -> Array:
        from scipy.special import betaincinv

        a = 2 * np.pi * U[:, 0]
        X = np.column_stack([np.cos(a), np.sin(a)])
        for j in range(1, self.dimension):
            # On the sphere in j + 2 dimensions, (1 + cos θ)/2 has the beta distribution.
            fraction = betaincinv((j + 1) / 2, (j + 1) / 2, U[:, j]) if j > 1 else U[:, j]
            cosine = 2.0 * fraction - 1.0
            X = np.column_stack([X * np.sqrt(np.maximum(1 - cosine**2, 0.0))[:, None], cosine])
        return X

    def position(self, U: Array) -> Array:
        return np.asarray(self._center + self.radius * self.normal(U))

    def touches(self, X: Array, tolerance: Array) -> Mask:
        r = np.linalg.norm(X - self._center, axis=1)
        return np.asarray(np.abs(r - self.radius) <= tolerance.max())

    def normal_at(self, X: Array) -> Array | None:
        away = X - self._center
        return np.asarray(away / np.linalg.norm(away, axis=1, keepdims=True))

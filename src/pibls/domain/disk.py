"""|x - c| < r in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.domain.arc import Arc
from pibls.domain.checks import pair_of_coordinates, place_of, positive, signed_in
from pibls.domain.curve import Curve
from pibls.domain.face import Boundary, Face, draw
from pibls.domain.maps import Affine
from pibls.domain.shape import Shape


@dataclass(frozen=True, init=False)
class Disk(Shape):
    """(x - cx)² + (y - cy)² < r².

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Disk((x, y), center=(0, 0), radius=1).inside
    x**2 + y**2 < 1.0
    """

    coordinates: tuple[Any, ...]
    center: tuple[float, ...]
    radius: float

    def __init__(self, coordinates: Any, center: Any, radius: Any) -> None:
        symbols = pair_of_coordinates(coordinates, "Disk(coordinates)")
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "center", place_of(center, symbols, "Disk(center)"))
        object.__setattr__(self, "radius", positive(radius, "Disk(radius)"))
        signed_in(symbols, self.bounds, "Disk(coordinates)")

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return tuple((c - self.radius, c + self.radius) for c in self.center)

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The circle."""
        return (Arc(Circle(self, self.center, self.radius)),)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        r, a = self.radius * np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
        return np.asarray(self.center + np.column_stack([r * np.cos(a), r * np.sin(a)]))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return draw(self.faces, n, np.ones(2), rng)

    def contains(self, X: Array) -> Mask:
        return np.asarray(((X - self.center) ** 2).sum(axis=1) <= self.radius**2 * (1 + 1e-14))

    @property
    def inside(self) -> Any:
        pairs = zip(self.coordinates, self.center, strict=True)
        return sum((x - c if c else x) ** 2 for x, c in pairs) < self.radius**2

    def mapped(self, affine: Affine) -> Any:
        if not affine.is_similarity:
            return super().mapped(affine)
        center = affine.points(np.array([self.center]))[0]
        return Disk(self.coordinates, tuple(center), affine.factor * self.radius)

    def __repr__(self) -> str:
        center = ", ".join(f"{c:g}" for c in self.center)
        return f"Disk(({', '.join(map(str, self.coordinates))}), center=({center}), radius={self.radius:g})"


class Circle(Curve):
    """c + r (cos 2πu, sin 2πu)."""

    closed = True

    def __init__(self, owner: object, center: tuple[float, ...], radius: float) -> None:
        self.owner, self._center, self._radius = owner, np.array(center), radius

    def position(self, u: Array) -> Array:
        a = 2 * np.pi * u
        return np.asarray(self._center + self._radius * np.column_stack([np.cos(a), np.sin(a)]))

    def tangent(self, u: Array) -> Array:
        a = 2 * np.pi * u
        return np.column_stack([-np.sin(a), np.cos(a)])

"""|x - c| < r in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.domain.checks.arguments import pair_of_coordinates, place_of, positive, signed_in
from pibls.domain.faces.arc import Arc
from pibls.domain.faces.curve import Curve
from pibls.domain.faces.face import Face
from pibls.domain.round import Round


@dataclass(frozen=True, init=False, repr=False)
class Disk(Round):
    """(x - cx)² + (y - cy)² < r².

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Disk((x, y), center=(0, 0), radius=1).inside
    x**2 + y**2 < 1.0
    """

    def __init__(self, coordinates: Any, center: Any, radius: Any) -> None:
        symbols = pair_of_coordinates(coordinates, "Disk(coordinates)")
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "center", place_of(center, symbols, "Disk(center)"))
        object.__setattr__(self, "radius", positive(radius, "Disk(radius)"))
        signed_in(symbols, self.bounds, "Disk(coordinates)")

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The circle."""
        return (Arc(Circle(self, self.center, self.radius)),)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        r, a = self.radius * np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
        return np.asarray(self.center + np.column_stack([r * np.cos(a), r * np.sin(a)]))


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

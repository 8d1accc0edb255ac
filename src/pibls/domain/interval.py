"""a < x < b."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.domain.checks import coordinate, ordered, signed
from pibls.domain.face import Boundary, Face, draw
from pibls.domain.flat import FlatFace
from pibls.domain.maps import Affine
from pibls.domain.shape import Shape


@dataclass(frozen=True, init=False)
class Interval(Shape):
    """a < x < b.

    >>> import sympy as sp
    >>> Interval(sp.Symbol("x"), 0, 1)
    Interval(x, 0, 1)
    """

    coordinates: tuple[Any, ...]
    bounds: tuple[tuple[float, float], ...]

    def __init__(self, x: Any, a: Any, b: Any) -> None:
        coordinate(x, "Interval(x)")
        ends = ordered(a, b, "Interval(a, b)")
        signed(x, *ends, "Interval(x)")
        object.__setattr__(self, "coordinates", (x,))
        object.__setattr__(self, "bounds", (ends,))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The two ends."""
        return tuple(FlatFace(self, self.bounds, 0, side) for side in (0, 1))

    @property
    def has_sides(self) -> bool:
        return True

    def between(self, axis: int, start: float, stop: float) -> Interval:
        """start < x < stop: where the line is a time, another part of it."""
        return Interval(self.coordinates[0], start, stop)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(rng.uniform(*self.bounds[0], size=(n, 1)))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return draw(self.faces, n, np.ones(1), rng)

    def contains(self, X: Array) -> Mask:
        a, b = self.bounds[0]
        return np.asarray((a <= X[:, 0]) & (b >= X[:, 0]))

    @property
    def inside(self) -> Any:
        (x,), ((a, b),) = self.coordinates, self.bounds
        return sp.And(x > a, x < b)

    def mapped(self, affine: Affine) -> Shape:
        ends = affine.points(np.array(self.bounds).T).T[0]
        return Interval(self.coordinates[0], *ends)

    def __repr__(self) -> str:
        a, b = self.bounds[0]
        return f"Interval({self.coordinates[0]}, {a:g}, {b:g})"

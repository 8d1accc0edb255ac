"""Disks |x - c| < r in the plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.geometry.ball import Ball
from pibls.geometry.faces.face import Boundary
from pibls.geometry.shape import Shape


@dataclass(frozen=True, init=False, repr=False)
class Disk(Ball):
    """The disk (x - cx)² + (y - cy)² < r².

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Disk((x, y), center=(0, 0), radius=1).inside
    x**2 + y**2 < 1.0
    """

    _max_coordinates = 2

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        r, a = self.radius * np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
        return np.asarray(self.center + np.column_stack([r * np.cos(a), r * np.sin(a)]))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return Shape.boundary(self, n, rng)

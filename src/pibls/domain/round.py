"""|x - c| < r: what discs and balls have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.domain.maps import Affine
from pibls.domain.shape import Shape


@dataclass(frozen=True, init=False)
class Round(Shape):
    """A centre and a radius, in any dimension."""

    coordinates: tuple[Any, ...]
    center: tuple[float, ...]
    radius: float

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return tuple((c - self.radius, c + self.radius) for c in self.center)

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
        made: Any = type(self)
        return made(self.coordinates, tuple(center), affine.factor * self.radius)

    def __repr__(self) -> str:
        center, names = ", ".join(f"{c:g}" for c in self.center), ", ".join(map(str, self.coordinates))
        return f"{type(self).__name__}(({names}), center=({center}), radius={self.radius:g})"

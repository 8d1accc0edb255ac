"""A single point x = p; with time, at all times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Rng
from pibls.expressions import Coordinate
from pibls.geometry import Domain, box_of, is_in_cell, time_of
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Notation, Region


@dataclass(frozen=True)
class SinglePoint(Region):
    """One point. A coordinate that is None (time) takes all values of its range."""

    point: tuple[float | None, ...]
    normal: tuple[float, ...] | None

    @property
    def has_normal(self) -> bool:
        return self.normal is not None

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        ends = box_of(domain) if box is None else box
        free = [i for i, p in enumerate(self.point) if p is None]
        n = max(points.boundary // (2 * len(ends)), 2) if free else 1
        X = np.empty((n, len(ends)))
        for i, p in enumerate(self.point):
            X[:, i] = np.linspace(ends[i, 0], ends[i, 1], n) if p is None else p
        if box is not None and not is_in_cell(self._middle(box), box, domain)[0]:
            return PointSet.none(len(ends))
        normal = np.zeros(len(ends)) if self.normal is None else np.array(self.normal)
        return PointSet((X,), np.tile(normal, (n, 1)))

    def _middle(self, box: Array) -> Array:
        middle = box.mean(axis=1)
        return np.array([[m if p is None else p for p, m in zip(self.point, middle, strict=True)]])

    def isolated_points(self, domain: Domain) -> Array:
        return self._middle(box_of(domain))

    def allows_time_stepping(self, domain: Domain) -> bool:
        return time_of(domain) is not None and self.point[-1] is None

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        pairs = zip(coordinates, self.point, strict=True)
        return f"at {pen.point({c: p for c, p in pairs if p is not None})}"

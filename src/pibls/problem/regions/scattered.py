"""{x₁, …, xₙ}: points given one by one, such as those of measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Rng
from pibls.errors import ProblemError
from pibls.geometry import Domain, owned
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Pen, Region


@dataclass(frozen=True, eq=False, init=False)
class Scattered(Region):
    """The points themselves, (n, d), whatever number was asked for; with normals (n, d) where they have any.

    In a box it is those that lie in it: each point belongs to one of the boxes that fill the domain.

    >>> import numpy as np
    >>> len(Scattered(np.zeros((3, 2))).points)
    3
    """

    points: Array
    normals: Array | None

    def __init__(self, points: Any, normals: Any = None) -> None:
        X = np.array(points, dtype=float)
        n = None if normals is None else np.array(normals, dtype=float)
        if X.ndim != 2 or not np.isfinite(X).all():
            raise ProblemError(
                "Scattered(points)",
                expected="finite numbers of the shape (n, d), one row per point",
                got=f"shape {X.shape}",
                remedy="Write numpy.column_stack([xs, ys]).",
            )
        if n is not None and n.shape != X.shape:
            raise ProblemError(
                "Scattered(normals)",
                expected=f"one normal per point, shape {X.shape}",
                got=f"shape {n.shape}",
                remedy="Give as many normals as points, or none.",
            )
        object.__setattr__(self, "points", X)
        object.__setattr__(self, "normals", n)

    @property
    def has_normal(self) -> bool:
        return self.normals is not None

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        normals = np.zeros_like(self.points) if self.normals is None else self.normals
        if box is None:
            return PointSet((self.points,), normals)
        mask = owned(self.points, box, domain)
        return PointSet((self.points[mask],), normals[mask])

    def spots(self, domain: Domain) -> Array:
        return self.points

    def follows(self, domain: Domain) -> bool:
        """What is measured later also speaks of what came before."""
        return False

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return f"at {len(self.points)} points"

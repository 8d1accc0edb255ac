"""A given set of points {x₁, …, xₙ}, such as those of measurements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, Rng
from pibls.errors import ProblemError
from pibls.expressions import Coordinate
from pibls.geometry import Domain, is_in_cell
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Notation, Region


@dataclass(frozen=True, eq=False, init=False)
class ScatteredPoints(Region):
    """Given points (n, d), with normals (n, d) if there are any; the counts of `Points` are ignored.

    In a box it has the points that lie in it; each point belongs to exactly one cell of a grid of boxes.

    >>> import numpy as np
    >>> len(ScatteredPoints(np.zeros((3, 2))).points)
    3
    """

    points: Array
    normals: Array | None

    def __init__(self, points: npt.ArrayLike, normals: npt.ArrayLike | None = None) -> None:
        X = np.array(points, dtype=float)
        n = None if normals is None else np.array(normals, dtype=float)
        if X.ndim != 2 or not np.isfinite(X).all():
            raise ProblemError(
                "ScatteredPoints(points)",
                expected="finite numbers of the shape (n, d), one row per point",
                got=f"shape {X.shape}",
                remedy="Write numpy.column_stack([xs, ys]).",
            )
        if n is not None and n.shape != X.shape:
            raise ProblemError(
                "ScatteredPoints(normals)",
                expected=f"one normal per point, shape {X.shape}",
                got=f"shape {n.shape}",
                remedy="Give as many normals as points, or none.",
            )
        object.__setattr__(self, "points", X)
        object.__setattr__(self, "normals", n)

    @property
    def has_normal(self) -> bool:
        return self.normals is not None

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        normals = np.zeros_like(self.points) if self.normals is None else self.normals
        if box is None:
            return PointSet((self.points,), normals)
        mask = is_in_cell(self.points, box, domain)
        return PointSet((self.points[mask],), normals[mask])

    def isolated_points(self, domain: Domain) -> Array:
        return self.points

    def allows_time_stepping(self, domain: Domain) -> bool:
        """Return False: a measurement at a later time also determines the solution before it."""
        return False

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return f"at {len(self.points)} points"

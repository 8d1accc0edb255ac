"""The interior Ω of the domain, where the equations hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Rng
from pibls.basis.cube_points import RULES
from pibls.expressions import Coordinate
from pibls.geometry import Domain, box_of
from pibls.problem.regions.points import TENSOR_RULES, Points, PointSet, sample_by_rejection
from pibls.problem.regions.protocol import Notation, Region


@dataclass(frozen=True)
class Interior(Region):
    """The domain, where the equations hold."""

    is_interior = True

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        low, high = (box_of(domain) if box is None else box).T
        n, rule = points.interior, points.rule

        def candidates(count: int) -> Array:
            U = RULES[rule](count, len(low), rng)
            return np.asarray(low * (1.0 - U) + high * U)

        found = sample_by_rejection(candidates, domain.contains, n, rule, in_box=box is not None)
        if box is None and len(found) < n and rule not in TENSOR_RULES:
            # The domain fills little of its bounding box: use the sampler of the shape.
            found = np.asarray(domain.interior(n, rng), dtype=float)
        return PointSet.inside(found)

    def allows_time_stepping(self, domain: Domain) -> bool:
        return True

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        return "in the domain"

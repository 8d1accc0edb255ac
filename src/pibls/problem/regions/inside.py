"""Ω: where the equations hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Rng
from pibls.basis.quasi import RULES
from pibls.geometry import Domain, box_of
from pibls.problem.regions.points import TENSOR, Points, PointSet, filled
from pibls.problem.regions.protocol import Pen, Region


@dataclass(frozen=True)
class Inside(Region):
    """The domain itself."""

    is_inside = True

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        low, high = (box_of(domain) if box is None else box).T
        n, rule = points.interior, points.rule

        def candidates(count: int) -> Array:
            U = RULES[rule](count, len(low), rng)
            return np.asarray(low * (1.0 - U) + high * U)

        found = filled(candidates, domain.contains, n, rule, in_box=box is not None)
        if box is None and len(found) < n and rule not in TENSOR:
            # Hardly anything of the box is inside: let the shape draw its own points.
            found = np.asarray(domain.interior(n, rng), dtype=float)
        return PointSet.inside(found)

    def follows(self, domain: Domain) -> bool:
        return True

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        return "in the domain"

"""Collocation and validation points of a problem: in the domain, on its boundary, at the initial time.

Rules fill the unit cube (`basis.cube_points`); regions map the cube. The points of a region are drawn once
and shared by all residuals of the region.
"""

from __future__ import annotations

import numpy as np

from pibls.geometry import Domain
from pibls.problem.forms.compilation import CompiledProblem
from pibls.problem.regions import Points, PointSet, Region
from pibls.problem.regions.points import is_points

__all__ = ["PointSet", "Points", "is_points", "place"]


def place(
    compiled: CompiledProblem, domain: Domain, points: Points, rng: np.random.Generator
) -> dict[Region, PointSet]:
    """Return points for every region of a problem."""
    out: dict[Region, PointSet] = {}
    for residual in compiled.residuals:
        if residual.region not in out:
            out[residual.region] = residual.region.sample(domain, points, rng, name=residual.name)
    return out

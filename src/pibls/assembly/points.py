"""𝒳 = {𝒳_f, 𝒳_bc, 𝒳_ic}: the points at which residuals are taken, for training or held out.

Rules fill the unit cube (`quasi`); regions say where the cube goes. Points of a region are drawn once,
whatever the number of residuals that hold there.
"""

from __future__ import annotations

import numpy as np

from pibls.geometry import Domain
from pibls.problem.forms.lowering import LoweredProblem
from pibls.problem.regions import Points, PointSet, Region

__all__ = ["PointSet", "Points", "place"]


def place(
    lowered: LoweredProblem, domain: Domain, points: Points, rng: np.random.Generator
) -> dict[Region, PointSet]:
    """Points for every region of a problem."""
    out: dict[Region, PointSet] = {}
    for residual in lowered.residuals:
        if residual.region not in out:
            out[residual.region] = residual.region.place(domain, points, rng, name=residual.name)
    return out

r"""N functions ↦ how many points, and where: enough inside, more towards the edges of the boundary."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np

from pibls.arrays import Array
from pibls.basis import Singular
from pibls.domain import Domain, box_of, time_of
from pibls.space import Choice, Decomposed
from pibls.system.points import Points

_CROWDED = 2
"""Points on the boundary where functions are singular on it, over the usual number: on half of the points
the powers fit (residuals of 1e-9), and between them they do not (1e-6)."""
ROUGH = 3.0
"""Points inside per node while the solution is not resolved, lest the nodes fit the points alone."""


def default_points(spec: Choice, domain: Domain, density: float) -> Points:
    """``density``·N points inside (2 N on a line), and on the boundary ones that are clustered to the edges.

    A basis that leans towards some coordinates needs more points on the faces that hold them.
    """
    d, nodes = len(box_of(domain)), spec.size
    cells = getattr(spec, "cells", None)
    if cells is not None:
        local = default_points(cast("Decomposed", spec).local, domain, density)
        across = max(math.prod(cells) // c for c in cells)
        return replace(
            local, interior=local.interior * math.prod(cells), boundary=local.boundary * across,
            initial=local.initial * across, rule="sobol",
        )  # fmt: skip
    if d == 1:
        return Points(2 * nodes, 2, 1, rule="chebyshev")
    stretch = _stretch(spec, d)
    face = 1.5 * (2 * nodes) ** ((d - 1) / d)
    lean = [math.prod(s for i, s in enumerate(stretch.tolist()) if i != axis) for axis in range(d)]
    faces = [face * max(1.0, s) for s in lean]
    space = d - 1 if time_of(domain) is not None else d
    rule = "chebyshev" if d == 2 else "sobol"
    boundary = 2 * space * int(max(faces[:space]))
    if any(isinstance(part, Singular) for part in getattr(spec, "parts", ())):
        boundary *= _CROWDED
    return Points(int(density * nodes), boundary, int(faces[-1]), rule="sobol", boundary_rule=rule)


def _stretch(spec: Choice, d: int) -> Array:
    """How much the basis leans towards each coordinate, 1 on the average."""
    scale = np.asarray(getattr(spec, "scale", 1.0), dtype=float)
    if scale.shape != (d,):
        return np.ones(d)
    return np.asarray(scale / np.exp(np.mean(np.log(scale))))

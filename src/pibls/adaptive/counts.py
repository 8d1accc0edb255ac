r"""N functions ↦ how many points, and where: enough inside, more towards the edges of the boundary."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from pibls.adaptive.thresholds import COUNTS
from pibls.assembly.points import Points
from pibls.geometry import Domain, faces_of, time_of
from pibls.geometry.faces.face import Same
from pibls.spaces import Choice, Decomposed


def default_points(spec: Choice, domain: Domain, density: float) -> Points:
    """``density``·N points inside (2 N on a line), and on the boundary ones that are clustered to the edges.

    A basis that leans towards some coordinates needs more points on the faces that hold them.
    """
    d, nodes = len(domain.coordinates), getattr(spec, "spread", spec.size)
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
    lean = [math.prod(s for i, s in enumerate(stretch) if i != axis) for axis in range(d)]
    faces = [face * max(1.0, s) for s in lean]
    space = d - 1 if time_of(domain) is not None else d
    rule = "chebyshev" if d == 2 else "sobol"
    if d > COUNTS.plain:
        faces = [min(face, COUNTS.most_on_faces * nodes / (2 * d)) for face in faces]
    boundary = int(2 * space * max(faces[:space]) * (_longer(domain) if d == 2 else 1.0))
    if crowded(spec):
        boundary *= COUNTS.crowded
    return Points(int(density * nodes), boundary, int(faces[-1]), rule="sobol", boundary_rule=rule)


def crowded(spec: Choice) -> bool:
    """Whether some of its functions need more points on the boundary: those of corners."""
    parts = (*getattr(spec, "parts", ()), *getattr(spec, "specs", ()))
    return any(getattr(part, "is_crowded", False) or crowded(part) for part in parts)


def _longer(domain: Domain) -> float:
    """The boundary of a plane domain over that of its box: holes are not to take the points of the rest."""
    lengths = tuple(float(b) - float(a) for a, b in domain.bounds)
    return _longer_of(Same(faces_of(domain)), lengths, time_of(domain) is not None)


@lru_cache(maxsize=32)
def _longer_of(same: Same, lengths: tuple[float, ...], timed: bool) -> float:
    charts = [face for face in same.faces if face.has_chart and face.dimension == 1]
    sides = 2.0 * len(charts) if timed else 4.0
    return max(sum(face.measure(np.array(lengths)) for face in charts) / sides, 1.0) if charts else 1.0


def _stretch(spec: Choice, d: int) -> list[float]:
    """How much the basis leans towards each coordinate, 1 on the average."""
    scale = getattr(spec, "scale", 1.0)
    if not isinstance(scale, tuple) or len(scale) != d:
        return [1.0] * d
    mean = math.prod(scale) ** (1.0 / d)
    return [s / mean for s in scale]

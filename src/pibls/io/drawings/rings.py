"""Closed lines → polygons with holes: a line inside an odd number of others is a hole."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, TypeAlias

import numpy as np

from pibls.arrays import Array
from pibls.domain import Polygon
from pibls.domain.checks.vertices import points_of
from pibls.errors import ProblemError, need

Rings: TypeAlias = list[Array]
"""Closed lines, each (n, 2), the first point not repeated."""


def unreadable(
    path: str, got: str, remedy: str = "Save it again from the program it comes from."
) -> ProblemError:
    """The file is not what its name says."""
    return ProblemError(
        "read_shape(path)", expected="a drawing of closed lines", got=f"{path}: {got}", remedy=remedy
    )


def area_of(rings: Rings, coordinates: Any, path: str) -> Any:
    """The shape that closed lines enclose."""
    if not rings:
        raise unreadable(path, "no closed line", "Close the outline, or export it as a polyline.")
    shapely = need("shapely", extra="polygons", purpose="A polygon")
    rings = [points_of(ring, f"read_shape(path): outline {i + 1}", 3) for i, ring in enumerate(rings)]
    areas = [shapely.Polygon(ring) for ring in rings]
    inside = [shapely.Point(ring[0]) for ring in rings]
    around = [
        [j for j, area in enumerate(areas) if j != i and area.contains(inside[i])] for i in range(len(rings))
    ]
    polygons = []
    for i, ring in enumerate(rings):
        if len(around[i]) % 2 == 0:
            holes = [
                rings[j] for j in range(len(rings)) if len(around[j]) == len(around[i]) + 1 and i in around[j]
            ]
            polygons.append(Polygon(coordinates, ring, holes))
    return reduce(or_, polygons)


def circle(
    center: Array, radius: float, start: float = 0.0, stop: float = 2 * np.pi, sides: int = 256
) -> Array:
    """Points of an arc, both ends included; of a full circle the last is left out."""
    share = abs(stop - start) / (2 * np.pi)
    n = max(int(sides * share), 2)
    angles = np.linspace(start, stop, n + 1)
    points = center + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.asarray(points[:-1] if share > 1 - 1e-12 else points)


def chained(lines: list[Array]) -> Rings:
    """Lines that share their ends, put together to closed ones; what stays open is left out."""
    if not lines:
        return []
    size = float(np.ptp(np.concatenate(lines), axis=0).max()) or 1.0
    left, out = list(lines), []
    while left:
        line = left.pop(0)
        while np.abs(line[0] - line[-1]).max() > 1e-6 * size:
            for k, other in enumerate(left):
                ends = [np.abs(line[-1] - p).max() <= 1e-6 * size for p in (other[0], other[-1])]
                if any(ends):
                    line = np.concatenate([line, (other if ends[0] else other[::-1])[1:]])
                    del left[k]
                    break
            else:
                break
        else:
            if len(line) > 3:
                out.append(line[:-1])
    return out

"""Closed lines → polygons with holes: a line inside an odd number of others is a hole."""

from __future__ import annotations

import math
from collections import deque
from typing import Any, TypeAlias

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.errors import ProblemError, need
from pibls.geometry import Polygon
from pibls.geometry.checks.arguments import pair_of_coordinates
from pibls.geometry.checks.vertices import points_of
from pibls.geometry.csg import Union

Rings: TypeAlias = list[Array]
"""Closed lines, each (n, 2), the first point not repeated."""

_SAME_END = 1e-6  # of the drawing: ends of lines that are no further apart are one
_AT_ONCE = 256  # rings that are compared with all others together
_AROUND = tuple((a, b) for a in (0, -1, 1) for b in (0, -1, 1))


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
    symbols = pair_of_coordinates(coordinates, "read_shape(coordinates)")
    rings = [points_of(ring, f"read_shape(path): outline {i + 1}", 3) for i, ring in enumerate(rings)]
    depth, parent = _nesting(rings)
    holes: dict[int, Rings] = {}
    for i in np.flatnonzero(depth % 2):
        holes.setdefault(int(parent[i]), []).append(rings[i])
    polygons = [Polygon(symbols, rings[i], holes.get(i, ())) for i in np.flatnonzero(depth % 2 == 0).tolist()]
    return polygons[0] if len(polygons) == 1 else Union(tuple(polygons))


def _nesting(rings: Rings) -> tuple[Numbers, Numbers]:
    """How many others each ring lies in, and the smallest larger one that it lies in (-1 where none is)."""
    shapely = need("shapely", extra="polygons", purpose="A polygon")
    areas = shapely.polygons([shapely.linearrings(ring) for ring in rings])
    order = np.argsort(shapely.area(areas), kind="stable")
    ranks = np.empty(len(rings), dtype=np.intp)
    ranks[order] = np.arange(len(rings))
    points = np.array([ring[0] for ring in rings])
    tree = shapely.STRtree(areas)
    parent = np.full(len(rings), -1, dtype=np.intp)
    for start in range(0, len(rings), _AT_ONCE):
        some = points[start : start + _AT_ONCE]
        inner, outer = tree.query(shapely.points(some))
        for i, around in enumerate(_grouped(inner, ranks[outer], len(some)), start):
            larger = order[np.sort(around[around > ranks[i]])]
            parent[i] = _first_around(points[i], larger, areas, shapely)
    depth = np.zeros(len(rings), dtype=np.intp)
    for i in order[::-1]:
        depth[i] = depth[parent[i]] + 1 if parent[i] >= 0 else 0
    return depth, parent


def _grouped(keys: Numbers, values: Numbers, count: int) -> list[Numbers]:
    """The values of each key from 0 to count - 1; keys come in increasing order."""
    return np.split(values, np.searchsorted(keys, np.arange(1, count)))


def _first_around(point: Array, candidates: Numbers, areas: Any, shapely: Any) -> int:
    """The first of some areas that the point lies in; -1 where there is none.

    Most often it is the very first, so a few are asked at a time, and ever more.
    """
    start, count = 0, 1
    while start < len(candidates):
        asked = candidates[start : start + count]
        found = np.flatnonzero(shapely.contains_xy(areas[asked], *point))
        if len(found):
            return int(asked[found[0]])
        start, count = start + count, 4 * count
    return -1


def circle(
    center: Array, radius: float, start: float = 0.0, stop: float = 2 * np.pi, sides: int = 256
) -> Array:
    """Points of an arc, both ends included; of a full circle the last is left out."""
    share = abs(stop - start) / (2 * np.pi)
    n = max(int(sides * share), 2)
    angles = np.linspace(start, stop, n + 1)
    points = center + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.asarray(points[:-1] if share > 1 - 1e-12 else points)


def chained(lines: list[Array], path: str) -> Rings:
    """Lines that share their ends, put together to closed ones; what stays open is left out."""
    lines = [line for line in lines if len(line) > 1]
    if not lines:
        return []
    points = np.concatenate(lines)
    with np.errstate(over="ignore"):
        size = float(np.ptp(points, axis=0).max())
    if not np.isfinite(size):
        raise unreadable(path, "a coordinate that is no finite number, or too large")
    firsts, lasts = (np.array([line[k] for line in lines]) for k in (0, -1))
    ends = _numbered(np.concatenate([firsts, lasts]) - points.min(axis=0), _SAME_END * size or 1.0)
    first, last = ends[: len(lines)], ends[len(lines) :]
    meeting: dict[int, deque[int]] = {}
    for i in range(len(lines)):
        if first[i] != last[i]:
            for end in (first[i], last[i]):
                meeting.setdefault(end, deque()).append(i)
    free = [a != b for a, b in zip(first, last, strict=True)]
    out: Rings = []
    for i, line in enumerate(lines):
        parts, here = [line], last[i]
        if free[i]:
            free[i] = False
            while here != first[i] and (k := _next(meeting[here], free)) is not None:
                free[k] = False
                forth = first[k] == here
                parts.append((lines[k] if forth else lines[k][::-1])[1:])
                here = last[k] if forth else first[k]
        elif first[i] != last[i]:
            continue  # part of a line before it
        if here == first[i] and sum(map(len, parts)) > 3:
            out.append(np.concatenate(parts)[:-1])
    return out


def _numbered(points: Array, tolerance: float) -> list[int]:
    """A number for each point, the same for points that are as good as equal.

    Cells as wide as the tolerance hold one representative each at most, so that nine of them are all that a
    point is compared with.
    """
    cells: dict[tuple[int, int], tuple[int, float, float]] = {}
    out = []
    for x, y in points.tolist():
        i, j = math.floor(x / tolerance), math.floor(y / tolerance)
        near = (cells.get((i + a, j + b)) for a, b in _AROUND)
        met = next((n for n, p, q in filter(None, near) if max(abs(p - x), abs(q - y)) <= tolerance), None)
        if met is None:
            met = len(cells)
            cells[i, j] = (met, x, y)
        out.append(met)
    return out


def _next(lines: deque[int], free: list[bool]) -> int | None:
    """The first of the lines that is free; those before it are dropped."""
    while lines and not free[lines[0]]:
        lines.popleft()
    return lines[0] if lines else None

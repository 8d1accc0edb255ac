"""Polygons with holes from closed lines: a line inside an odd number of others is a hole."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pibls.arrays import Array, Indices
from pibls.errors import ProblemError, import_optional
from pibls.expressions import Coordinate
from pibls.geometry import Polygon
from pibls.geometry.checks.arguments import check_two_coordinates
from pibls.geometry.checks.vertices import points_of
from pibls.geometry.csg import Union

if TYPE_CHECKING:
    from types import ModuleType

    from pibls.geometry.shape import Shape

Rings: TypeAlias = list[Array]
"""Closed lines, each of shape (n, 2), without repeating the first point."""

_RELATIVE_END_TOLERANCE = 1e-6  # relative to the size of the drawing: closer ends of lines are joined
_BATCH_SIZE = 256  # rings per query of the spatial index
_NEIGHBOURS = tuple((a, b) for a in (0, -1, 1) for b in (0, -1, 1))


def unreadable_drawing(path: str, got: str, remedy: str = "Export it again.") -> ProblemError:
    """Return the error about a file whose contents cannot be read."""
    return ProblemError(
        "read_shape(path)", expected="a drawing with closed lines", got=f"{path}: {got}", remedy=remedy
    )


def shape_from_rings(rings: Rings, coordinates: Sequence[Coordinate] | None, path: str) -> Shape:
    """Return the shape that closed lines enclose."""
    if not rings:
        raise unreadable_drawing(path, "no closed line", "Close the outline, or export it as a polyline.")
    symbols = check_two_coordinates(coordinates, "read_shape(coordinates)")
    rings = [points_of(ring, f"read_shape(path): outline {i + 1}", 3) for i, ring in enumerate(rings)]
    depth, parent = _nesting(rings)
    holes: dict[int, Rings] = {}
    for i in np.flatnonzero(depth % 2):
        holes.setdefault(int(parent[i]), []).append(rings[i])
    polygons = [Polygon(symbols, rings[i], holes.get(i, ())) for i in np.flatnonzero(depth % 2 == 0).tolist()]
    return polygons[0] if len(polygons) == 1 else Union(tuple(polygons))


def _nesting(rings: Rings) -> tuple[Indices, Indices]:
    """Return for each ring the number of enclosing rings, and the smallest enclosing one (-1 if none)."""
    shapely = import_optional("shapely", extra="polygons", purpose="A polygon")
    areas = shapely.polygons([shapely.linearrings(ring) for ring in rings])
    order = np.argsort(shapely.area(areas), kind="stable")
    ranks = np.empty(len(rings), dtype=np.intp)
    ranks[order] = np.arange(len(rings))
    points = np.array([ring[0] for ring in rings])
    tree = shapely.STRtree(areas)
    parent = np.full(len(rings), -1, dtype=np.intp)
    for start in range(0, len(rings), _BATCH_SIZE):
        batch_points = points[start : start + _BATCH_SIZE]
        inner, outer = tree.query(shapely.points(batch_points))
        for i, enclosing in enumerate(_values_by_key(inner, ranks[outer], len(batch_points)), start):
            larger = order[np.sort(enclosing[enclosing > ranks[i]])]
            parent[i] = _smallest_enclosing(points[i], larger, areas, shapely)
    depth = np.zeros(len(rings), dtype=np.intp)
    for i in order[::-1]:
        depth[i] = depth[parent[i]] + 1 if parent[i] >= 0 else 0
    return depth, parent


def _values_by_key(keys: Indices, values: Indices, count: int) -> list[Indices]:
    """Return the values of each key from 0 to count - 1; keys are sorted."""
    return np.split(values, np.searchsorted(keys, np.arange(1, count)))


def _smallest_enclosing(point: Array, candidates: Indices, areas: Array, shapely: ModuleType) -> int:
    """Return the first candidate that contains the point; -1 if there is none.

    It is usually among the first, so candidates are tested in batches of increasing size.
    """
    start, count = 0, 1
    while start < len(candidates):
        batch = candidates[start : start + count]
        found = np.flatnonzero(shapely.contains_xy(areas[batch], *point))
        if len(found):
            return int(batch[found[0]])
        start, count = start + count, 4 * count
    return -1


def arc_points(
    center: Array, radius: float, start: float = 0.0, stop: float = 2 * np.pi, sides: int = 256
) -> Array:
    """Return points of an arc with both ends; for a full circle without the last point."""
    share = abs(stop - start) / (2 * np.pi)
    n = max(int(sides * share), 2)
    angles = np.linspace(start, stop, n + 1)
    points = center + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.asarray(points[:-1] if share > 1 - 1e-12 else points)


def join_lines(lines: list[Array], path: str) -> Rings:
    """Join lines at common ends to closed lines; lines that remain open are dropped."""
    lines = [line for line in lines if len(line) > 1]
    if not lines:
        return []
    points = np.concatenate(lines)
    with np.errstate(over="ignore"):
        size = float(np.ptp(points, axis=0).max())
    if not np.isfinite(size):
        raise unreadable_drawing(path, "a coordinate that is not finite or too large")
    firsts, lasts = (np.array([line[k] for line in lines]) for k in (0, -1))
    ends = _cluster_points(
        np.concatenate([firsts, lasts]) - points.min(axis=0), _RELATIVE_END_TOLERANCE * size or 1.0
    )
    found = _joined_at_ends(lines, ends[: len(lines)], ends[len(lines) :])
    return [np.concatenate(parts)[:-1] for parts in found if sum(map(len, parts)) > 3]


def _joined_at_ends(lines: list[Array], first: list[int], last: list[int]) -> Iterator[list[Array]]:
    """Yield the parts of each closed line; ``first`` and ``last`` number the ends of all lines."""
    lines_at_end: dict[int, deque[int]] = {}
    for i in range(len(lines)):
        if first[i] != last[i]:
            for end in (first[i], last[i]):
                lines_at_end.setdefault(end, deque()).append(i)
    is_unused = [a != b for a, b in zip(first, last, strict=True)]
    for i, line in enumerate(lines):
        parts, end_point = [line], last[i]
        if is_unused[i]:
            is_unused[i] = False
            while (
                end_point != first[i] and (k := _next_unused(lines_at_end[end_point], is_unused)) is not None
            ):
                is_unused[k] = False
                is_forward = first[k] == end_point
                parts.append((lines[k] if is_forward else lines[k][::-1])[1:])
                end_point = last[k] if is_forward else first[k]
        elif first[i] != last[i]:
            continue  # already part of another line
        if end_point == first[i]:
            yield parts


def _cluster_points(points: Array, tolerance: float) -> list[int]:
    """Return an index for each point, the same for points within the tolerance.

    Grid cells as wide as the tolerance contain at most one representative each, so that a point is compared
    with at most nine.
    """
    cells: dict[tuple[int, int], tuple[int, float, float]] = {}
    out = []
    for x, y in points.tolist():
        i, j = math.floor(x / tolerance), math.floor(y / tolerance)
        near = (cells.get((i + a, j + b)) for a, b in _NEIGHBOURS)
        index = next((n for n, p, q in filter(None, near) if max(abs(p - x), abs(q - y)) <= tolerance), None)
        if index is None:
            index = len(cells)
            cells[i, j] = (index, x, y)
        out.append(index)
    return out


def _next_unused(lines: deque[int], is_unused: list[bool]) -> int | None:
    """Return the first unused line; used lines before it are removed from the queue."""
    while lines and not is_unused[lines[0]]:
        lines.popleft()
    return lines[0] if lines else None

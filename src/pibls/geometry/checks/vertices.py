"""Validation of the vertices of polygons, slits and splines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, floats
from pibls.errors import ProblemError, import_optional
from pibls.expressions import Number
from pibls.geometry.checks.arguments import check_extent, check_magnitude

if TYPE_CHECKING:
    from types import ModuleType

    import shapely

Ring: TypeAlias = tuple[tuple[float, float], ...]
"""The vertices of a closed polygonal line, each once."""
Vertices: TypeAlias = Array | Sequence[Sequence[Number]] | Sequence[Array]
"""Points (n, 2) of the user."""

_HOLES_PER_BATCH = 256  # holes that are compared with all others at once


def points_of(values: Vertices, argument: str, least: int, *, closed: bool = True) -> Array:
    """Return finite points (n, 2) without repeated neighbours; of a closed line, the first only once."""
    P = _as_array(values)
    if P.ndim != 2 or P.shape[1:] != (2,) or not np.isfinite(P).all():
        raise ProblemError(
            argument,
            expected="a list of points (x, y) with finite numbers",
            got=_shortened(values),
            remedy="Write [(0, 0), (1, 0), (0, 1)].",
        )
    if len(P):
        check_magnitude(float(P.ravel()[np.abs(P).argmax()]), argument)
    if len(P) > 1:
        P = np.concatenate([P[:1], P[1:][(P[1:] != P[:-1]).any(axis=1)]])
    if closed and len(P) > 1 and (P[0] == P[-1]).all():
        P = P[:-1]
    if len(P) < least:
        raise ProblemError(
            argument,
            expected=f"at least {least} different points",
            got=f"{len(P)}",
            remedy="Give more points.",
        )
    check_extent(float(np.ptp(P, axis=0).max()), argument)
    return P


def _as_array(values: Vertices) -> Array:
    """Return the values as an array; an empty one, (0, 0), if they are not numbers in rows."""
    try:
        is_array = isinstance(values, np.ndarray)
        return floats(values) if is_array else np.array([[float(v) for v in p] for p in values], dtype=float)
    except (TypeError, ValueError, OverflowError):
        return np.empty((0, 0))


def check_rings(vertices: Vertices, holes: Sequence[Vertices]) -> tuple[Ring, tuple[Ring, ...]]:
    """Return the outline counter-clockwise and the holes clockwise, or raise a ProblemError."""
    shapely = import_optional("shapely", extra="polygons", purpose="A polygon")
    outer = points_of(vertices, "Polygon(vertices)", 3)
    try:
        given = list(holes)
    except TypeError:
        given = None
    if given is None or (given and _is_point(given[0])):
        raise ProblemError(
            "Polygon(holes)",
            expected="a list of holes, each a list of points",
            got=_shortened(holes),
            remedy="Write holes=[[(…), (…), (…)]] also for a single hole.",
        )
    inner = [points_of(h, f"Polygon(holes[{i}])", 3) for i, h in enumerate(given)]
    outline = without_slits(outer)
    for ring, argument in (
        (outline, "Polygon(vertices)"),
        *((h, f"Polygon(holes[{i}])") for i, h in enumerate(inner)),
    ):
        _check_ring(ring, argument, shapely)
    _check_holes(shapely.Polygon(outline), inner, shapely)
    return _oriented(outer, True), tuple(_oriented(h, False) for h in inner)


def _is_point(value: npt.ArrayLike) -> bool:
    try:
        return np.ndim(value) == 1
    except ValueError:  # a list of points of different lengths
        return False


def _check_holes(area: shapely.Polygon, holes: list[Array], shapely: ModuleType) -> None:
    """Raise a ProblemError unless holes lie inside the outline and touch neither it nor each other."""
    if not holes:
        return
    areas = np.array([shapely.Polygon(hole) for hole in holes])
    edges = shapely.get_exterior_ring(areas)
    shapely.prepare([area, area.exterior])
    outside = np.flatnonzero(~shapely.covers(area, areas))
    if len(outside):
        raise ProblemError(
            f"Polygon(holes[{outside[0]}])",
            expected="a hole inside the outline",
            got="a hole that extends beyond it",
            remedy="Use polygon - hole, which may cut through the outline.",
        )
    touching = np.flatnonzero(shapely.intersects(area.exterior, edges))
    if len(touching):
        raise ProblemError(
            f"Polygon(holes[{touching[0]}])",
            expected="a hole at a distance from the outline",
            got="a hole that touches the outline",
            remedy="Move it inwards, or make its points part of the outline.",
        )
    tree = shapely.STRtree(areas)
    for start in range(0, len(areas), _HOLES_PER_BATCH):
        i, j = tree.query(areas[start : start + _HOLES_PER_BATCH], predicate="intersects")
        i, j = i[j < i + start] + start, j[j < i + start]
        if len(i):
            first = np.lexsort((j, i))[0]
            raise ProblemError(
                f"Polygon(holes[{i[first]}])",
                expected="holes that do not touch each other",
                got=f"a hole that touches or overlaps holes[{j[first]}]",
                remedy="Merge the two holes into one.",
            )


def without_slits(ring: Array) -> Array:
    """Return a closed line without edges that are traversed back and forth: … b t b … becomes … b …"""
    points = ring.tolist()
    kept: list[int] = []
    for i, point in enumerate(points):
        if len(kept) > 1 and points[kept[-2]] == point:
            kept.pop()
        else:
            kept.append(i)
    first, last = 0, len(kept) - 1  # the same across the start of the line
    while last - first > 2:
        if points[kept[first + 1]] == points[kept[last]]:
            first, last = first + 1, last - 1
        elif points[kept[last - 1]] == points[kept[first]]:
            last -= 2
        else:
            break
    return np.asarray(ring[kept[first : last + 1]])


def _check_ring(ring: Array, argument: str, shapely: ModuleType) -> None:
    if len(ring) < 3:
        raise _no_area_error(argument, "a line that runs back along itself")
    line = shapely.LinearRing(ring)
    if not line.is_simple:
        where = shapely.is_valid_reason(shapely.Polygon(ring))
        raise ProblemError(
            argument,
            expected="an outline that does not intersect or touch itself",
            got=where[:1].lower() + where[1:],
            remedy="Give the vertices in order along the outline.",
        )
    size = np.ptp(ring, axis=0)
    if abs(_doubled_area(ring)) <= 2e-12 * float(size.max()) ** 2:
        raise _no_area_error(argument, "collinear vertices")


def _no_area_error(argument: str, got: str) -> ProblemError:
    return ProblemError(
        argument, expected="vertices that enclose an area", got=got, remedy="Check the coordinates."
    )


def _doubled_area(ring: Array) -> float:
    x, y = (ring[1:] - ring[0]).T
    return float(x[:-1] @ y[1:] - x[1:] @ y[:-1])


def _oriented(ring: Array, counter_clockwise: bool) -> Ring:
    kept = ring if (_doubled_area(ring) > 0) == counter_clockwise else ring[::-1]
    return tuple((float(a), float(b)) for a, b in kept)


def _shortened(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 80 else f"{text[:77]}…"

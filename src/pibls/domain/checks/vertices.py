"""The vertices of a polygon, looked at before they are believed."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError, need

Ring: TypeAlias = tuple[tuple[float, float], ...]
"""The corners of a closed line, each once."""


def points_of(values: Any, argument: str, least: int, *, closed: bool = True) -> Array:
    """Finite points (n, 2), neighbours different, of a closed line the first not repeated at the end."""
    try:
        P = np.array([[float(v) for v in p] for p in values], dtype=float)
    except (TypeError, ValueError):
        P = np.empty((0, 0))
    if P.ndim != 2 or P.shape[1:] != (2,) or not np.isfinite(P).all():
        raise ProblemError(
            argument,
            expected="a list of points (x, y) with finite numbers",
            got=_short(values),
            remedy="Write [(0, 0), (1, 0), (0, 1)].",
        )
    if closed and len(P) > 1 and (P[0] == P[-1]).all():
        P = P[:-1]
    if len(P) > 1:
        new = np.any(np.roll(P, 1, axis=0) != P, axis=1)
        new[0] |= not closed
        P = P[new]
    if len(P) < least:
        raise ProblemError(
            argument,
            expected=f"at least {least} different points",
            got=f"{len(P)}",
            remedy="Fewer enclose nothing.",
        )
    return P


def checked_rings(vertices: Any, holes: Any) -> tuple[Ring, tuple[Ring, ...]]:
    """The outline counter-clockwise, the holes clockwise, or a ProblemError that says what is wrong."""
    shapely = need("shapely", extra="polygons", purpose="A polygon")
    outer = points_of(vertices, "Polygon(vertices)", 3)
    try:
        given = list(holes)
    except TypeError:
        given = None
    if given is None or (given and np.ndim(given[0]) == 1):
        raise ProblemError(
            "Polygon(holes)",
            expected="a list of holes, each a list of points",
            got=_short(holes),
            remedy="Write holes=[[(…), (…), (…)]] even for a single one.",
        )
    inner = [points_of(h, f"Polygon(holes[{i}])", 3) for i, h in enumerate(given)]
    bare = without_slits(outer)
    for ring, argument in (
        (bare, "Polygon(vertices)"),
        *((h, f"Polygon(holes[{i}])") for i, h in enumerate(inner)),
    ):
        _check_ring(ring, argument, shapely)
    area = shapely.Polygon(bare)
    for i, hole in enumerate(inner):
        one = shapely.Polygon(hole)
        if not area.covers(one):
            raise ProblemError(
                f"Polygon(holes[{i}])",
                expected="a hole inside the outline",
                got="one that reaches out of it",
                remedy="Use polygon - hole, which may cut the outline.",
            )
        if area.exterior.intersects(one.exterior):
            raise ProblemError(
                f"Polygon(holes[{i}])",
                expected="a hole with some material around it",
                got="one that touches the outline",
                remedy="Move it inwards, or make its points part of the outline.",
            )
        for j in range(i):
            if shapely.Polygon(inner[j]).intersects(one):
                raise ProblemError(
                    f"Polygon(holes[{i}])",
                    expected="holes apart from each other",
                    got=f"one that touches or overlaps holes[{j}]",
                    remedy="Make one hole of the two.",
                )
    return _turned(outer, True), tuple(_turned(h, False) for h in inner)


def without_slits(ring: Array) -> Array:
    """A closed line without what it runs along and back: … b t b … is … b …"""
    while len(ring) > 3:
        tips = np.flatnonzero(np.all(np.roll(ring, 1, axis=0) == np.roll(ring, -1, axis=0), axis=1))
        if not len(tips):
            break
        ring = np.delete(ring, [tips[0], (tips[0] + 1) % len(ring)], axis=0)
    return ring


def _check_ring(ring: Array, argument: str, shapely: Any) -> None:
    line = shapely.LinearRing(ring)
    if not line.is_simple:
        where = shapely.is_valid_reason(shapely.Polygon(ring))
        raise ProblemError(
            argument,
            expected="an outline that does not cross or touch itself",
            got=where[:1].lower() + where[1:],
            remedy="Give the vertices in the order in which they follow each other.",
        )
    size = np.ptp(ring, axis=0)
    if abs(_doubled_area(ring)) <= 2e-12 * float(size.max()) ** 2:
        raise ProblemError(
            argument,
            expected="vertices that enclose an area",
            got="all of them on one line",
            remedy="Check the coordinates.",
        )


def _doubled_area(ring: Array) -> float:
    x, y = ring.T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def _turned(ring: Array, counter_clockwise: bool) -> Ring:
    kept = ring if (_doubled_area(ring) > 0) == counter_clockwise else ring[::-1]
    return tuple((float(a), float(b)) for a, b in kept)


def _short(values: Any) -> str:
    text = repr(values)
    return text if len(text) <= 80 else f"{text[:77]}…"

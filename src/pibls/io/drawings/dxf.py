"""Reader of ASCII DXF files: polylines with bulges, lines, arcs and circles."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

import numpy as np

from pibls.arrays import Array
from pibls.io.drawings.rings import Rings, arc_points, join_lines, unreadable_drawing

Entity: TypeAlias = list[tuple[int, str]]
"""Group codes and values of an entity."""


def dxf_rings(content: bytes, path: str) -> Rings:
    """Return the closed lines of a drawing."""
    if content.startswith(b"AutoCAD Binary DXF"):
        raise unreadable_drawing(path, "a binary DXF file", "Save it as an ASCII DXF file.")
    rows = [row.decode("utf-8", errors="replace") for row in content.splitlines()]
    try:
        groups = [(int(code), value.strip()) for code, value in zip(rows[::2], rows[1::2], strict=False)]
        with np.errstate(all="ignore"):  # overflow is reported by `join_lines`
            rings, lines = _read(groups)
    except (ValueError, IndexError, OverflowError) as problem:
        raise unreadable_drawing(path, f"not DXF ({problem})") from None
    return rings + join_lines(lines, path)


def _read(groups: Entity) -> tuple[Rings, list[Array]]:
    starts = [i for i, (code, _) in enumerate(groups) if code == 0] + [len(groups)]
    rings: Rings = []
    lines: list[Array] = []
    vertices: list[tuple[float, float, float]] | None = None
    closed = False
    for a, b in pairwise(starts):
        kind, entity = groups[a][1], groups[a + 1 : b]
        if kind == "LWPOLYLINE":
            _add_polyline(_lwpolyline_vertices(entity), bool(int(_value(entity, 70, "0")) & 1), rings, lines)
        elif kind == "POLYLINE":
            vertices, closed = [], bool(int(_value(entity, 70, "0")) & 1)
        elif kind == "VERTEX" and vertices is not None:
            vertices.append((_number(entity, 10), _number(entity, 20), float(_value(entity, 42, "0"))))
        elif kind == "SEQEND" and vertices is not None:
            _add_polyline(vertices, closed, rings, lines)
            vertices = None
        elif kind == "LINE":
            lines.append(
                np.array(
                    [[_number(entity, 10), _number(entity, 20)], [_number(entity, 11), _number(entity, 21)]]
                )
            )
        elif kind in ("CIRCLE", "ARC"):
            (rings if kind == "CIRCLE" else lines).append(_circle_or_arc(entity, kind))
    return rings, lines


def _circle_or_arc(entity: Entity, kind: str) -> Array:
    """Return the points of a circle, or of an arc from its start angle to its end angle in degrees."""
    center, radius = np.array([_number(entity, 10), _number(entity, 20)]), _number(entity, 40)
    if kind == "CIRCLE":
        return arc_points(center, radius)
    start, stop = _number(entity, 50) % 360.0, _number(entity, 51) % 360.0
    span = (stop - start) % 360.0 or 360.0
    return arc_points(center, radius, np.radians(start), np.radians(start + span))


def _value(entity: Entity, code: int, default: str) -> str:
    return next((value for c, value in entity if c == code), default)


def _number(entity: Entity, code: int) -> float:
    return float(_value(entity, code, "nan"))


def _lwpolyline_vertices(entity: Entity) -> list[tuple[float, float, float]]:
    out: list[list[float]] = []
    for code, value in entity:
        if code == 10:
            out.append([float(value), 0.0, 0.0])
        elif code in (20, 42) and out:
            out[-1][1 if code == 20 else 2] = float(value)
    return [(x, y, bulge) for x, y, bulge in out]


def _add_polyline(
    vertices: list[tuple[float, float, float]], closed: bool, rings: Rings, lines: list[Array]
) -> None:
    """Add a polyline; the bulge of a vertex is tan(θ/4) for the arc of angle θ that follows it."""
    if len(vertices) < 2:
        return
    points = [np.array(v[:2]) for v in vertices]
    segments = []
    for i in range(len(points) if closed else len(points) - 1):
        a, b, bulge = points[i], points[(i + 1) % len(points)], vertices[i][2]
        segments.append(_arc(a, b, bulge)[:-1] if bulge else a[None, :])
    line = np.concatenate([*segments, *([] if closed else [points[-1][None, :]])])
    (rings if closed else lines).append(line)


def _arc(a: Array, b: Array, bulge: float) -> Array:
    angle = 4 * np.arctan(bulge)
    chord = b - a
    center = 0.5 * (a + b) + np.array([-chord[1], chord[0]]) * (1 - bulge**2) / (4 * bulge)
    start = np.arctan2(*(a - center)[::-1])
    return arc_points(center, float(np.linalg.norm(a - center)), start, start + angle)

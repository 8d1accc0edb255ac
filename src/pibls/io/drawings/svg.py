"""Reader of SVG files: closed paths, polygons, rectangles, circles and ellipses with transforms."""

from __future__ import annotations

import re
from typing import Any
from xml.parsers import expat

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.io.drawings.rings import Rings, join_lines, unreadable_drawing

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_COMMAND = re.compile(r"([MmLlHhVvCcSsQqTtAaZz])([^MmLlHhVvCcSsQqTtAaZz]*)")
_TRANSFORM = re.compile(r"\b(\w++)\s*+\(([^()]*+)\)")  # possessive quantifiers: linear time
_ARGUMENT_COUNTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7}
_CURVE_PARAMETERS = np.linspace(0.0, 1.0, 33)[1:]


_HIDDEN_ELEMENTS = ("defs", "clipPath", "mask", "symbol", "pattern")


def svg_rings(content: bytes, path: str) -> Rings:
    """Return the closed lines of a drawing, with the y-axis upwards."""
    drawing = _Drawing(path)
    try:
        with np.errstate(all="ignore"):  # overflow is reported by `join_lines`
            drawing.parser.Parse(content, True)
    except ProblemError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as problem:
        raise unreadable_drawing(path, f"not SVG ({problem})") from None
    return join_lines(drawing.lines, path)


class _Drawing:
    """Collects the lines of an SVG file while its elements are parsed.

    Groups are kept on a stack instead of recursive calls, so that they may be nested to any depth. Entity
    declarations are rejected by the parser in any encoding.
    """

    def __init__(self, path: str) -> None:
        self.lines: list[Array] = []
        self._path = path
        self._matrices = [np.diag([1.0, -1.0, 1.0])]
        self._hidden = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.EntityDeclHandler = self._entity

    def _entity(self, *declared: Any) -> None:
        raise unreadable_drawing(self._path, "entity declarations", "Save it as plain SVG.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        if self._hidden or kind in _HIDDEN_ELEMENTS:
            self._hidden += 1
            return
        matrix = self._matrices[-1]
        if "transform" in attributes:
            matrix = matrix @ _matrix(attributes["transform"])
        self._matrices.append(matrix)
        drawn = (line @ matrix[:2, :2].T + matrix[:2, 2] for line in _element(kind, attributes))
        self.lines += [line for line in drawn if len(line) > 1]

    def _end(self, name: str) -> None:
        if self._hidden:
            self._hidden -= 1
        else:
            self._matrices.pop()


def _element(kind: str, node: dict[str, str]) -> list[Array]:
    """Return the lines of one element in its local coordinates."""
    if kind == "path":
        return _path(node.get("d", ""))
    if kind in ("polygon", "polyline"):
        points = _numbers(node.get("points", "")).reshape(-1, 2)
        return [np.concatenate([points, points[:1]]) if kind == "polygon" else points]
    if kind == "rect":
        x, y, w, h = (_length(node, k) for k in ("x", "y", "width", "height"))
        return [np.array([[x, y], [x + w, y], [x + w, y + h], [x, y + h], [x, y]])]
    if kind in ("circle", "ellipse"):
        names = ("r", "r") if kind == "circle" else ("rx", "ry")
        a = np.linspace(0.0, 2 * np.pi, 257)
        radii = [_length(node, k) for k in names]
        line = np.column_stack([np.cos(a), np.sin(a)]) * radii + [_length(node, "cx"), _length(node, "cy")]
        line[-1] = line[0]
        return [line]
    return []


def _numbers(text: str) -> Array:
    return np.array([float(n) for n in _NUMBER.findall(text)])


def _length(node: dict[str, str], key: str) -> float:
    found = _NUMBER.match(node.get(key, "0").strip())
    return float(found.group()) if found else 0.0


def _matrix(text: str) -> Array:
    out = np.eye(3)
    for name, values in _TRANSFORM.findall(text):
        v = _numbers(values).tolist()
        m = np.eye(3)
        if name == "matrix":
            m[:2] = np.array(v).reshape(3, 2).T
        elif name == "translate":
            m[:2, 2] = [v[0], v[1] if len(v) > 1 else 0.0]
        elif name == "scale":
            m[0, 0], m[1, 1] = v[0], v[-1]
        elif name == "rotate":
            a = np.radians(v[0])
            m[:2, :2] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
            if len(v) == 3:
                center = np.array(v[1:])
                m[:2, 2] = center - m[:2, :2] @ center
        out = out @ m
    return out


def _path(d: str) -> list[Array]:
    """Return the lines of a path; curves are approximated by polylines."""
    lines: list[list[Array]] = []
    here, start, handle = np.zeros(2), np.zeros(2), None
    for command, values in _COMMAND.findall(d):
        kind, relative = command.upper(), command.islower()
        if kind == "Z":
            if lines:
                lines[-1].append(start)
            here, handle = start, None
            continue
        numbers = _numbers(values)
        for i, v in enumerate(numbers.reshape(-1, _ARGUMENT_COUNTS[kind])):
            origin = here if relative else np.zeros(2)
            if kind == "M" and i == 0:
                here = start = v + origin
                lines.append([here])
                continue
            points, handle = _curve("L" if kind == "M" else kind, here, v, origin, handle)
            if not lines or (len(lines[-1]) > 1 and lines[-1][-1] is start):
                lines.append([here])
            lines[-1] += points
            here = points[-1]
    return [np.array(line) for line in lines if len(line) > 1]


def _curve(kind: str, here: Array, v: Array, origin: Array, handle: Any) -> tuple[list[Array], Any]:
    if kind in "HV":
        axis = "HV".index(kind)
        end = here.copy()
        end[axis] = v[0] + origin[axis]
        return [end], None
    s = _CURVE_PARAMETERS[:, None]
    end = v[-2:] + origin
    mirrored = (
        here if handle is None or handle[0] not in ("CS" if kind in "CS" else "QT") else 2 * here - handle[1]
    )
    if kind == "L":
        return [end], None
    if kind in "CS":
        first = v[:2] + origin if kind == "C" else mirrored
        second = v[-4:-2] + origin
        points = (1 - s) ** 3 * here + 3 * s * (1 - s) ** 2 * first + 3 * s**2 * (1 - s) * second + s**3 * end
        return [*points[:-1], end], ("C", second)
    if kind in "QT":
        first = v[:2] + origin if kind == "Q" else mirrored
        return [*((1 - s) ** 2 * here + 2 * s * (1 - s) * first + s**2 * end)[:-1], end], ("Q", first)
    return [*_arc(here, end, v)[:-1], end], None


def _arc(a: Array, b: Array, v: Array) -> Array:
    """Return points of an elliptical arc, by the endpoint conversion of the SVG specification."""
    rx, ry, turn, large, sweep = abs(v[0]), abs(v[1]), np.radians(v[2]), bool(v[3]), bool(v[4])
    if rx == 0 or ry == 0 or np.allclose(a, b):
        return np.array([b])
    R = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    p = R @ (a - b) / 2
    grow = (p[0] / rx) ** 2 + (p[1] / ry) ** 2
    if grow > 1:
        rx, ry = rx * np.sqrt(grow), ry * np.sqrt(grow)
    under = (rx * ry) ** 2 - (rx * p[1]) ** 2 - (ry * p[0]) ** 2
    factor = np.sqrt(max(under, 0.0) / ((rx * p[1]) ** 2 + (ry * p[0]) ** 2)) * (-1 if large == sweep else 1)
    c = factor * np.array([rx * p[1] / ry, -ry * p[0] / rx])
    first = np.arctan2((p[1] - c[1]) / ry, (p[0] - c[0]) / rx)
    last = np.arctan2((-p[1] - c[1]) / ry, (-p[0] - c[0]) / rx)
    span = last - first
    span += 2 * np.pi * ((span < 0) & sweep) - 2 * np.pi * ((span > 0) & (not sweep))
    angles = first + span * _CURVE_PARAMETERS
    return np.asarray((np.column_stack([rx * np.cos(angles), ry * np.sin(angles)]) + c) @ R + (a + b) / 2)

"""[shapes] → shapes: one kind per name, put together by signs.

    [shapes]
    plate = { box = { x = [0, 1], y = [0, 1] } }
    hole = { disk = { center = { x = 0.5, y = 0.5 }, radius = 0.2 } }
    slot = { shape = "hole", moved = [0.3, 0], scaled = 0.5 }

    [domain]
    shape = "plate - (hole | slot)"

``-`` binds before ``&``, and that before ``|``. A shape may be made of those above it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from pibls.geometry import Ball, Disk, Ellipse, Implicit, Mapped, Polygon, Slit, Solid, Spline
from pibls.geometry.maps import Affine
from pibls.io.document import Document, kind_of
from pibls.io.places import Path
from pibls.text import Names, nearest, parse_expression

MAX_POINTS = 20_000
_TOKEN = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*|[|&()-])", re.ASCII)


class ShapeReader(Protocol):
    """What reads the numbers and the symbols of a document."""

    @property
    def doc(self) -> Document:
        """The document."""

    def number(self, path: Path, value: Any) -> Any:
        """A number, or text that gives one."""

    def ends(self, path: Path, value: Any) -> tuple[Any, Any]:
        """[low, high]."""

    def symbol(self, path: Path, name: Any) -> Any:
        """The coordinate of this name."""

    def box(self, path: Path, sides: Mapping[str, Any], kind: str) -> Any:
        """An interval or a box."""


def read_shape_table(reader: ShapeReader, path: Path, value: Any, shapes: Mapping[str, Any]) -> Any:
    """One shape of [shapes]; ``shapes`` are those above it."""
    doc = reader.doc
    table = doc.table(path, value)
    if "shape" in table:
        return _changed(reader, path, table, shapes)
    kind = next((k for k in table if k in KINDS), None)
    if kind is None:
        got = next(iter(table), "none")
        remedy = nearest(got, KINDS) + "Write { box = { x = [0, 1], y = [0, 1] } }."
        raise doc.refusal(path, f"a shape ({', '.join(KINDS)})", f"'{got[:64]}'" if table else "none", remedy)
    doc.table(path, table, (kind,))
    place = (*path, kind)
    inner = doc.table(place, table[kind])
    with doc.at(place):
        return KINDS[kind](reader, place, inner, shapes)


def _needed(reader: ShapeReader, path: Path, table: Mapping[str, Any], needed: str, *others: str) -> None:
    keys = needed.split()
    reader.doc.table(path, table, (*keys, *others))
    for key in keys:
        if key not in table:
            raise reader.doc.refusal(path, f"{key} of the {path[-1]}", "none", f"Write {key} = …", key=True)


def _center(reader: ShapeReader, path: Path, value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """{ x = 0.5, y = 0.5 }: the coordinates and their values."""
    if not isinstance(value, dict):
        raise reader.doc.refusal(
            path, "a value for each coordinate", kind_of(value), "Write center = { x = 0, y = 0 }."
        )
    symbols = tuple(reader.symbol((*path, name), name) for name in value)
    return symbols, tuple(reader.number((*path, name), v) for name, v in value.items())


def _numbers(reader: ShapeReader, path: Path, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise reader.doc.refusal(path, "a list of numbers", kind_of(value), "Write [1, 0.5].")
    return [reader.number((*path, i), v) for i, v in enumerate(value)]


def _points(reader: ShapeReader, path: Path, value: Any) -> list[list[float]]:
    if not isinstance(value, list) or len(value) > MAX_POINTS:
        got = kind_of(value) if not isinstance(value, list) else f"{len(value)} points"
        raise reader.doc.refusal(
            path, f"a list of at most {MAX_POINTS} points", got, "Write [[0, 0], [1, 0]]."
        )
    return [[float(v) for v in _numbers(reader, (*path, i), p)] for i, p in enumerate(value)]


def _symbols(reader: ShapeReader, path: Path, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise reader.doc.refusal(path, "the names of the coordinates", kind_of(value), 'Write ["x", "y"].')
    return tuple(reader.symbol((*path, i), reader.doc.string((*path, i), v)) for i, v in enumerate(value))


def _rings(reader: ShapeReader, path: Path, value: Any) -> list[list[list[float]]]:
    if not isinstance(value, list) or len(value) > MAX_POINTS:
        raise reader.doc.refusal(
            path, f"a list of at most {MAX_POINTS} {path[-1]}", kind_of(value), "Write [[[0, 0], …]]."
        )
    return [_points(reader, (*path, i), ring) for i, ring in enumerate(value)]


_VALUES: dict[str, Callable[[ShapeReader, Path, Any], Any]] = {
    "center": _center,
    "coordinates": _symbols,
    "radius": lambda reader, path, value: reader.number(path, value),
    "angle": lambda reader, path, value: reader.number(path, value),
    "radii": _numbers,
    "vertices": _points,
    "points": _points,
    "holes": _rings,
    "triangles": _rings,
}
PLAIN: dict[Any, tuple[str, ...]] = {
    Disk: ("center radius",),
    Ball: ("center radius",),
    Ellipse: ("center radii", "angle"),
    Polygon: ("coordinates vertices", "holes"),
    Slit: ("coordinates vertices",),
    Spline: ("coordinates points",),
    Solid: ("coordinates triangles",),
}
"""Shapes that are made of what stands under some keys, in this order; those that may be left out last."""


def _plain(make: Any) -> Callable[..., Any]:
    def read(reader: ShapeReader, path: Path, table: Mapping[str, Any], shapes: Mapping[str, Any]) -> Any:
        _needed(reader, path, table, *PLAIN[make])
        given = [key for key in " ".join(PLAIN[make]).split() if key in table]
        found = {key: _VALUES[key](reader, (*path, key), table[key]) for key in given}
        first = found.pop("center") if "center" in found else ()  # it names the coordinates, too
        return make(*first, *found.values())

    return read


def _implicit(reader: ShapeReader, path: Path, table: Mapping[str, Any], shapes: Mapping[str, Any]) -> Any:
    _needed(reader, path, table, "negative bounds")
    bounds = reader.doc.table((*path, "bounds"), table["bounds"])
    symbols = {name: reader.symbol((*path, "bounds", name), name) for name in bounds}
    ends = {symbols[n]: reader.ends((*path, "bounds", n), v) for n, v in bounds.items()}
    place = (*path, "negative")
    text = reader.doc.string(place, table["negative"])
    with reader.doc.at(place):
        expression = parse_expression(text, Names(symbols), argument=reader.doc.name(place))
    if isinstance(expression, tuple):
        raise reader.doc.refusal(place, "one value", "a vector", "Write one component.")
    return Implicit(expression, ends)


def _extrusion(reader: ShapeReader, path: Path, table: Mapping[str, Any], shapes: Mapping[str, Any]) -> Any:
    axes = [name for name in table if name != "shape"]
    if "shape" not in table or len(axes) != 1:
        raise reader.doc.refusal(
            path, "a shape and one more coordinate", ", ".join(table) or "nothing",
            'Write { extrusion = { shape = "name", z = [0, 1] } }.',
        )  # fmt: skip
    base = read_expression(reader.doc, (*path, "shape"), table["shape"], shapes)
    low, high = reader.ends((*path, axes[0]), table[axes[0]])
    return base.extruded(reader.symbol((*path, axes[0]), axes[0]), low, high)


def _revolution(reader: ShapeReader, path: Path, table: Mapping[str, Any], shapes: Mapping[str, Any]) -> Any:
    _needed(reader, path, table, "shape coordinates")
    profile = read_expression(reader.doc, (*path, "shape"), table["shape"], shapes)
    symbols = _symbols(reader, (*path, "coordinates"), table["coordinates"])
    if len(symbols) != 2:
        raise reader.doc.refusal(
            (*path, "coordinates"), "two coordinates", f"{len(symbols)}", 'Write ["x", "y"].'
        )
    return profile.revolved(*symbols)


KINDS: dict[str, Callable[..., Any]] = {
    "interval": lambda reader, path, table, shapes: reader.box(path, table, "interval"),
    "box": lambda reader, path, table, shapes: reader.box(path, table, "box"),
    **{make.__name__.lower(): _plain(make) for make in PLAIN},
    "implicit": _implicit,
    "extrusion": _extrusion,
    "revolution": _revolution,
}
"""The kinds of shapes of a problem file."""

_CHANGES = ("moved", "turned", "scaled", "center", "axis", "matrix", "offset")


def _changed(reader: ShapeReader, path: Path, table: Mapping[str, Any], shapes: Mapping[str, Any]) -> Any:
    """{ shape = "a", moved = [1, 0] }: a shape from another one; scaled, turned, then moved."""
    doc = reader.doc
    doc.table(path, table, ("shape", *_CHANGES))
    shape = read_expression(doc, (*path, "shape"), table["shape"], shapes)
    center = None
    if "center" in table:
        center = _center(reader, (*path, "center"), table["center"])[1]
    with doc.at(path):
        if "matrix" in table:
            rows = tuple(map(tuple, _points(reader, (*path, "matrix"), table["matrix"])))
            offset = tuple(float(v) for v in _numbers(reader, (*path, "offset"), table.get("offset", [])))
            d = len(shape.coordinates)
            if np.shape(rows) != (d, d) or len(offset) != d or abs(np.linalg.det(np.array(rows))) < 1e-12:
                raise doc.refusal(
                    (*path, "matrix"), f"{d} rows of {d} numbers", "others", "Check the matrix."
                )
            shape = Mapped(shape, Affine(rows, offset))
        if "scaled" in table:
            value, place = table["scaled"], (*path, "scaled")
            many = isinstance(value, list)
            factor = _numbers(reader, place, value) if many else reader.number(place, value)
            shape = shape.scaled(factor, center=center)
        if "turned" in table:
            axis = (
                reader.symbol((*path, "axis"), doc.string((*path, "axis"), table["axis"]))
                if "axis" in table
                else None
            )
            shape = shape.turned(reader.number((*path, "turned"), table["turned"]), center=center, axis=axis)
        if "moved" in table:
            shape = shape.moved(*_numbers(reader, (*path, "moved"), table["moved"]))
    return shape


def read_expression(doc: Document, path: Path, value: Any, shapes: Mapping[str, Any]) -> Any:
    """A name, or names joined by |, & and -, with brackets."""
    text = doc.string(path, value).strip()
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise doc.refusal(path, "names of shapes, joined by |, & and -", f"'{text[:64]}'", "Write a - b.")
        tokens.append(match.group(1))
        at = match.end()
    with doc.at(path):
        shape, rest = _joined(doc, path, tokens, shapes, 0)
    if rest:
        raise doc.refusal(path, "a sign between two shapes", f"'{text[:64]}'", "Write |, & or - there.")
    return shape


def _joined(
    doc: Document, path: Path, tokens: list[str], shapes: Mapping[str, Any], level: int
) -> tuple[Any, list[str]]:
    signs = ("|", "&", "-")
    if level < len(signs):
        shape, rest = _joined(doc, path, tokens, shapes, level + 1)
        while rest and rest[0] == signs[level]:
            other, rest = _joined(doc, path, rest[1:], shapes, level + 1)
            shape = shape | other if level == 0 else shape & other if level == 1 else shape - other
        return shape, rest
    if not tokens or tokens[0] in "|&-)":
        raise doc.refusal(
            path, "the name of a shape", f"'{tokens[0]}'" if tokens else "nothing", "Write a - b."
        )
    if tokens[0] == "(":
        shape, rest = _joined(doc, path, tokens[1:], shapes, 0)
        if not rest or rest[0] != ")":
            raise doc.refusal(path, "a closing bracket", "none", "Write (a | b).")
        return shape, rest[1:]
    name = tokens[0]
    if name not in shapes:
        known = f"Declared are {', '.join(shapes)}." if shapes else "Declare it under [shapes]."
        raise doc.refusal(path, "the name of a shape", f"'{name[:64]}'", nearest(name, shapes) + known)
    return shapes[name], tokens[1:]

"""Reading of the section [shapes] of a problem file, and of expressions of shapes.

    [shapes]
    plate = { box = { x = [0, 1], y = [0, 1] } }
    hole = { disk = { center = { x = 0.5, y = 0.5 }, radius = 0.2 } }
    slot = { shape = "hole", moved = [0.3, 0], scaled = 0.5 }

    [domain]
    shape = "plate - (hole | slot)"

``-`` has the highest precedence, then ``&``, then ``|``. A shape may use those defined before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pibls.expressions import Coordinate, Number
from pibls.geometry import Ball, Disk, Ellipse, Implicit, Mapped, Polygon, Slit, Solid, Spline
from pibls.geometry.affine import Affine
from pibls.io.offsets import KeyPath
from pibls.io.toml_document import Document, TomlValue, describe
from pibls.text import Names, did_you_mean, parse_expression

if TYPE_CHECKING:
    from pibls.geometry.shape import Shape

MAX_POINTS = 20_000
_TOKEN = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*|[|&()-])", re.ASCII)


class ShapeReader(Protocol):
    """Reads the numbers and symbols of a document."""

    @property
    def doc(self) -> Document:
        """The document that is read."""

    def number(self, path: KeyPath, value: TomlValue) -> Number:
        """Return a number, also from text that evaluates to one."""

    def ends(self, path: KeyPath, value: TomlValue) -> tuple[Number, Number]:
        """Return the bounds [low, high]."""

    def symbol(self, path: KeyPath, name: str) -> Coordinate:
        """Return the coordinate of this name."""

    def box(self, path: KeyPath, sides: Mapping[str, TomlValue], kind: str) -> Shape:
        """Return an interval or a box."""


def read_shape_table(
    reader: ShapeReader, path: KeyPath, value: TomlValue, shapes: Mapping[str, Shape]
) -> Shape:
    """Read one shape of [shapes]; ``shapes`` are those before it."""
    doc = reader.doc
    table = doc.table(path, value)
    if "shape" in table:
        return _transformed(reader, path, table, shapes)
    kind = next((k for k in table if k in SHAPE_KINDS), None)
    if kind is None:
        got = next(iter(table), "none")
        remedy = did_you_mean(got, SHAPE_KINDS) + "Write { box = { x = [0, 1], y = [0, 1] } }."
        raise doc.error_at(
            path, f"a shape ({', '.join(SHAPE_KINDS)})", f"'{got[:64]}'" if table else "none", remedy
        )
    doc.table(path, table, (kind,))
    place = (*path, kind)
    inner = doc.table(place, table[kind])
    with doc.locate_errors(place):
        return SHAPE_KINDS[kind](reader, place, inner, shapes)


def _check_keys(
    reader: ShapeReader, path: KeyPath, table: Mapping[str, TomlValue], needed: str, *others: str
) -> None:
    keys = needed.split()
    reader.doc.table(path, table, (*keys, *others))
    for key in keys:
        if key not in table:
            raise reader.doc.error_at(path, f"{key} of the {path[-1]}", "none", f"Add {key} = …", key=True)


def _center(
    reader: ShapeReader, path: KeyPath, value: TomlValue
) -> tuple[tuple[Coordinate, ...], tuple[Number, ...]]:
    """Read { x = 0.5, y = 0.5 } as coordinates and their values."""
    if not isinstance(value, dict):
        raise reader.doc.error_at(
            path, "a value for each coordinate", describe(value), "Write center = { x = 0, y = 0 }."
        )
    symbols = tuple(reader.symbol((*path, name), name) for name in value)
    return symbols, tuple(reader.number((*path, name), v) for name, v in value.items())


def _numbers(reader: ShapeReader, path: KeyPath, value: TomlValue) -> list[Number]:
    if not isinstance(value, list):
        raise reader.doc.error_at(path, "a list of numbers", describe(value), "Write [1, 0.5].")
    return [reader.number((*path, i), v) for i, v in enumerate(value)]


def _points(reader: ShapeReader, path: KeyPath, value: TomlValue) -> list[list[float]]:
    if not isinstance(value, list) or len(value) > MAX_POINTS:
        got = describe(value) if not isinstance(value, list) else f"{len(value)} points"
        raise reader.doc.error_at(
            path, f"a list of at most {MAX_POINTS} points", got, "Write [[0, 0], [1, 0]]."
        )
    return [[float(v) for v in _numbers(reader, (*path, i), p)] for i, p in enumerate(value)]


def _symbols(reader: ShapeReader, path: KeyPath, value: TomlValue) -> tuple[Coordinate, ...]:
    if not isinstance(value, list):
        raise reader.doc.error_at(path, "the names of the coordinates", describe(value), 'Write ["x", "y"].')
    return tuple(reader.symbol((*path, i), reader.doc.string((*path, i), v)) for i, v in enumerate(value))


def _rings(reader: ShapeReader, path: KeyPath, value: TomlValue) -> list[list[list[float]]]:
    if not isinstance(value, list) or len(value) > MAX_POINTS:
        raise reader.doc.error_at(
            path, f"a list of at most {MAX_POINTS} {path[-1]}", describe(value), "Write [[[0, 0], …]]."
        )
    return [_points(reader, (*path, i), ring) for i, ring in enumerate(value)]


_VALUES: dict[str, Callable[[ShapeReader, KeyPath, TomlValue], object]] = {
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
KEYWORD_SHAPES: dict[type[Shape], tuple[str, ...]] = {
    Disk: ("center radius",),
    Ball: ("center radius",),
    Ellipse: ("center radii", "angle"),
    Polygon: ("coordinates vertices", "holes"),
    Slit: ("coordinates vertices",),
    Spline: ("coordinates points",),
    Solid: ("coordinates triangles",),
}
"""Shapes built from the values of keys, in the order of their constructor: required keys, optional keys."""


def _keyword_shape(make: type[Shape]) -> Callable[..., Shape]:
    def read(
        reader: ShapeReader, path: KeyPath, table: Mapping[str, TomlValue], shapes: Mapping[str, Shape]
    ) -> Shape:
        _check_keys(reader, path, table, *KEYWORD_SHAPES[make])
        given = [key for key in " ".join(KEYWORD_SHAPES[make]).split() if key in table]
        found: dict[str, Any] = {key: _VALUES[key](reader, (*path, key), table[key]) for key in given}
        first = found.pop("center") if "center" in found else ()  # includes the coordinates
        return make(*first, *found.values())

    return read


def _implicit(
    reader: ShapeReader, path: KeyPath, table: Mapping[str, TomlValue], shapes: Mapping[str, Shape]
) -> Shape:
    _check_keys(reader, path, table, "negative bounds")
    bounds = reader.doc.table((*path, "bounds"), table["bounds"])
    symbols = {name: reader.symbol((*path, "bounds", name), name) for name in bounds}
    ends = {symbols[n]: reader.ends((*path, "bounds", n), v) for n, v in bounds.items()}
    place = (*path, "negative")
    text = reader.doc.string(place, table["negative"])
    with reader.doc.locate_errors(place):
        expression = parse_expression(text, Names(symbols), argument=reader.doc.name(place))
    if isinstance(expression, tuple):
        raise reader.doc.error_at(place, "a scalar", "a vector", "Write one component.")
    return Implicit(expression, ends)


def _extrusion(
    reader: ShapeReader, path: KeyPath, table: Mapping[str, TomlValue], shapes: Mapping[str, Shape]
) -> Shape:
    axes = [name for name in table if name != "shape"]
    if "shape" not in table or len(axes) != 1:
        raise reader.doc.error_at(
            path, "a shape and one additional coordinate", ", ".join(table) or "nothing",
            'Write { extrusion = { shape = "name", z = [0, 1] } }.',
        )  # fmt: skip
    base = read_expression(reader.doc, (*path, "shape"), table["shape"], shapes)
    low, high = reader.ends((*path, axes[0]), table[axes[0]])
    return base.extruded(reader.symbol((*path, axes[0]), axes[0]), low, high)


def _revolution(
    reader: ShapeReader, path: KeyPath, table: Mapping[str, TomlValue], shapes: Mapping[str, Shape]
) -> Shape:
    _check_keys(reader, path, table, "shape coordinates")
    profile = read_expression(reader.doc, (*path, "shape"), table["shape"], shapes)
    symbols = _symbols(reader, (*path, "coordinates"), table["coordinates"])
    if len(symbols) != 2:
        raise reader.doc.error_at(
            (*path, "coordinates"), "two coordinates", f"{len(symbols)}", 'Write ["x", "y"].'
        )
    return profile.revolved(*symbols)


SHAPE_KINDS: dict[str, Callable[..., Shape]] = {
    "interval": lambda reader, path, table, shapes: reader.box(path, table, "interval"),
    "box": lambda reader, path, table, shapes: reader.box(path, table, "box"),
    **{make.__name__.lower(): _keyword_shape(make) for make in KEYWORD_SHAPES},
    "implicit": _implicit,
    "extrusion": _extrusion,
    "revolution": _revolution,
}
"""Kind of shape in a problem file → function that reads it."""

_TRANSFORMATIONS = ("moved", "turned", "scaled", "center", "axis", "matrix", "offset")


def _transformed(
    reader: ShapeReader, path: KeyPath, table: Mapping[str, TomlValue], shapes: Mapping[str, Shape]
) -> Shape:
    """Read { shape = "a", moved = [1, 0] }: another shape, transformed, scaled, turned, then moved."""
    doc = reader.doc
    doc.table(path, table, ("shape", *_TRANSFORMATIONS))
    shape = read_expression(doc, (*path, "shape"), table["shape"], shapes)
    center = None
    if "center" in table:
        center = _center(reader, (*path, "center"), table["center"])[1]
    with doc.locate_errors(path):
        if "matrix" in table:
            rows = tuple(map(tuple, _points(reader, (*path, "matrix"), table["matrix"])))
            offset = tuple(float(v) for v in _numbers(reader, (*path, "offset"), table.get("offset", [])))
            d = len(shape.coordinates)
            if np.shape(rows) != (d, d) or len(offset) != d or abs(np.linalg.det(np.array(rows))) < 1e-12:
                raise doc.error_at(
                    (*path, "matrix"),
                    f"a regular matrix of {d} × {d} numbers and an offset",
                    "other values",
                    "Check matrix and offset.",
                )
            shape = Mapped(shape, Affine(rows, offset))
        if "scaled" in table:
            value, place = table["scaled"], (*path, "scaled")
            is_list = isinstance(value, list)
            factor = _numbers(reader, place, value) if is_list else reader.number(place, value)
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


def read_expression(doc: Document, path: KeyPath, value: TomlValue, shapes: Mapping[str, Shape]) -> Shape:
    """Read a name, or names joined by |, & and -, with parentheses."""
    text = doc.string(path, value).strip()
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise doc.error_at(
                path, "names of shapes, joined by |, & and -", f"'{text[:64]}'", "Write a - b."
            )
        tokens.append(match.group(1))
        at = match.end()
    with doc.locate_errors(path):
        shape, rest = _parse_level(doc, path, tokens, shapes, 0)
    if rest:
        raise doc.error_at(path, "an operator between two shapes", f"'{text[:64]}'", "Write |, & or - there.")
    return shape


def _combined(operator: str, a: Shape, b: Shape) -> Shape:
    return a | b if operator == "|" else a & b if operator == "&" else a - b


def _parse_level(
    doc: Document, path: KeyPath, tokens: list[str], shapes: Mapping[str, Shape], level: int
) -> tuple[Shape, list[str]]:
    operators = ("|", "&", "-")
    if level < len(operators):
        shape, rest = _parse_level(doc, path, tokens, shapes, level + 1)
        while rest and rest[0] == operators[level]:
            other, rest = _parse_level(doc, path, rest[1:], shapes, level + 1)
            shape = _combined(operators[level], shape, other)
        return shape, rest
    if not tokens or tokens[0] in "|&-)":
        raise doc.error_at(
            path, "the name of a shape", f"'{tokens[0]}'" if tokens else "nothing", "Write a - b."
        )
    if tokens[0] == "(":
        shape, rest = _parse_level(doc, path, tokens[1:], shapes, 0)
        if not rest or rest[0] != ")":
            raise doc.error_at(path, "a closing parenthesis", "none", "Write (a | b).")
        return shape, rest[1:]
    name = tokens[0]
    if name not in shapes:
        known = f"Declared shapes are {', '.join(shapes)}." if shapes else "Declare it under [shapes]."
        raise doc.error_at(path, "the name of a shape", f"'{name[:64]}'", did_you_mean(name, shapes) + known)
    return shapes[name], tokens[1:]

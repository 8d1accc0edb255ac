"""[domain], [time], [shapes], [names], [assumptions], unknowns → a domain and the names of its texts.

A coordinate with two ends is a side of an interval or a box. Other shapes are declared under [shapes]
and put together by ``shape`` in [domain] (`shapes`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sympy as sp

from pibls.errors import ProblemError
from pibls.geometry import Box, Interval
from pibls.geometry.shape import inside_of
from pibls.io.document import Document, kind_of
from pibls.io.places import Path
from pibls.io.shapes import read_expression, read_shape_table
from pibls.io.symbols import assumed, own_name
from pibls.text import Names
from pibls.text.names import check_name

_APPLIED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:\(([A-Za-z0-9_, ]*)\))?", re.ASCII)

Constant = Callable[[Path, Any], Any]
"""Reads a number, or text that gives one."""


@dataclass(frozen=True)
class TextSpace:
    """A domain, the names of its texts, its shapes by name, and the symbols of parameters."""

    domain: Any
    names: Names
    shapes: Mapping[str, Any]
    parameter: Callable[[str], Any]


def read_space(doc: Document, constant: Constant) -> TextSpace:
    """The domain and the names of a document."""
    symbols = _Symbols(doc)
    reader, shapes = _Reader(doc, symbols, constant), dict[str, Any]()
    for name, value in doc.table(("shapes",), doc.values.get("shapes", {})).items():
        shapes[name] = read_shape_table(reader, ("shapes", name), value, shapes)
    space = _space(doc, symbols, shapes, constant)
    time = doc.table(("time",), doc.values.get("time", {}))
    if len(time) > 1:
        raise doc.refusal(
            ("time",), "one time coordinate", ", ".join(time), "A problem has one time.", key=True
        )
    domain = space
    for name, ends in time.items():
        path: Path = ("time", name)
        low, high = _ends(doc, path, ends, constant)
        with doc.at(path):
            domain = space.during(symbols.symbol(name), low, high)
    # A profile that is turned has a distance from the axis, which is no coordinate of the body.
    named = {symbol: name for name, symbol in symbols.made.items()}
    coordinates = {named[symbol]: symbol for symbol in domain.coordinates}
    unknowns = _unknowns(doc, symbols, coordinates)
    with doc.at(("unknowns",)):
        places = {name: inside_of(shape) for name, shape in shapes.items()}
        names = Names(coordinates, unknowns, next(iter(time), None), places=places)
    return TextSpace(domain, names, {"domain": domain, "space": space, **shapes}, symbols.parameter)


class _Symbols:
    """Makes symbols and functions, with their own names and assumptions."""

    def __init__(self, doc: Document) -> None:
        self._doc = doc
        self._called = {
            key: self._own(("names", key), value)
            for key, value in doc.table(("names",), doc.values.get("names", {})).items()
        }
        self._assumed = {
            key: self._facts(("assumptions", key), value)
            for key, value in doc.table(("assumptions",), doc.values.get("assumptions", {})).items()
        }
        self.made: dict[str, Any] = {}

    def symbol(self, name: str) -> Any:
        """The coordinate of this name."""
        return self.made.setdefault(name, self.parameter(name))

    def parameter(self, name: str) -> Any:
        """The parameter of this name."""
        return sp.Symbol(self._called.get(name, name), **self._assumed.get(name, {}))

    def function(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """The unknown of this name."""
        return sp.Function(self._called.get(name, name), **self._assumed.get(name, {}))(*arguments)

    def _own(self, path: Path, value: Any) -> str:
        with self._doc.at(path):
            return own_name(self._doc.string(path, value), self._doc.name(path))

    def _facts(self, path: Path, value: Any) -> dict[str, bool]:
        words = [value] if isinstance(value, str) else value
        if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
            raise self._doc.refusal(path, 'words such as "real"', kind_of(value), 'Write ["real"].')
        with self._doc.at(path):
            return assumed(words, self._doc.name(path))


def _space(doc: Document, symbols: _Symbols, shapes: Mapping[str, Any], constant: Constant) -> Any:
    sides = doc.table(("domain",), doc.values.get("domain", {}))
    if not sides:
        raise doc.refusal(
            ("domain",), "the coordinates and their ends", "none", "Write [domain] and x = [0, 1]."
        )
    if "shape" in sides:
        if len(sides) > 1:
            raise doc.refusal(
                ("domain", "shape"), "either shape, or coordinates", "both", "Leave one of them out."
            )
        return read_expression(doc, ("domain", "shape"), sides["shape"], shapes)
    if shapes and not any(_is_asked(doc.values, name) for name in shapes):
        raise doc.refusal(
            ("shapes",), "shape in [domain], which names one of them", "none", 'Write shape = "name".'
        )
    for misplaced in ("title", "unknowns", "equations", "parameters", "tol"):
        if misplaced in sides:
            remedy = (
                f"In TOML a key belongs to the [section] above it: move {misplaced} to the top of the file."
            )
            raise doc.refusal(("domain", misplaced), "a coordinate", misplaced, remedy, key=True)
    return _box(doc, ("domain",), sides, symbols, constant, "interval" if len(sides) == 1 else "box")


def _is_asked(values: Any, name: str) -> bool:
    """Whether inside(name) stands anywhere in a document."""
    if isinstance(values, str):
        return bool(re.search(rf"\binside\(\s*{name}\s*\)", values))
    parts = values.values() if isinstance(values, Mapping) else values if isinstance(values, list) else ()
    return any(_is_asked(part, name) for part in parts)


def _box(
    doc: Document, path: Path, sides: Mapping[str, Any], symbols: _Symbols, constant: Constant, kind: str
) -> Any:
    ends = {}
    for name, value in sides.items():
        place = (*path, name)
        with doc.at(place):
            check_name(name, "coordinate", [])
        ends[symbols.symbol(name)] = _ends(doc, place, value, constant)
    if kind == "interval":
        if len(ends) != 1:
            raise doc.refusal(path, "one coordinate", f"{len(ends)}", "Write box for several.")
        (x, (low, high)) = next(iter(ends.items()))
        with doc.at((*path, next(iter(sides)))):
            return Interval(x, low, high)
    try:
        return Box(ends)
    except ProblemError as error:
        wrong = [name for name in sides if error.argument.startswith(f"Box: side of {symbols.symbol(name)}")]
        raise doc.within(error, (*path, *wrong[-1:])) from None


def _ends(doc: Document, path: Path, value: Any, constant: Constant) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2:
        name = path[-1]
        raise doc.refusal(
            path, "two ends, [low, high]", kind_of(value), f'Write {name} = [0, 1] or [0, "2*pi"].'
        )
    low, high = (_end(doc, (*path, i), v, constant) for i, v in enumerate(value))
    return low, high


def _end(doc: Document, path: Path, value: Any, constant: Constant) -> Any:
    # A decimal as Python rounds it, so that 3.141592653589793 is the float that was written.
    return float(value) if isinstance(value, Decimal) else constant(path, value)


@dataclass(frozen=True)
class _Reader:
    """Numbers and symbols, for the shapes."""

    doc: Document
    symbols: _Symbols
    constant: Constant

    def number(self, path: Path, value: Any) -> Any:
        return _end(self.doc, path, value, self.constant)

    def ends(self, path: Path, value: Any) -> tuple[Any, Any]:
        return _ends(self.doc, path, value, self.constant)

    def symbol(self, path: Path, name: Any) -> Any:
        with self.doc.at(path):
            check_name(name, "coordinate", [])
        return self.symbols.symbol(name)

    def box(self, path: Path, sides: Mapping[str, Any], kind: str) -> Any:
        return _box(self.doc, path, sides, self.symbols, self.constant, kind)


def _unknowns(doc: Document, symbols: _Symbols, coordinates: Mapping[str, Any]) -> dict[str, Any]:
    """["u"], or ["u(y, x)"] for other orders of the coordinates; u when nothing is said."""
    given = doc.values.get("unknowns", ["u"])
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise doc.refusal(
            ("unknowns",), 'a list such as ["u", "v"]', kind_of(given), 'Write unknowns = ["u"].'
        )
    out = {}
    for i, text in enumerate(texts):
        path: Path = ("unknowns", i)
        match = _APPLIED.fullmatch(doc.string(path, text).strip())
        if match is None:
            raise doc.refusal(
                path, "a name such as u", f"'{str(text)[:64]}'", "Letters, digits and _; u(y, x) is possible."
            )
        name, written = match.groups()
        order = list(coordinates) if written is None else [c.strip() for c in written.split(",")]
        if sorted(order) != sorted(coordinates):
            got = ", ".join(order) or "none"
            raise doc.refusal(path, f"the coordinates {', '.join(coordinates)}", got, f"Write just {name}.")
        if name in out:
            raise doc.refusal(path, "each unknown once", name, "Leave it out.")
        out[name] = symbols.function(name, tuple(coordinates[c] for c in order))
    return out

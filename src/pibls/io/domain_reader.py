"""Reading of the sections [domain], [time], [shapes], [names], [assumptions] and of the unknowns.

Coordinates with bounds define an interval or a box. Other shapes are declared under [shapes] and combined by
``shape`` in [domain] (`shape_reader`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Number, Parameter, Unknown
from pibls.geometry import Box, Interval
from pibls.geometry.shape import Shape, inside_condition
from pibls.io.offsets import KeyPath
from pibls.io.shape_reader import read_expression, read_shape_table
from pibls.io.symbols import check_symbol_name, parse_assumptions
from pibls.io.toml_document import Document, TomlValue, describe
from pibls.text import Names
from pibls.text.names import check_name

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain

_APPLIED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:\(([A-Za-z0-9_, ]*)\))?", re.ASCII)

Constant = Callable[[KeyPath, TomlValue], Number]
"""Reads a number, also from text that evaluates to one."""


@dataclass(frozen=True)
class DomainContext:
    """A domain, the names for texts, the shapes by name, and a factory for symbols of parameters."""

    domain: Domain
    names: Names
    shapes: Mapping[str, Domain]
    parameter: Callable[[str], Parameter]


def read_domain(doc: Document, constant: Constant) -> DomainContext:
    """Read the domain and the names of a document."""
    symbols = _SymbolFactory(doc)
    reader, shapes = _ValueReader(doc, symbols, constant), dict[str, Shape]()
    for name, value in doc.table(("shapes",), doc.values.get("shapes", {})).items():
        shapes[name] = read_shape_table(reader, ("shapes", name), value, shapes)
    space = _spatial_domain(doc, symbols, shapes, constant)
    time = doc.table(("time",), doc.values.get("time", {}))
    if len(time) > 1:
        raise doc.error_at(("time",), "one time coordinate", ", ".join(time), "Remove the others.", key=True)
    domain: Domain = space
    for name, ends in time.items():
        path: KeyPath = ("time", name)
        low, high = _ends(doc, path, ends, constant)
        with doc.locate_errors(path):
            domain = space.during(symbols.symbol(name), low, high)
    # The profile of a body of revolution has a radius, which is not a coordinate of the body.
    named = {symbol: name for name, symbol in symbols.symbols_by_name.items()}
    coordinates = {named[symbol]: symbol for symbol in domain.coordinates}
    unknowns = _unknowns(doc, symbols, coordinates)
    with doc.locate_errors(("unknowns",)):
        inside_relations = {name: inside_condition(shape) for name, shape in shapes.items()}
        names = Names(coordinates, unknowns, next(iter(time), None), inside_relations=inside_relations)
    return DomainContext(domain, names, {"domain": domain, "space": space, **shapes}, symbols.parameter)


class _SymbolFactory:
    """Creates symbols and functions with the names of [names] and the assumptions of [assumptions]."""

    def __init__(self, doc: Document) -> None:
        self._doc = doc
        self._symbol_names = {
            key: self._symbol_name(("names", key), value)
            for key, value in doc.table(("names",), doc.values.get("names", {})).items()
        }
        self._assumptions = {
            key: self._assumption_dict(("assumptions", key), value)
            for key, value in doc.table(("assumptions",), doc.values.get("assumptions", {})).items()
        }
        self.symbols_by_name: dict[str, Coordinate] = {}

    def symbol(self, name: str) -> Coordinate:
        """Return the coordinate of this name."""
        return self.symbols_by_name.setdefault(name, self.parameter(name))

    def parameter(self, name: str) -> Parameter:
        """Return the parameter of this name."""
        return sp.Symbol(self._symbol_names.get(name, name), **self._assumptions.get(name, {}))

    def function(self, name: str, arguments: tuple[Coordinate, ...]) -> Unknown:
        """Return the unknown of this name."""
        return sp.Function(self._symbol_names.get(name, name), **self._assumptions.get(name, {}))(*arguments)

    def _symbol_name(self, path: KeyPath, value: TomlValue) -> str:
        with self._doc.locate_errors(path):
            return check_symbol_name(self._doc.string(path, value), self._doc.name(path))

    def _assumption_dict(self, path: KeyPath, value: TomlValue) -> dict[str, bool]:
        given = [value] if isinstance(value, str) else value
        words = [w for w in given if isinstance(w, str)] if isinstance(given, list) else []
        if not isinstance(given, list) or len(words) < len(given):
            raise self._doc.error_at(
                path, 'a list of assumptions such as ["real"]', describe(value), 'Write ["real"].'
            )
        with self._doc.locate_errors(path):
            return parse_assumptions(words, self._doc.name(path))


def _spatial_domain(
    doc: Document, symbols: _SymbolFactory, shapes: Mapping[str, Shape], constant: Constant
) -> Shape:
    sides = doc.table(("domain",), doc.values.get("domain", {}))
    if not sides:
        raise doc.error_at(("domain",), "coordinates with bounds", "none", "Write [domain] and x = [0, 1].")
    if "shape" in sides:
        if len(sides) > 1:
            raise doc.error_at(
                ("domain", "shape"), "either shape or coordinates", "both", "Remove one of them."
            )
        return read_expression(doc, ("domain", "shape"), sides["shape"], shapes)
    if shapes and not any(_is_used_in_text(doc.values, name) for name in shapes):
        raise doc.error_at(
            ("shapes",), "shape in [domain] that uses one of them", "none", 'Write shape = "name".'
        )
    for misplaced in ("title", "unknowns", "equations", "parameters", "tol"):
        if misplaced in sides:
            remedy = (
                f"In TOML a key belongs to the [section] above it: move {misplaced} to the top of the file."
            )
            raise doc.error_at(("domain", misplaced), "a coordinate", misplaced, remedy, key=True)
    return _box(doc, ("domain",), sides, symbols, constant, "interval" if len(sides) == 1 else "box")


def _is_used_in_text(values: TomlValue | Mapping[str, TomlValue], name: str) -> bool:
    """Whether inside(name) occurs anywhere in a document."""
    if isinstance(values, str):
        return bool(re.search(rf"\binside\(\s*{name}\s*\)", values))
    parts = values.values() if isinstance(values, Mapping) else values if isinstance(values, list) else ()
    return any(_is_used_in_text(part, name) for part in parts)


def _box(
    doc: Document,
    path: KeyPath,
    sides: Mapping[str, TomlValue],
    symbols: _SymbolFactory,
    constant: Constant,
    kind: str,
) -> Shape:
    ends = {}
    for name, value in sides.items():
        place = (*path, name)
        with doc.locate_errors(place):
            check_name(name, "coordinate", [])
        ends[symbols.symbol(name)] = _ends(doc, place, value, constant)
    if kind == "interval":
        if len(ends) != 1:
            raise doc.error_at(path, "one coordinate", f"{len(ends)}", "Use box for several.")
        (x, (low, high)) = next(iter(ends.items()))
        with doc.locate_errors((*path, next(iter(sides)))):
            return Interval(x, low, high)
    try:
        return Box(ends)
    except ProblemError as error:
        wrong = [name for name in sides if error.argument.startswith(f"Box: side of {symbols.symbol(name)}")]
        raise doc.located_error(error, (*path, *wrong[-1:])) from None


def _ends(doc: Document, path: KeyPath, value: TomlValue, constant: Constant) -> tuple[Number, Number]:
    if not isinstance(value, list) or len(value) != 2:
        name = path[-1]
        raise doc.error_at(
            path, "two bounds, [low, high]", describe(value), f'Write {name} = [0, 1] or [0, "2*pi"].'
        )
    low, high = (_end(doc, (*path, i), v, constant) for i, v in enumerate(value))
    return low, high


def _end(doc: Document, path: KeyPath, value: TomlValue, constant: Constant) -> Number:
    # Decimals are rounded to floats, so that 3.141592653589793 is the float that was written.
    return float(value) if isinstance(value, Decimal) else constant(path, value)


@dataclass(frozen=True)
class _ValueReader:
    """Implements `ShapeReader` for a document."""

    doc: Document
    symbols: _SymbolFactory
    constant: Constant

    def number(self, path: KeyPath, value: TomlValue) -> Number:
        return _end(self.doc, path, value, self.constant)

    def ends(self, path: KeyPath, value: TomlValue) -> tuple[Number, Number]:
        return _ends(self.doc, path, value, self.constant)

    def symbol(self, path: KeyPath, name: str) -> Coordinate:
        with self.doc.locate_errors(path):
            check_name(name, "coordinate", [])
        return self.symbols.symbol(name)

    def box(self, path: KeyPath, sides: Mapping[str, TomlValue], kind: str) -> Shape:
        return _box(self.doc, path, sides, self.symbols, self.constant, kind)


def _unknowns(
    doc: Document, symbols: _SymbolFactory, coordinates: Mapping[str, Coordinate]
) -> dict[str, Unknown]:
    """Read unknowns = ["u"], or ["u(y, x)"] for another order of the coordinates; the default is u."""
    given = doc.values.get("unknowns", ["u"])
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise doc.error_at(
            ("unknowns",), 'a list such as ["u", "v"]', describe(given), 'Write unknowns = ["u"].'
        )
    out = {}
    for i, text in enumerate(texts):
        path: KeyPath = ("unknowns", i)
        match = _APPLIED.fullmatch(doc.string(path, text).strip())
        if match is None:
            raise doc.error_at(
                path,
                "a name such as u",
                f"'{str(text)[:64]}'",
                "Use letters, digits and _; u(y, x) is allowed.",
            )
        name, written = match.groups()
        order = list(coordinates) if written is None else [c.strip() for c in written.split(",")]
        if sorted(order) != sorted(coordinates):
            got = ", ".join(order) or "none"
            raise doc.error_at(path, f"the coordinates {', '.join(coordinates)}", got, f"Write {name}.")
        if name in out:
            raise doc.error_at(path, "unique unknowns", f"{name} twice", "Remove one of them.")
        out[name] = symbols.function(name, tuple(coordinates[c] for c in order))
    return out

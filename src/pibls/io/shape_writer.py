"""Writing of shapes as entries of the section [shapes] of a problem file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression
from pibls.geometry import Box, Extrusion, Implicit, Interval, Mapped, Revolution
from pibls.geometry.csg import as_combined
from pibls.io.shape_reader import KEYWORD_SHAPES

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain


def number_text(value: float) -> str:
    """Return text that parses to the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


class ShapeTables:
    """Writes each shape once under a name; ``name`` and ``expression`` format symbols and formulas."""

    def __init__(self, name: Callable[[Coordinate], str], expression: Callable[[Expression], str]) -> None:
        self.name, self.expression = name, expression
        self._known: list[tuple[Domain, str]] = []
        self.lines: list[str] = []

    def text(self, shape: Domain) -> str:
        """Return a shape as an expression of names, such as "box - disk"."""
        combination = as_combined(shape)
        if combination is None:
            return self.leaf(shape)
        return f" {combination.operator} ".join(map(self._parenthesized, combination.parts))

    def _parenthesized(self, shape: Domain) -> str:
        text = self.text(shape)
        return text if as_combined(shape) is None else f"({text})"

    def leaf(self, shape: Domain) -> str:
        """Return the name of a shape, which is written unless it was before."""
        for known, name in self._known:
            if known is shape or (type(known) is type(shape) and known == shape):
                return name
        kind = type(shape).__name__.lower()
        body = self._body(shape)
        taken = {name for _, name in self._known}
        name = next(n for i in range(10**6) if (n := f"{kind}{i or ''}") not in taken)
        self._known.append((shape, name))
        self.lines.append(f"{name} = {body}")
        return name

    def _body(self, shape: Domain) -> str:
        """Return the inline table of a shape."""
        if as_combined(shape) is not None:
            return _inline_table({"shape": _quoted(self.text(shape))})
        if type(shape) not in _KEYS:
            raise ProblemError(
                "problem_text(problem)",
                expected="a domain built from shapes of pibls, with or without time",
                got=repr(shape),
                remedy="Use shapes of pibls: user-defined classes cannot be written to a file.",
            )
        kind, keys = type(shape).__name__.lower(), _KEYS[type(shape)](self, shape)
        return _inline_table(keys if kind == "mapped" else {kind: _inline_table(keys)})

    def bounds(self, shape: Domain) -> dict[str, str]:
        """Return the bounds of each coordinate."""
        pairs = zip(shape.coordinates, shape.bounds, strict=True)
        return {self.name(x): _list_text(ends) for x, ends in pairs}

    def center(self, shape: Any) -> str:
        """Return the centre of a shape as an inline table."""
        pairs = zip(shape.coordinates, shape.center, strict=True)
        return _inline_table({self.name(x): number_text(c) for x, c in pairs})

    def symbols(self, symbols: Sequence[Coordinate]) -> str:
        """Return the names of symbols as a list."""
        return f"[{', '.join(_quoted(self.name(s)) for s in symbols)}]"


def _inline_table(table: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in table.items())} }}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _list_text(value: Any) -> str:
    """Format a number or a nested list of numbers."""
    return f"[{', '.join(map(_list_text, value))}]" if np.ndim(value) else number_text(value)


def _mapped(tables: ShapeTables, s: Mapped) -> dict[str, str]:
    matrix, offset = _list_text(s.affine.rows), _list_text(s.affine.offset)
    return {"shape": _quoted(tables.text(s.shape)), "matrix": matrix, "offset": offset}


def _keyword_shape(tables: ShapeTables, s: Any) -> dict[str, str]:
    needed, *others = (part.split() for part in KEYWORD_SHAPES[type(s)])
    values = vars(s)
    keys = [*needed, *(key for part in others for key in part if values[key])]
    own: dict[str, Callable[[Any], str]] = {
        "center": tables.center,
        "coordinates": lambda s: tables.symbols(s.coordinates),
    }
    return {key: own[key](s) if key in own else _list_text(values[key]) for key in keys}


def _implicit(tables: ShapeTables, s: Implicit) -> dict[str, str]:
    bounds = _inline_table(tables.bounds(s.box))
    return {"negative": _quoted(tables.expression(s.expression)), "bounds": bounds}


def _extrusion(tables: ShapeTables, s: Extrusion) -> dict[str, str]:
    return {"shape": _quoted(tables.text(s.base)), tables.name(s.axis): _list_text((s.low, s.high))}


def _revolution(tables: ShapeTables, s: Revolution) -> dict[str, str]:
    return {"shape": _quoted(tables.text(s.profile)), "coordinates": tables.symbols(s.across)}


_KEYS: dict[type, Callable[[ShapeTables, Any], dict[str, str]]] = {
    Interval: ShapeTables.bounds,
    Box: ShapeTables.bounds,
    **dict.fromkeys(KEYWORD_SHAPES, _keyword_shape),
    Implicit: _implicit,
    Extrusion: _extrusion,
    Revolution: _revolution,
    Mapped: _mapped,
}
"""Class of a shape → function that returns its keys and values."""

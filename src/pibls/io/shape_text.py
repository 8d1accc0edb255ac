"""Shapes → the tables of [shapes], each under a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pibls.errors import ProblemError
from pibls.geometry import Box, Extrusion, Implicit, Interval, Mapped, Revolution
from pibls.geometry.csg import combined
from pibls.io.shapes import PLAIN


def written(value: float) -> str:
    """A number that reads back as the same."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


class ShapeTables:
    """Gives shapes names, and writes each once; ``name`` and ``expression`` write symbols and formulas."""

    def __init__(self, name: Callable[[Any], str], expression: Callable[[Any], str]) -> None:
        self.name, self.expression = name, expression
        self._known: list[tuple[Any, str]] = []
        self.lines: list[str] = []

    def text(self, shape: Any) -> str:
        """The shape in terms of names: "box - disk"."""
        made = combined(shape)
        if made is None:
            return self.leaf(shape)
        return f" {made.sign} ".join(map(self._bracketed, made.parts))

    def _bracketed(self, shape: Any) -> str:
        text = self.text(shape)
        return text if combined(shape) is None else f"({text})"

    def leaf(self, shape: Any) -> str:
        """The name of a shape, which is written if it was not."""
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

    def _body(self, shape: Any) -> str:
        """The keys of a shape and what stands there."""
        if combined(shape) is not None:
            return _braced({"shape": _quoted(self.text(shape))})
        if type(shape) not in _KEYS:
            raise ProblemError(
                "problem_text(problem)",
                expected="a domain made of the shapes of pibls, with or without time",
                got=repr(shape),
                remedy="A class of your own cannot be written to a file.",
            )
        kind, keys = type(shape).__name__.lower(), _KEYS[type(shape)](self, shape)
        return _braced(keys if kind == "mapped" else {kind: _braced(keys)})

    def keys_of_bounds(self, shape: Any) -> dict[str, str]:
        """The ends of each coordinate."""
        pairs = zip(shape.coordinates, shape.bounds, strict=True)
        return {self.name(x): _listed(ends) for x, ends in pairs}

    def center(self, shape: Any) -> str:
        pairs = zip(shape.coordinates, shape.center, strict=True)
        return _braced({self.name(x): written(c) for x, c in pairs})

    def symbols(self, symbols: Sequence[Any]) -> str:
        return f"[{', '.join(_quoted(self.name(s)) for s in symbols)}]"


def _braced(table: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in table.items())} }}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _listed(value: Any) -> str:
    """A number, or a list of such, of lists of them, …"""
    return f"[{', '.join(map(_listed, value))}]" if np.ndim(value) else written(value)


def _mapped(tables: ShapeTables, s: Mapped) -> dict[str, str]:
    matrix, offset = _listed(s.affine.rows), _listed(s.affine.offset)
    return {"shape": _quoted(tables.text(s.shape)), "matrix": matrix, "offset": offset}


def _plain(tables: ShapeTables, s: Any) -> dict[str, str]:
    needed, *others = (part.split() for part in PLAIN[type(s)])
    keys = [*needed, *(key for part in others for key in part if getattr(s, key))]
    own: dict[str, Callable[[Any], str]] = {
        "center": tables.center,
        "coordinates": lambda s: tables.symbols(s.coordinates),
    }
    return {key: own[key](s) if key in own else _listed(getattr(s, key)) for key in keys}


def _implicit(tables: ShapeTables, s: Implicit) -> dict[str, str]:
    bounds = _braced(tables.keys_of_bounds(s.box))
    return {"negative": _quoted(tables.expression(s.expression)), "bounds": bounds}


def _extrusion(tables: ShapeTables, s: Extrusion) -> dict[str, str]:
    return {"shape": _quoted(tables.text(s.base)), tables.name(s.axis): _listed((s.low, s.high))}


def _revolution(tables: ShapeTables, s: Revolution) -> dict[str, str]:
    return {"shape": _quoted(tables.text(s.profile)), "coordinates": tables.symbols(s.across)}


_KEYS: dict[type, Callable[[ShapeTables, Any], dict[str, str]]] = {
    Interval: ShapeTables.keys_of_bounds,
    Box: ShapeTables.keys_of_bounds,
    **dict.fromkeys(PLAIN, _plain),
    Implicit: _implicit,
    Extrusion: _extrusion,
    Revolution: _revolution,
    Mapped: _mapped,
}
"""What is written of each shape."""

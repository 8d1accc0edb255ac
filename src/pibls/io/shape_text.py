"""Shapes → the tables of [shapes], each under a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pibls.domain import (
    Ball,
    Box,
    Disk,
    Ellipse,
    Extrusion,
    Implicit,
    Interval,
    Mapped,
    Polygon,
    Revolution,
    Slit,
    Solid,
    Spline,
)
from pibls.domain.csg import combined
from pibls.errors import ProblemError


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
        return {self.name(x): _list(ends) for x, ends in pairs}

    def center(self, shape: Any) -> str:
        pairs = zip(shape.coordinates, shape.center, strict=True)
        return _braced({self.name(x): written(c) for x, c in pairs})

    def symbols(self, symbols: Sequence[Any]) -> str:
        return f"[{', '.join(_quoted(self.name(s)) for s in symbols)}]"


def _braced(table: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in table.items())} }}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _list(values: Sequence[float]) -> str:
    return f"[{', '.join(map(written, values))}]"


def _points(points: Sequence[Sequence[float]]) -> str:
    return f"[{', '.join(map(_list, points))}]"


def _mapped(tables: ShapeTables, s: Mapped) -> dict[str, str]:
    matrix, offset = _points(s.affine.rows), _list(s.affine.offset)
    return {"shape": _quoted(tables.text(s.shape)), "matrix": matrix, "offset": offset}


def _round(tables: ShapeTables, s: Any) -> dict[str, str]:
    return {"center": tables.center(s), "radius": written(s.radius)}


def _ellipse(tables: ShapeTables, s: Ellipse) -> dict[str, str]:
    keys = {"center": tables.center(s), "radii": _list(s.radii)}
    return keys | ({"angle": written(s.angle)} if s.angle else {})


def _polygon(tables: ShapeTables, s: Polygon) -> dict[str, str]:
    keys = {"coordinates": tables.symbols(s.coordinates), "vertices": _points(s.vertices)}
    return keys | ({"holes": f"[{', '.join(map(_points, s.holes))}]"} if s.holes else {})


def _slit(tables: ShapeTables, s: Slit) -> dict[str, str]:
    return {"coordinates": tables.symbols(s.coordinates), "vertices": _points(s.vertices)}


def _spline(tables: ShapeTables, s: Spline) -> dict[str, str]:
    return {"coordinates": tables.symbols(s.coordinates), "points": _points(s.points)}


def _implicit(tables: ShapeTables, s: Implicit) -> dict[str, str]:
    bounds = _braced(tables.keys_of_bounds(s.box))
    return {"negative": _quoted(tables.expression(s.expression)), "bounds": bounds}


def _solid(tables: ShapeTables, s: Solid) -> dict[str, str]:
    triangles = ", ".join(map(_points, s.triangles.tolist()))
    return {"coordinates": tables.symbols(s.coordinates), "triangles": f"[{triangles}]"}


def _extrusion(tables: ShapeTables, s: Extrusion) -> dict[str, str]:
    return {"shape": _quoted(tables.text(s.base)), tables.name(s.axis): _list((s.low, s.high))}


def _revolution(tables: ShapeTables, s: Revolution) -> dict[str, str]:
    return {"shape": _quoted(tables.text(s.profile)), "coordinates": tables.symbols(s.across)}


_KEYS: dict[type, Callable[[ShapeTables, Any], dict[str, str]]] = {
    Interval: ShapeTables.keys_of_bounds,
    Box: ShapeTables.keys_of_bounds,
    Disk: _round,
    Ball: _round,
    Ellipse: _ellipse,
    Polygon: _polygon,
    Slit: _slit,
    Spline: _spline,
    Implicit: _implicit,
    Solid: _solid,
    Extrusion: _extrusion,
    Revolution: _revolution,
    Mapped: _mapped,
}
"""What is written of each shape."""

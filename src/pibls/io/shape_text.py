"""Shapes → the tables of [shapes], each under a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pibls.domain import (
    Ball,
    Box,
    Difference,
    Disk,
    Ellipse,
    Extrusion,
    Implicit,
    Intersection,
    Interval,
    Mapped,
    Polygon,
    Revolution,
    Slit,
    Solid,
    Spline,
    Union,
)
from pibls.errors import ProblemError


def written(value: float) -> str:
    """A number that reads back as the same."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


class ShapeTables:
    """Gives shapes names, and writes each once; ``name`` and ``expression`` write symbols and formulas."""

    def __init__(self, name: Callable[[Any], str], expression: Callable[[Any], str]) -> None:
        self._name, self._expression = name, expression
        self._known: list[tuple[Any, str]] = []
        self.lines: list[str] = []

    def text(self, shape: Any) -> str:
        """The shape in terms of names: "box - disk"."""
        if isinstance(shape, Difference):
            return " - ".join([self._bracketed(shape.body), *map(self._bracketed, shape.holes)])
        if isinstance(shape, (Union, Intersection)):
            sign = " | " if isinstance(shape, Union) else " & "
            return sign.join(map(self._bracketed, shape.shapes))
        return self.leaf(shape)

    def _bracketed(self, shape: Any) -> str:
        text = self.text(shape)
        return f"({text})" if isinstance(shape, (Union, Intersection, Difference)) else text

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
        table = self._table(shape)
        return f"{{ {', '.join(f'{key} = {value}' for key, value in table.items())} }}"

    def _table(self, shape: Any) -> dict[str, str]:
        """The keys of a shape and what stands there."""
        match shape:
            case Union() | Intersection() | Difference():
                return {"shape": _quoted(self.text(shape))}
            case Mapped():
                matrix, offset = _points(shape.affine.rows), _list(shape.affine.offset)
                return {"shape": _quoted(self.text(shape.shape)), "matrix": matrix, "offset": offset}
            case Interval() | Box():
                return {type(shape).__name__.lower(): self._sides(shape)}
            case Disk() | Ball():
                keys = {"center": self._center(shape), "radius": written(shape.radius)}
            case Ellipse():
                keys = {"center": self._center(shape), "radii": _list(shape.radii)}
                keys |= {"angle": written(shape.angle)} if shape.angle else {}
            case Polygon():
                keys = {"coordinates": self._symbols(shape), "vertices": _points(shape.vertices)}
                keys |= {"holes": f"[{', '.join(map(_points, shape.holes))}]"} if shape.holes else {}
            case Slit():
                keys = {"coordinates": self._symbols(shape), "vertices": _points(shape.vertices)}
            case Spline():
                keys = {"coordinates": self._symbols(shape), "points": _points(shape.points)}
            case Implicit():
                keys = {
                    "negative": _quoted(self._expression(shape.expression)),
                    "bounds": self._sides(shape.box),
                }
            case Solid():
                triangles = ", ".join(map(_points, shape.triangles.tolist()))
                keys = {"coordinates": self._symbols(shape), "triangles": f"[{triangles}]"}
            case Extrusion():
                keys = {
                    "shape": _quoted(self.text(shape.base)),
                    self._name(shape.axis): _list((shape.low, shape.high)),
                }
            case Revolution():
                across = ", ".join(_quoted(self._name(s)) for s in shape.across)
                keys = {"shape": _quoted(self.text(shape.profile)), "coordinates": f"[{across}]"}
            case _:
                raise ProblemError(
                    "problem_text(problem)",
                    expected="a domain made of the shapes of pibls, with or without time",
                    got=repr(shape),
                    remedy="A class of your own cannot be written to a file.",
                )
        return {type(shape).__name__.lower(): f"{{ {', '.join(f'{k} = {v}' for k, v in keys.items())} }}"}

    def _sides(self, shape: Any) -> str:
        pairs = zip(shape.coordinates, shape.bounds, strict=True)
        return f"{{ {', '.join(f'{self._name(x)} = {_list(ends)}' for x, ends in pairs)} }}"

    def _center(self, shape: Any) -> str:
        pairs = zip(shape.coordinates, shape.center, strict=True)
        return f"{{ {', '.join(f'{self._name(x)} = {written(c)}' for x, c in pairs)} }}"

    def _symbols(self, shape: Any) -> str:
        return f"[{', '.join(_quoted(self._name(s)) for s in shape.coordinates)}]"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _list(values: Sequence[float]) -> str:
    return f"[{', '.join(map(written, values))}]"


def _points(points: Sequence[Sequence[float]]) -> str:
    return f"[{', '.join(map(_list, points))}]"

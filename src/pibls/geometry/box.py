"""Axis-parallel boxes a₁ < x₁ < b₁, …, a_d < x_d < b_d."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Logical, Number
from pibls.geometry.affine import Affine
from pibls.geometry.checks.arguments import (
    check_coordinate,
    check_distinct_names,
    check_sign_assumption,
    ordered_ends,
)
from pibls.geometry.faces.face import Boundary, Face, draw_boundary
from pibls.geometry.faces.flat_face import FlatFace
from pibls.geometry.mapped import Mapped
from pibls.geometry.shape import Shape
from pibls.runtime.caching import cached_property


@dataclass(frozen=True, init=False)
class Box(Shape):
    """An axis-parallel box a_i < x_i < b_i, in any dimension.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Box({x: (0, 1), y: (0, sp.pi)}).coordinates
    (x, y)
    """

    coordinates: tuple[Coordinate, ...]
    bounds: tuple[tuple[float, float], ...]

    def __init__(self, sides: Mapping[Coordinate, tuple[Number, Number]]) -> None:
        if not isinstance(sides, Mapping) or not sides:
            raise ProblemError(
                "Box(sides)",
                expected="a dictionary {symbol: (low, high), …}",
                got=repr(sides),
                remedy="Write Box({x: (0, 1), y: (0, 1)}).",
            )
        ends = []
        for symbol, side in sides.items():
            check_coordinate(symbol, "Box(sides)")
            try:
                if isinstance(side, (Mapping, Set)):
                    raise TypeError  # sets and mappings have no order
                low, high = side
            except (TypeError, ValueError):
                raise ProblemError(
                    f"Box: side of {symbol}",
                    expected="two values (low, high)",
                    got=repr(side),
                    remedy=f"Write {{{symbol}: (0, 1)}}.",
                ) from None
            ends.append(ordered_ends(low, high, f"Box: side of {symbol}"))
            check_sign_assumption(symbol, *ends[-1], f"Box: side of {symbol}")
        check_distinct_names(tuple(sides), "Box(sides)")
        object.__setattr__(self, "coordinates", tuple(sides))
        object.__setattr__(self, "bounds", tuple(ends))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The 2d flat faces."""
        d = len(self.coordinates)
        return tuple(FlatFace(self, self.bounds, axis, side) for axis in range(d) for side in (0, 1))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        low, high = np.array(self.bounds).T
        return np.asarray(rng.uniform(low, high, size=(n, len(low))))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        low, high = np.array(self.bounds).T
        return draw_boundary(self.faces, n, high - low, rng)

    def contains(self, X: Array) -> Mask:
        low, high = np.array(self.bounds).T
        return np.asarray(np.all((low <= X) & (high >= X), axis=1))

    @property
    def inside(self) -> Logical:
        pairs = zip(self.coordinates, self.bounds, strict=True)
        return sp.And(*(c for x, (a, b) in pairs for c in (x > a, x < b)))

    @property
    def is_box(self) -> bool:
        return len(self.coordinates) > 1  # a box with one coordinate is handled as an interval

    def with_range(self, axis: int, start: float, stop: float) -> Box:
        """Return the box with another range of one coordinate."""
        sides = dict(zip(self.coordinates, self.bounds, strict=True))
        return self._like({**sides, self.coordinates[axis]: (start, stop)})

    def mapped(self, affine: Affine) -> Shape:
        if not affine.is_diagonal:
            return Mapped(self, affine)
        ends = affine.points(np.array(self.bounds).T).T
        return self._like(dict(zip(self.coordinates, map(tuple, ends.tolist()), strict=True)))

    def _like(self, sides: dict[Coordinate, tuple[float, float]]) -> Box:
        """Return a box of the same class with other sides."""
        return Box(sides)

    def __repr__(self) -> str:
        sides = ", ".join(
            f"{x}: ({a:g}, {b:g})" for x, (a, b) in zip(self.coordinates, self.bounds, strict=True)
        )
        return f"Box({{{sides}}})"

"""The interval a < x < b."""

from __future__ import annotations

from dataclasses import dataclass

from pibls.expressions import Coordinate, Number
from pibls.geometry.box import Box
from pibls.geometry.checks.arguments import check_coordinate, check_sign_assumption, ordered_ends


@dataclass(frozen=True, init=False, repr=False)
class Interval(Box):
    """The interval a < x < b.

    >>> import sympy as sp
    >>> Interval(sp.Symbol("x"), 0, 1)
    Interval(x, 0, 1)
    """

    is_box = True

    def __init__(self, x: Coordinate, a: Number, b: Number) -> None:
        check_coordinate(x, "Interval(x)")
        ends = ordered_ends(a, b, "Interval(a, b)")
        check_sign_assumption(x, *ends, "Interval(x)")
        object.__setattr__(self, "coordinates", (x,))
        object.__setattr__(self, "bounds", (ends,))

    def _like(self, sides: dict[Coordinate, tuple[float, float]]) -> Box:
        ((x, ends),) = sides.items()
        return Interval(x, *ends)

    def __repr__(self) -> str:
        a, b = self.bounds[0]
        return f"Interval({self.coordinates[0]}, {a:g}, {b:g})"

"""Slits: polygonal lines p₁ p₂ … pₘ of zero width with the domain on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError, import_optional
from pibls.expressions import Coordinate, Logical
from pibls.geometry.affine import Affine
from pibls.geometry.checks.arguments import check_sign_assumptions, check_two_coordinates
from pibls.geometry.checks.vertices import Ring, Vertices, points_of
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.shape import Shape
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    pass

_RELATIVE_OFFSET = 32 * 2.2e-16  # of the coordinates: offset that tells the two sides of a slit apart


@dataclass(frozen=True, init=False)
class Slit(Shape):
    """The polygonal line p₁ p₂ … pₘ, to be subtracted from a shape, as in ``plate - slit``.

    Conditions with ``on=slit`` hold on both sides of the slit, each with its own normal; the solution may
    jump across it.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Slit((x, y), [(0, 0), (1, 0)]).contains(np.array([[0.5, 0.0]]))
    array([False])
    """

    coordinates: tuple[Coordinate, ...]
    vertices: Ring

    def __init__(self, coordinates: Sequence[Coordinate], vertices: Vertices) -> None:
        symbols = check_two_coordinates(coordinates, "Slit(coordinates)")
        P = points_of(vertices, "Slit(vertices)", 2, closed=False)
        shapely = import_optional("shapely", extra="polygons", purpose="A slit")
        if not shapely.LineString(P).is_simple or (P[0] == P[-1]).all():
            raise ProblemError(
                "Slit(vertices)",
                expected="a line that does not intersect or touch itself",
                got="a line that does",
                remedy="Subtract several slits, or the polygon that the line encloses.",
            )
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "vertices", tuple((float(a), float(b)) for a, b in P))
        check_sign_assumptions(symbols, self.bounds, "Slit(coordinates)")

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        P = np.array(self.vertices)
        return tuple(zip(P.min(axis=0).tolist(), P.max(axis=0).tolist(), strict=True))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """Both sides of each segment, with normals out of the slit."""
        vertices = np.array(self.vertices)
        return tuple(
            Arc(SlitSide(self, a, b, -1.0)) for line in (vertices, vertices[::-1]) for a, b in pairwise(line)
        )

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return np.empty((0, 2))

    def contains(self, X: Array) -> Mask:
        return np.zeros(len(X), dtype=np.bool_)

    @property
    def inside(self) -> Logical:
        return sp.false

    def mapped(self, affine: Affine) -> Shape:
        return Slit(self.coordinates, affine.points(np.array(self.vertices)).tolist())


class SlitSide(Polyline):
    """The segment a b, offset slightly to its left (side = 1) or right (side = -1)."""

    is_slit_side = True

    def __init__(self, owner: object, a: Array, b: Array, side: float) -> None:
        along = b - a
        away = _RELATIVE_OFFSET * float(np.abs([a, b]).max()) / float(np.linalg.norm(along))
        left = side * away * np.array([-along[1], along[0]])
        super().__init__(owner, np.array([a + left, b + left]), closed=False)

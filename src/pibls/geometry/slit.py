"""p₁ p₂ … pₘ: a cut without width, with the domain on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.errors import ProblemError, need
from pibls.geometry.checks.arguments import pair_of_coordinates, signed_in
from pibls.geometry.checks.vertices import Ring, points_of
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.maps import Affine
from pibls.geometry.shape import Shape

_APART = 32 * 2.2e-16  # of its coordinates: how far a lip is from the line, so that a point knows its side


@dataclass(frozen=True, init=False)
class Slit(Shape):
    """The line p₁ p₂ … pₘ, to be taken away from a shape: ``plate - slit`` has two lips there.

    Conditions on it, ``on=slit``, hold on both lips, each with its own normal; the solution may jump across.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Slit((x, y), [(0, 0), (1, 0)]).contains(np.array([[0.5, 0.0]]))
    array([False])
    """

    coordinates: tuple[Any, ...]
    vertices: Ring

    def __init__(self, coordinates: Any, vertices: Any) -> None:
        symbols = pair_of_coordinates(coordinates, "Slit(coordinates)")
        P = points_of(vertices, "Slit(vertices)", 2, closed=False)
        shapely = need("shapely", extra="polygons", purpose="A slit")
        if not shapely.LineString(P).is_simple or (P[0] == P[-1]).all():
            raise ProblemError(
                "Slit(vertices)",
                expected="a line that does not cross or touch itself",
                got="one that does",
                remedy="Take several slits away, or the polygon that the line encloses.",
            )
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "vertices", tuple((float(a), float(b)) for a, b in P))
        signed_in(symbols, self.bounds, "Slit(coordinates)")

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        P = np.array(self.vertices)
        return tuple(zip(P.min(axis=0).tolist(), P.max(axis=0).tolist(), strict=True))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """Both lips of each straight part, as of a body that lies between them."""
        there = np.array(self.vertices)
        return tuple(Arc(Lip(self, a, b, -1.0)) for line in (there, there[::-1]) for a, b in pairwise(line))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return np.empty((0, 2))

    def contains(self, X: Array) -> Mask:
        return np.zeros(len(X), dtype=np.bool_)

    @property
    def inside(self) -> Any:
        return sp.false

    def mapped(self, affine: Affine) -> Shape:
        return Slit(self.coordinates, affine.points(np.array(self.vertices)).tolist())


class Lip(Polyline):
    """a b, a little to its left (1.0) or right (-1.0)."""

    thin = True

    def __init__(self, owner: object, a: Array, b: Array, side: float) -> None:
        along = b - a
        away = _APART * float(np.abs([a, b]).max()) / float(np.linalg.norm(along))
        left = side * away * np.array([-along[1], along[0]])
        super().__init__(owner, np.array([a + left, b + left]), closed=False)

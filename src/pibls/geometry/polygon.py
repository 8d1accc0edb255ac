"""Polygons p₁ p₂ … pₘ, with or without holes.

The boundary is divided into faces at its sharp turns only, so that a digitized smooth outline is one face.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.errors import import_optional
from pibls.expressions import Coordinate, Logical
from pibls.geometry.affine import Affine
from pibls.geometry.checks.arguments import check_sign_assumptions, check_two_coordinates, format_coordinates
from pibls.geometry.checks.vertices import Ring, Vertices, check_rings, without_slits
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face, rejection_sample
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.shape import Shape, containment_condition
from pibls.geometry.slit import SlitSide
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    import shapely

_MAX_SMOOTH_TURN = 0.26  # radians: smaller turns, as of a digitized curve, do not end a face
_MAX_TRIANGLES = 64  # for more triangles no formula is built


@dataclass(frozen=True, init=False)
class Polygon(Shape):
    """The interior of the polygon p₁ p₂ … pₘ, in either orientation, without the polygons ``holes``.

    Edges that are traversed in both directions are slits.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Polygon((x, y), [(0, 0), (1, 0), (0, 1)]).bounds
    ((0.0, 1.0), (0.0, 1.0))
    """

    coordinates: tuple[Coordinate, ...]
    vertices: Ring
    holes: tuple[Ring, ...]

    def __init__(
        self, coordinates: Sequence[Coordinate], vertices: Vertices, holes: Sequence[Vertices] = ()
    ) -> None:
        symbols = check_two_coordinates(coordinates, "Polygon(coordinates)")
        outer, inner = check_rings(vertices, holes)
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "vertices", outer)
        object.__setattr__(self, "holes", inner)
        check_sign_assumptions(symbols, self.bounds, "Polygon(coordinates)")

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        P = np.array(self.vertices)
        return tuple(zip(P.min(axis=0).tolist(), P.max(axis=0).tolist(), strict=True))

    @cached_property
    def _prepared_polygon(self) -> shapely.Polygon:
        shapely = import_optional("shapely", extra="polygons", purpose="A polygon")
        area = shapely.Polygon(without_slits(np.array(self.vertices)), self.holes)
        shapely.prepare(area)
        return area

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The faces: chains of edges between sharp turns. A digitized smooth curve is one face."""
        out: list[Face] = []
        for ring in (self.vertices, *self.holes):
            for chain, closed, is_slit in _chains(np.array(ring)):
                curve = (
                    SlitSide(self, chain[0], chain[1], 1.0)
                    if is_slit
                    else Polyline(self, chain, closed=closed)
                )
                out.append(Arc(curve))
        return tuple(out)

    @property
    def corners(self) -> Array:
        """All vertices of the outline and of the holes, sharp turns or not, (n, 2)."""
        return np.concatenate([np.array(ring) for ring in (self.vertices, *self.holes)])

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        box = np.array(self.bounds)
        fraction = max(float(self._prepared_polygon.area / np.prod(box[:, 1] - box[:, 0])), 1e-3)
        return rejection_sample(self.contains, box, fraction, n, rng)

    def contains(self, X: Array) -> Mask:
        shapely = import_optional("shapely", extra="polygons", purpose="A polygon")
        return np.asarray(shapely.intersects_xy(self._prepared_polygon, X[:, 0], X[:, 1]), dtype=np.bool_)

    @property
    def inside(self) -> Logical:
        """The symbolic condition that (x, y) is inside, from a triangulation; `contains` tests points."""
        shapely = import_optional("shapely", extra="polygons", purpose="A polygon")
        divide = vars(shapely).get("constrained_delaunay_triangles")
        triangles = divide(self._prepared_polygon).geoms if divide is not None else ()
        if not 0 < len(triangles) <= _MAX_TRIANGLES:
            return containment_condition(self)
        return sp.Or(*(_in_triangle(t.exterior.coords[:3], self.coordinates) for t in triangles))

    def mapped(self, affine: Affine) -> Shape:
        rings = [affine.points(np.array(ring)).tolist() for ring in (self.vertices, *self.holes)]
        return Polygon(self.coordinates, rings[0], rings[1:])

    def __repr__(self) -> str:
        holes = f", {len(self.holes)} hole(s)" if self.holes else ""
        return f"<Polygon of {format_coordinates(self.coordinates)}, {len(self.vertices)} vertices{holes}>"


def _chains(ring: Array) -> list[tuple[Array, bool, bool]]:
    """Split a ring at its sharp turns into (points, is the whole ring, is the side of a slit)."""
    ends = np.roll(ring, -1, axis=0)
    edges = ends - ring
    angles = np.arctan2(edges[:, 1], edges[:, 0])
    turns = np.abs((angles - np.roll(angles, 1) + np.pi) % (2 * np.pi) - np.pi)  # at the start of each edge
    directed = {(*a, *b) for a, b in zip(ring.tolist(), ends.tolist(), strict=True)}
    is_slit = np.array([(*b, *a) in directed for a, b in zip(ring.tolist(), ends.tolist(), strict=True)])
    corners = np.flatnonzero((turns > _MAX_SMOOTH_TURN) | is_slit | np.roll(is_slit, 1))
    if not len(corners):
        return [(np.concatenate([ring, ring[:1]]), True, False)]
    ring, is_slit = (np.roll(a, -corners[0], axis=0) for a in (ring, is_slit))
    cuts = [*(corners - corners[0]).tolist(), len(ring)]
    closed = np.concatenate([ring, ring[:1]])
    return [(closed[a : b + 1], False, bool(is_slit[a])) for a, b in pairwise(cuts)]


def _in_triangle(corners: Sequence[tuple[float, float]], symbols: tuple[Coordinate, ...]) -> Logical:
    (x, y), P = symbols, np.array(corners)
    if (P[1, 0] - P[0, 0]) * (P[2, 1] - P[0, 1]) < (P[1, 1] - P[0, 1]) * (P[2, 0] - P[0, 0]):
        P = P[::-1]
    sides = []
    for a, b in zip(P, np.roll(P, -1, axis=0), strict=True):
        dx, dy = (float(v) for v in b - a)
        sides.append(dx * (y - float(a[1])) - dy * (x - float(a[0])) >= 0)
    return sp.And(*sides)

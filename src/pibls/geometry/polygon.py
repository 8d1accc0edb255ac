"""The inside of p₁ p₂ … pₘ, with or without holes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.errors import need
from pibls.geometry.checks.arguments import mentioned, pair_of_coordinates, signed_in
from pibls.geometry.checks.vertices import Ring, checked_rings, without_slits
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.face import Face, drawn_within
from pibls.geometry.faces.polyline import Polyline
from pibls.geometry.maps import Affine
from pibls.geometry.shape import Shape, asked
from pibls.geometry.slit import Lip

_SMOOTH = 0.26  # radians: where a polygon turns by less, as a digitised curve does, there is no corner
_MANY = 64  # triangles beyond which a formula is longer than useful


@dataclass(frozen=True, init=False)
class Polygon(Shape):
    """The inside of p₁ p₂ … pₘ, in either sense of rotation; ``holes`` are polygons that are left out.

    Where the line runs along a way and back again, there is a slit.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> Polygon((x, y), [(0, 0), (1, 0), (0, 1)]).bounds
    ((0.0, 1.0), (0.0, 1.0))
    """

    coordinates: tuple[Any, ...]
    vertices: Ring
    holes: tuple[Ring, ...]

    def __init__(self, coordinates: Any, vertices: Any, holes: Any = ()) -> None:
        symbols = pair_of_coordinates(coordinates, "Polygon(coordinates)")
        outer, inner = checked_rings(vertices, holes)
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "vertices", outer)
        object.__setattr__(self, "holes", inner)
        signed_in(symbols, self.bounds, "Polygon(coordinates)")

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        P = np.array(self.vertices)
        return tuple(zip(P.min(axis=0).tolist(), P.max(axis=0).tolist(), strict=True))

    @cached_property
    def _area(self) -> Any:
        shapely = need("shapely", extra="polygons", purpose="A polygon")
        area = shapely.Polygon(without_slits(np.array(self.vertices)), self.holes)
        shapely.prepare(area)
        return area

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The sides; those that follow each other without a corner, as of a digitised curve, are one."""
        out: list[Face] = []
        for ring in (self.vertices, *self.holes):
            for chain, closed, thin in _chains(np.array(ring)):
                lip = Lip(self, chain[0], chain[1], 1.0) if thin else Polyline(self, chain, closed=closed)
                out.append(Arc(lip))
        return tuple(out)

    @property
    def corners(self) -> Array:
        """All vertices, (n, 2)."""
        return np.concatenate([np.array(ring) for ring in (self.vertices, *self.holes)])

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        box = np.array(self.bounds)
        share = max(float(self._area.area / np.prod(box[:, 1] - box[:, 0])), 1e-3)
        return drawn_within(self.contains, box, share, n, rng)

    def contains(self, X: Array) -> Mask:
        shapely = need("shapely", extra="polygons", purpose="A polygon")
        return np.asarray(shapely.intersects_xy(self._area, X[:, 0], X[:, 1]), dtype=np.bool_)

    @property
    def inside(self) -> Any:
        shapely = need("shapely", extra="polygons", purpose="A polygon")
        divide = getattr(shapely, "constrained_delaunay_triangles", None)
        triangles = divide(self._area).geoms if divide is not None else ()
        if not 0 < len(triangles) <= _MANY:
            return asked(self)
        return sp.Or(*(_in_triangle(t.exterior.coords[:3], self.coordinates) for t in triangles))

    def mapped(self, affine: Affine) -> Shape:
        rings = [affine.points(np.array(ring)).tolist() for ring in (self.vertices, *self.holes)]
        return Polygon(self.coordinates, rings[0], rings[1:])

    def __repr__(self) -> str:
        holes = f", {len(self.holes)} hole(s)" if self.holes else ""
        return f"<Polygon of {mentioned(self.coordinates)}, {len(self.vertices)} vertices{holes}>"


def _chains(ring: Array) -> list[tuple[Array, bool, bool]]:
    """A ring cut at its corners: chains of points, whether one is the whole ring, or the lip of a slit."""
    ends = np.roll(ring, -1, axis=0)
    edges = ends - ring
    angles = np.arctan2(edges[:, 1], edges[:, 0])
    turns = np.abs((angles - np.roll(angles, 1) + np.pi) % (2 * np.pi) - np.pi)  # at the start of each edge
    ways = {(*a, *b) for a, b in zip(ring.tolist(), ends.tolist(), strict=True)}
    thin = np.array([(*b, *a) in ways for a, b in zip(ring.tolist(), ends.tolist(), strict=True)])
    corners = np.flatnonzero((turns > _SMOOTH) | thin | np.roll(thin, 1))
    if not len(corners):
        return [(np.concatenate([ring, ring[:1]]), True, False)]
    ring, thin = (np.roll(a, -corners[0], axis=0) for a in (ring, thin))
    cuts = [*(corners - corners[0]).tolist(), len(ring)]
    closed = np.concatenate([ring, ring[:1]])
    return [(closed[a : b + 1], False, bool(thin[a])) for a, b in pairwise(cuts)]


def _in_triangle(corners: Any, symbols: tuple[Any, ...]) -> Any:
    (x, y), P = symbols, np.array(corners)
    if (P[1, 0] - P[0, 0]) * (P[2, 1] - P[0, 1]) < (P[1, 1] - P[0, 1]) * (P[2, 0] - P[0, 0]):
        P = P[::-1]
    sides = []
    for a, b in zip(P, np.roll(P, -1, axis=0), strict=True):
        dx, dy = (float(v) for v in b - a)
        sides.append(dx * (y - float(a[1])) - dy * (x - float(a[0])) >= 0)
    return sp.And(*sides)

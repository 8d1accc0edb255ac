"""Shapes bounded by a closed cubic spline through given points.

The spline is interpolated in the chord length, the sum of the distances between successive points; the
boundary curve is then parametrized by its arc length, as all faces are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError, import_optional
from pibls.expressions import Coordinate
from pibls.geometry.affine import Affine
from pibls.geometry.checks.arguments import check_sign_assumptions, check_two_coordinates
from pibls.geometry.checks.vertices import Ring, Vertices, points_of
from pibls.geometry.faces.arc import Arc
from pibls.geometry.faces.arc_length import ArcLengthParametrization
from pibls.geometry.faces.curve import Curve
from pibls.geometry.faces.face import Face, rejection_sample
from pibls.geometry.shape import Shape
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    import shapely
    from scipy.interpolate import CubicSpline


@dataclass(frozen=True, init=False)
class Spline(Shape):
    """The interior of the closed C² cubic spline through the points.

    The interpolation uses the chord length as the parameter, so that unevenly spaced points do not cause
    loops.

    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> blob = Spline((x, y), [(1, 0), (0, 1), (-1, 0), (0, -2)])
    >>> bool(blob.contains(np.array([[0.0, 0.0]]))[0])
    True
    """

    coordinates: tuple[Coordinate, ...]
    points: Ring

    def __init__(self, coordinates: Sequence[Coordinate], points: Vertices) -> None:
        symbols = check_two_coordinates(coordinates, "Spline(coordinates)")
        P = points_of(points, "Spline(points)", 3)
        x, y = P.T
        if np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) < 0:
            P = P[::-1]
        object.__setattr__(self, "coordinates", symbols)
        object.__setattr__(self, "points", tuple((float(a), float(b)) for a, b in P))
        shapely = import_optional("shapely", extra="polygons", purpose="A spline")
        if not shapely.LinearRing(self._curve.table.points[:-1]).is_simple:
            raise ProblemError(
                "Spline(points)",
                expected="points whose spline does not intersect itself",
                got="a spline with a self-intersection",
                remedy="Give the points in order along the curve, more closely spaced where it turns.",
            )
        check_sign_assumptions(symbols, self.bounds, "Spline(coordinates)")

    @cached_property
    def _curve(self) -> SplineCurve:
        return SplineCurve(self, np.array(self.points))

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return self._curve.bounding_box

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        return (Arc(self._curve),)

    @cached_property
    def _prepared_polygon(self) -> tuple[shapely.Polygon, float]:
        """A prepared shapely polygon that approximates the shape, and a bound of their distance."""
        shapely = import_optional("shapely", extra="polygons", purpose="A spline")
        table = self._curve.table
        middles = self._curve.position(0.5 * (table.u[1:] + table.u[:-1]))
        sag = np.abs(middles - 0.5 * (table.points[1:] + table.points[:-1])).max()
        area = shapely.Polygon(table.points)
        shapely.prepare(area)
        return area, 4.0 * float(sag)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        box = np.array(self.bounds)
        fraction = max(float(self._prepared_polygon[0].area / np.prod(box[:, 1] - box[:, 0])), 1e-3)
        return rejection_sample(self.contains, box, fraction, n, rng)

    def contains(self, X: Array) -> Mask:
        shapely = import_optional("shapely", extra="polygons", purpose="A spline")
        area, sag = self._prepared_polygon
        inside = np.array(shapely.intersects_xy(area, X[:, 0], X[:, 1]), dtype=np.bool_)
        # Close to the curve, test on which side of it a point lies.
        close = np.flatnonzero(shapely.distance(area.exterior, shapely.points(X)) <= sag)
        if len(close):
            u = self._curve.nearest_parameters(X[close])
            t = self._curve.tangent(u)
            away = X[close] - self._curve.position(u)
            size = float(np.abs(X).max())
            inside[close] = away[:, 0] * t[:, 1] - away[:, 1] * t[:, 0] <= 1e-14 * size * np.hypot(*t.T)
        return inside

    def mapped(self, affine: Affine) -> Shape:
        if not affine.is_similarity:
            return super().mapped(affine)
        return Spline(self.coordinates, affine.points(np.array(self.points)).tolist())

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.coordinates))
        return f"<Spline of ({names}) through {len(self.points)} points>"


class SplineCurve(ArcLengthParametrization, Curve):
    """The closed cubic spline, parametrized by arc length.

    `_spline` is the same curve with the chord length, relative to its total, as the parameter.
    """

    is_closed = True
    is_nonsmooth_at_knots = True  # the third derivative jumps

    def __init__(self, owner: object, points: Array) -> None:
        self.owner = owner
        self.segments = int(min(max(256, 24 * len(points)), 8192))
        self._points = points

    @cached_property
    def _spline(self) -> CubicSpline:
        from scipy.interpolate import CubicSpline

        closed = np.concatenate([self._points, self._points[:1]])
        chord_length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
        return CubicSpline(chord_length / chord_length[-1], closed, bc_type="periodic")

    @cached_property
    def knots(self) -> Array:
        """The arc-length parameters of the spline knots."""
        u = np.linspace(0.0, 1.0, 8 * self.segments + 1)
        out = np.interp(self._spline.x, self._parameter_of_length(u), u)
        for _ in range(3):
            out = np.clip(
                out - (self._parameter_of_length(out) - self._spline.x) / self._parameter_of_length(out, 1),
                0.0,
                1.0,
            )
        return np.asarray(out)

    @cached_property
    def _slope(self) -> CubicSpline:
        return self._spline.derivative()

    def curve_point(self, s: Array) -> Array:
        return np.asarray(self._spline(s))

    def curve_derivative(self, s: Array) -> Array:
        return np.asarray(self._slope(s))

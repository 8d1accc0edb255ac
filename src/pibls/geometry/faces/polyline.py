"""Polygonal lines p₀ p₁ … pₘ, parametrized by arc length."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.geometry.faces.curve import Curve


class Polyline(Curve):
    """A polygonal line through points; if closed, the last point equals the first."""

    is_nonsmooth_at_knots = True

    def __init__(self, owner: object, points: Array, *, closed: bool) -> None:
        self.owner, self.is_closed = owner, closed
        self._points = points
        length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        self._u: Array = length / length[-1]
        self.segments = int(min(max(64, 8 * len(points)), 16384))

    @property
    def knots(self) -> Array:
        return self._u

    def _segment(self, u: Array) -> Array:
        return np.clip(np.searchsorted(self._u, u, side="right") - 1, 0, len(self._u) - 2)

    def position(self, u: Array) -> Array:
        i = self._segment(u)
        s = ((u - self._u[i]) / (self._u[i + 1] - self._u[i]))[:, None]
        return np.asarray(self._points[i] * (1.0 - s) + self._points[i + 1] * s)

    def tangent(self, u: Array) -> Array:
        i = self._segment(u)
        return np.asarray(self._points[i + 1] - self._points[i])

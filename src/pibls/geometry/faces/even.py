"""|γ'(u)| = L: a curve c(s) run through at constant speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.caching import cached_property

_PER_PIECE = 2  # steps of the quadrature
_GAUSS = np.polynomial.legendre.leggauss(6)


class Evened:
    """For a curve that knows c(s) and c'(s): `position` and `tangent` by the length u L of the way.

    u ↦ s is interpolated, so that speeds differ by rounding or little more; the points are exact.
    """

    pieces: int

    def raw(self, s: Array) -> Array:
        """c(s), (n, 2)."""
        raise NotImplementedError

    def raw_derivative(self, s: Array) -> Array:
        """c'(s), (n, 2)."""
        raise NotImplementedError

    @cached_property
    def _way(self) -> Any:
        from scipy.interpolate import CubicHermiteSpline

        s = np.linspace(0.0, 1.0, _PER_PIECE * self.pieces + 1)
        nodes, weights = _GAUSS
        h = s[1] - s[0]
        inner = (s[:-1, None] + 0.5 * h * (1.0 + nodes)).ravel()
        speed = np.linalg.norm(self.raw_derivative(inner), axis=1).reshape(-1, len(nodes))
        way = np.concatenate([[0.0], np.cumsum(0.5 * h * speed @ weights)])
        pace = np.linalg.norm(self.raw_derivative(s), axis=1)
        pace = np.maximum(pace, 1e-3 * pace.max())  # a curve may stop at a cusp
        return CubicHermiteSpline(way / way[-1], s, way[-1] / pace)

    def position(self, u: Array) -> Array:
        return self.raw(np.clip(self._way(u), 0.0, 1.0))

    def tangent(self, u: Array) -> Array:
        return self.raw_derivative(np.clip(self._way(u), 0.0, 1.0))

    def run(self, start: float, stop: float, nodes: Array) -> tuple[Array, Array]:
        """By the parameter of the formula itself, which is smoother than the length of the way."""
        a, b = np.clip(self._way(np.array([start, stop])), 0.0, 1.0)
        s = a + (b - a) * nodes
        return self.raw(s), (b - a) * self.raw_derivative(s)

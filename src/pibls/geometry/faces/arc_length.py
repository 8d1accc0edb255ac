"""Reparametrization of curves c(s) by arc length: |γ'(u)| = L."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    from scipy.interpolate import CubicHermiteSpline

_STEPS_PER_SEGMENT = 2  # of the quadrature of the arc length
_GAUSS = np.polynomial.legendre.leggauss(6)


class ArcLengthParametrization:
    """Mixin for curves given by c(s) and c'(s), 0 ≤ s ≤ 1: `position` and `tangent` at the arc length u L.

    The map u ↦ s is interpolated, so the speed is constant up to a small error; the points are exact.
    """

    segments: int

    def curve_point(self, s: Array) -> Array:
        """Return c(s), (n, 2)."""
        raise NotImplementedError

    def curve_derivative(self, s: Array) -> Array:
        """Return c'(s), (n, 2)."""
        raise NotImplementedError

    @cached_property
    def _parameter_of_length(self) -> CubicHermiteSpline:
        from scipy.interpolate import CubicHermiteSpline

        s = np.linspace(0.0, 1.0, _STEPS_PER_SEGMENT * self.segments + 1)
        nodes, weights = _GAUSS
        h = s[1] - s[0]
        inner = (s[:-1, None] + 0.5 * h * (1.0 + nodes)).ravel()
        speed = np.linalg.norm(self.curve_derivative(inner), axis=1).reshape(-1, len(nodes))
        length = np.concatenate([[0.0], np.cumsum(0.5 * h * speed @ weights)])
        rate = np.linalg.norm(self.curve_derivative(s), axis=1)
        rate = np.maximum(rate, 1e-3 * rate.max())  # c' may vanish at a cusp
        return CubicHermiteSpline(length / length[-1], s, length[-1] / rate)

    def position(self, u: Array) -> Array:
        return self.curve_point(np.clip(self._parameter_of_length(u), 0.0, 1.0))

    def tangent(self, u: Array) -> Array:
        return self.curve_derivative(np.clip(self._parameter_of_length(u), 0.0, 1.0))

    def quadrature_points(self, start: float, stop: float, nodes: Array) -> tuple[Array, Array]:
        """Return points and derivatives with respect to s, which is smoother than the arc length."""
        a, b = np.clip(self._parameter_of_length(np.array([start, stop])), 0.0, 1.0)
        s = a + (b - a) * nodes
        return self.curve_point(s), (b - a) * self.curve_derivative(s)

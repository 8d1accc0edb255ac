"""Plane curves γ(u), 0 ≤ u ≤ 1, parametrized by arc length, with the shape on their left.

Shapes define their boundary curves; `Arc` is a face that consists of a curve or a part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pibls.arrays import Array
from pibls.geometry.integrals.gauss import differentiation_matrix
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

_NEWTON_STEPS = 6


class CurveTable(NamedTuple):
    """Samples of a curve: u (m + 1,), points (m + 1, 2), and bounding boxes of the m segments."""

    u: Array
    points: Array
    low: Array
    high: Array


class Curve:
    """Base class of curves; derived classes define `position`, `tangent` and the number of `segments`."""

    owner: object
    is_closed: bool
    segments: int = 256
    is_nonsmooth_at_knots: bool = False
    """Whether the curve itself, and not only its parametrization, is nonsmooth (not C^∞) at the knots."""
    is_slit_side: bool = False
    """Whether the curve is one side of a slit."""

    @property
    def knots(self) -> Array:
        """The parameters between which γ is smooth, for a piecewise curve."""
        return np.empty(0)

    def position(self, u: Array) -> Array:
        """Return γ(u), (n, 2)."""
        raise NotImplementedError

    def tangent(self, u: Array) -> Array:
        """Return tangent vectors in the direction of γ'(u), (n, 2), of any length."""
        raise NotImplementedError

    def quadrature_points(self, start: float, stop: float, nodes: Array) -> tuple[Array, Array]:
        """Return points of γ from u = start to stop at Gauss nodes (n,) of a smooth parameter in (0, 1).

        Also return the derivatives (n, 2) with respect to that parameter.
        """
        X = self.position(start + (stop - start) * nodes)
        return X, differentiation_matrix(len(nodes)) @ X

    @cached_property
    def table(self) -> CurveTable:
        """Dense samples of the curve."""
        u = np.linspace(0.0, 1.0, self.segments + 1)
        X, middles = self.position(u), self.position(0.5 * (u[1:] + u[:-1]))
        a, b = X[:-1], X[1:]
        bulge = 2.0 * np.abs(middles - 0.5 * (a + b)) + 1e-14 * np.abs(X).max()
        return CurveTable(u, X, np.minimum(a, b) - bulge, np.maximum(a, b) + bulge)

    @cached_property
    def bounding_box(self) -> tuple[tuple[float, float], ...]:
        """A box ((x_low, x_high), (y_low, y_high)) that contains the curve."""
        low, high = self.table.low.min(axis=0), self.table.high.max(axis=0)
        return tuple(zip(low.tolist(), high.tolist(), strict=True))

    @cached_property
    def length(self) -> float:
        """The length of the curve, from its samples."""
        return float(np.linalg.norm(np.diff(self.table.points, axis=0), axis=1).sum())

    @cached_property
    def _tree(self) -> cKDTree:
        from scipy.spatial import cKDTree

        return cKDTree(self.table.points)

    def nearest_parameters(self, X: Array) -> Array:
        """Return the parameters u of the points of the curve nearest to X (n, 2)."""
        if not len(X):
            return np.empty(0)
        out = self.table.u[self._tree.query(X)[1]]
        # Solve (γ(u) - x)·γ'(u) = 0 by steps along the tangent, near the nearest sample.
        near, reach = out.copy(), 1.5 / self.segments
        for _ in range(_NEWTON_STEPS):
            u = self.wrapped(out)
            t = self.tangent(u)
            t /= np.linalg.norm(t, axis=1, keepdims=True)
            step = ((self.position(u) - X) * t).sum(axis=1) / self.length
            out = np.clip(out - step, near - reach, near + reach)
            if not self.is_closed:
                out = np.clip(out, 0.0, 1.0)
        return self.wrapped(out)

    def wrapped(self, u: Array) -> Array:
        """Return u modulo 1 for a closed curve, else u."""
        return np.asarray(u % 1.0) if self.is_closed else u

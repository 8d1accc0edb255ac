"""γ(u), 0 ≤ u ≤ 1: a curve of the plane, run through at constant speed, the shape on its left.

A shape gives its curves; `Arc` makes faces of them, whole or in part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pibls.arrays import Array
from pibls.caching import cached_property
from pibls.geometry.integrals.gauss import slopes

_NEWTON = 6


class CurveTable(NamedTuple):
    """A curve looked at densely: u (m + 1,), points (m + 1, 2), and a box around each of the m pieces."""

    u: Array
    points: Array
    low: Array
    high: Array


class Curve:
    """A curve; each kind says `position` and `tangent`, and how many pieces show all of it."""

    owner: object
    closed: bool
    pieces: int = 256
    knots: Any = ()
    """The u between which γ is smooth, where it is made of pieces."""
    broken: bool = False
    """Whether the curve itself, and not only its parameter, is not smooth at the knots."""
    thin: bool = False
    """Whether it is one lip of a slit."""

    def position(self, u: Array) -> Array:
        """γ(u), (n, 2)."""
        raise NotImplementedError

    def tangent(self, u: Array) -> Array:
        """A vector along γ'(u), (n, 2), of any length."""
        raise NotImplementedError

    def run(self, start: float, stop: float, nodes: Array) -> tuple[Array, Array]:
        """Points of the way from γ(start) to γ(stop) at the n Gauss nodes of a smooth parameter, and their
        derivatives by it."""
        X = self.position(start + (stop - start) * nodes)
        return X, slopes(len(nodes)) @ X

    @cached_property
    def table(self) -> CurveTable:
        """Where it runs."""
        u = np.linspace(0.0, 1.0, self.pieces + 1)
        X, middles = self.position(u), self.position(0.5 * (u[1:] + u[:-1]))
        a, b = X[:-1], X[1:]
        bulge = 2.0 * np.abs(middles - 0.5 * (a + b)) + 1e-14 * np.abs(X).max()
        return CurveTable(u, X, np.minimum(a, b) - bulge, np.maximum(a, b) + bulge)

    @cached_property
    def around(self) -> tuple[tuple[float, float], ...]:
        """A box that holds it."""
        low, high = self.table.low.min(axis=0), self.table.high.max(axis=0)
        return tuple(zip(low.tolist(), high.tolist(), strict=True))

    @cached_property
    def length(self) -> float:
        """How long it is."""
        return float(np.linalg.norm(np.diff(self.table.points, axis=0), axis=1).sum())

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self.table.points)

    def locate(self, X: Array) -> Array:
        """The u of the nearest points of the curve."""
        if not len(X):
            return np.empty(0)
        out = self.table.u[self._tree.query(X)[1]]
        # (γ(u) - x)·γ'(u) = 0, by steps along the tangent that stay near the best of the table.
        near, reach = out.copy(), 1.5 / self.pieces
        for _ in range(_NEWTON):
            u = self.inside(out)
            t = self.tangent(u)
            t /= np.linalg.norm(t, axis=1, keepdims=True)
            step = ((self.position(u) - X) * t).sum(axis=1) / self.length
            out = np.clip(out - step, near - reach, near + reach)
            if not self.closed:
                out = np.clip(out, 0.0, 1.0)
        return self.inside(out)

    def inside(self, u: Array) -> Array:
        """The same place of a closed curve, with 0 ≤ u < 1."""
        return np.asarray(u % 1.0) if self.closed else u

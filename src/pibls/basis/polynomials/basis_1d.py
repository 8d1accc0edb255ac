r"""Bases f₁(s), …, f_n(s) on [-1, 1] along one coordinate of a box, and their collocation points.

Legendre polynomials, trigonometric functions for a periodic coordinate, or splines
(`basis.polynomials.splines`) with intervals graded towards a singular end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.basis.polynomials.product import legendre, trigonometric
from pibls.basis.polynomials.quadrature import collocation_points, quadrature_nodes, quadrature_weights
from pibls.basis.polynomials.splines import Splines
from pibls.runtime.caching import cached_property

REFERENCE_INTERVAL = (-1.0, 1.0)


@dataclass(frozen=True)
class Basis1D:
    """``size`` functions: polynomials between neighbouring ``edges``, ``order`` - 1 times differentiable."""

    size: int
    periodic: bool = False
    edges: tuple[float, ...] = REFERENCE_INTERVAL
    order: int = 0

    @property
    def intervals(self) -> int:
        return len(self.edges) - 1

    @property
    def functions_per_interval(self) -> int:
        """Number of polynomials in each interval."""
        return self.size if self.intervals == 1 else (self.size - self.order) // self.intervals + self.order

    @property
    def broken_size(self) -> int:
        """Number of coefficients of all intervals, without continuity conditions."""
        return self.intervals * self.functions_per_interval

    @cached_property
    def _splines(self) -> Splines:
        return Splines(self.edges, self.functions_per_interval, self.order)

    def evaluate(self, s: Array, order: int = 0) -> Array:
        """Return ∂^order of the functions at s, (N, size)."""
        if self.intervals > 1:
            return self._splines.evaluate(s, order)
        return (trigonometric if self.periodic else legendre)(s, self.size, order)

    def half_lengths(self, s: Array) -> Array:
        """Return half of the length of the interval of each point."""
        if self.intervals == 1:
            return np.ones(len(s))
        return np.asarray(self._splines.half[self._splines.locate(s)])

    def nodes(self, count: int) -> Array:
        """Return at least ``count`` interior points, equally many in each interval."""
        each = -(-count // self.intervals)
        if self.intervals == 1:
            return quadrature_nodes(each, self.periodic)
        one = self._splines
        return np.asarray((one.centre[:, None] + one.half[:, None] * quadrature_nodes(each, False)).ravel())

    @cached_property
    def from_values(self) -> Array:
        """Matrix from values at the `broken_size` nodes to coefficients, (size, broken_size)."""
        if self.intervals == 1:
            return np.asarray(np.linalg.inv(self.evaluate(self.nodes(self.size))), dtype=float)
        n = self.functions_per_interval
        one = np.linalg.inv(legendre(quadrature_nodes(n, False), n))
        return np.asarray(self._splines.smooth_basis.T @ np.kron(np.eye(self.intervals), one))

    @property
    def to_broken(self) -> Array:
        """Matrix from coefficients to those of the intervals, (broken_size, size)."""
        return self._splines.smooth_basis if self.intervals > 1 else np.eye(self.size)

    def collocation_points(self, conditions: int) -> Array:
        """Return as many points as functions: those of an equation, then one for each condition."""
        if self.intervals > 1 and conditions == self.order:
            return self._splines.interpolation_points
        return collocation_points(self.size, conditions, self.periodic)

    def weights(self, conditions: int) -> Array:
        """Return the quadrature weights at the points of an equation."""
        if self.intervals > 1 and conditions == self.order:
            return self._splines.weights
        return quadrature_weights(self.size - (0 if self.periodic else conditions), self.periodic)

    def low_degree_polynomials(self, count: int) -> Array:
        """Return the coefficients of the first ``count`` Legendre polynomials on [-1, 1], (size, count)."""
        return (
            np.eye(self.size)[:, :count]
            if self.intervals == 1
            else self.from_values @ legendre(self.nodes(self.broken_size), count)
        )

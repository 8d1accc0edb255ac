r"""Splines: piecewise polynomials u(x) = Σ_j c_{pj} P_j(ξ), ξ = (x - centre_p)/half_p in the interval p.

Values and derivatives below the order m are continuous at the edges. With n polynomials in each of P
intervals the dimension is P (n - m) + m: n - m Gauss points in each interval, and m conditions at the ends.
For periodic splines the two ends are joined as well, and there are no conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, Indices
from pibls.basis.polynomials.product import legendre
from pibls.basis.polynomials.quadrature import (
    collocation_points,
    jacobi_nodes,
    quadrature_nodes,
    quadrature_weights,
)
from pibls.runtime.caching import cached_property


@lru_cache(maxsize=512)
def gauss_table(n: int, count: int, order: int) -> Array:
    """Return ∂^order of the n Legendre polynomials at ``count`` Gauss points."""
    return legendre(quadrature_nodes(count, False), n, order)


@dataclass(frozen=True)
class Splines:
    """``size`` polynomials between each two neighbouring ``edges``, ``order`` - 1 times differentiable."""

    edges: tuple[float, ...]
    size: int
    order: int
    periodic: bool = False

    @property
    def intervals(self) -> int:
        return len(self.edges) - 1

    @property
    def broken_size(self) -> int:
        """Number of coefficients of all intervals, without continuity conditions."""
        return self.intervals * self.size

    @property
    def dimension(self) -> int:
        """Number of spline functions."""
        return self.broken_size - self.order * (self.intervals - (0 if self.periodic else 1))

    @cached_property
    def half(self) -> Array:
        return np.asarray(0.5 * np.diff(self.edges))

    @cached_property
    def centre(self) -> Array:
        return np.asarray(0.5 * (np.array(self.edges[1:]) + np.array(self.edges[:-1])))

    @cached_property
    def smooth_basis(self) -> Array:
        """Coefficients of the splines in the intervals, (broken_size, dimension); orthonormal columns."""
        P, n, m = self.intervals, self.size, self.order
        joints = [(p, p + 1) for p in range(P - 1)] + ([(P - 1, 0)] if self.periodic else [])
        if not joints or not m:
            return np.eye(P * n)
        C = np.zeros((m * len(joints), P * n))
        for i, (low, high) in enumerate(joints):
            short = min(self.half[low], self.half[high])
            for k in range(m):
                row = C[m * i + k]
                row[low * n : low * n + n] += (short / self.half[low]) ** k * legendre(np.ones(1), n, k)[0]
                row[high * n : high * n + n] -= (short / self.half[high]) ** k * legendre(-np.ones(1), n, k)[
                    0
                ]
                row /= np.linalg.norm(row)
        Q, _ = np.linalg.qr(C.T, mode="complete")
        return np.ascontiguousarray(Q[:, len(C) :])

    # -- points --

    @cached_property
    def nodes(self) -> Array:
        """Collocation points of equations: n - m Gauss points in each interval."""
        s = quadrature_nodes(self.size - self.order, False)
        return np.asarray((self.centre[:, None] + self.half[:, None] * s).ravel())

    @cached_property
    def weights(self) -> Array:
        """Quadrature weights at the nodes."""
        return np.asarray((self.half[:, None] * quadrature_weights(self.size - self.order, False)).ravel())

    @cached_property
    def boundary_points(self) -> Array:
        """One point for each condition at the ends: the ends and points next to them."""
        if self.periodic:
            return np.empty(0)
        s = collocation_points(self.size, self.order, False)[self.size - self.order :]
        below, above = self.centre[0] + self.half[0] * s, self.centre[-1] + self.half[-1] * s
        ends = np.where(s < 0, below, above)
        ends[s == -1.0], ends[s == 1.0] = self.edges[0], self.edges[-1]  # exactly
        return np.asarray(ends)

    @cached_property
    def interpolation_points(self) -> Array:
        """Nodes and boundary points: as many interpolation points as functions."""
        return np.concatenate([self.nodes, self.boundary_points])

    @property
    def pressure_splines(self) -> Splines:
        """The splines of a pressure: continuous, of degree N - 2 for velocities of degree N (P_N-P_{N-2}).

        With degree N - 1 there are spurious pressure modes.
        """
        return Splines(self.edges, self.size - 2, 1, self.periodic)

    @cached_property
    def pressure_points(self) -> Array:
        """As many points as continuous functions: including the inner edges, but not the ends.

        Lobatto points in inner intervals, Radau points next to an end. At a corner, ∇·u follows from the
        sides.
        """
        k = self.size - 1
        between = jacobi_nodes(k - 1, 1, 1)
        out = []
        for p, (centre, half) in enumerate(zip(self.centre, self.half, strict=True)):
            first, last = (not self.periodic and p == 0), (not self.periodic and p == self.intervals - 1)
            if first:
                s = quadrature_nodes(k + 1, False) if last else jacobi_nodes(k, 1, 0)
            else:
                s = np.append(-1.0, jacobi_nodes(k, 0, 1) if last else between)
            x = centre + half * s
            out.append(x if first else np.append(self.edges[p], x[1:]))
        return np.concatenate(out)

    # -- tables --

    def tabulate(self, x: Array, order: int) -> Array:
        """Return ∂^order of the splines at points, (N, dimension); tables at its own points are cached."""
        if x is self.nodes:
            return self.values[order][: len(x)] if order <= self.order else self.node_table(order)
        if x is self.interpolation_points and order <= self.order:
            return self.values[order]
        return self.evaluate(x, order)

    def node_table(self, order: int) -> Array:
        """Return ∂^order of the splines at the nodes, (nodes, dimension)."""
        P, n, count = self.intervals, self.size, self.size - self.order
        one = gauss_table(n, count, order)
        S = self.smooth_basis.reshape(P, n, -1)
        scale = self.half ** -float(order)
        return np.asarray((np.matmul(one, S) * scale[:, None, None]).reshape(P * count, -1))

    def evaluate(self, x: Array, order: int) -> Array:
        """Return ∂^order of the splines at points, (N, dimension)."""
        p = self.locate(x)
        T = legendre((x - self.centre[p]) / self.half[p], self.size, order)
        T = T / self.half[p, None] ** order if order else T
        S = self.smooth_basis.reshape(self.intervals, self.size, -1)
        return np.asarray(np.einsum("xn,xnf->xf", T, S[p]))

    def locate(self, x: Array) -> Indices:
        """Return the interval of each point; a point on an edge belongs to the upper interval."""
        return np.searchsorted(np.array(self.edges[1:-1]), x, side="right").astype(np.intp)

    @cached_property
    def values(self) -> tuple[Array, ...]:
        """∂^k of the splines at the `interpolation_points`, k = 0, …, m."""
        return tuple(
            np.concatenate([self.node_table(k), self.evaluate(self.boundary_points, k)])
            if len(self.boundary_points)
            else self.node_table(k)
            for k in range(self.order + 1)
        )

    @cached_property
    def from_values(self) -> Array:
        """Matrix from values at the `interpolation_points` to coefficients, (dimension, points)."""
        return np.asarray(np.linalg.inv(self.values[0]))

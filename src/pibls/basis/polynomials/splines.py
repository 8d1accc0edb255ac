r"""u(x) = Σ_j c_{pj} P_j(ξ), ξ = (x - centre_p)/half_p in the piece p: polynomials that join smoothly.

Values and derivatives below the order m agree where two pieces meet. With n polynomials in each of P pieces
that leaves P (n - m) + m functions: as many as Gauss's points, n - m in each piece, and m conditions at the
ends. Where the function repeats itself the two ends meet too, and there are no conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.basis.polynomials.nodes import held_at, jacobi, nodes_of, weights_of
from pibls.basis.polynomials.product import legendre
from pibls.caching import cached_property


@lru_cache(maxsize=512)
def gauss_table(n: int, count: int, order: int) -> Array:
    """∂^order of the n polynomials at ``count`` points of Gauss."""
    return legendre(nodes_of(count, False), n, order)


@dataclass(frozen=True)
class Splines:
    """``size`` polynomials between each two neighbouring ``edges``, ``order`` - 1 times differentiable."""

    edges: tuple[float, ...]
    size: int
    order: int
    repeats: bool = False

    @property
    def pieces(self) -> int:
        return len(self.edges) - 1

    @property
    def raw(self) -> int:
        """Coefficients of all pieces."""
        return self.pieces * self.size

    @property
    def functions(self) -> int:
        """How many are smooth."""
        return self.raw - self.order * (self.pieces - (0 if self.repeats else 1))

    @cached_property
    def half(self) -> Array:
        return np.asarray(0.5 * np.diff(self.edges))

    @cached_property
    def centre(self) -> Array:
        return np.asarray(0.5 * (np.array(self.edges[1:]) + np.array(self.edges[:-1])))

    @cached_property
    def smooth(self) -> Array:
        """The smooth functions by their coefficients in the pieces, (raw, functions), orthonormal."""
        P, n, m = self.pieces, self.size, self.order
        joints = [(p, p + 1) for p in range(P - 1)] + ([(P - 1, 0)] if self.repeats else [])
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
        """Where equations are held: n - m points of Gauss in each piece."""
        s = nodes_of(self.size - self.order, False)
        return np.asarray((self.centre[:, None] + self.half[:, None] * s).ravel())

    @cached_property
    def weights(self) -> Array:
        """For integrals by the values at the nodes."""
        return np.asarray((self.half[:, None] * weights_of(self.size - self.order, False)).ravel())

    @cached_property
    def extra(self) -> Array:
        """As many more as there are conditions at the ends: the ends, and what lies next to them."""
        if self.repeats:
            return np.empty(0)
        s = held_at(self.size, self.order, False)[self.size - self.order :]
        below, above = self.centre[0] + self.half[0] * s, self.centre[-1] + self.half[-1] * s
        ends = np.where(s < 0, below, above)
        ends[s == -1.0], ends[s == 1.0] = self.edges[0], self.edges[-1]  # to the last digit
        return np.asarray(ends)

    @cached_property
    def traced(self) -> Array:
        """The points at which a function along this line is taken: as many as there are functions."""
        return np.concatenate([self.nodes, self.extra])

    @property
    def lighter(self) -> Splines:
        """Of a pressure beside these: continuous, of two degrees less.

        ∇p and Δu then have as many values to agree in as ∇·u has to vanish in (P_N and P_{N-2}): with one
        degree less there is a pressure that no equation sees.
        """
        return Splines(self.edges, self.size - 2, 1, self.repeats)

    @cached_property
    def joined(self) -> Array:
        """As many points as there are continuous functions: where pieces join too, but not at the ends.

        Lobatto's points between two joints, Radau's beside an end. In a corner, ∇·u is known from the sides.
        """
        k = self.size - 1
        between = jacobi(k - 1, 1, 1)
        out = []
        for p, (centre, half) in enumerate(zip(self.centre, self.half, strict=True)):
            first, last = (not self.repeats and p == 0), (not self.repeats and p == self.pieces - 1)
            if first:
                s = nodes_of(k + 1, False) if last else jacobi(k, 1, 0)
            else:
                s = np.append(-1.0, jacobi(k, 0, 1) if last else between)
            x = centre + half * s
            out.append(x if first else np.append(self.edges[p], x[1:]))
        return np.concatenate(out)

    # -- tables --

    def tabled(self, x: Array, order: int) -> Array:
        """∂^order of the smooth functions at points, (N, functions); those of its own points are kept."""
        if x is self.nodes:
            return self.values[order][: len(x)] if order <= self.order else self.table(order)
        if x is self.traced and order <= self.order:
            return self.values[order]
        return self.at(x, order)

    def table(self, order: int) -> Array:
        """∂^order of the smooth functions at the nodes, (nodes, functions)."""
        P, n, count = self.pieces, self.size, self.size - self.order
        one = gauss_table(n, count, order)
        S = self.smooth.reshape(P, n, -1)
        scale = self.half ** -float(order)
        return np.asarray((np.matmul(one, S) * scale[:, None, None]).reshape(P * count, -1))

    def at(self, x: Array, order: int) -> Array:
        """∂^order of the smooth functions at points, (N, functions)."""
        p = self.locate(x)
        T = legendre((x - self.centre[p]) / self.half[p], self.size, order)
        T = T / self.half[p, None] ** order if order else T
        S = self.smooth.reshape(self.pieces, self.size, -1)
        return np.asarray(np.einsum("xn,xnf->xf", T, S[p]))

    def locate(self, x: Array) -> Numbers:
        """The piece of each point; one on an edge belongs to the upper one."""
        return np.searchsorted(np.array(self.edges[1:-1]), x, side="right").astype(np.intp)

    @cached_property
    def values(self) -> tuple[Array, ...]:
        """∂^k of the smooth functions at the points `traced`, k = 0, …, m."""
        return tuple(
            np.concatenate([self.table(k), self.at(self.extra, k)]) if len(self.extra) else self.table(k)
            for k in range(self.order + 1)
        )

    @cached_property
    def from_values(self) -> Array:
        """The function with given values at the points `traced`, (functions, points)."""
        return np.asarray(np.linalg.inv(self.values[0]))

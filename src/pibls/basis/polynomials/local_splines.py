r"""Splines in a local basis: u = Σ_e Σ_k u⁽ᵏ⁾(e) h_{ek} + Σ_p Σ_j b_{pj} β_{pj}.

The same space as `Splines`, spanned by Hermite functions h_{ek} for the derivatives below the order at the
edges, and by polynomials β_{pj} of one interval that vanish at both of its ends with these derivatives. Each
interval has few nonzero functions, so that matrices are sparse.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, Indices
from pibls.basis.polynomials.product import legendre
from pibls.basis.polynomials.splines import Splines
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class LocalSplines:
    """Local functions 0, …, n - 1 of each interval: those of its lower edge, its upper edge, its interior."""

    splines: Splines
    interior_count: int
    """Number of functions of an interval that vanish at both edges."""
    indices: Indices = field(repr=False)
    """Global indices of the functions of each interval, (P, n); those of edges come first."""
    coefficients: Array = field(repr=False)
    """Legendre coefficients of the functions of each interval, (P, n, n): polynomial, function."""

    @classmethod
    def of(cls, splines: Splines) -> LocalSplines:
        P, n, m = splines.intervals, splines.size, splines.order
        ends = np.concatenate(
            [np.concatenate([legendre(np.array([s]), n, k) for k in range(m)]) for s in (-1.0, 1.0)]
        )
        edges = np.linalg.pinv(ends)
        own = np.linalg.qr(ends.T, mode="complete")[0][:, 2 * m :]
        count = P if splines.periodic else P + 1
        half = splines.half
        # Derivatives at an edge are scaled by the shorter neighbouring interval.
        before = np.concatenate([[half[-1] if splines.periodic else half[0]], half])
        after = np.concatenate([half, [half[0] if splines.periodic else half[-1]]])
        unit = np.minimum(before, after)
        indices, coefficients = np.empty((P, n), dtype=np.intp), np.empty((P, n, n))
        powers = np.arange(m)
        for p in range(P):
            indices[p, :m] = p * m + powers
            indices[p, m : 2 * m] = (p + 1) % count * m + powers
            indices[p, 2 * m :] = count * m + p * (n - 2 * m) + np.arange(n - 2 * m)
            scale = np.concatenate([(half[p] / unit[p]) ** powers, (half[p] / unit[p + 1]) ** powers])
            coefficients[p] = np.concatenate([edges * scale, own], axis=1)
        return cls(splines, n - 2 * m, indices, coefficients)

    @cached_property
    def edge_positions(self) -> Indices:
        """For each function, 2e if it belongs to the edge e, 2p + 1 if it is interior to the interval p."""
        out = np.empty(self.splines.dimension, dtype=np.intp)
        m = self.splines.order
        for p, indices in enumerate(self.indices):
            out[indices[m : 2 * m]] = 2 * p + 2
            out[indices[2 * m :]] = 2 * p + 1
        out[self.indices[0, :m]] = 0
        return out

    def evaluate(self, x: Array, order: int) -> tuple[Indices, Array]:
        """Return the interval of each point, and ∂^order of its functions there, (N, n)."""
        s = self.splines
        p = s.locate(x)
        T = legendre((x - s.centre[p]) / s.half[p], s.size, order) * (s.half[p, None] ** -float(order))
        return p, np.asarray(np.einsum("xn,xnf->xf", T, self.coefficients[p]))

    @cached_property
    def to_splines(self) -> Array:
        """Matrix from coefficients of these functions to those of `Splines`, (dimension, dimension)."""
        s = self.splines
        H = np.zeros((s.broken_size, s.dimension))
        for p in range(s.intervals):
            H[p * s.size : (p + 1) * s.size, self.indices[p]] += self.coefficients[p]
        return np.asarray(s.smooth_basis.T @ H)

r"""u = Σ_e Σ_k u⁽ᵏ⁾(e) h_{ek} + Σ_p Σ_j b_{pj} β_{pj}: smooth piecewise polynomials by local functions.

The same functions as `Splines`, told by what neighbouring pieces share, the derivatives below the order at
their edges, and by polynomials of one piece that vanish with these at both of its ends. A piece
knows no others than its own, which is what makes matrices of them sparse.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.basis.polynomials.product import legendre
from pibls.basis.polynomials.splines import Splines, gauss_table
from pibls.caching import cached_property


@dataclass(frozen=True)
class LocalSplines:
    """Functions 0, …, n - 1 of a piece: those of its lower edge, of its upper edge, and its own."""

    splines: Splines
    own: int
    """How many vanish at both edges."""
    numbers: Numbers = field(repr=False)
    """The numbers of the functions of each piece among all, (P, n); those of edges come first."""
    pieces: Array = field(repr=False)
    """Their coefficients there, (P, n, n): polynomial, function."""

    @classmethod
    def of(cls, splines: Splines) -> LocalSplines:
        P, n, m = splines.pieces, splines.size, splines.order
        ends = np.concatenate(
            [np.concatenate([legendre(np.array([s]), n, k) for k in range(m)]) for s in (-1.0, 1.0)]
        )
        edges = np.linalg.pinv(ends)
        own = np.linalg.qr(ends.T, mode="complete")[0][:, 2 * m :]
        count = P if splines.repeats else P + 1
        half = splines.half
        # A derivative in units of the shorter neighbour.
        before = np.concatenate([[half[-1] if splines.repeats else half[0]], half])
        after = np.concatenate([half, [half[0] if splines.repeats else half[-1]]])
        unit = np.minimum(before, after)
        numbers, pieces = np.empty((P, n), dtype=np.intp), np.empty((P, n, n))
        powers = np.arange(m)
        for p in range(P):
            numbers[p, :m] = p * m + powers
            numbers[p, m : 2 * m] = (p + 1) % count * m + powers
            numbers[p, 2 * m :] = count * m + p * (n - 2 * m) + np.arange(n - 2 * m)
            scale = np.concatenate([(half[p] / unit[p]) ** powers, (half[p] / unit[p + 1]) ** powers])
            pieces[p] = np.concatenate([edges * scale, own], axis=1)
        return cls(splines, n - 2 * m, numbers, pieces)

    @cached_property
    def places(self) -> Numbers:
        """Of each function twice the number of its edge, or the odd number in between of its piece."""
        out = np.empty(self.splines.functions, dtype=np.intp)
        m = self.splines.order
        for p, numbers in enumerate(self.numbers):
            out[numbers[m : 2 * m]] = 2 * p + 2
            out[numbers[2 * m :]] = 2 * p + 1
        out[self.numbers[0, :m]] = 0
        return out

    def table(self, order: int) -> Array:
        """∂^order of the functions of each piece at its nodes, (P, nodes of a piece, n)."""
        s = self.splines
        one = gauss_table(s.size, s.size - s.order, order)
        return np.asarray(np.matmul(one, self.pieces) * (s.half ** -float(order))[:, None, None])

    def at(self, x: Array, order: int) -> tuple[Numbers, Array]:
        """The piece of each point, and ∂^order of its functions there, (N, n)."""
        s = self.splines
        p = s.locate(x)
        T = legendre((x - s.centre[p]) / s.half[p], s.size, order) * (s.half[p, None] ** -float(order))
        return p, np.asarray(np.einsum("xn,xnf->xf", T, self.pieces[p]))

    @cached_property
    def change(self) -> Array:
        """From the numbers of these functions to the coefficients of `Splines`, (functions, functions)."""
        s = self.splines
        H = np.zeros((s.raw, s.functions))
        for p in range(s.pieces):
            H[p * s.size : (p + 1) * s.size, self.numbers[p]] += self.pieces[p]
        return np.asarray(s.smooth.T @ H)

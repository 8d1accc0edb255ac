r"""u(t) = Σⱼ c_ij T_j((t - m_i)/h_i), t in the window i: all windows of a line evaluated at once.

Points are few in each of many windows, and a call for each window would cost more than its arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.basis.polynomials.chebyshev import alike, derivative, polynomials
from pibls.problem import Jet
from pibls.spaces.protocol import Space


@dataclass(frozen=True)
class Stacked:
    """Windows whose unknowns all have the same polynomials."""

    centres: Array
    halves: Array
    size: int
    unknowns: int

    @classmethod
    def of(cls, parts: Sequence[Space]) -> Stacked | None:
        """The windows as one; None where some are of another kind."""
        whole = [p.whole for p in parts if p.whole is not None]
        if len(whole) != len(parts):
            return None
        bases = alike([b for p in whole for b in p.bases])
        unknowns = len(whole[0].bases)
        if bases is None or len(bases) != unknowns * len(parts):
            return None
        own = bases[::unknowns]
        centres = np.array([b.centre[0] for b in own])
        halves = np.array([b.half[0] for b in own])
        return cls(centres, halves, own[0].size, unknowns)

    def values(self, t: Array, windows: Numbers, jets: Sequence[Jet], w: Array) -> Array:
        """∂^α u_k (jets, n) at times, each in its window."""
        half = self.halves[windows]
        T = polynomials((t - self.centres[windows]) / half, self.size)
        C = w[: len(self.centres) * self.unknowns * self.size].reshape(-1, self.unknowns, self.size)
        out = np.empty((len(jets), len(t)))
        for row, jet in zip(out, jets, strict=True):
            order = jet.alpha[0]
            c = C[windows, jet.unknown]
            if order:
                c = c @ derivative(self.size, order).T
            np.einsum("nj,nj->n", T, c, out=row)
            if order:
                row /= half**order
        return out

r"""Evaluation of u(t) = Σⱼ c_ij T_j((t - m_i)/h_i), t in the window i, in all time windows at once.

With few points in each of many windows, one call per window would cost more than its arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Indices
from pibls.basis.polynomials.chebyshev import as_common_chebyshev, chebyshev_values, derivative_matrix
from pibls.problem import PartialDerivative
from pibls.spaces.protocol import Space
from pibls.spaces.single_domain import SingleDomainSpace


@dataclass(frozen=True)
class StackedWindows:
    """Time windows in which all unknowns have Chebyshev polynomials of the same degree."""

    centres: Array
    halves: Array
    size: int
    unknowns: int

    @classmethod
    def of(cls, parts: Sequence[Space]) -> StackedWindows | None:
        """Return the stacked windows, or None if some of them have another basis."""
        whole = [p for p in parts if isinstance(p, SingleDomainSpace)]
        if len(whole) != len(parts):
            return None
        bases = as_common_chebyshev([b for p in whole for b in p.bases])
        unknowns = whole[0].unknowns
        if bases is None or len(bases) != unknowns * len(parts):
            return None
        own = bases[::unknowns]
        centres = np.array([b.centre[0] for b in own])
        halves = np.array([b.half[0] for b in own])
        return cls(centres, halves, own[0].size, unknowns)

    def values(self, t: Array, windows: Indices, derivatives: Sequence[PartialDerivative], w: Array) -> Array:
        """Return ∂^α u_k (derivatives, n) at times t in the given windows."""
        half = self.halves[windows]
        T = chebyshev_values((t - self.centres[windows]) / half, self.size)
        C = w[: len(self.centres) * self.unknowns * self.size].reshape(-1, self.unknowns, self.size)
        out = np.empty((len(derivatives), len(t)))
        for row, derivative in zip(out, derivatives, strict=True):
            order = derivative.alpha[0]
            c = C[windows, derivative.unknown]
            if order:
                c = c @ derivative_matrix(self.size, order).T
            np.einsum("nj,nj->n", T, c, out=row)
            if order:
                row /= half**order
        return out

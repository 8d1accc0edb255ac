r"""[τD_c⁻¹; D_r A] = QR D_c⁻¹: equilibrated QR with a tiny Tikhonov block, all matrix-matrix products.

With τ a fraction of the rounding error of A, the block changes nothing that double precision can
see, but keeps the triangle from being singular: no pivoting is needed, and the solution stays close
to the minimum-norm one. The block is the triangle that the factorisation starts from, so that it costs
nothing (LAPACK's triangular-pentagonal tpqrt). As accurate as pivoting on well-scaled bases, and two to
three times faster; pivoting stays ahead where many columns are redundant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.linalg.even_odd import EvenOddFactorization
from pibls.linalg.matrix import Matrix, as_matrix, norms
from pibls.linalg.panels import tpmqrt, tpqrt, trtrs
from pibls.linalg.pivoted_qr import Reflectors
from pibls.linalg.streamed_qr import StreamedFactorization
from pibls.linalg.tree import block_qr

_EPS = float(np.finfo(float).eps)
_PANEL = 16
"""LAPACK takes one of so many parts of the columns at a time, 8 to 32 of them: 16 columns took a fifth longer
for 128 and for 1024."""


@dataclass(frozen=True)
class RidgeQR:
    """Regularised least squares of the equilibrated system; τ = ``cond``·‖D_r A D_c‖_F."""

    cond: float = 0.1 * _EPS

    def factor(self, A: Matrix) -> RidgeFactors:
        return self.factor_scaled(A, norms(A, 1), self.cond)

    def factor_scaled(self, A: Matrix, scale: Array, cond: float) -> RidgeFactors:
        """The same with given row norms and regularisation."""
        found: RidgeFactors = as_matrix(A).ridged(self, scale, cond)
        return found

    def factor_held(self, A: Array, scale: Array, cond: float) -> RidgeQRFactorization:
        first, weights = distinct(A)
        if len(first) < len(A):  # mostly no two rows are equal, and no copy is needed to leave them out
            A, scale = A[first], scale[first] / weights
        return self.factor_rows(A, first, scale, cond)

    def factor_rows(self, A: Array, rows: Numbers, scale: Array, cond: float) -> RidgeQRFactorization:
        """The same of rows that all differ; ``rows`` says where each stands."""
        B = np.divide(A, scale[:, None], order="F")
        m = B.shape[1]
        # Reflections do not mind how long a column is: to scale the ridge is to scale the columns.
        ridge = np.zeros((m, m), order="F")
        ridge.ravel(order="F")[:: m + 1] = cond * np.sqrt(m) * norms(B, 0)
        R, V, T = tpqrt(ridge, B, min(max(m // _PANEL, 8), 32, m))
        return RidgeQRFactorization(rows, scale, R, (V, T))


def distinct(A: Array) -> tuple[Numbers, Array]:
    """The first of each run of equal rows, and the root of its length.

    End points of an interval that are repeated to weigh them cost no more than two rows.
    """
    maybe = np.flatnonzero(A[1:, 0] == A[:-1, 0]) + 1
    if not len(maybe):
        return np.arange(len(A)), np.ones(len(A))
    starts = np.ones(len(A), dtype=bool)
    starts[maybe] = ~np.all(A[maybe] == A[maybe - 1], axis=1)
    first = np.flatnonzero(starts)
    return first, np.sqrt(np.diff(first, append=len(A)))


@dataclass(frozen=True)
class RidgeQRFactorization:
    """The factors, and how to apply them."""

    rows: Numbers
    row_scale: Array
    triangle: Array
    reflectors: Reflectors

    @property
    def rank(self) -> int:
        return len(self.triangle)

    def apply(self, b: Array) -> Array:
        """w for one right-hand side (rows,), or for several (rows, k)."""
        # Equal rows share the mean of their right-hand sides.
        mean = b.reshape(len(b), -1)
        if len(self.rows) < len(b):
            count = np.diff(self.rows, append=len(b))
            mean = np.add.reduceat(mean, self.rows, axis=0) / count[:, None]
        V, T = self.reflectors
        top = np.zeros((self.rank, mean.shape[1]), order="F")
        scaled = np.asfortranarray(mean / self.row_scale[:, None])
        top, _ = tpmqrt(V, T, top, scaled, "T")
        return trtrs(self.triangle, top).reshape((-1, *b.shape[1:]))

    def leverage(self, values: Array) -> Array:
        """‖R⁻ᵀ a‖ for each row a of ``values``: how far a·w may move per unit of residual."""
        return np.asarray(np.linalg.norm(trtrs(self.triangle, values.T, trans=1), axis=0))

    def influence(self, values: Array, changes: Array) -> Array:
        """Σᵢ|∂(a·w)/∂bᵢ| cᵢ for each row a of ``values``: how far ``changes`` of b may move a·w together."""
        return np.asarray(np.abs(self.pulled(values)) @ changes[self.rows])

    def pulled(self, values: Array) -> Array:
        """∂(a·w)/∂b for each row a of ``values``, (values, rows)."""
        y = trtrs(self.triangle, values.T, trans=1)
        V, T = self.reflectors
        below = np.zeros((len(self.row_scale), len(values)), order="F")
        _, below = tpmqrt(V, T, np.asfortranarray(y), below, "N")
        return np.asarray(below.T / self.row_scale)


RidgeFactors = (
    RidgeQRFactorization
    | StreamedFactorization[RidgeQRFactorization]
    | EvenOddFactorization
    | block_qr.BlockFactorization
)
"""Of a matrix that is held, streamed, in two halves, or block-sparse."""

r"""Equilibrated QR with a small Tikhonov block: [τD_c⁻¹; D_r A] = QR D_c⁻¹.

With τ below the rounding error of A, the block has no effect in double precision except that the triangle is
not singular: no pivoting is needed, and the solution is close to the minimum-norm solution. The block is the
initial triangle of LAPACK's triangular-pentagonal tpqrt and costs nothing. All work is matrix-matrix
products. As accurate as pivoted QR for well-scaled bases and two to three times faster; pivoted QR is more
accurate if many columns are redundant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Indices
from pibls.linalg.even_odd import EvenOddFactorization
from pibls.linalg.matrix import Matrix, as_matrix, norms
from pibls.linalg.panels import BLOCK, tpmqrt, tpqrt, trtrs
from pibls.linalg.pivoted_qr import Reflectors
from pibls.linalg.protocol import LeverageFactorization
from pibls.linalg.streamed_qr import StreamedFactorization
from pibls.linalg.tree import block_qr

_EPS = float(np.finfo(float).eps)
_PANEL = 16
"""LAPACK's block size is the number of columns divided by this, between 8 and `BLOCK`; a fixed size of 16
took 20 % longer for 128 and for 1024 columns."""


@dataclass(frozen=True)
class RidgeQR:
    """Regularized least squares of the equilibrated system; τ = ``cond``·‖D_r A D_c‖_F."""

    cond: float = 0.1 * _EPS

    def factor(self, A: Matrix) -> RidgeFactors:
        return self.factor_scaled(A, norms(A, 1), self.cond)

    def factor_scaled(self, A: Matrix, scale: Array, cond: float) -> RidgeFactors:
        """Factor diag(1/scale)·A with the regularization ``cond``."""
        return as_matrix(A).factor_ridge(self, scale, cond)

    def factor_dense(self, A: Array, scale: Array, cond: float) -> RidgeQRFactorization:
        first, weights = distinct_rows(A)
        if len(first) < len(A):  # usually all rows differ, and no copy is needed
            A, scale = A[first], scale[first] / weights
        return self.factor_rows(A, first, scale, cond)

    def factor_rows(self, A: Array, rows: Indices, scale: Array, cond: float) -> RidgeQRFactorization:
        """Factor distinct rows; ``rows`` are their indices in the matrix."""
        B = np.divide(A, scale[:, None], order="F")
        m = B.shape[1]
        # Reflections are invariant under column scaling: the ridge is scaled instead of the columns.
        ridge = np.zeros((m, m), order="F")
        ridge.ravel(order="F")[:: m + 1] = cond * np.sqrt(m) * norms(B, 0)
        R, V, T = tpqrt(ridge, B, min(max(m // _PANEL, 8), BLOCK, m))
        return RidgeQRFactorization(rows, scale, R, (V, T))


def leverage_factors(A: Matrix) -> LeverageFactorization:
    """Return factors of A that give the sensitivity of functionals."""
    made = RidgeQR().factor(A)
    factors = made.factored_triangle() if isinstance(made, StreamedFactorization) else made
    assert isinstance(factors, LeverageFactorization)
    return factors


def distinct_rows(A: Array) -> tuple[Indices, Array]:
    """Return the first of each run of equal consecutive rows, and the square root of the length of the run.

    End points of an interval that are repeated as a weight then cost two rows.
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
    """Factors of the regularized QR decomposition."""

    rows: Indices
    row_scale: Array
    triangle: Array
    reflectors: Reflectors

    @property
    def rank(self) -> int:
        return len(self.triangle)

    def apply(self, b: Array) -> Array:
        """Return w for one right-hand side (rows,) or for several (rows, k)."""
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
        """Return ‖R⁻ᵀ a‖ for each row a of ``values``: the possible change of a·w per unit of residual."""
        return np.asarray(np.linalg.norm(trtrs(self.triangle, values.T, trans=1), axis=0))

    def influence(self, values: Array, changes: Array) -> Array:
        """Return Σᵢ|∂(a·w)/∂bᵢ| cᵢ for each row a of ``values``: the largest change of a·w."""
        return np.asarray(np.abs(self.sensitivity(values)) @ changes[self.rows])

    def sensitivity(self, values: Array) -> Array:
        """Return ∂(a·w)/∂b for each row a of ``values``, (values, rows)."""
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
"""Factors of a dense, streamed, even-odd or block-sparse matrix."""

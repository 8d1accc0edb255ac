r"""D_r A D_c P = Q [R₁₁ R₁₂; 0 0]: equilibrated, column-pivoted, truncated to the numerical rank.

Scaling rows and columns to unit length first, and pivoting then, makes this 10 to 100 times more
accurate than singular values on the matrices that derivatives of random features give. A tall
matrix is first reduced by an unpivoted QR, which is all matrix-matrix products; only the square
triangle is then pivoted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array


def norms(A: Array, axis: int) -> Array:
    """Euclidean norms along an axis, with 1 for what is zero."""
    # einsum needs no squared copy of the matrix.
    squares = np.einsum("ij,ij->j" if axis == 0 else "ij,ij->i", A, A)
    out = np.sqrt(squares)
    return np.where(out > 0, out, 1.0)


@dataclass(frozen=True)
class PivotedQR:
    """Minimum-norm least squares of the equilibrated system.

    ``cond``: pivots below this multiple of the first are taken as zero. ``rows``: whether rows are
    scaled to unit length (which weighs the equations; columns are always scaled).
    """

    cond: float = float(np.finfo(float).eps)
    rows: bool = True

    def factor(self, A: Array) -> PivotedQRFactorization:
        scale = norms(A, 1) if self.rows else np.ones(A.shape[0])
        return self.factor_scaled(A, scale, self.cond)

    def factor_scaled(self, A: Array, scale: Array, cond: float) -> PivotedQRFactorization:
        """The same with given row norms and truncation."""
        from scipy.linalg import lapack

        n, m = A.shape
        B = np.divide(A, scale[:, None], order="F")
        columns = norms(B, 0)
        B /= columns
        tall: tuple[Array, Array] | None = None
        if n > 1.1 * m:
            qr, tau, _, _ = lapack.dgeqrf(B, lwork=_work(m), overwrite_a=True)
            tall = (qr, tau)
            B = np.triu(qr[:m])
        qr, pivots, tau, _, _ = lapack.dgeqp3(np.asfortranarray(B), lwork=_work(m), overwrite_a=True)
        diagonal = np.abs(np.diagonal(qr))
        rank = int(np.count_nonzero(diagonal > cond * diagonal[0])) if diagonal.size else 0
        trapezoid: tuple[Array, Array] | None = None
        if 0 < rank < m:
            rz, tau_rz, _ = lapack.dtzrzf(np.triu(qr[:rank]), lwork=_work(rank))
            trapezoid = (rz, tau_rz)
        return PivotedQRFactorization(scale, columns, tall, (qr, tau), pivots - 1, trapezoid, rank)


def _work(m: int) -> int:
    """A work space that lets LAPACK use blocks of 64 columns."""
    return max(64 * m + 64, 128)


@dataclass(frozen=True)
class PivotedQRFactorization:
    """The factors, and how to apply them."""

    row_scale: Array
    column_scale: Array
    tall: tuple[Array, Array] | None
    square: tuple[Array, Array]
    pivots: Array
    trapezoid: tuple[Array, Array] | None
    rank: int

    def apply(self, b: Array) -> Array:
        from scipy.linalg import lapack

        m, rank = len(self.column_scale), self.rank
        w = np.zeros(m)
        if rank == 0:
            return w
        c = (b / self.row_scale)[:, None]
        if self.tall is not None:
            c, _, _ = lapack.dormqr("L", "T", *self.tall, c, lwork=_work(m))
            c = c[:m]
        c, _, _ = lapack.dormqr("L", "T", *self.square, c, lwork=_work(m))
        c = c[:rank]
        if self.trapezoid is None:
            y, _ = lapack.dtrtrs(self.square[0][:rank, :rank], c)
        else:
            rz, tau = self.trapezoid
            head, _ = lapack.dtrtrs(rz[:, :rank], c)
            full = np.zeros((m, 1), order="F")
            full[:rank] = head
            y, _ = lapack.dormrz(rz, tau, full, trans="T", lwork=_work(m))
        w[self.pivots] = y[:, 0]
        return w / self.column_scale

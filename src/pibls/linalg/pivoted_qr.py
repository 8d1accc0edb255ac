r"""D_r A D_c P = Q [R₁₁ R₁₂; 0 0]: equilibrated, column-pivoted, truncated to the numerical rank.

Scaling rows and columns to unit length first, and pivoting then, makes this 10 to 100 times more
accurate than singular values on the matrices that derivatives of random features give. Two things
keep it fast. A tall matrix is first reduced by an unpivoted QR, which is all matrix-matrix products;
only the square triangle is then pivoted. And where a random sketch GA of a few rows already shows the
rank, the pivots are taken from it, and only the columns that they name are factored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.linalg.matrix import Matrix, as_matrix, norms
from pibls.linalg.protocol import Factorization

_SKETCHES = (6, 3)  # sketch with m/6 rows, then m/3; beyond that the full matrix is as cheap
_SKETCH_FROM = 256  # columns below which it is not worth while
_SPARE = 8  # rows that a sketch must have beyond the rank it shows


@dataclass(frozen=True)
class PivotedQR:
    """Minimum-norm least squares of the equilibrated system.

    ``cond``: pivots below this multiple of the first are taken as zero. ``rows``: whether rows are
    scaled to unit length (which weighs the equations; columns are always scaled).
    """

    cond: float = 3.0 * float(np.finfo(float).eps)
    rows: bool = True

    def factor(self, A: Matrix) -> Factorization:
        scale = norms(A, 1) if self.rows else np.ones(A.shape[0])
        return self.factor_scaled(A, scale, self.cond)

    def factor_scaled(self, A: Matrix, scale: Array, cond: float) -> Factorization:
        """The same with given row norms and truncation."""
        return as_matrix(A).factored(lambda held, rows: self.factor_held(held, rows, cond), scale)

    def factor_held(self, A: Array, scale: Array, cond: float) -> PivotedQRFactorization:
        from scipy.linalg import lapack

        B = np.divide(A, scale[:, None], order="F")
        columns = norms(B, 0)
        B /= columns
        m = B.shape[1]
        tall, square, pivots, R = _sketched(B, cond) or _full(B, cond)
        rank = len(R)
        trapezoid = lapack.dtzrzf(R, lwork=_work(rank))[:2] if 0 < rank < m else None
        return PivotedQRFactorization(scale, columns, tall, square, pivots, R, trapezoid, rank)


Reflectors = tuple[Array, Array]
Pivots = npt.NDArray[np.intp]


def _full(B: Array, cond: float) -> tuple[Reflectors | None, Reflectors, Pivots, Array]:
    """Pivot the whole matrix, which is overwritten."""
    from scipy.linalg import lapack

    n, m = B.shape
    tall: Reflectors | None = None
    if n > 1.1 * m:
        tall = lapack.dgeqrf(B, lwork=_work(m), overwrite_a=True)[:2]
        B = np.triu(tall[0][:m])
    qr, pivots, tau, _, _ = lapack.dgeqp3(np.asfortranarray(B), lwork=_work(m), overwrite_a=True)
    rank = _rank(qr, cond)
    return tall, (qr[:, : len(tau)], tau), pivots - 1, np.triu(qr[:rank])


def _sketched(B: Array, cond: float) -> tuple[None, Reflectors, Pivots, Array] | None:
    """Pivots from a random sketch of the rows; None where it does not show the rank."""
    from scipy.linalg import lapack

    n, m = B.shape
    if m < _SKETCH_FROM:
        return None
    rng = np.random.default_rng(0)  # any directions do; the same ones keep results reproducible
    for share in _SKETCHES:
        sketch = rng.standard_normal((m // share, n)) @ B
        small, pivots, _, _, _ = lapack.dgeqp3(np.asfortranarray(sketch), lwork=_work(m), overwrite_a=True)
        rank = _rank(small, cond)
        if rank <= len(small) - _SPARE:
            break
    else:
        return None
    pivots = pivots - 1
    chosen, others = pivots[:rank], pivots[rank:]
    qr, tau, _, _ = lapack.dgeqrf(np.asfortranarray(B[:, chosen]), lwork=_work(m), overwrite_a=True)
    rest, _, _ = lapack.dormqr(
        "L", "T", qr, tau, np.asfortranarray(B[:, others]), lwork=_work(m), overwrite_c=True
    )
    return None, (qr, tau), pivots, np.concatenate([np.triu(qr[:rank]), rest[:rank]], axis=1)


def _rank(qr: Array, cond: float) -> int:
    diagonal = np.abs(np.diagonal(qr))
    return int(np.count_nonzero(diagonal > cond * diagonal[0])) if diagonal.size else 0


def _work(m: int) -> int:
    """A work space that lets LAPACK use blocks of 64 columns."""
    return max(64 * m + 64, 128)


@dataclass(frozen=True)
class PivotedQRFactorization:
    """The factors, and how to apply them."""

    row_scale: Array
    column_scale: Array
    tall: Reflectors | None
    square: Reflectors
    pivots: Pivots
    triangle: Array
    trapezoid: Reflectors | None
    rank: int

    def apply(self, b: Array) -> Array:
        from scipy.linalg import lapack

        m, rank = len(self.column_scale), self.rank
        w = np.zeros(m)
        if rank == 0:
            return w
        c = (b / self.row_scale)[:, None]
        if self.tall is not None:
            c = lapack.dormqr("L", "T", *self.tall, c, lwork=_work(m))[0][:m]
        c = lapack.dormqr("L", "T", *self.square, c, lwork=_work(m))[0][:rank]
        if self.trapezoid is None:
            y, _ = lapack.dtrtrs(self.triangle[:, :rank], c)
        else:
            rz, tau = self.trapezoid
            full = np.zeros((m, 1), order="F")
            full[:rank] = lapack.dtrtrs(rz[:, :rank], c)[0]
            y, _ = lapack.dormrz(rz, tau, full, trans="T", lwork=_work(m))
        w[self.pivots] = y[:, 0]
        return w / self.column_scale

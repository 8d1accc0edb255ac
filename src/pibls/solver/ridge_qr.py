r"""[D_r A D_c; τI] = QR: equilibrated QR with a tiny Tikhonov block, all matrix-matrix products.

With τ a fraction of the rounding error of A, the block changes nothing that double precision can
see, but keeps the triangle from being singular: no pivoting is needed, and the solution stays close
to the minimum-norm one. As accurate as pivoting on well-scaled bases, and two to three times faster;
pivoting stays ahead where many columns are redundant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.solver.pivoted_qr import Reflectors, norms

_EPS = float(np.finfo(float).eps)
_BLOCK = 32


@dataclass(frozen=True)
class RidgeQR:
    """Regularised least squares of the equilibrated system; τ = ``cond``·‖A‖₂."""

    cond: float = 0.3 * _EPS

    def factor(self, A: Array) -> RidgeQRFactorization:
        return self.factor_scaled(A, norms(A, 1), self.cond)

    def factor_scaled(self, A: Array, scale: Array, cond: float) -> RidgeQRFactorization:
        """The same with given row norms and regularisation."""
        from scipy.linalg import lapack

        first, weights = distinct(A)
        scale = scale[first] / weights
        B = np.divide(A[first], scale[:, None], order="F")
        n, m = B.shape
        columns = norms(B, 0)
        B /= columns
        work = 64 * max(m, 2)
        qr, tau, _, _ = lapack.dgeqrf(B, lwork=work, overwrite_a=True)
        k = min(n, m)
        R = np.zeros((m, m), order="F")
        R[:k] = np.triu(qr[:k])
        ridge = (cond * _norm2(R)) * np.eye(m, order="F")
        R, V, T, _ = lapack.dtpqrt(m, min(_BLOCK, m), R, ridge, overwrite_a=True, overwrite_b=True)
        return RidgeQRFactorization(first, scale, columns, (qr[:, :k], tau), R, (V, T))


def distinct(A: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """The first of each run of equal rows, and the root of its length.

    End points of an interval that are repeated to weigh them cost no more than two rows.
    """
    starts = np.ones(len(A), dtype=bool)
    maybe = np.flatnonzero(A[1:, 0] == A[:-1, 0]) + 1
    starts[maybe] = ~np.all(A[maybe] == A[maybe - 1], axis=1)
    first = np.flatnonzero(starts)
    return first, np.sqrt(np.diff(first, append=len(A)))


def _norm2(R: Array) -> float:
    """‖R‖₂ by a few power iterations: one digit is enough."""
    x = np.ones(R.shape[1])
    for _ in range(6):
        x = R.T @ (R @ x)
        x /= np.linalg.norm(x) or 1.0
    return float(np.linalg.norm(R @ x))


@dataclass(frozen=True)
class RidgeQRFactorization:
    """The factors, and how to apply them."""

    rows: npt.NDArray[np.intp]
    row_scale: Array
    column_scale: Array
    reflectors: Reflectors
    triangle: Array
    ridge: Reflectors

    @property
    def rank(self) -> int:
        return len(self.column_scale)

    def apply(self, b: Array) -> Array:
        from scipy.linalg import lapack

        m = len(self.column_scale)
        qr, tau = self.reflectors
        # Equal rows share the mean of their right-hand sides.
        mean = np.add.reduceat(b, self.rows) / np.diff(self.rows, append=len(b))
        c = lapack.dormqr("L", "T", qr, tau, (mean / self.row_scale)[:, None], lwork=64)[0]
        top = np.zeros((m, 1), order="F")
        top[: len(tau)] = c[: len(tau)]
        V, T = self.ridge
        top, _, _ = lapack.dtpmqrt(m, V, T, top, np.zeros((m, 1), order="F"), side="L", trans="T")
        y, _ = lapack.dtrtrs(self.triangle, top)
        return np.asarray(y[:, 0] / self.column_scale)

    def leverage(self, values: Array) -> Array:
        """‖R⁻ᵀ a‖ for each row a of ``values``: how far a·w may move per unit of residual."""
        from scipy.linalg import lapack

        y, _ = lapack.dtrtrs(self.triangle, (values / self.column_scale).T, trans=1)
        return np.asarray(np.linalg.norm(y, axis=0))

r"""Least squares by the singular value decomposition, w = V Σ⁺ Uᵀ b, as in the paper (LAPACK's gelsd)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.linalg.matrix import Matrix, as_matrix
from pibls.linalg.protocol import Factorization


@dataclass(frozen=True)
class SVD:
    """Minimum-norm least squares; singular values below ``cond``·σ₁ are set to zero."""

    cond: float = float(np.finfo(float).eps)

    def factor(self, A: Matrix) -> Factorization:
        return self.factor_scaled(A, np.ones(A.shape[0]), self.cond)

    def factor_scaled(self, A: Matrix, scale: Array, cond: float) -> Factorization:
        """Factor diag(1/scale)·A with the truncation ``cond``."""
        return as_matrix(A).factor_with(
            lambda B, rows: SVDFactorization(B / rows[:, None], rows, cond), scale
        )


@dataclass
class SVDFactorization:
    """The scaled matrix. gelsd transforms the right-hand side with the matrix, so `apply` does the work."""

    matrix: Array = field(repr=False)
    row_scale: Array = field(repr=False)
    cond: float
    rank: int = 0

    def apply(self, b: Array) -> Array:
        from scipy.linalg import lstsq

        c = (b.T / self.row_scale).T
        w, _, rank, _ = lstsq(self.matrix, c, cond=self.cond, lapack_driver="gelsd", check_finite=False)
        self.rank = int(rank)
        return w  # type: ignore[no-any-return]

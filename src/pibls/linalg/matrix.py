r"""Matrices with structure (dense, streamed, block-sparse, even and odd): the interface that solvers use.

`as_matrix` wraps an array, so that solvers treat all kinds alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    from pibls.linalg.protocol import Factorization
    from pibls.linalg.ridge_qr import RidgeFactors, RidgeQR


class StructuredMatrix(ABC):
    """Abstract matrix that need not be one array: streamed, block-sparse, or even and odd."""

    is_streamed = False
    """Whether every pass over the matrix recomputes its rows."""
    is_sparse = False
    """Whether only nonzero blocks are stored."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    @abstractmethod
    def row_norms(self) -> Array:
        """Euclidean norms ‖aᵢ‖ of the rows."""

    @property
    def is_finite(self) -> bool:
        """Whether all entries are finite."""
        return bool(np.isfinite(self.row_norms).all())

    @abstractmethod
    def __matmul__(self, w: Array) -> Array: ...

    @abstractmethod
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """Return the dense matrix, for solvers that need it."""

    def multiply(self, S: Array) -> Array:
        """Return A S, (rows, columns of S)."""
        return np.column_stack([self @ s for s in S.T])

    def solve_columns(self, factors: Factorization, B: Array) -> Array:
        """Return the least-squares solutions for all columns of B, given factors of such a matrix."""
        return np.column_stack([factors.apply(b) for b in B.T])

    def map_rows(self, function: Callable[[Array], Array], columns: int) -> Matrix:
        """Return ``function`` applied to blocks of rows, as a matrix with ``columns`` columns."""
        return function(np.asarray(self))

    def blend(self, other: Self, share: float) -> Matrix:
        """Return share·A + (1 - share)·B for a matrix B of the same kind; A may be overwritten."""
        return share * np.asarray(self) + (1.0 - share) * np.asarray(other)

    def factor_with(
        self, factor_dense: Callable[[Array, Array], Factorization], scale: Array
    ) -> Factorization:
        """Factor with ``factor_dense(array, row norms)``, a function for dense arrays."""
        return factor_dense(np.asarray(self), scale)

    def factor_ridge(self, solver: RidgeQR, scale: Array, cond: float) -> RidgeFactors:
        """Factor by `RidgeQR` in the way that suits the structure."""
        return solver.factor_dense(np.asarray(self), scale, cond)

    def triangle(self, b: Array) -> tuple[Array, Array]:
        """Return R (m, m) and c = Qᵀb (m,) of A = QR."""
        from scipy.linalg import qr_multiply

        turned, triangle = qr_multiply(np.asarray(self), b)
        m, k = self.shape[1], len(triangle)
        R, c = np.zeros((m, m), order="F"), np.zeros(m)
        R[:k], c[:k] = triangle, turned[:k]
        return R, c


Matrix: TypeAlias = Array | StructuredMatrix
"""An array or a structured matrix."""


_UNDERFLOW = float(
    np.sqrt(np.finfo(float).tiny / np.finfo(float).eps)
)  # squares of smaller norms lose digits


@dataclass(frozen=True)
class DenseMatrix(StructuredMatrix):
    """A matrix stored as one array."""

    array: Array = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    @cached_property
    def row_norms(self) -> Array:
        # einsum needs no squared copy of the matrix.
        out = np.asarray(np.sqrt(np.einsum("ij,ij->i", self.array, self.array)))
        extreme = ~((out > _UNDERFLOW) & np.isfinite(out))
        if extreme.any():
            rows = self.array[extreme]
            most = np.abs(rows).max(axis=1, initial=0.0)
            scaled = rows / np.where((most > 0) & np.isfinite(most), most, 1.0)[:, None]
            out[extreme] = most * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        return out

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.array).all())

    def __matmul__(self, w: Array) -> Array:
        return np.asarray(self.array @ w)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self.array

    def multiply(self, S: Array) -> Array:
        return self @ S

    def solve_columns(self, factors: Factorization, B: Array) -> Array:
        return np.asarray(factors.apply(B))

    def blend(self, other: Self, share: float) -> Matrix:
        A = self.array
        A *= share
        A += (1.0 - share) * np.asarray(other)
        return A


def as_matrix(A: Matrix) -> StructuredMatrix:
    """Return A itself, or a `DenseMatrix` of an array."""
    return DenseMatrix(A) if isinstance(A, np.ndarray) else A


def norms(A: Matrix, axis: int) -> Array:
    """Return norms of the columns (axis 0, arrays only) or rows (axis 1), with 1 in place of zero."""
    out = np.sqrt(np.einsum("ij,ij->j", A, A)) if axis == 0 else as_matrix(A).row_norms
    return np.where(out > 0, out, 1.0)


def is_finite(A: Matrix) -> bool:
    """Whether all entries of a matrix or vector are finite."""
    return as_matrix(A).is_finite

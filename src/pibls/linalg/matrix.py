r"""A w, ‖aᵢ‖, share·A + (1 - share)·B: what solvers ask of a matrix, whatever it is made of.

Where a matrix is one array, `as_matrix` lends it these methods; nothing else asks of what kind it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.arrays import Array
from pibls.caching import cached_property

if TYPE_CHECKING:
    from pibls.linalg.protocol import Factorization


class Structured(ABC):
    """A matrix that need not be one array: streamed, block-sparse, or in two halves."""

    is_streamed = False
    """Whether every pass over it makes its rows anew."""
    is_sparse = False
    """Whether most of it is zero, and only the rest is held."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def row_norms(self) -> Array:
        """‖aᵢ‖."""

    @property
    def is_finite(self) -> bool:
        """Whether no entry is infinite or undefined."""
        return bool(np.isfinite(self.row_norms).all())

    @abstractmethod
    def __matmul__(self, w: Array) -> Array: ...

    @abstractmethod
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All of it at once, for a solver that knows no other way."""

    def times(self, S: Array) -> Array:
        """A S for several columns, (rows, columns of S)."""
        return np.column_stack([self @ s for s in S.T])

    def solutions(self, factors: Any, B: Array) -> Array:
        """The least-squares solutions for all columns of B, by the factors of a matrix like this."""
        return np.column_stack([factors.apply(b) for b in B.T])

    def mapped(self, function: Callable[[Array], Array], columns: int) -> Matrix:
        """What a function of rows, any number of them at a time, makes of it."""
        return function(np.asarray(self))

    def blend(self, other: Any, share: float) -> Matrix:
        """share·A + (1 - share)·B, in place of A, for a B of the same kind."""
        return share * np.asarray(self) + (1.0 - share) * np.asarray(other)

    def factored(self, held: Callable[[Array, Array], Factorization], scale: Array) -> Factorization:
        """By a solver that knows arrays, and the norms of their rows, only."""
        return held(np.asarray(self), scale)

    def ridged(self, solver: Any, scale: Array, cond: float) -> Any:
        """By `RidgeQR`, in the way that suits the structure."""
        return self.factored(lambda A, rows: solver.factor_held(A, rows, cond), scale)

    def triangle(self, b: Array) -> tuple[Array, Array]:
        """R (m, m) and c = Qᵀb (m,) of A = QR."""
        from scipy.linalg import qr_multiply

        turned, triangle = qr_multiply(np.asarray(self), b)
        m, k = self.shape[1], len(triangle)
        R, c = np.zeros((m, m), order="F"), np.zeros(m)
        R[:k], c[:k] = triangle, turned[:k]
        return R, c


Matrix = np.ndarray[Any, np.dtype[np.float64]] | Structured
"""An array, or rows that are streamed, block-sparse, elsewhere, or even and odd."""


_UNDERFLOW = 1e-150  # a norm below has lost digits, since the squares are below 1e-300


@dataclass(frozen=True)
class DenseMatrix(Structured):
    """A matrix that is one array."""

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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.array

    def times(self, S: Array) -> Array:
        return self @ S

    def solutions(self, factors: Any, B: Array) -> Array:
        return np.asarray(factors.apply(B))

    def blend(self, other: Any, share: float) -> Matrix:
        A = self.array
        A *= share
        A += (1.0 - share) * np.asarray(other)
        return A


def as_matrix(A: Matrix) -> Structured:
    """A itself, or an array with the same methods."""
    return DenseMatrix(A) if isinstance(A, np.ndarray) else A


def norms(A: Matrix, axis: int) -> Array:
    """Euclidean norms along an axis, with 1 for what is zero; of the columns only those of an array."""
    out = np.sqrt(np.einsum("ij,ij->j", A, A)) if axis == 0 else as_matrix(A).row_norms
    return np.where(out > 0, out, 1.0)


def is_finite(A: Matrix) -> bool:
    """Whether no entry of a matrix, or of a vector, is infinite or undefined."""
    return as_matrix(A).is_finite

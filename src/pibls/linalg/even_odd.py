r"""Matrices [E O; E -O] of even and odd functions at points and at their images under a point reflection.

Sums and differences of such rows involve one half of the columns each: two least-squares problems of half the
size with exactly the same solution, at a quarter of the work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.linalg.matrix import StructuredMatrix
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    from pibls.linalg.ridge_qr import RidgeQR, RidgeQRFactorization


@dataclass(frozen=True)
class EvenOdd(StructuredMatrix):
    """The matrix [E O; E -O], stored as ``half`` = [E O]; as many even columns as odd ones.

    >>> A = EvenOdd(np.array([[1.0, 2.0]]))
    >>> A @ np.array([1.0, 1.0])
    array([ 3., -1.])
    """

    half: Array = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return 2 * self.half.shape[0], self.half.shape[1]

    @property
    def parts(self) -> tuple[Array, Array]:
        """E and O."""
        return _halves(self.half)

    def __matmul__(self, w: Array) -> Array:
        (first, second), p = self.parts, len(w) // 2
        even, odd = first @ w[:p], second @ w[p:]
        return np.concatenate([even + odd, even - odd])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        even, odd = self.parts
        return np.vstack([self.half, np.hstack([even, -odd])])

    @cached_property
    def row_norms(self) -> Array:
        return np.tile(np.sqrt(np.einsum("ij,ij->i", self.half, self.half)), 2)

    def factor_ridge(self, solver: RidgeQR, scale: Array, cond: float) -> EvenOddFactorization:
        rows, every = scale[: len(self.half)], np.arange(len(self.half))
        return EvenOddFactorization(*(solver.factor_rows(part, every, rows, cond) for part in self.parts))


def _halves(A: Array) -> tuple[Array, Array]:
    even = A.shape[1] // 2
    return A[:, :even], A[:, even:]


@dataclass(frozen=True)
class EvenOddFactorization:
    """The factors of E and of O."""

    even: RidgeQRFactorization
    odd: RidgeQRFactorization

    @property
    def rank(self) -> int:
        return self.even.rank + self.odd.rank

    def apply(self, b: Array) -> Array:
        m = len(b) // 2
        direct, images = b[:m], b[m:]
        return np.concatenate(
            [self.even.apply(0.5 * (direct + images)), self.odd.apply(0.5 * (direct - images))]
        )

    def leverage(self, values: Array) -> Array:
        even, odd = _halves(values)
        return np.asarray(np.sqrt(0.5) * np.hypot(self.even.leverage(even), self.odd.leverage(odd)))

    def influence(self, values: Array, changes: Array) -> Array:
        even, odd = _halves(values)
        e, o = 0.5 * self.even.sensitivity(even), 0.5 * self.odd.sensitivity(odd)
        direct, images = np.split(changes, 2)
        return np.asarray(np.abs(e + o) @ direct + np.abs(e - o) @ images)

r"""A matrix A = [A₁; A₂; …] that is computed in blocks of rows and never stored as a whole.

The blocks are recomputed for every pass, so that a matrix with a million rows needs the memory of one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.linalg.matrix import Matrix, StructuredMatrix
from pibls.linalg.protocol import Factorization
from pibls.linalg.streamed_qr import StreamedFactorization, reduce_to_triangle
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    from pibls.linalg.ridge_qr import RidgeQR, RidgeQRFactorization

F = TypeVar("F", bound=Factorization)


@dataclass(frozen=True)
class StreamedMatrix(StructuredMatrix):
    """A matrix of a given shape whose rows are computed, block by block, by each call of ``blocks()``.

    >>> A = StreamedMatrix((4, 2), lambda: iter([np.ones((3, 2)), np.zeros((1, 2))]))
    >>> A @ np.array([1.0, 2.0])
    array([3., 3., 3., 0.])
    """

    extent: tuple[int, int]
    blocks: Callable[[], Iterator[Array]] = field(repr=False)
    is_streamed = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.extent

    def __matmul__(self, w: Array) -> Array:
        return np.concatenate([B @ w for B in self.blocks()])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.asarray(np.concatenate(list(self.blocks())), dtype=dtype)

    @cached_property
    def row_norms(self) -> Array:
        """Euclidean norms ‖aᵢ‖ of the rows, from one pass."""
        return np.concatenate([np.sqrt(np.einsum("ij,ij->i", B, B)) for B in self.blocks()])

    def map_rows(self, function: Callable[[Array], Array], columns: int) -> Matrix:
        return StreamedMatrix((self.shape[0], columns), lambda: (function(B) for B in self.blocks()))

    def blend(self, other: Self, share: float) -> Matrix:
        def blocks() -> Iterator[Array]:
            pairs = zip(self.blocks(), other.blocks(), strict=True)
            return (share * A + (1.0 - share) * B for A, B in pairs)

        return StreamedMatrix(self.shape, blocks)

    def factor_with(
        self, factor_dense: Callable[[Array, Array], F], scale: Array
    ) -> StreamedFactorization[F]:
        ones = np.ones(self.shape[1])
        return StreamedFactorization(self, scale, lambda R: factor_dense(R, ones))

    def factor_ridge(
        self, solver: RidgeQR, scale: Array, cond: float
    ) -> StreamedFactorization[RidgeQRFactorization]:
        return self.factor_with(lambda A, rows: solver.factor_dense(A, rows, cond), scale)

    def triangle(self, b: Array) -> tuple[Array, Array]:
        return reduce_to_triangle(self, b, np.ones(len(b)))

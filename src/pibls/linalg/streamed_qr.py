r"""QR of a streamed matrix, block by block: [D A | D b] = Q [R c; 0 ρ].

The triangle of the rows so far is stacked on the next block and factored again,

    [R; Aᵢ] = Qᵢ [R'; 0],

with the right-hand side as one more column. R and c = Qᵀb are all that a dense solver needs: min ‖R w - c‖
has the same solution as min ‖D(A w - b)‖, and R the same singular values. Householder reflections are
invariant under column scaling, so that columns can be equilibrated afterwards, in the triangle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from pibls.arrays import Array
from pibls.linalg.panels import BLOCK, tpqrt
from pibls.linalg.protocol import Factorization

if TYPE_CHECKING:
    from pibls.linalg.streamed_matrix import StreamedMatrix

F = TypeVar("F", bound=Factorization)


def reduce_to_triangle(A: StreamedMatrix, b: Array, scale: Array) -> tuple[Array, Array]:
    """Return R (m, m) and c (m,) of diag(1/scale)·[A | b]."""
    m = A.shape[1]
    R = np.zeros((m + 1, m + 1), order="F")
    start = 0
    for block in A.blocks():
        rows = slice(start, start + len(block))
        start = rows.stop
        B = np.empty((len(block), m + 1), order="F")
        np.divide(block, scale[rows, None], out=B[:, :m])
        np.divide(b[rows], scale[rows], out=B[:, m])
        R = tpqrt(R, B, min(BLOCK, m + 1))[0]
    return np.triu(R[:m, :m]), R[:m, m].copy()


@dataclass
class StreamedFactorization(Generic[F]):
    """Factors of a streamed matrix; `apply` does the work, since it transforms the right-hand side too."""

    matrix: StreamedMatrix = field(repr=False)
    scale: Array = field(repr=False)
    finish: Callable[[Array], F] = field(repr=False)
    """Function that factors the triangle."""
    inner: F | None = field(default=None, repr=False)
    """The factored triangle, after the first `apply`."""

    @property
    def rank(self) -> int:
        return 0 if self.inner is None else self.inner.rank

    def apply(self, b: Array) -> Array:
        R, c = reduce_to_triangle(self.matrix, b, self.scale)
        self.inner = self.finish(R)
        return self.inner.apply(c)

    def factored_triangle(self) -> F:
        """Return the factored triangle, which does not depend on the right-hand side."""
        if self.inner is None:
            R, _ = reduce_to_triangle(self.matrix, np.zeros(self.matrix.shape[0]), self.scale)
            self.inner = self.finish(R)
        return self.inner

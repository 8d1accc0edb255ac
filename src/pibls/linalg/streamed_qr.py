r"""[D A | D b] = Q [R c; 0 ρ], block by block: least squares with many rows in the memory of few.

The triangle of the rows so far is stacked on the next block and factored again,

    [R; Aᵢ] = Qᵢ [R'; 0],

with the right-hand side carried along as one more column. R and c = Qᵀb are all that a dense solver
needs: min ‖R w - c‖ is min ‖D(A w - b)‖, with the same singular values. Householder reflections do not
see how columns are scaled, so that columns can be equilibrated afterwards, in the triangle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from pibls.arrays import Array
from pibls.linalg.panels import tpqrt
from pibls.linalg.protocol import Factorization

if TYPE_CHECKING:
    from pibls.linalg.rows import Rows

_BLOCK = 32
F = TypeVar("F", bound=Factorization)


def reduced(A: Rows, b: Array, scale: Array) -> tuple[Array, Array]:
    """R (m, m) and c (m,) of diag(1/scale)·[A | b]."""
    m = A.shape[1]
    R = np.zeros((m + 1, m + 1), order="F")
    start = 0
    for block in A.blocks():
        rows = slice(start, start + len(block))
        start = rows.stop
        B = np.empty((len(block), m + 1), order="F")
        np.divide(block, scale[rows, None], out=B[:, :m])
        np.divide(b[rows], scale[rows], out=B[:, m])
        R = tpqrt(R, B, min(_BLOCK, m + 1))[0]
    return np.triu(R[:m, :m]), R[:m, m].copy()


@dataclass
class StreamedFactorization(Generic[F]):
    """The right-hand side is transformed along with the matrix, so the work is done in `apply`."""

    matrix: Rows = field(repr=False)
    scale: Array = field(repr=False)
    finish: Callable[[Array], F] = field(repr=False)
    """Factors the triangle."""
    inner: F | None = field(default=None, repr=False)
    """The factored triangle, once there is one."""

    @property
    def rank(self) -> int:
        return 0 if self.inner is None else self.inner.rank

    def apply(self, b: Array) -> Array:
        R, c = reduced(self.matrix, b, self.scale)
        self.inner = self.finish(R)
        return self.inner.apply(c)

    def factored(self) -> F:
        """The factored triangle, whatever the right-hand side."""
        if self.inner is None:
            R, _ = reduced(self.matrix, np.zeros(self.matrix.shape[0]), self.scale)
            self.inner = self.finish(R)
        return self.inner

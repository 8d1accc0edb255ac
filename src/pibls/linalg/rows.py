r"""A = [A₁; A₂; …]: a matrix that comes in blocks of rows and is never held as a whole.

Its blocks are made again for every pass over it, so that a matrix with a million rows costs the memory
of one block and some time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.caching import cached_property
from pibls.linalg.matrix import Matrix, Structured
from pibls.linalg.streamed_qr import StreamedFactorization, reduced


@dataclass(frozen=True)
class Rows(Structured):
    """A matrix of a given shape whose ``blocks()`` give its rows from the first to the last, each time anew.

    >>> A = Rows((4, 2), lambda: iter([np.ones((3, 2)), np.zeros((1, 2))]))
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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(np.concatenate(list(self.blocks())), dtype=dtype)

    @cached_property
    def row_norms(self) -> Array:
        """‖aᵢ‖, one pass for everybody who asks."""
        return np.concatenate([np.sqrt(np.einsum("ij,ij->i", B, B)) for B in self.blocks()])

    def mapped(self, function: Callable[[Array], Array], columns: int) -> Matrix:
        return Rows((self.shape[0], columns), lambda: (function(B) for B in self.blocks()))

    def blend(self, other: Any, share: float) -> Matrix:
        def blocks() -> Iterator[Array]:
            pairs = zip(self.blocks(), other.blocks(), strict=True)
            return (share * A + (1.0 - share) * B for A, B in pairs)

        return Rows(self.shape, blocks)

    def factored(self, held: Callable[[Array, Array], Any], scale: Array) -> Any:
        ones = np.ones(self.shape[1])
        return StreamedFactorization(self, scale, lambda R: held(R, ones))

    def triangle(self, b: Array) -> tuple[Array, Array]:
        return reduced(self, b, np.ones(len(b)))

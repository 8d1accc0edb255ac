r"""A = [A₁; A₂; …]: a matrix that comes in blocks of rows and is never held as a whole.

Its blocks are made again for every pass over it, so that a matrix with a million rows costs the memory
of one block and some time. What solvers ask of a matrix before they factor it is here in both kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np

from pibls.arrays import Array
from pibls.linalg.blocks import Blocks
from pibls.linalg.even_odd import EvenOdd
from pibls.linalg.spread import Spread


@dataclass(frozen=True)
class Rows:
    """A matrix of a ``shape`` whose ``blocks()`` give its rows from the first to the last, each time anew.

    >>> A = Rows((4, 2), lambda: iter([np.ones((3, 2)), np.zeros((1, 2))]))
    >>> A @ np.array([1.0, 2.0])
    array([3., 3., 3., 0.])
    """

    shape: tuple[int, int]
    blocks: Callable[[], Iterator[Array]] = field(repr=False)

    def __matmul__(self, w: Array) -> Array:
        return np.concatenate([B @ w for B in self.blocks()])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All rows at once, for a solver that knows no other way."""
        return np.asarray(np.concatenate(list(self.blocks())), dtype=dtype)

    @cached_property
    def row_norms(self) -> Array:
        """‖aᵢ‖, one pass for everybody who asks."""
        return np.concatenate([np.sqrt(np.einsum("ij,ij->i", B, B)) for B in self.blocks()])


Matrix = Array | Rows | Blocks | Spread | EvenOdd
"""Held, streamed, block-sparse, that in pieces which may be elsewhere, or even and odd."""


def is_streamed(A: Matrix) -> TypeGuard[Rows]:
    """Whether every pass over the matrix makes its rows anew."""
    return isinstance(A, Rows)


def norms(A: Matrix, axis: int) -> Array:
    """Euclidean norms along an axis, with 1 for what is zero; of streamed rows only those (axis 1)."""
    if isinstance(A, (Rows, Blocks, Spread, EvenOdd)):
        assert axis == 1
        out = A.row_norms
    else:
        # einsum needs no squared copy of the matrix.
        out = np.sqrt(np.einsum("ij,ij->j" if axis == 0 else "ij,ij->i", A, A))
    return np.where(out > 0, out, 1.0)


def is_held(A: Matrix) -> TypeGuard[Array]:
    """Whether all of the matrix is there, as one array."""
    return isinstance(A, np.ndarray)


def blended(A: Matrix, B: Matrix, share: float) -> Matrix:
    """share·A + (1 - share)·B, in place of A; both held or both in the same blocks."""
    if isinstance(A, Rows) and isinstance(B, Rows):
        first, second = A.blocks, B.blocks
        return Rows(A.shape, lambda: (share * a + (1.0 - share) * b for a, b in zip(first(), second())))
    if isinstance(A, Blocks) and isinstance(B, Blocks):
        return A.blend(B, share)
    if isinstance(A, Spread) and isinstance(B, Spread):
        return A.blend(B, share)
    assert isinstance(A, np.ndarray)
    assert isinstance(B, np.ndarray)
    A *= share
    A += (1.0 - share) * B
    return A


def is_finite(A: Matrix) -> bool:
    """Whether no entry is infinite or undefined."""
    return bool(np.isfinite(A.row_norms if isinstance(A, (Rows, Blocks, Spread, EvenOdd)) else A).all())

r"""A = Σ over strips of rows, each with non-zero columns in a few parts only: a block-sparse matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array


@dataclass(frozen=True)
class Strip:
    """Some rows: one dense block (rows, size of the part) for each part that they touch."""

    parts: tuple[int, ...]
    blocks: tuple[Array, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.blocks[0])

    def at(self, w: Mapping[int, Array] | Sequence[Array]) -> Array:
        """These rows times the coefficients of the parts."""
        out = self.blocks[0] @ w[self.parts[0]]
        for p, B in zip(self.parts[1:], self.blocks[1:], strict=True):
            out += B @ w[p]
        return np.asarray(out)

    @property
    def row_squares(self) -> Array:
        """‖row‖² of each."""
        out = np.einsum("ij,ij->i", self.blocks[0], self.blocks[0])
        for B in self.blocks[1:]:
            out += np.einsum("ij,ij->i", B, B)
        return np.asarray(out)


@dataclass(frozen=True)
class Blocks:
    """Strips one below the other; ``columns`` says which columns each part has in the whole matrix.

    >>> A = Blocks((Strip((1,), (np.ones((1, 2)),)),), (np.array([0]), np.array([1, 2])))
    >>> np.asarray(A)
    array([[0., 1., 1.]])
    """

    strips: tuple[Strip, ...]
    columns: tuple[npt.NDArray[np.intp], ...] = field(repr=False)
    groups: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    """The parts in the order in which they are best eliminated, some of them together."""

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(map(len, self.strips)), sum(map(len, self.columns))

    @cached_property
    def rows(self) -> tuple[slice, ...]:
        """Where each strip stands."""
        ends = np.cumsum([0, *map(len, self.strips)]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    def __matmul__(self, w: Array) -> Array:
        local = [w[c] for c in self.columns]
        out = np.empty(self.shape[0])
        for rows, strip in zip(self.rows, self.strips, strict=True):
            out[rows] = strip.at(local)
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """With all its zeros, for a solver that knows no other way."""
        out = np.zeros(self.shape, order="F")
        for rows, strip in zip(self.rows, self.strips, strict=True):
            for p, B in zip(strip.parts, strip.blocks, strict=True):
                out[rows, self.columns[p]] = B
        return np.asarray(out, dtype=dtype)

    @cached_property
    def row_norms(self) -> Array:
        out = np.zeros(self.shape[0])
        for rows, strip in zip(self.rows, self.strips, strict=True):
            out[rows] = strip.row_squares
        return np.sqrt(out)

    def blend(self, other: Blocks, share: float) -> Blocks:
        """share·A + (1 - share)·B, for a B with the same strips."""
        strips = []
        for mine, its in zip(self.strips, other.strips, strict=True):
            pairs = zip(mine.blocks, its.blocks, strict=True)
            strips.append(Strip(mine.parts, tuple(share * A + (1.0 - share) * B for A, B in pairs)))
        return replace(self, strips=tuple(strips))

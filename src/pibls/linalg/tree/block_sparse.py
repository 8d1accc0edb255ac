r"""Block-sparse matrices: strips of rows, stored by an engine, one group for each bundle of fronts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, Indices
from pibls.errors import ProblemError
from pibls.linalg.matrix import Matrix, StructuredMatrix
from pibls.linalg.tree.engine import LOCAL, Engine, Handle
from pibls.linalg.tree.layout import Layout
from pibls.runtime.caching import cached_property
from pibls.runtime.memory import check_memory

if TYPE_CHECKING:
    from pibls.linalg.ridge_qr import RidgeQR
    from pibls.linalg.tree.block_qr import BlockFactorization

T = TypeVar("T")


@dataclass(frozen=True)
class RowStrip:
    """Some rows: one dense block (rows, columns of the part) for each part that they touch."""

    parts: tuple[int, ...]
    blocks: tuple[Array, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.blocks[0])

    def multiply(self, w: Mapping[int, Array]) -> Array:
        """Return these rows times the coefficients w of the parts."""
        out = self.blocks[0] @ w[self.parts[0]]
        for p, B in zip(self.parts[1:], self.blocks[1:], strict=True):
            out += B @ w[p]
        return np.asarray(out)

    @property
    def row_squares(self) -> Array:
        """Squared norms of the rows."""
        out = np.einsum("ij,ij->i", self.blocks[0], self.blocks[0])
        for B in self.blocks[1:]:
            out += np.einsum("ij,ij->i", B, B)
        return np.asarray(out)


Strips = tuple[RowStrip, ...]


@dataclass(frozen=True)
class BlockSparseMatrix(StructuredMatrix):
    """A block-sparse matrix, possibly stored on workers; strips are in the order of the layout.

    >>> A = BlockSparseMatrix.of([RowStrip((1,), (np.ones((1, 2)),))], [np.array([0]), np.array([1, 2])])
    >>> np.asarray(A)
    array([[0., 1., 1.]])
    """

    is_sparse = True

    engine: Engine = field(repr=False)
    layout: Layout
    heights: tuple[int, ...] = field(repr=False)
    """Number of rows of each strip."""
    blocks: tuple[Handle[Strips], ...] = field(repr=False)
    """A handle of the strips of each bundle."""

    @classmethod
    def of(cls, strips: Sequence[RowStrip], columns: Sequence[Indices]) -> BlockSparseMatrix:
        """Return a matrix stored in this process; ``columns`` are the columns of each part."""
        layout = Layout.of([s.parts for s in strips], columns)
        return cls(LOCAL, layout, tuple(map(len, strips)), (LOCAL.put(tuple(strips)),))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(self.heights), sum(map(len, self.layout.columns))

    @cached_property
    def strips(self) -> tuple[slice, ...]:
        """The rows of each strip, as slices."""
        ends = np.cumsum([0, *self.heights]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    @cached_property
    def rows(self) -> tuple[Indices, ...]:
        """The rows of each bundle, as indices."""
        every = np.arange(self.shape[0], dtype=np.intp)
        none = every[:0]
        return tuple(
            every
            if len(bundle.strips) == len(self.heights)
            else np.concatenate([none, *(every[self.strips[s]] for s in bundle.strips)])
            for bundle in self.layout.bundles
        )

    def local_coefficients(self, w: Array) -> list[dict[int, Array]]:
        """Return, for each bundle, the coefficients of the parts that its strips touch."""
        return [
            {p: w[self.layout.columns[p]] for s in bundle.strips for p in self.layout.touched[s]}
            for bundle in self.layout.bundles
        ]

    def gather_rows(self, parts: Sequence[Array]) -> Array:
        """Return one vector from the values in the rows of each bundle."""
        out = np.empty(self.shape[0])
        for rows, found in zip(self.rows, parts, strict=True):
            out[rows] = found
        return out

    def call_per_bundle(self, function: Callable[..., T], *arguments: Sequence[object]) -> list[Handle[T]]:
        """Return a handle of function(…) for each bundle; bundles without rows are evaluated locally."""
        return [
            (self.engine if bundle.strips else LOCAL).call(function, *mine)
            for bundle, *mine in zip(self.layout.bundles, *arguments, strict=True)
        ]

    def __matmul__(self, w: Array) -> Array:
        return self.gather_rows(
            self.engine.get(self.call_per_bundle(product, self.blocks, self.local_coefficients(w)))
        )

    @cached_property
    def row_norms(self) -> Array:
        return self.gather_rows(self.engine.get(self.call_per_bundle(row_norms, self.blocks)))

    def column_norms(self, scale: Array) -> list[Array]:
        """Return the column norms of diag(1/scale)·A for each part, with 1 in place of zero."""
        found = self.engine.get(
            self.call_per_bundle(column_squares, self.blocks, [scale[r] for r in self.rows])
        )
        squares = [np.zeros(len(c)) for c in self.layout.columns]
        for part in found:
            for p, values in part.items():
                squares[p] += values
        return [np.where(s > 0, np.sqrt(s), 1.0) for s in squares]

    def blend(self, other: Self, share: float) -> Matrix:
        shares = [share] * len(self.blocks)
        return replace(
            self, blocks=tuple(self.call_per_bundle(blend_strips, self.blocks, other.blocks, shares))
        )

    def factor_ridge(self, solver: RidgeQR, scale: Array, cond: float) -> BlockFactorization:
        from pibls.linalg.tree import block_qr

        return block_qr.factor(self, scale, cond)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        (rows, columns), gigabytes = self.shape, 8 * np.prod(self.shape, dtype=float) / 2**30
        try:
            check_memory(gigabytes * 2**30)
            out = np.zeros(self.shape, order="F")
        except MemoryError as reason:
            raise ProblemError(
                "method",
                expected="a method that exploits the blocks of the matrix, or a matrix that fits into memory",
                got=f"a method that needs all {rows} x {columns} entries, {gigabytes:.3g} GiB",
                remedy="Leave method out, pass GaussNewton(), or use a basis with fewer cells or functions.",
            ) from reason
        for bundle, piece in zip(self.layout.bundles, self.engine.get(self.blocks), strict=True):
            for s, strip in zip(bundle.strips, piece, strict=True):
                for p, B in zip(strip.parts, strip.blocks, strict=True):
                    out[self.strips[s], self.layout.columns[p]] = B
        return np.asarray(out, dtype=dtype)


def product(piece: Strips, w: Mapping[int, Array]) -> Array:
    """Return A w in the rows of some strips."""
    return np.concatenate([np.empty(0), *(strip.multiply(w) for strip in piece)])


def row_norms(piece: Strips) -> Array:
    return np.asarray(np.sqrt(np.concatenate([np.empty(0), *(strip.row_squares for strip in piece)])))


def column_squares(piece: Strips, scale: Array) -> dict[int, Array]:
    out: dict[int, Array] = {}
    row = 0
    for strip in piece:
        weights = scale[row : row + len(strip)] ** -2
        row += len(strip)
        for p, B in zip(strip.parts, strip.blocks, strict=True):
            squares = weights @ np.square(B)
            out[p] = out[p] + squares if p in out else squares
    return out


def blend_strips(mine: Strips, its: Strips, share: float) -> Strips:
    return tuple(
        RowStrip(
            a.parts, tuple(share * A + (1.0 - share) * B for A, B in zip(a.blocks, b.blocks, strict=True))
        )
        for a, b in zip(mine, its, strict=True)
    )

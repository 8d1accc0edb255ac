r"""A = Σ over strips of rows, held in pieces by an engine: one for each bundle of fronts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.linalg.matrix import Matrix, Structured
from pibls.linalg.tree.engine import HERE, Engine
from pibls.linalg.tree.layout import Layout
from pibls.memory import check_memory


@dataclass(frozen=True)
class Strip:
    """Some rows: one dense block (rows, size of the part) for each part that they touch."""

    parts: tuple[int, ...]
    blocks: tuple[Array, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.blocks[0])

    def at(self, w: Mapping[int, Array]) -> Array:
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


Piece = tuple[Strip, ...]


@dataclass(frozen=True)
class Spread(Structured):
    """A block-sparse matrix that may be elsewhere; strips stand in the order of the layout.

    >>> A = Spread.of([Strip((1,), (np.ones((1, 2)),))], [np.array([0]), np.array([1, 2])])
    >>> np.asarray(A)
    array([[0., 1., 1.]])
    """

    is_sparse = True

    engine: Engine = field(repr=False)
    layout: Layout
    heights: tuple[int, ...] = field(repr=False)
    """The rows of each strip."""
    pieces: tuple[Any, ...] = field(repr=False)
    """For each bundle a handle of its strips."""

    @classmethod
    def of(cls, strips: Sequence[Strip], columns: Sequence[Numbers]) -> Spread:
        """A matrix that is here, in one piece; ``columns`` says which columns each part has in it."""
        layout = Layout.of([s.parts for s in strips], columns)
        return cls(HERE, layout, tuple(map(len, strips)), (tuple(strips),))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(self.heights), sum(map(len, self.layout.columns))

    @cached_property
    def strips(self) -> tuple[slice, ...]:
        """Where each strip stands."""
        ends = np.cumsum([0, *self.heights]).tolist()
        return tuple(map(slice, ends[:-1], ends[1:]))

    @cached_property
    def rows(self) -> tuple[Numbers, ...]:
        """The rows of each bundle."""
        every = np.arange(self.shape[0], dtype=np.intp)
        none = every[:0]
        return tuple(
            every
            if len(bundle.strips) == len(self.heights)
            else np.concatenate([none, *(every[self.strips[s]] for s in bundle.strips)])
            for bundle in self.layout.bundles
        )

    def local(self, w: Array) -> list[dict[int, Array]]:
        """The coefficients of the parts that the strips of each bundle touch."""
        return [
            {p: w[self.layout.columns[p]] for s in bundle.strips for p in self.layout.touched[s]}
            for bundle in self.layout.bundles
        ]

    def gathered(self, parts: Sequence[Array]) -> Array:
        """One vector of what was found for the rows of each bundle."""
        out = np.empty(self.shape[0])
        for rows, found in zip(self.rows, parts, strict=True):
            out[rows] = found
        return out

    def each(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """A handle of function(…) for each bundle; those without rows of their own are not worth sending."""
        call = self.engine.call
        return [
            call(function, *mine) if bundle.strips else function(*mine)
            for bundle, *mine in zip(self.layout.bundles, *arguments, strict=True)
        ]

    def __matmul__(self, w: Array) -> Array:
        return self.gathered(self.engine.get(self.each(product, self.pieces, self.local(w))))

    @cached_property
    def row_norms(self) -> Array:
        return self.gathered(self.engine.get(self.each(row_norms, self.pieces)))

    def column_norms(self, scale: Array) -> list[Array]:
        """‖column‖ of diag(1/scale)·A, for each part; 1 for what is zero."""
        found = self.engine.get(self.each(column_squares, self.pieces, [scale[r] for r in self.rows]))
        squares = [np.zeros(len(c)) for c in self.layout.columns]
        for part in found:
            for p, values in part.items():
                squares[p] += values
        return [np.where(s > 0, np.sqrt(s), 1.0) for s in squares]

    def blend(self, other: Any, share: float) -> Matrix:
        shares = [share] * len(self.pieces)
        return replace(self, pieces=tuple(self.each(blended, self.pieces, other.pieces, shares)))

    def ridged(self, solver: Any, scale: Array, cond: float) -> Any:
        from pibls.linalg.tree import block_qr

        return block_qr.factor(self, scale, cond)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        (rows, columns), gigabytes = self.shape, 8 * np.prod(self.shape, dtype=float) / 2**30
        try:
            check_memory(gigabytes * 2**30)
            out = np.zeros(self.shape, order="F")
        except MemoryError as reason:
            raise ProblemError(
                "method",
                expected="a method that exploits the blocks of the matrix, or a matrix that fits into memory",
                got=f"a method that needs all {rows} x {columns} entries, {gigabytes:.3g} GiB",
                remedy="Leave method out, pass GaussNewton(), or give the basis fewer cells or functions.",
            ) from reason
        for bundle, piece in zip(self.layout.bundles, self.engine.get(self.pieces), strict=True):
            for s, strip in zip(bundle.strips, piece, strict=True):
                for p, B in zip(strip.parts, strip.blocks, strict=True):
                    out[self.strips[s], self.layout.columns[p]] = B
        return np.asarray(out, dtype=dtype)


def product(piece: Piece, w: Mapping[int, Array]) -> Array:
    """A w in the rows of a piece."""
    return np.concatenate([np.empty(0), *(strip.at(w) for strip in piece)])


def row_norms(piece: Piece) -> Array:
    return np.asarray(np.sqrt(np.concatenate([np.empty(0), *(strip.row_squares for strip in piece)])))


def column_squares(piece: Piece, scale: Array) -> dict[int, Array]:
    out: dict[int, Array] = {}
    row = 0
    for strip in piece:
        weights = scale[row : row + len(strip)] ** -2
        row += len(strip)
        for p, B in zip(strip.parts, strip.blocks, strict=True):
            squares = weights @ np.square(B)
            out[p] = out[p] + squares if p in out else squares
    return out


def blended(mine: Piece, its: Piece, share: float) -> Piece:
    return tuple(
        Strip(a.parts, tuple(share * A + (1.0 - share) * B for A, B in zip(a.blocks, b.blocks, strict=True)))
        for a, b in zip(mine, its, strict=True)
    )

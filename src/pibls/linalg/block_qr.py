r"""[τI; D_r A D_c] = QR of a block-sparse matrix, part by part: multifrontal QR.

To eliminate a part, all rows that touch it are gathered in a dense front and factored; the first rows of
the triangle are the part's own, and the rest, which touches its neighbours only, is handed on to them. A
chain of S parts with m columns each costs S m³ instead of (S m)³. Parts with the fewest neighbours go
first (minimum degree), which keeps the fronts small.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.linalg.blocks import Blocks, Strip


@dataclass(frozen=True)
class Front:
    """The eliminated part: which rows went in, the reflectors, and its rows of the triangle."""

    part: int
    neighbours: tuple[int, ...]
    strips: tuple[int, ...]
    """Rows of the matrix."""
    handed_on: tuple[int, ...]
    """Earlier fronts whose rest went in."""
    reflectors: tuple[Array, Array] = field(repr=False)
    triangle: Array = field(repr=False)
    beside: Array = field(repr=False)
    """The same rows in the columns of the neighbours."""


@dataclass(frozen=True)
class _Rest:
    """What a front hands on."""

    front: int
    parts: tuple[int, ...]
    matrix: Array


def order_of(strips: tuple[Strip, ...], parts: int) -> list[int]:
    """Parts by minimum degree: each time the one with the fewest neighbours left."""
    near: list[set[int]] = [set() for _ in range(parts)]
    for strip in strips:
        for p in strip.parts:
            near[p] |= set(strip.parts) - {p}
    left, order = set(range(parts)), []
    while left:
        p = min(left, key=lambda q: (len(near[q]), q))
        order.append(p)
        left.discard(p)
        for q in near[p]:
            near[q] = (near[q] | near[p]) - {p, q}
    return order


def factor(A: Blocks, scale: Array, cond: float) -> BlockFactorization:
    """Factor diag(1/scale)·A with columns of unit length; τ = cond·√columns."""
    from scipy.linalg import lapack

    scaled = [
        tuple(B / scale[rows, None] for B in strip.blocks)
        for rows, strip in zip(A.rows, A.strips, strict=True)
    ]
    lengths = _column_norms(A, scaled)
    ridge = cond * np.sqrt(A.shape[1])
    order = order_of(A.strips, len(A.columns))
    waiting = set(range(len(A.strips)))
    rests: list[_Rest] = []
    fronts: list[Front] = []
    for part in order:
        strips = tuple(i for i in sorted(waiting) if part in A.strips[i].parts)
        mine = [r for r in rests if part in r.parts]
        waiting -= set(strips)
        rests = [r for r in rests if part not in r.parts]
        touched = {p for i in strips for p in A.strips[i].parts} | {p for r in mine for p in r.parts}
        neighbours = tuple(p for p in order if p in touched and p != part)
        start, at = 0, {}
        for p in (part, *neighbours):
            at[p] = slice(start, start + len(A.columns[p]))
            start = at[p].stop
        m = len(A.columns[part])
        count = m + sum(len(A.strips[i]) for i in strips) + sum(len(r.matrix) for r in mine)
        F = np.zeros((count, start), order="F")
        F[:m, :m] = ridge * np.eye(m)
        row = m
        for i in strips:
            for p, B in zip(A.strips[i].parts, scaled[i], strict=True):
                F[row : row + len(B), at[p]] += B / lengths[p]
            row += len(A.strips[i])
        for r in mine:
            column = 0
            for p in r.parts:
                width = len(A.columns[p])
                F[row : row + len(r.matrix), at[p]] = r.matrix[:, column : column + width]
                column += width
            row += len(r.matrix)
        qr, tau, _, _ = lapack.dgeqrf(F, lwork=64 * max(F.shape[1], 2), overwrite_a=True)
        k = min(F.shape)
        R = np.triu(qr[:k])
        if neighbours and k > m:
            rests.append(_Rest(len(fronts), neighbours, R[m:, m:]))
        fronts.append(
            Front(
                part, neighbours, strips, tuple(r.front for r in mine), (qr[:, :k], tau), R[:m, :m], R[:m, m:]
            )
        )
    return BlockFactorization(replace(A, strips=()), A.rows, scale, tuple(lengths), tuple(fronts))


def _column_norms(A: Blocks, scaled: list[tuple[Array, ...]]) -> list[Array]:
    squares = [np.zeros(len(c)) for c in A.columns]
    for strip, blocks in zip(A.strips, scaled, strict=True):
        for p, B in zip(strip.parts, blocks, strict=True):
            squares[p] += np.einsum("ij,ij->j", B, B)
    return [np.where(s > 0, np.sqrt(s), 1.0) for s in squares]


@dataclass(frozen=True)
class BlockFactorization:
    """The fronts in the order of elimination."""

    matrix: Blocks
    """For its columns; the strips are no longer needed."""
    rows: tuple[slice, ...]
    row_scale: Array
    column_scale: tuple[Array, ...]
    fronts: tuple[Front, ...]

    @property
    def rank(self) -> int:
        return sum(map(len, self.matrix.columns))

    def apply(self, b: Array) -> Array:
        from scipy.linalg import lapack

        scaled = b / self.row_scale
        tops: list[Array] = []
        handed: dict[int, Array] = {}
        for number, front in enumerate(self.fronts):
            m = len(front.triangle)
            pieces = [scaled[self.rows[i]] for i in front.strips] + [handed.pop(f) for f in front.handed_on]
            c = np.concatenate([np.zeros(m), *pieces])[:, None]
            qr, tau = front.reflectors
            c = lapack.dormqr("L", "T", qr, tau, c, lwork=64)[0][:, 0]
            tops.append(c[:m])
            handed[number] = c[m : len(tau)]
        y: dict[int, npt.NDArray[np.float64]] = {}
        for front, top in zip(reversed(self.fronts), reversed(tops), strict=True):
            if front.neighbours:
                top = top - front.beside @ np.concatenate([y[p] for p in front.neighbours])
            y[front.part] = lapack.dtrtrs(front.triangle, top[:, None])[0][:, 0]
        w = np.empty(sum(map(len, self.matrix.columns)))
        for p, (columns, lengths) in enumerate(zip(self.matrix.columns, self.column_scale, strict=True)):
            w[columns] = y[p] / lengths
        return w

    def leverage(self, values: Array) -> Array:
        """‖R⁻ᵀ a‖ for each row a of ``values``: how far a·w may move per unit of residual."""
        from scipy.linalg import lapack

        left = {
            p: (values[:, columns] / lengths).T
            for p, (columns, lengths) in enumerate(zip(self.matrix.columns, self.column_scale, strict=True))
        }
        squares = np.zeros(len(values))
        for front in self.fronts:
            y = lapack.dtrtrs(front.triangle, left.pop(front.part), trans=1)[0]
            squares += np.einsum("ij,ij->j", y, y)
            start = 0
            for p in front.neighbours:
                width = len(left[p])
                left[p] = left[p] - front.beside[:, start : start + width].T @ y
                start += width
        return np.sqrt(squares)

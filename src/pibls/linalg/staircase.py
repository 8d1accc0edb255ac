r"""F = QR of a matrix whose rows begin late: what is zero on the left of a row is never touched.

Two triangles one above the other, as two halves of a domain hand them on, are half zeros and more. Sorted by
where they begin, rows form a staircase: while some columns are eliminated, only the rows that have begun
take part. Of two triangles of n columns that takes 2/3 n³ operations instead of 10/3 n³, and as much less
memory for the reflectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array

_SMALL = 96  # columns below which steps are not worth their administration
_LATE = 0.5  # of all rows must begin late
_PANEL = 64  # columns eliminated at once at most: enough for products of matrices, and following the steps
_NARROW = 16  # the same where they are kept beside V: as fast
_BLOCK = 32  # columns whose reflectors are multiplied out: the fastest of 16, 32 and 64

Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Panel:
    """I - V T Vᵀ on the rows from ``start``, in blocks of columns; each T stands above the diagonal of V."""

    start: int
    packed: Array = field(repr=False)

    @classmethod
    def of(cls, start: int, V: Array, T: Array) -> Panel:
        """As LAPACK gives them; V is overwritten where it is known to be zero or one."""
        for block, columns in _blocks(V):
            np.copyto(block, T[: len(block), columns], where=_upper(*block.shape))
        return cls(start, V)

    def turn(self, c: Array) -> None:
        """Qᵀ c, in place."""
        from scipy.linalg import lapack

        T = np.zeros((min(_BLOCK, self.packed.shape[1]), self.packed.shape[1]), order="F")
        for block, columns in _blocks(self.packed):
            T[: len(block), columns] = block  # what is below its diagonal is not looked at
        part = c[self.start : self.start + len(self.packed)]
        part[:] = lapack.dgemqrt(self.packed, T, part[:, None], trans="T")[0][:, 0]


def _blocks(V: Array) -> list[tuple[Array, slice]]:
    """The blocks on the diagonal, and their columns."""
    k = V.shape[1]
    ways = [slice(j, min(j + _BLOCK, k)) for j in range(0, k, _BLOCK)]
    return [(V[way, way], way) for way in ways]


@lru_cache(maxsize=256)
def _upper(rows: int, columns: int) -> npt.NDArray[np.bool_]:
    """Which entries of so many rows are not below the diagonal."""
    return np.tri(columns, rows, dtype=bool).T


@dataclass(frozen=True)
class Stairs:
    """Qᵀ as its panels, on rows sorted by where they begin."""

    panels: tuple[Panel, ...] = field(repr=False)

    def turned(self, b: Array) -> Array:
        """Qᵀ b; its first entries are those of the rows of R."""
        c = b.copy()
        for panel in self.panels:
            panel.turn(c)
        return c


@dataclass(frozen=True)
class Below:
    """Qᵀ of a triangle above full rows: the triangle stays one, and only the rows have reflectors."""

    V: Array = field(repr=False)
    T: Array = field(repr=False)

    @classmethod
    def of(cls, triangle: Array, B: Array) -> tuple[Below, Array]:
        """Q and the new triangle of [triangle; B]."""
        from scipy.linalg import lapack

        R, V, T, _ = lapack.dtpqrt(0, min(_NARROW, len(triangle)), triangle, B, overwrite_a=1, overwrite_b=1)
        return cls(V, T), R

    def turned(self, above: Array, below: Array) -> tuple[Array, Array]:
        """Qᵀ of some columns, in the rows of the triangle and below."""
        from scipy.linalg import lapack

        top, rest, _ = lapack.dtpmqrt(0, self.V, self.T, above, below, trans="T")
        return np.asarray(top), np.asarray(rest)


def sorting(begins: Numbers, columns: int) -> Numbers | None:
    """The order in which rows that begin there form a staircase; None where it is not worth it."""
    if columns < _SMALL or np.count_nonzero(begins) < _LATE * len(begins):
        return None
    return np.argsort(begins, kind="stable")


def factor(F: Array, begins: Numbers | None, own: int) -> tuple[Stairs, Array, Numbers]:
    """Q, the rows of R, and where each of them begins; F (in Fortran's order) is overwritten.

    Row i of F (rows, columns) is zero before the column ``begins[i]``, which do not fall. Among the first
    j + 1 of the ``own`` columns at least j + 1 rows begin: the rows of R up to there are a triangle. Without
    ``begins`` all rows are taken to be full.
    """
    from scipy.linalg import lapack

    n = F.shape[1]
    if begins is None:
        counts, edges = np.full(n, len(F)), [0, n]
    else:
        counts = np.searchsorted(begins, np.arange(n), side="right")
        edges = [*_evenly(0, own), *_evenly(own, n), n]
    row, panels, starts = 0, list[Panel](), list[int]()
    for left, right in pairwise(edges):
        end = int(counts[right - 1])
        k = min(end - row, right - left)
        if k <= 0:
            continue
        V, T, _ = lapack.dgeqrt(min(_BLOCK, k), F[row:end, left:right])
        F[row:end, left:right] = 0.0
        np.copyto(F[row : row + k, left:right], V[:k], where=_upper(k, right - left))
        V = V[:, :k]
        if right < n:
            F[row:end, right:] = lapack.dgemqrt(V, T, F[row:end, right:], trans="T")[0]
        panels.append(Panel.of(row, V, T))
        starts.extend(range(left, left + k))
        row += k
    return Stairs(tuple(panels)), F[:row], np.array(starts, dtype=np.intp)


def _evenly(start: int, stop: int) -> list[int]:
    """Where panels of about the same width begin."""
    count = -(-(stop - start) // _PANEL)
    return [start + (stop - start) * i // count for i in range(count)]

r"""QR of a triangle above staircase-shaped rows: [R; B] = Q [R'; 0].

R is an upper triangle, and the rows of B are sorted by their number of leading zeros. A row of B enters the
elimination only in the panel with its first nonzero column; panels are reduced by LAPACK's
triangular-pentagonal tpqrt. For two triangles of n columns this takes 2/3 n³ operations instead of 10/3 n³,
and correspondingly less memory.

In a multifrontal QR the contribution blocks of the children are triangles, and most of their rows form R
together: the caller (`linalg.tree.fronts`) puts a row into R if no other row begins in its first column,
and else into B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pibls.arrays import Array, Indices
from pibls.linalg.panels import tpmqrt, tpqrt

_PANEL = 64  # columns eliminated at once while rows enter: enough for matrix-matrix products
_BLOCK, _WIDER, _WIDE = 12, 24, 192  # reflectors per block: _WIDER from _WIDE columns on


@dataclass(frozen=True)
class TriangleReflectors:
    """The block reflectors (V, T) of a triangle above dense rows."""

    V: Array = field(repr=False)
    T: Array = field(repr=False)

    @classmethod
    def of(cls, triangle: Array, B: Array) -> TriangleReflectors:
        """Factor [triangle; B]; ``triangle`` becomes R', and B, in Fortran order, becomes part of Q."""
        if not B.size:
            return cls(B, np.empty((0, len(triangle)), order="F"))
        block = min(_BLOCK if len(triangle) < _WIDE else _WIDER, len(triangle))
        R, V, T = tpqrt(triangle, B, block)
        triangle[:] = R  # if LAPACK made a copy
        return cls(V, T)

    def apply_transpose(self, above: Array, below: Array) -> None:
        """Multiply columns, in the rows of the triangle and below, by Qᵀ in place."""
        if self.V.size and above.size:
            above[:], below[:] = tpmqrt(self.V, self.T, above, below, "T")


@dataclass(frozen=True)
class ReflectorStep:
    """Reflectors that act on some rows of a triangle and some rows below it."""

    above: slice
    below: slice
    reflectors: TriangleReflectors = field(repr=False)

    def apply_transpose(self, top: Array, bottom: Array) -> None:
        """Multiply columns by Qᵀ of this step in place."""
        self.reflectors.apply_transpose(top[self.above], bottom[self.below])


def reduce_below(
    R: Array, B: Array, begins: Indices, beside: Sequence[tuple[Array, Array]] = (), start: int = 0
) -> list[ReflectorStep]:
    """Factor [R; B] and return the steps of Q; R becomes R', and B is overwritten.

    Row i of B is zero before the column ``begins[i]``, and ``begins`` is nondecreasing. Further columns
    ``beside`` R and B are multiplied by Qᵀ in place. ``start`` rows of the triangle come before R.
    """
    n, steps = len(R), list[ReflectorStep]()
    for left, right in pairwise(_edges(begins, n)):
        count = int(np.searchsorted(begins, right))
        if not count:
            continue
        whole = right - left == n and count == len(B)
        rows, now = slice(left, right), slice(count)
        found = TriangleReflectors.of(R[rows, rows], B if whole else B[now, rows].copy(order="F"))
        for top, bottom in ((R[rows, right:], B[now, right:]), *((R[rows], B[now]) for R, B in beside)):
            found.apply_transpose(top, bottom)
        steps.append(ReflectorStep(slice(start + left, start + right), now, found))
    return steps


def _edges(begins: Indices, columns: int) -> list[int]:
    """Return the edges of the panels: equal panels while rows enter, one panel for the remaining columns."""
    begins = begins[: np.searchsorted(begins, columns)]
    last = int(begins[-1]) + 1 if len(begins) and begins[-1] > 0 else 0
    count = -(-last // _PANEL)
    cut = [last * i // count for i in range(count)]
    return [*cut, *([last] if last < columns else []), columns]

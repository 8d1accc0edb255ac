r"""[R; B] = Q [R'; 0]: a triangle stays one, and only the rows below it have reflectors.

What a half of a domain hands on is a triangle, and so is most of what two halves hand on together: each row
that begins in a column of its own is part of the triangle, and only the others stand below it (LAPACK's
triangular-pentagonal tpqrt). Of two triangles of n columns that takes 2/3 n³ operations instead of 10/3 n³,
and as much less memory. Rows below begin late, too: while some columns are eliminated, only those that have
begun take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.linalg.panels import tpmqrt, tpqrt

_PANEL = 64  # columns eliminated at once where rows begin among them: enough for products of matrices
_BLOCK, _WIDER, _WIDE = 12, 24, 192  # columns whose reflectors are multiplied out; more of many columns


@dataclass(frozen=True)
class Below:
    """Qᵀ of a triangle above full rows."""

    V: Array = field(repr=False)
    T: Array = field(repr=False)

    @classmethod
    def of(cls, triangle: Array, B: Array) -> Below:
        """Q of [triangle; B], which becomes the new triangle; B, in Fortran's order, becomes part of Q."""
        if not B.size:
            return cls(B, np.empty((0, len(triangle)), order="F"))
        block = min(_BLOCK if len(triangle) < _WIDE else _WIDER, len(triangle))
        R, V, T = tpqrt(triangle, B, block)
        triangle[:] = R  # where it was not done in place
        return cls(V, T)

    def turn(self, above: Array, below: Array) -> None:
        """Qᵀ of some columns, in the rows of the triangle and below, in place."""
        if self.V.size and above.size:
            above[:], below[:] = tpmqrt(self.V, self.T, above, below, "T")


@dataclass(frozen=True)
class Step:
    """Some rows of a triangle, and some of those below it, turned together."""

    above: slice
    below: slice
    reflectors: Below = field(repr=False)

    def turn(self, top: Array, bottom: Array) -> None:
        """Qᵀ of some columns, in place."""
        self.reflectors.turn(top[self.above], bottom[self.below])


def reduce(
    R: Array, B: Array, begins: Numbers, beside: Sequence[tuple[Array, Array]] = (), start: int = 0
) -> list[Step]:
    """The steps of Q for [R; B]; R becomes the new triangle, and B is no longer of use.

    Row i of B is zero before the column ``begins[i]``, which do not fall: it takes no part before. What
    stands ``beside`` R and B is turned with them, in place. ``start`` rows of the triangle come before R.
    """
    n, steps = len(R), list[Step]()
    for left, right in pairwise(_edges(begins, n)):
        count = int(np.searchsorted(begins, right))
        if not count:
            continue
        whole = right - left == n and count == len(B)
        rows, now = slice(left, right), slice(count)
        found = Below.of(R[rows, rows], B if whole else B[now, rows].copy(order="F"))
        for top, bottom in ((R[rows, right:], B[now, right:]), *((R[rows], B[now]) for R, B in beside)):
            found.turn(top, bottom)
        steps.append(Step(slice(start + left, start + right), now, found))
    return steps


def _edges(begins: Numbers, columns: int) -> list[int]:
    """Where columns are cut: evenly as long as rows begin among them, and no more after the last one."""
    begins = begins[: np.searchsorted(begins, columns)]
    last = int(begins[-1]) + 1 if len(begins) and begins[-1] > 0 else 0
    count = -(-last // _PANEL)
    cut = [last * i // count for i in range(count)]
    return [*cut, *([last] if last < columns else []), columns]

r"""[R; B] = Q [R'; 0]: a triangle stays one, and only the rows below it have reflectors.

What a half of a domain hands on is a triangle, and so is most of what two halves hand on together: each row
that begins in a column of its own is part of the triangle, and only the others stand below it (LAPACK's
triangular-pentagonal tpqrt). Of two triangles of n columns that takes 2/3 n³ operations instead of 10/3 n³,
and as much less memory. Rows below begin late, too: while some columns are eliminated, only those that have
begun take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array

_PANEL = 64  # columns eliminated at once where rows begin among them: enough for products of matrices
_BLOCK = 16  # columns whose reflectors are multiplied out: 8 to 32 are as fast, and these are kept

Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Below:
    """Qᵀ of a triangle above full rows."""

    V: Array = field(repr=False)
    T: Array = field(repr=False)

    @classmethod
    def of(cls, triangle: Array, B: Array) -> tuple[Below, Array]:
        """Q and the new triangle of [triangle; B]; both are overwritten where they are in Fortran's order."""
        from scipy.linalg import lapack

        R, V, T, _ = lapack.dtpqrt(0, min(_BLOCK, len(triangle)), triangle, B, overwrite_a=1, overwrite_b=1)
        return cls(V, T), R

    def turned(self, above: Array, below: Array) -> tuple[Array, Array]:
        """Qᵀ of some columns, in the rows of the triangle and below; they are overwritten like those."""
        from scipy.linalg import lapack

        top, rest, _ = lapack.dtpmqrt(
            0, self.V, self.T, above, below, trans="T", overwrite_a=1, overwrite_b=1
        )
        return np.asarray(top), np.asarray(rest)


@dataclass(frozen=True)
class Step:
    """Some rows of a triangle, and some of those below it, turned together."""

    above: slice
    below: slice
    reflectors: Below = field(repr=False)

    def after(self, count: int) -> Step:
        """The same where so many rows of the triangle come before."""
        return replace(self, above=slice(self.above.start + count, self.above.stop + count))

    def turn(self, top: Array, bottom: Array) -> None:
        """Qᵀ of some columns, in place."""
        found = self.reflectors.turned(top[self.above], bottom[self.below])
        top[self.above], bottom[self.below] = found


def reduce(R: Array, B: Array, begins: Numbers, beside: Sequence[tuple[Array, Array]] = ()) -> list[Step]:
    """The steps of Q for [R; B]; R becomes the new triangle, and B is no longer of use.

    Row i of B is zero before the column ``begins[i]``, which do not fall; none that takes part later would
    be missed before. What stands ``beside`` R and B is turned with them, in place.
    """
    n, steps = len(R), list[Step]()
    for left, right in pairwise(_edges(begins, n)):
        count = int(np.searchsorted(begins, right))
        if not count:
            continue
        whole = right - left == n and count == len(B)
        mine = B if whole else B[:count, left:right].copy(order="F")
        found, triangle = Below.of(R[left:right, left:right], mine)
        R[left:right, left:right] = triangle
        step = Step(slice(left, right), slice(count), found)
        for top, bottom in ((R[:, right:], B[:, right:]), *beside):
            if top.shape[1]:
                step.turn(top, bottom)
        steps.append(step)
    return steps


def _edges(begins: Numbers, columns: int) -> list[int]:
    """Where columns are cut: evenly as long as rows begin among them, and no more after the last one."""
    begins = begins[: np.searchsorted(begins, columns)]
    last = int(begins[-1]) + 1 if len(begins) and begins[-1] > 0 else 0
    count = -(-last // _PANEL)
    cut = [last * i // count for i in range(count)]
    return [*cut, *([last] if last < columns else []), columns]

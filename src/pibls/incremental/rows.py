r"""r(w) = Σ_s L_s w_s + ρ(x, Σ_s Φ_s w_s): the rows of one set of points, in the columns of all additions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.assembly.system import System
from pibls.linalg.ridge_qr import distinct


@dataclass(frozen=True)
class RowScale:
    """D: each row is divided by its length in the columns of the base; of equal rows one is kept.

    The columns of the base alone decide, so that nodes added later do not change the weights of the rows.
    """

    kept: Numbers
    divisors: Array
    """Of the rows that are kept; √count smaller where a row stands for several."""
    rows: int

    @classmethod
    def of(cls, base: System, J: Array) -> RowScale:
        """From the system of the base and its Jacobian."""
        kept, repeated = distinct(J)
        return cls(kept, base.row_sizes(J)[kept] / repeated, len(J))

    def matrix(self, J: Array) -> Array:
        """D J, (rows that are kept, columns)."""
        held = J if len(self.kept) == self.rows else J[self.kept]
        return np.divide(held, self.divisors[:, None], order="F")

    def vector(self, b: Array) -> Array:
        """D b; equal rows share the mean of their right-hand sides."""
        if len(self.kept) < self.rows:
            b = np.add.reduceat(b, self.kept) / np.diff(self.kept, append=self.rows)
        return np.asarray(b / self.divisors)


@dataclass(frozen=True)
class RowBatch:
    """The systems of all additions at one set of points."""

    parts: tuple[System, ...]

    @property
    def ends(self) -> Numbers:
        """Where the coefficients of each addition end."""
        return np.cumsum([part.shape[1] for part in self.parts])

    def with_part(self, part: System) -> RowBatch:
        """With the columns of one more addition."""
        return replace(self, parts=(*self.parts, part))

    def values(self, w: Array) -> Array:
        """v: the nonlinear jets of the function with coefficients w."""
        split = np.split(w, self.ends[:-1])
        found = [part.values(x) for part, x in zip(self.parts, split, strict=True)]
        return np.asarray(np.sum(found, axis=0))

    def target(self, v: Array) -> Array:
        """b of the system linearised about v."""
        return self.parts[0].linearise(v)[1]

    def residual(self, w: Array) -> Array:
        """r(w), (rows,)."""
        base, v, start = self.parts[0], self.values(w), 0
        split = np.split(w, self.ends[:-1])
        r = base.constant + np.sum(
            [part.linear @ x for part, x in zip(self.parts, split, strict=True)], axis=0
        )
        for block in base.blocks:
            if block.jets:
                stop = start + len(block.jets) * len(block.points)
                r[block.rows] += block.rest(v[start:stop].reshape(len(block.jets), -1))
                start = stop
        return np.asarray(r)

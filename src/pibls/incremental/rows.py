r"""Rows of one batch of points in the columns of all additions: r(w) = Σ_s L_s w_s + ρ(x, Σ_s Φ_s w_s)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, Indices
from pibls.assembly.system import System
from pibls.linalg.ridge_qr import distinct_rows


@dataclass(frozen=True)
class RowScale:
    """Row scaling D: each row is divided by its norm in the columns of the base, and equal rows are merged.

    Only the columns of the base are used, so that nodes added later do not change the weights of the rows.
    """

    kept_rows: Indices
    divisors: Array
    """Divisors of the kept rows; smaller by √count for a row that represents several equal rows."""
    rows: int

    @classmethod
    def of(cls, base: System, J: Array) -> RowScale:
        """Return the scaling for the system of the base and its Jacobian J."""
        kept, repeated = distinct_rows(J)
        return cls(kept, base.row_scales(J)[kept] / repeated, len(J))

    def matrix(self, J: Array) -> Array:
        """Return D J, (kept rows, columns)."""
        held = J if len(self.kept_rows) == self.rows else J[self.kept_rows]
        return np.divide(held, self.divisors[:, None], order="F")

    def vector(self, b: Array) -> Array:
        """Return D b; the right-hand sides of equal rows are averaged."""
        if len(self.kept_rows) < self.rows:
            b = np.add.reduceat(b, self.kept_rows) / np.diff(self.kept_rows, append=self.rows)
        return np.asarray(b / self.divisors)


@dataclass(frozen=True)
class RowBatch:
    """The systems of all additions at one batch of points."""

    parts: tuple[System, ...]

    @property
    def ends(self) -> Indices:
        """End of the coefficients of each addition."""
        return np.cumsum([part.shape[1] for part in self.parts])

    def with_part(self, part: System) -> RowBatch:
        """Return the batch with the columns of one more addition."""
        return replace(self, parts=(*self.parts, part))

    def values(self, w: Array) -> Array:
        """Return v: the derivatives in nonlinear terms of the function with coefficients w."""
        split = np.split(w, self.ends[:-1])
        found = [part.values(x) for part, x in zip(self.parts, split, strict=True)]
        return np.asarray(np.sum(found, axis=0))

    def target(self, v: Array) -> Array:
        """Return b of the system linearized about v."""
        return self.parts[0].linearize(v)[1]

    def residual(self, w: Array) -> Array:
        """Return the residual r(w), (rows,)."""
        base, v, start = self.parts[0], self.values(w), 0
        split = np.split(w, self.ends[:-1])
        r = base.constant + np.sum(
            [part.linear @ x for part, x in zip(self.parts, split, strict=True)], axis=0
        )
        for block in base.blocks:
            if block.tables:
                stop = start + len(block.tables) * len(block.points)
                r[block.rows] += block.rest(v[start:stop].reshape(len(block.tables), -1))
                start = stop
        return np.asarray(r)

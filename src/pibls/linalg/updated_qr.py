r"""An updatable QR factorization with a ridge, [Λ; B] = Q [R; 0], to which columns and rows can be appended.

New columns are multiplied by the stored Qᵀ, and only the remainder is factored,

    Qᵀ [0; C] = [R₁₂; C'],    [Λ₂; C'] = Q₂ [R₂₂; 0],    R ← [R R₁₂; 0 R₂₂],

which takes 4 N m k operations for k new columns, compared with 2 N (m + k)² for a new factorization. New rows
are eliminated by the triangle: [R; B₂] = Q₂ [R'; 0]. Q is the sequence of the block reflectors of all steps,
each acting on some columns of the triangle and some rows. They are Householder reflections, so that the
factors are as accurate as those of a single factorization.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from pibls.arrays import Array
from pibls.linalg.panels import BLOCK


@dataclass(frozen=True)
class EliminationStep:
    """Block reflectors (V, T) that eliminate ``rows`` from ``columns`` of the triangle."""

    columns: slice
    rows: slice
    V: Array
    T: Array

    def transposed(self, top: Array, below: Array) -> None:
        """Multiply [top; below] by Qᵀ in place."""
        mine, others, _ = lapack.dtpmqrt(
            0,
            self.V,
            self.T,
            np.asfortranarray(top[self.columns]),
            np.asfortranarray(below[self.rows]),
            side="L",
            trans="T",
        )
        top[self.columns], below[self.rows] = mine, others


@dataclass(frozen=True)
class UpdatedQR:
    """The factors of [Λ; B], (m + rows, m): the triangle R (m, m) and the steps of Q.

    >>> import numpy as np
    >>> B = np.random.default_rng(0).standard_normal((30, 10))
    >>> b = B @ np.arange(10.0)
    >>> factors = UpdatedQR.of(B[:20, :8], np.full(8, 1e-17))
    >>> factors = factors.with_columns(B[:20, 8:], np.full(2, 1e-17)).with_rows(B[20:])
    >>> bool(np.allclose(factors.apply(b), np.arange(10.0)))
    True
    """

    triangle: Array
    steps: tuple[EliminationStep, ...]
    rows: int

    @classmethod
    def of(cls, B: Array, ridge: Array) -> UpdatedQR:
        """Factor one matrix (rows, m), with ``ridge`` (m,) the diagonal of Λ."""
        return cls(np.empty((0, 0)), (), len(B)).with_columns(B, ridge)

    @property
    def size(self) -> int:
        """m, the number of columns."""
        return len(self.triangle)

    def with_columns(self, C: Array, ridge: Array) -> UpdatedQR:
        """Return the factors of [B | C]."""
        m, k = self.size, C.shape[1]
        top = np.zeros((m, k), order="F")
        below = np.array(C, dtype=float, order="F")
        for step in self.steps:
            step.transposed(top, below)
        corner = np.zeros((k, k), order="F")
        corner.ravel(order="F")[:: k + 1] = ridge
        R, V, T, _ = lapack.dtpqrt(0, min(BLOCK, k), corner, below, overwrite_a=True, overwrite_b=True)
        triangle = np.zeros((m + k, m + k), order="F")
        triangle[:m, :m], triangle[:m, m:], triangle[m:, m:] = self.triangle, top, R
        step = EliminationStep(slice(m, m + k), slice(0, self.rows), V, T)
        return UpdatedQR(triangle, (*self.steps, step), self.rows)

    def with_rows(self, B: Array) -> UpdatedQR:
        """Return the factors of [B; B₂]."""
        m, more = self.size, len(B)
        R, V, T, _ = lapack.dtpqrt(
            0, min(BLOCK, m), np.asfortranarray(self.triangle), np.array(B, dtype=float, order="F")
        )
        step = EliminationStep(slice(0, m), slice(self.rows, self.rows + more), V, T)
        return UpdatedQR(R, (*self.steps, step), self.rows + more)

    def apply(self, b: Array) -> Array:
        """Return the least-squares solution w of B w = b for right-hand sides (rows,) or (rows, k)."""
        below = np.array(b.reshape(len(b), -1), dtype=float, order="F")
        top = np.zeros((self.size, below.shape[1]), order="F")
        for step in self.steps:
            step.transposed(top, below)
        w, _ = lapack.dtrtrs(self.triangle, top)
        return np.asarray(w).reshape((-1, *b.shape[1:]))

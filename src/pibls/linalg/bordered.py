r"""[I 0; Σ λ^a S_a, Σ λ^a A_a] [y; z] = [b; c] for a few complex λ: some coordinates are known at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.linalg.shifted import Complex, Dense, Shifted


@dataclass(frozen=True)
class Bordered:
    """Unknowns x = Hᵀy + Fᵀz with orthonormal rows H, F; what is factored is as large as z."""

    held: Array = field(repr=False)
    free: Array = field(repr=False)
    sides: tuple[Array, ...] = field(repr=False)
    shifts: Complex
    inner: Shifted

    @classmethod
    def of(cls, held: Array, free: Array, parts: tuple[Array, ...], shifts: Complex) -> Bordered:
        """``parts`` are M_a for x, the rows of y first: those are H for a = 0 and nothing else.

        Raises a LinAlgError where it is singular.
        """
        below = [M[len(held) :] for M in parts]
        inner = Shifted.of(Dense(tuple(M @ free.T for M in below)), shifts)
        return cls(held, free, tuple(M @ held.T for M in below), shifts, inner)

    def solve(self, B: Complex) -> Complex:
        """One column of B (rows, number of λ) for each λ."""
        y, c = B[: len(self.held)], B[len(self.held) :].copy()
        for a, S in enumerate(self.sides):
            c -= self.shifts**a * (S @ y)
        return np.asarray(self.held.T @ y + self.free.T @ self.inner.solve(c))

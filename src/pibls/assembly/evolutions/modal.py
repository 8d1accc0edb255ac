r"""Σ_a λ^a Σ_α w̄_α (iκ)^α c_κ = b_κ: an evolution on a ring, whose waves do not know of each other.

Where every coordinate of space repeats itself and the coefficients are taken as their mean over space, the
operator is one small matrix for each wavenumber. A level that no equation knows, such as that of a pressure,
is what it is given in a point. For coefficients that rest in space that is the operator
itself; for others its inverse is the first part of a series, as long as what varies is small next to 1/h and
the highest derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, Complex
from pibls.assembly.evolutions.lines import Lines
from pibls.assembly.evolutions.modes import Modes

_ALIKE = 1e-13  # coefficients that differ by less are the same everywhere


@dataclass(frozen=True)
class Modal:
    """The inverse of the operator with mean coefficients, for each λ."""

    modes: Modes
    inverse: Complex = field(repr=False)
    """(λ, waves, unknowns, equations)."""
    is_exact: bool
    """Whether the coefficients are their means."""
    levels: tuple[tuple[int, int, Array], ...] = field(default=(), repr=False)
    """Row, unknown, and its functions in a point: what its level follows from."""

    @classmethod
    def of(cls, lines: Lines, modes: Modes, weights: Sequence[Array], shifts: Complex) -> Modal:
        """Raises a LinAlgError where a wave is not determined."""
        k, n = lines.unknowns, lines.functions
        S = np.zeros((len(shifts), n, k, k), dtype=complex)
        exact = True
        for row, (g, W) in enumerate(zip(lines.groups[:k], weights, strict=False)):
            mean = W.mean(axis=1)
            exact = exact and bool(np.all(np.abs(W - mean[:, None]) <= _ALIKE * np.abs(mean)[:, None]))
            for (_, unknown, alpha, a), w in zip(g.terms, mean, strict=True):
                S[:, :, row, unknown] += w * shifts[:, None] ** a * modes.symbol(alpha)
        levels = []
        for g, W, first in zip(lines.groups[k:], weights[k:], lines.firsts[k:], strict=False):
            (_, unknown, alpha, _), w = g.terms[0], W[0]
            if S[:, 0, :, unknown].any():
                raise np.linalg.LinAlgError("a level is known twice")
            levels.append((first, unknown, w[:, None] * g.sites[0].tables(alpha)[0]))
        inverse = np.empty_like(S)
        inverse[:, 1:] = 1.0 / S[:, 1:] if k == 1 else np.linalg.inv(S[:, 1:])
        inverse[:, 0] = np.linalg.pinv(S[:, 0]) if levels else np.linalg.inv(S[:, 0])
        if not np.isfinite(inverse).all():
            raise np.linalg.LinAlgError("a wave is not determined")
        return cls(modes, inverse, exact, tuple(levels))

    def solve(self, B: Complex) -> Complex:
        """One column of B (rows, number of λ) for each λ."""
        equations, n = self.inverse.shape[-1], self.inverse.shape[1]
        c = self.modes.of_values(B[: equations * n].reshape(equations, -1, B.shape[-1]))
        z = self.modes.to_real(np.einsum("lnke,enl->knl", self.inverse, c))
        for row, k, table in self.levels:
            z[k, 0] += (B[row] - table[0] @ z[k]) / table[0, 0]
        return z.reshape(-1, B.shape[-1])

r"""Fourier inverse of a periodic evolution with mean coefficients: Σ_a λ^a Σ_α w̄_α (iκ)^α c_κ = b_κ.

If every space coordinate is periodic and the coefficients are replaced by their mean over space, the operator
is one small matrix per wavenumber. A mean value that no equation determines, such as that of a pressure, is
given at a point. The inverse is exact for coefficients that are constant in space. For others it is a
preconditioner, as long as the variation is small relative to 1/h and the highest derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, Complex
from pibls.assembly.evolutions.fourier_modes import FourierModes
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem

_ROUNDING = 1e-13  # relative: coefficients that vary by less are constant


@dataclass(frozen=True)
class FourierInverse:
    """The inverse of the operator with mean coefficients, for each λ."""

    modes: FourierModes
    inverse: Complex = field(repr=False)
    """(λ, wavenumbers, unknowns, equations)."""
    is_exact: bool
    """Whether the coefficients are constant."""
    mean_conditions: tuple[tuple[int, int, Array], ...] = field(default=(), repr=False)
    """(row, unknown, its functions at a point) of each condition that determines a mean value."""

    @classmethod
    def of(
        cls, system: SemidiscreteSystem, modes: FourierModes, weights: Sequence[Array], shifts: Complex
    ) -> FourierInverse:
        """Build the inverse; raises a LinAlgError if a Fourier mode is not determined."""
        k, n = system.unknowns, system.functions
        S = np.zeros((len(shifts), n, k, k), dtype=complex)
        exact = True
        for row, (g, W) in enumerate(zip(system.statements[:k], weights, strict=False)):
            mean = W.mean(axis=1)
            exact = exact and bool(np.all(np.abs(W - mean[:, None]) <= _ROUNDING * np.abs(mean)[:, None]))
            for (_, unknown, alpha, a), w in zip(g.terms, mean, strict=True):
                S[:, :, row, unknown] += w * shifts[:, None] ** a * modes.symbol(alpha)
        levels = []
        for g, W, first in zip(system.statements[k:], weights[k:], system.first_rows[k:], strict=False):
            (_, unknown, alpha, _), w = g.terms[0], W[0]
            if S[:, 0, :, unknown].any():
                raise np.linalg.LinAlgError("a mean value is determined twice")
            levels.append((first, unknown, w[:, None] * g.sites[0].tables(alpha)[0]))
        inverse = np.empty_like(S)
        inverse[:, 1:] = 1.0 / S[:, 1:] if k == 1 else np.linalg.inv(S[:, 1:])
        inverse[:, 0] = np.linalg.pinv(S[:, 0]) if levels else np.linalg.inv(S[:, 0])
        if not np.isfinite(inverse).all():
            raise np.linalg.LinAlgError("a Fourier mode is not determined")
        return cls(modes, inverse, exact, tuple(levels))

    def solve(self, B: Complex) -> Complex:
        """Solve for B (rows, number of λ), one column per λ."""
        equations, n = self.inverse.shape[-1], self.inverse.shape[1]
        c = self.modes.from_values(B[: equations * n].reshape(equations, -1, B.shape[-1]))
        z = self.modes.to_real(np.einsum("lnke,enl->knl", self.inverse, c))
        for row, k, table in self.mean_conditions:
            z[k, 0] += (B[row] - table[0] @ z[k]) / table[0, 0]
        return z.reshape(-1, B.shape[-1])

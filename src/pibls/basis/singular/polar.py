r"""Powers of r times polynomials of θ about a corner: r^a logˡ r T_j(t)/(1 + j)³, t = (θ - θ₀)/h.

Lower-order derivatives, variable coefficients and nonlinear terms add functions to the expansion at a corner
with known powers of r and smooth functions of θ without a simple form, here polynomials. With
s = log z = ρ + iθ, ∂ = e^{-s} ½(∂_ρ - i∂_θ), so that ∂ᵐ∂̄ⁿ is a polynomial in ∂_θ and a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev as cheb
from numpy.polynomial import polynomial as poly

from pibls.arrays import Array, MultiIndex
from pibls.basis.joined import JoinedBasis
from pibls.basis.protocol import Basis
from pibls.basis.singular.powers import MIN_DISTANCE, PowersBasis, wirtinger_coefficients
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class PolarBasis:
    """The corner (2,); ``frame`` (ψ, R, h): mid angle, length, half of the angle; terms (a, l, j), (n, 3)."""

    point: Array
    frame: Array
    terms: Array

    needs_dense_boundary = True

    @property
    def size(self) -> int:
        return len(self.terms)

    def draw(self, box: Array, rng: np.random.Generator) -> PolarBasis:
        return self

    def chosen(self, columns: Any) -> PolarBasis:
        """Return the basis of some of the functions."""
        return PolarBasis(self.point, self.frame, self.terms[columns])

    @cached_property
    def _powers(self) -> list[tuple[float, int, Any, Any]]:
        """(a, l, columns, j) for each distinct power."""
        out = []
        for a, log in sorted({(float(t[0]), int(t[1])) for t in self.terms}):
            mine = np.flatnonzero((self.terms[:, 0] == a) & (self.terms[:, 1] == log))
            out.append((a, log, mine, self.terms[mine, 2].astype(int)))
        return out

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        psi, length, half = self.frame.tolist()
        turn = complex(np.exp(-1j * psi)) / length
        zeta = turn * ((X[:, 0] - self.point[0]) + 1j * (X[:, 1] - self.point[1]))
        zeta = np.where(np.abs(zeta) < MIN_DISTANCE, MIN_DISTANCE, zeta)
        s = np.log(zeta)
        rho = s.real
        most = max((sum(alpha) for alpha in alphas), default=0)
        angular = self._angular(s.imag / half, most, half)
        out = [np.empty((len(X), self.size), order="F") for _ in alphas]
        for a, log, mine, degrees in self._powers:
            radial = np.exp(a * rho)
            for table, alpha in zip(out, alphas, strict=True):
                order = sum(alpha)
                total: Any = 0.0
                for n, share in enumerate(wirtinger_coefficients(alpha, turn, 1j * turn)):
                    if not share:
                        continue
                    value, slope = _polynomial(a, order - n, n)
                    acted = sum(c * angular[k][:, degrees] for k, c in enumerate(value))
                    if log:
                        lower = sum(c * angular[k][:, degrees] for k, c in enumerate(slope))
                        acted = rho[:, None] * acted + lower
                    total = (
                        total + share * (np.exp(-(order - n) * s - n * s.conj()) * radial)[:, None] * acted
                    )
                table[:, mine] = total.real
        return out

    def _angular(self, t: Array, most: int, half: float) -> list[Array]:
        """Return dᵏ/dθᵏ T_j/(1 + j)³, (n, degrees), for k up to ``most``."""
        n = int(self.terms[:, 2].max(initial=0.0)) + 1
        # Second derivatives of T_j grow like j⁴; this scaling gives them similar sizes.
        c: Any = np.diag(1.0 / (1.0 + np.arange(n)) ** 3)
        out = []
        for k in range(most + 1):
            out.append(cheb.chebvander(t, max(len(c) - 1, 0)) @ c / half**k)
            c = cheb.chebder(c, axis=0) if len(c) > 1 else np.zeros_like(c)
        return out


@lru_cache(maxsize=256)
def _polynomial(a: float, m: int, n: int) -> tuple[Any, Any]:
    """Return the polynomial ∏_{i<m} (½(a - iD) - i) ∏_{j<n} (½(a + iD) - j) in D, and its ∂ₐ."""
    value, slope = np.ones(1, dtype=complex), np.zeros(1, dtype=complex)
    for sign, count in ((-1j, m), (1j, n)):
        for i in range(count):
            factor = np.array([0.5 * a - i, 0.5 * sign])
            slope = poly.polyadd(poly.polymul(slope, factor), 0.5 * value)
            value = poly.polymul(value, factor)
    return value, slope


def without_corner_functions(basis: Basis) -> Basis:
    """Return a basis without its singular functions at corners."""
    parts = basis.parts if isinstance(basis, JoinedBasis) else (basis,)
    plain = tuple(p for p in parts if not isinstance(p, (PowersBasis, PolarBasis)))
    return basis if len(plain) == len(parts) else plain[0] if len(plain) == 1 else JoinedBasis(plain)

r"""Space-time basis f_i(x) P_j(τ), τ = (t - centre)/half, with Legendre polynomials P_j in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.polynomials.product import legendre
from pibls.basis.protocol import Basis


@dataclass(frozen=True)
class SpaceTimeBasis:
    """Each function of ``space`` times P₀, …, P_{time_functions-1} of time, the last coordinate."""

    space: Basis
    time_functions: int
    centre: Array
    half: Array

    @property
    def size(self) -> int:
        return self.space.size * self.time_functions

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        tables = self.space.jets(X[:, :-1], [alpha[:-1] for alpha in alphas])
        return [
            np.asfortranarray((A[:, :, None] * self._time(X, alpha[-1])[:, None, :]).reshape(len(X), -1))
            for alpha, A in zip(alphas, tables, strict=True)
        ]

    def linear_combinations(self, X: Array, wanted: Sequence[tuple[MultiIndex, Array]]) -> Array:
        """Return ∂^α A w for each wanted (α, w), (wanted, N), summing over space first, then over time."""
        alphas = sorted({alpha[:-1] for alpha, _ in wanted})
        tables = dict(zip(alphas, self.space.jets(X[:, :-1], alphas), strict=True))
        out = np.empty((len(wanted), len(X)))
        for i, (alpha, w) in enumerate(wanted):
            moving = tables[alpha[:-1]] @ w.reshape(self.space.size, self.time_functions)
            out[i] = np.einsum("nj,nj->n", moving, self._time(X, alpha[-1]))
        return out

    def _time(self, X: Array, order: int) -> Array:
        s = (X[:, -1] - self.centre[0]) / self.half[0]
        return legendre(s, self.time_functions, order) / float(self.half[0]) ** order

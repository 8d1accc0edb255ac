r"""Continuity of nonlinear fluxes across an interface: F(x⁺, u, ∂u) - F(x⁻, u, ∂u) = s.

An example is k(x) (1 + u²) ∂ₙu with k discontinuous: the product is continuous. The derivatives in the flux
are nonlinear terms of the statement between two cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.problem.forms.compilation import Residual


@dataclass(frozen=True)
class NonlinearFluxes:
    """Fluxes at one point and given times, each on both sides."""

    fluxes: tuple[tuple[int, int, Residual], ...]
    """(row, side, F), side 0 below and 1 above."""
    points: tuple[Array, Array] = field(repr=False)
    """The point at all times, slightly below and above."""
    given: Array = field(repr=False)
    """Terms that do not depend on the solution, (rows, times)."""

    def _each(self, J: Array) -> Iterator[tuple[int, float, Residual, Array, slice, Array]]:
        """Yield row, sign, flux, points, the rows of its derivatives in J, and these derivatives."""
        start = 0
        for row, side, flux in self.fluxes:
            here = slice(start, start + len(flux.linear) + len(flux.nonlinear))
            yield row, 2.0 * side - 1.0, flux, self.points[side], here, J[here, row]
            start = here.stop

    def rest(self, J: Array) -> Array:
        """(terms, rows, times) ↦ (rows, times)."""
        out = self.given.copy()
        for row, sign, flux, X, _, derivatives in self._each(J):
            none, data, m = np.zeros_like(X), flux.data_function_values(X), len(flux.linear)
            linear = np.sum(flux.coefficients(X, none, data) * derivatives[:m], axis=0)
            out[row] += sign * (linear + flux.rest(X, none, data, derivatives[m:]))
        return out

    def partials(self, J: Array) -> Array:
        """(terms, rows, times) ↦ (terms, rows, times)."""
        out = np.zeros_like(J)
        for row, sign, flux, X, here, derivatives in self._each(J):
            none, data, m = np.zeros_like(X), flux.data_function_values(X), len(flux.linear)
            slopes = (flux.coefficients(X, none, data), flux.partials(X, none, data, derivatives[m:]))
            out[here, row] = sign * np.concatenate([np.reshape(s, (-1, len(X))) for s in slopes])
        return out

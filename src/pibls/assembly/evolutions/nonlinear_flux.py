r"""F(x⁺, u, ∂u) - F(x⁻, u, ∂u) = s: a flux that is not linear, continuous where a material changes.

In k(x) (1 + u²) ∂ₙu it is the product that both sides share; on lines its jets are terms that the statement
between two cells is not linear in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.problem.forms.lowering import Residual


@dataclass(frozen=True)
class BentFluxes:
    """Some fluxes at one place, at some times, each on both sides."""

    fluxes: tuple[tuple[int, int, Residual], ...]
    """(row, side, F), side 0 below and 1 above."""
    points: tuple[Array, Array] = field(repr=False)
    """The place at all times, a little below and above."""
    known: Array = field(repr=False)
    """What does not depend on the solution, (rows, times)."""

    def _each(self, J: Array) -> Iterator[tuple[int, float, Residual, Array, slice, Array]]:
        """Row, sign, flux, points, where its jets stand in J, and these."""
        start = 0
        for row, side, flux in self.fluxes:
            here = slice(start, start + len(flux.linear) + len(flux.nonlinear))
            yield row, 2.0 * side - 1.0, flux, self.points[side], here, J[here, row]
            start = here.stop

    def rest(self, J: Array) -> Array:
        """(terms, rows, times) ↦ (rows, times)."""
        out = self.known.copy()
        for row, sign, flux, X, _, jets in self._each(J):
            none, data, m = np.zeros_like(X), flux.known_data(X), len(flux.linear)
            linear = np.sum(flux.coefficients(X, none, data) * jets[:m], axis=0)
            out[row] += sign * (linear + flux.rest(X, none, data, jets[m:]))
        return out

    def slopes(self, J: Array) -> Array:
        """(terms, rows, times) ↦ (terms, rows, times)."""
        out = np.zeros_like(J)
        for row, sign, flux, X, here, jets in self._each(J):
            none, data, m = np.zeros_like(X), flux.known_data(X), len(flux.linear)
            slopes = (flux.coefficients(X, none, data), flux.partials(X, none, data, jets[m:]))
            out[here, row] = sign * np.concatenate([np.reshape(s, (-1, len(X))) for s in slopes])
        return out

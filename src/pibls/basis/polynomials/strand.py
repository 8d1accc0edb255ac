r"""f₁(s), …, f_n(s) on [-1, 1]: the functions along one coordinate of a box, and the points they are held at.

Polynomials, whole waves where the solution repeats itself, or polynomials in pieces that join smoothly
(`basis.polynomials.splines`): these become smaller towards an end where something is singular.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.basis.polynomials.nodes import held_at, nodes_of, weights_of
from pibls.basis.polynomials.product import legendre, waves
from pibls.basis.polynomials.splines import Splines
from pibls.caching import cached_property

WHOLE = (-1.0, 1.0)


@dataclass(frozen=True)
class Strand:
    """``size`` functions; between neighbouring ``edges`` polynomials, ``order`` - 1 times differentiable."""

    size: int
    repeats: bool = False
    edges: tuple[float, ...] = WHOLE
    order: int = 0

    @property
    def pieces(self) -> int:
        return len(self.edges) - 1

    @property
    def degrees(self) -> int:
        """How many functions there are in each piece."""
        return self.size if self.pieces == 1 else (self.size - self.order) // self.pieces + self.order

    @property
    def raw(self) -> int:
        """Coefficients of all pieces."""
        return self.pieces * self.degrees

    @cached_property
    def _splines(self) -> Splines:
        return Splines(self.edges, self.degrees, self.order)

    def at(self, s: Array, order: int = 0) -> Array:
        """∂^order of the functions, (N, size)."""
        if self.pieces > 1:
            return self._splines.at(s, order)
        return (waves if self.repeats else legendre)(s, self.size, order)

    def half(self, s: Array) -> Array:
        """Half of the length of the piece of each point."""
        if self.pieces == 1:
            return np.ones(len(s))
        return np.asarray(self._splines.half[self._splines.locate(s)])

    def nodes(self, count: int) -> Array:
        """That many points inside, or a few more: as many in each piece."""
        each = -(-count // self.pieces)
        if self.pieces == 1:
            return nodes_of(each, self.repeats)
        one = self._splines
        return np.asarray((one.centre[:, None] + one.half[:, None] * nodes_of(each, False)).ravel())

    @cached_property
    def from_values(self) -> Array:
        """From values at the `raw` nodes to coefficients, (size, raw)."""
        if self.pieces == 1:
            return np.asarray(np.linalg.inv(self.at(self.nodes(self.size))), dtype=float)
        n = self.degrees
        one = np.linalg.inv(legendre(nodes_of(n, False), n))
        return np.asarray(self._splines.smooth.T @ np.kron(np.eye(self.pieces), one))

    @property
    def in_pieces(self) -> Array:
        """From coefficients to those of the pieces, (raw, size)."""
        return self._splines.smooth if self.pieces > 1 else np.eye(self.size)

    def held(self, conditions: int) -> Array:
        """As many points as functions: first those of an equation, then one for each condition."""
        if self.pieces > 1 and conditions == self.order:
            return self._splines.traced
        return held_at(self.size, conditions, self.repeats)

    def weights(self, conditions: int) -> Array:
        """Of a rule at the points of an equation."""
        if self.pieces > 1 and conditions == self.order:
            return self._splines.weights
        return weights_of(self.size - (0 if self.repeats else conditions), self.repeats)

    def lowest(self, count: int) -> Array:
        """The first polynomials, (size, count)."""
        return (
            np.eye(self.size)[:, :count]
            if self.pieces == 1
            else self.from_values @ legendre(self.nodes(self.raw), count)
        )

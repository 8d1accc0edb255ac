r"""⟨v, r(u)⟩ = 0 for all v with B v = 0, and B u = g: the rows of an evolution in space, made square.

There are many more points than functions. Between the walls the equations are tested with the functions
themselves, those that vanish at the walls as far as they can: what is symmetric or conserves an energy in
space does so among the functions too, and no mode grows that should not. The residual itself is tested,
no derivative is shifted: whatever the points and weights, a solution among the functions is found. What the
walls ask is held in those combinations of the functions that the walls feel; the others, of which no more
than ``unfelt`` of the most is left at the walls, are left to the equations, since asking the walls for them
would magnify what is left over there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from pibls.arrays import Array
from pibls.deadline import check_deadline, go_on


@dataclass(frozen=True)
class Projection:
    """Rows at points ↦ as many rows as there are functions."""

    tests: Array = field(repr=False)
    """The functions at the points between the walls, times the weights, (points, n)."""
    order: tuple[int, ...]
    """For each equation the unknown whose functions test it."""
    walls: Array = field(repr=False)
    """(felt, rows of the walls)."""
    free: Array = field(repr=False)
    """What is not felt, (unfelt, unknowns·n), orthonormal."""

    @classmethod
    def of(
        cls,
        tests: Array,
        order: tuple[int, ...],
        B: Array,
        weights: Array,
        groups: tuple[slice, ...],
        unfelt: float,
    ) -> Projection:
        """``B`` (rows, unknowns·n) are the rows of the walls, ``groups`` those of each condition."""
        columns = B.shape[1]
        if not len(B):
            return cls(tests, order, np.zeros((0, 0)), np.eye(columns))
        scale = np.sqrt(weights)
        for rows in groups:
            go_on(f"{__name__}.groups")
            size = float(np.linalg.norm(scale[rows, None] * B[rows], 2)) if rows.stop > rows.start else 0.0
            scale[rows] *= 1.0 / size if size > 0 else 1.0
        scaled = scale[:, None] * B
        go_on(f"{__name__}.of")
        # Only what is felt by more than a hundredth is told apart: squares are exact enough.
        squares, V = linalg.eigh(scaled.T @ scaled, check_finite=False)
        felt = squares > unfelt**2 * squares[-1]
        walls = ((scaled @ V[:, felt]).T / squares[felt, None]) * scale
        return cls(tests, order, walls, np.ascontiguousarray(V[:, ~felt].T))

    def __call__(self, R: Array) -> Array:
        """Rows (rows, m) ↦ (unknowns·n, m)."""
        points, n = self.tests.shape
        tested = np.empty((len(self.order) * n, R.shape[1]))
        for e, k in enumerate(self.order):
            check_deadline()
            tested[k * n : (k + 1) * n] = self.tests.T @ R[e * points : (e + 1) * points]
        between = len(self.order) * points
        check_deadline()
        return np.concatenate([self.walls @ R[between:], self.free @ tested])


def untested(R: Array) -> Array:
    """The rows as they are, more than there are functions: least squares, where an unknown has no rate.

    The pressure of a flow is not determined by tests with the functions that it is made of.
    """
    return R

r"""Galerkin projection of an evolution in space: ⟨v, r(u)⟩ = 0 for all v with B v = 0, and B u = g.

There are many more points than functions. In the interior the equations are tested with the basis functions
that (nearly) vanish on the boundary: symmetry and energy conservation carry over to the discrete system, and
no spurious mode grows. The strong residual is tested, without integration by parts, so that an exact solution
in the space is found for any points and weights. The boundary conditions are imposed on the combinations of
functions with a relative boundary value above ``boundary_tol``; the others are left to the equations, since
imposing the conditions on them would amplify the boundary residual.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from pibls.arrays import Array
from pibls.runtime.deadline import check_deadline


@dataclass(frozen=True)
class GalerkinProjection:
    """Linear map from rows at points to as many rows as there are functions."""

    test_functions: Array = field(repr=False)
    """The functions at the interior points times the quadrature weights, (points, n)."""
    equation_unknowns: tuple[int, ...]
    """The unknown whose functions test each equation."""
    boundary: Array = field(repr=False)
    """Projection of the boundary rows, (constrained functions, boundary rows)."""
    unconstrained: Array = field(repr=False)
    """Orthonormal combinations that (nearly) vanish on the boundary, (combinations, unknowns·n)."""

    @classmethod
    def of(
        cls,
        test_functions: Array,
        equation_unknowns: tuple[int, ...],
        B: Array,
        weights: Array,
        groups: tuple[slice, ...],
        boundary_tol: float,
    ) -> GalerkinProjection:
        """``B`` (rows, unknowns·n) are the rows of the boundary, ``groups`` those of each condition."""
        columns = B.shape[1]
        if not len(B):
            return cls(test_functions, equation_unknowns, np.zeros((0, 0)), np.eye(columns))
        scale = np.sqrt(weights)
        for rows in groups:
            check_deadline(f"{__name__}.groups")
            size = float(np.linalg.norm(scale[rows, None] * B[rows], 2)) if rows.stop > rows.start else 0.0
            scale[rows] *= 1.0 / size if size > 0 else 1.0
        scaled = scale[:, None] * B
        check_deadline(f"{__name__}.of")
        # The threshold is about 1e-2, so the squared singular values are accurate enough.
        squares, V = linalg.eigh(scaled.T @ scaled, check_finite=False)
        constrained = squares > boundary_tol**2 * squares[-1]
        boundary = ((scaled @ V[:, constrained]).T / squares[constrained, None]) * scale
        return cls(test_functions, equation_unknowns, boundary, np.ascontiguousarray(V[:, ~constrained].T))

    def __call__(self, R: Array) -> Array:
        """Map rows (rows, m) to (unknowns·n, m)."""
        points, n = self.test_functions.shape
        tested = np.empty((len(self.equation_unknowns) * n, R.shape[1]))
        for e, k in enumerate(self.equation_unknowns):
            check_deadline()
            tested[k * n : (k + 1) * n] = self.test_functions.T @ R[e * points : (e + 1) * points]
        between = len(self.equation_unknowns) * points
        check_deadline()
        return np.concatenate([self.boundary @ R[between:], self.unconstrained @ tested])


def unprojected(R: Array) -> Array:
    """Return the rows unchanged, for a least-squares solve where an unknown has no time derivative.

    The pressure of a flow is not determined by tests with its own basis functions.
    """
    return R

r"""Linear solver L z = r for tensor-product discretisations on a grid of boxes.

If L is a Kronecker sum of one operator along each axis, it is solved directly by fast diagonalization;
otherwise by GMRES, preconditioned with the nearest Kronecker sum. In the plane, if GMRES takes too many
steps, L is factored by static condensation of all boxes, and these factors precondition later systems.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.assembly.tensor_products.product_system import ProductOperator, ProductSystem
from pibls.assembly.tensor_products.separable import SeparableFactorization
from pibls.assembly.tensor_products.static_condensation import CondensedFactorization
from pibls.linalg.gmres import gmres
from pibls.runtime.deadline import check_deadline

_MAX_STEPS_SPACE = 150  # steps of GMRES in three dimensions
_MAX_STEPS_PLANE = 24  # steps of GMRES in the plane, preconditioned with the nearest Kronecker sum
_MAX_STEPS_REUSED = 12  # … with old factors
_MAX_ENTRIES = 1.5e8  # of all vectors of GMRES
_SINGULAR = 1e-6
"""Smallest eigenvalue, relative to that of a function that varies over the box, below which the system may be
singular."""


@dataclass
class TensorSolver:
    """Solver for a sequence of operators L, with reuse of factors."""

    rows: ProductSystem
    separable: SeparableFactorization | None = None
    elimination: CondensedFactorization | None = None
    solves: int = 0
    eliminations: int = 0
    _of: list[ProductOperator] = field(default_factory=list)
    """The operator that was factored last."""

    @property
    def preconditioner(self) -> SeparableFactorization | CondensedFactorization | None:
        """The factors in use: static condensation if available, else the nearest Kronecker sum."""
        return self.elimination or self.separable

    def solve(self, L: ProductOperator, r: list[Array], rtol: float) -> Array | None:
        """Return L⁻¹ r to the relative residual ``rtol``, or None if it fails or L may be singular."""
        if self.elimination is not None:
            if self._of[-1] is L:
                return self.elimination.solve(r)
            again = self._solve_iteratively(self.elimination, L, r, rtol, _MAX_STEPS_REUSED)
            return self._solve_by_elimination(L, r) if again is None else again
        if not self.rows.box_problem.has_single_equation:
            return self._solve_by_elimination(L, r)
        self.separable = SeparableFactorization.of(self.rows, L)
        if self.separable is None:
            return self._solve_by_elimination(L, r)
        if self._is_singular(self.separable):
            return None if self.separable.is_exact else self._solve_by_elimination(L, r)
        self.solves += 1
        if self.separable.is_exact:
            return self.separable.solve(r)
        plane = len(self.rows.axes) == 2
        found = self._solve_iteratively(
            self.separable, L, r, rtol, _MAX_STEPS_PLANE if plane else _MAX_STEPS_SPACE
        )
        return self._solve_by_elimination(L, r) if found is None and plane else found

    def _solve_iteratively(
        self,
        preconditioner: SeparableFactorization | CondensedFactorization,
        L: ProductOperator,
        r: list[Array],
        rtol: float,
        max_steps: int,
    ) -> Array | None:
        b = preconditioner.solve(r)
        max_steps = int(min(max_steps, max(_MAX_ENTRIES / b.size, 10)))
        found = gmres(
            lambda V: preconditioner.solve(L(V)),
            b,
            rtol=rtol,
            max_steps=max_steps,
            stall_steps=max(max_steps // 5, 8),
        )
        self.solves += found.steps
        allowed = max(30.0 * rtol, 1e-4 if max_steps > _MAX_STEPS_PLANE else 0.0)
        return found.z if found.relative_residual < allowed else None

    def _solve_by_elimination(self, L: ProductOperator, r: list[Array]) -> Array | None:
        check_deadline(__name__)
        self.elimination = CondensedFactorization.of(self.rows, L)
        self.eliminations += 1
        if self.elimination is None or self._is_nearly_singular(self.elimination, L):
            return None
        self._of = [L]
        return self.elimination.solve(r)

    def _is_singular(self, separable: SeparableFactorization) -> bool:
        total = np.abs(separable.factors.eigenvalues)
        least, most = float(total.min()), float(total.max())
        return least <= max(_SINGULAR * separable.min_natural_size, 10 * np.finfo(float).eps * most)

    def _is_nearly_singular(self, condensed: CondensedFactorization, L: ProductOperator) -> bool:
        """Whether right-hand sides of their natural size give a solution far larger than one."""
        rng = np.random.default_rng(0)
        lengths = self.rows.box_problem.box[:, 1] - self.rows.box_problem.box[:, 0]
        r = []
        for g, a in zip(self.rows.statements, L.coefficients, strict=True):
            natural = [np.prod(lengths ** -np.array(alpha, dtype=float)) for _, alpha in g.terms]
            size = max(float(np.abs(c).max()) * s for c, s in zip(a, natural, strict=True))
            r.append(size * rng.uniform(-1.0, 1.0, g.shape))
        r += [np.ones(1)] if self.rows.box_problem.scalar_conditions else []
        return not float(self.rows.max_magnitudes(condensed.solve(r)).max()) < 1.0 / _SINGULAR

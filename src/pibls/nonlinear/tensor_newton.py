r"""Newton's method u ← u - L⁻¹ r(u) for tensor-product discretisations, L being linearized about u.

L is solved by `tensor_solver`. A linear problem takes the same steps: the second step is iterative refinement
of the first, whose rounding errors on strongly graded axes are larger than the last digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array
from pibls.assembly.tensor_products.product_system import ProductOperator, ProductSystem
from pibls.nonlinear.newton import StepSizes, iterate
from pibls.nonlinear.tensor_solver import TensorSolver
from pibls.runtime.deadline import check_deadline

_MAX_LINEAR_STEPS, _MAX_NEWTON_STEPS = 6, 30
_MIN_STEP = 2e-15  # relative step at which the iteration ends
_MAX_LAST_STEP = 1e-7  # relative size of the last step of a converged iteration
_LINEAR_RTOL, _COARSE_RTOL = 1e-9, 1e-3  # of the linear solver: for a linear problem; far from a solution
_MAX_CONDITION_RESIDUAL = 1e-4  # relative to the condition applied to a function of the size of the solution
_MIN_DAMPING = 1.0 / 64.0
_ROUNDING_STEP = (1e-5, 0.3)  # below this relative step, one that is not shorter by this ratio is rounding
_ZERO_UNKNOWN = 1e-8  # relative to the largest unknown: a smaller unknown may be zero


@dataclass(frozen=True)
class TensorSolution:
    """Coefficients of the solution, and statistics of the iteration."""

    U: Array
    last_step: Array
    """The shortest of the last two steps, max|δu| of each unknown: an estimate of the rounding error."""
    steps: int
    solves: int
    """Number of solves with the preconditioner."""
    eliminations: int
    """Number of factorizations by static condensation."""
    converged: bool
    """Whether the last step is small and the conditions are satisfied."""


def solve_tensor_system(rows: ProductSystem, U: Array) -> TensorSolution | None:
    """Solve from the initial guess U; return None if it fails or if the solution may be undetermined."""
    iteration = _Iteration(rows, TensorSolver(rows), U, *rows.residual(U))
    iterate(iteration, _MAX_LINEAR_STEPS if iteration.is_linear else _MAX_NEWTON_STEPS)
    if iteration.has_failed:
        return None
    holds = bool(iteration.sizes.last < _MAX_LAST_STEP) and _are_met(rows, iteration.U, iteration.r)
    shortest = min(iteration.moved[-2:], key=lambda m: float(m.max()))
    solver = iteration.solver
    return TensorSolution(iteration.U, shortest, iteration.steps, solver.solves, solver.eliminations, holds)


class _Trial(NamedTuple):
    """Coefficients, their residual and the operator linearized about them."""

    U: Array
    r: list[Array]
    L: ProductOperator


@dataclass
class _Iteration:
    """State of `solve_tensor_system`, a `NewtonIteration`."""

    rows: ProductSystem
    solver: TensorSolver
    U: Array
    r: list[Array]
    L: ProductOperator
    moved: list[Array] = field(default_factory=list)
    """max|δu| of each unknown in each step."""
    sizes: StepSizes = field(default_factory=StepSizes)
    """Lengths of the steps relative to the solution."""
    has_failed: bool = False
    preconditioned_norm: float = math.inf
    """Norm of the residual times the inverse of the preconditioner, at U."""

    @property
    def is_linear(self) -> bool:
        return self.rows.box_problem.is_linear

    @property
    def steps(self) -> int:
        return self.sizes.count

    @property
    def min_damping(self) -> float:
        return 1.0 if self.is_linear else _MIN_DAMPING

    def direction(self) -> Array | None:
        D = self.solver.solve(self.L, self.r, self._linear_rtol)
        move = np.array(np.inf) if D is None else self.rows.max_magnitudes(D)
        self.has_failed = not np.isfinite(move).all()
        if self.has_failed:
            return None
        if not self.is_linear:
            self.preconditioned_norm = self._norm(self.r)
        self.moved.append(move)
        return D

    @property
    def _linear_rtol(self) -> float:
        """The tolerance of the linear solver, which decreases with the steps."""
        if self.is_linear:
            return _LINEAR_RTOL
        last = self.sizes.last if self.steps else 1.0
        return max(min(_COARSE_RTOL, 0.1 * last), 1e-8)

    def _norm(self, r: list[Array]) -> float:
        preconditioner = self.solver.preconditioner
        assert preconditioner is not None
        return float(np.linalg.norm(preconditioner.solve(r)))

    def trial(self, D: Array, damping: float) -> _Trial | None:
        """Return U - damping·D if the next step would be shorter from there; U - D for a linear problem."""
        if self.is_linear:
            U = self.U - D
            return _Trial(U, self.rows.residual(U)[0], self.L)
        check_deadline(__name__)
        U = self.U - damping * D
        with np.errstate(all="ignore"):
            r, L = self.rows.residual(U)
        self.solver.solves += 1
        if not all(np.isfinite(part).all() for part in r):
            return None
        after = self._norm(r)
        # At the end, the residual consists of rounding errors only.
        is_rounding = after <= 1e-12 * float(np.linalg.norm(U))
        shorter = after <= (1.0 - 0.25 * damping) * self.preconditioned_norm
        return _Trial(U, r, L) if shorter or is_rounding else None

    def accept(self, trial: _Trial, damping: float) -> bool:
        """Move to a trial; return whether the steps are at rounding."""
        size = np.maximum(self.rows.max_magnitudes(self.U), self.rows.max_magnitudes(trial.U))
        self.U, self.r, self.L = trial
        # An unknown that is zero is compared with the rounding errors of the others.
        scale = np.maximum(size, max(_ZERO_UNKNOWN * float(size.max()), 1e-300))
        self.sizes.record(float((self.moved[-1] / scale).max()))
        stagnates = damping == 1.0 and self.sizes.stagnate(*_ROUNDING_STEP)
        return self.sizes.last <= _MIN_STEP or stagnates

    def reject(self) -> bool:
        self.has_failed = True
        return True


def _are_met(rows: ProductSystem, U: Array, r: list[Array]) -> bool:
    """Whether the boundary conditions hold at the nodes inside each side."""
    sizes, many = rows.max_magnitudes(U), len(rows.box_problem.equations)
    lengths = rows.box_problem.box[:, 1] - rows.box_problem.box[:, 0]
    for side, g, left in zip(rows.box_problem.sides, rows.statements[many:], r[many:], strict=False):
        inner = left[tuple(slice(0, 1 if i == side.axis else len(a.nodes)) for i, a in enumerate(rows.axes))]
        natural = [sizes[k] * np.prod(lengths ** -np.array(alpha, dtype=float)) for k, alpha in g.terms]
        known = [float(np.abs(c).max(initial=0.0)) * s for c, s in zip(g.coefficients, natural, strict=False)]
        if known and float(np.abs(inner).max()) > _MAX_CONDITION_RESIDUAL * max(known):
            return False
    return True

r"""Newton's method u ← u - L⁻¹ r(u) for tensor-product discretisations, L being linearized about u.

L is solved by `tensor_solver`. A linear problem takes the same steps: the second step is iterative refinement
of the first, whose rounding errors on strongly graded axes are larger than the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.assembly.tensor_products.product_system import ProductOperator, ProductSystem
from pibls.nonlinear.tensor_solver import TensorSolver
from pibls.runtime.deadline import check_deadline

_MAX_LINEAR_STEPS, _MAX_NEWTON_STEPS = 6, 30
_MIN_STEP = 2e-15  # relative step at which the iteration ends
_MAX_LAST_STEP = 1e-7  # relative size of the last step of a converged iteration
_LINEAR_RTOL, _COARSE_RTOL = 1e-9, 1e-3  # of the linear solver: for a linear problem; far from a solution
_MAX_CONDITION_RESIDUAL = 1e-4  # relative to the condition applied to a function of the size of the solution
_MIN_DAMPING = 1.0 / 64.0
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
    solver = TensorSolver(rows)
    linear = rows.box_problem.is_linear
    moves: list[float] = []
    moved: list[Array] = []
    r, L = rows.residual(U)
    for step in range(_MAX_LINEAR_STEPS if linear else _MAX_NEWTON_STEPS):
        check_deadline(__name__)
        D = solver.solve(L, r, _linear_rtol(linear, moves))
        if D is None:
            return None
        move = rows.max_magnitudes(D)
        if not np.isfinite(move).all():
            return None
        size = rows.max_magnitudes(U)
        found = _full_step(rows, U, D, L) if linear else _damped(solver, U, D, r)
        if found is None:
            return None
        U, r, L, damping = found
        size = np.maximum(size, rows.max_magnitudes(U))
        moved.append(move)
        # An unknown that is zero is compared with the rounding errors of the others.
        moves.append(float((move / np.maximum(size, max(_ZERO_UNKNOWN * float(size.max()), 1e-300))).max()))
        if moves[-1] <= _MIN_STEP or (step > 0 and damping == 1.0 and _is_at_rounding(*moves[-2:])):
            break
    holds = bool(moves[-1] < _MAX_LAST_STEP) and _are_met(rows, U, r)
    shortest = min(moved[-2:], key=lambda m: float(m.max()))
    return TensorSolution(U, shortest, len(moves), solver.solves, solver.eliminations, holds)


def _linear_rtol(linear: bool, moves: list[float]) -> float:
    """Return the tolerance of the linear solver for the next step, after steps of these relative lengths."""
    if linear:
        return _LINEAR_RTOL
    last = moves[-1] if moves else 1.0
    return max(min(_COARSE_RTOL, 0.1 * last), 1e-8)


def _is_at_rounding(before: float, move: float) -> bool:
    """Whether short steps do not become shorter."""
    return move < 1e-5 and move > 0.3 * before


def _full_step(
    rows: ProductSystem, U: Array, D: Array, L: ProductOperator
) -> tuple[Array, list[Array], ProductOperator, float]:
    """Return U - D for a linear problem, whose operator does not change."""
    U = U - D
    return U, rows.residual(U)[0], L, 1.0


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


def _damped(
    solver: TensorSolver, U: Array, D: Array, r: list[Array]
) -> tuple[Array, list[Array], ProductOperator, float] | None:
    """Return the first of U - D, U - D/2, … at which the next step would be shorter, or None."""
    preconditioner, damping = solver.preconditioner, 1.0
    assert preconditioner is not None
    size = float(np.linalg.norm(preconditioner.solve(r)))
    while damping >= _MIN_DAMPING:
        check_deadline(__name__)
        V = U - damping * D
        with np.errstate(all="ignore"):
            left, L = solver.rows.residual(V)
        solver.solves += 1
        if all(np.isfinite(part).all() for part in left):
            after = float(np.linalg.norm(preconditioner.solve(left)))
            # At the end, the residual consists of rounding errors only.
            if after <= (1.0 - 0.25 * damping) * size or after <= 1e-12 * float(np.linalg.norm(V)):
                return V, left, L, damping
        damping *= 0.5
    return None

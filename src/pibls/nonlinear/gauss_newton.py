r"""Gauss-Newton method that solves for the new coefficients: L w + Σⱼ ρⱼ(v) (Φⱼ w - vⱼ) + ρ(v) = 0, v ← Φ w.

Solving for the update (J δ = -r) stalls: J is rank deficient, and components of its null space accumulate in
w. The minimum-norm solution w has none. The equation is linearised about the *function* v, not about the
coefficients: no digits are lost if coefficients are large, and v may come from a solution in another basis.
Row norms are fixed at the first step, so that every step minimises the same function.

Far from the solution the right-hand side is not the image of a smooth function, and fitting it to rounding
error makes the coefficients very large. Pivots are therefore truncated in proportion to the current residual,
which regularises the first steps and does not affect the last ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array
from pibls.linalg import ScaledSolver
from pibls.linalg.matrix import as_matrix
from pibls.linalg.ridge_qr import RidgeQR
from pibls.nonlinear.homotopy import Homotopy
from pibls.nonlinear.protocol import Equations, Outcome, check_nonnegative, cost_of, starting_values
from pibls.runtime.deadline import check_deadline
from pibls.status import Status

_MAX_HALVINGS = 12
_COARSE_TOLERANCE = 1e-6  # a larger tolerance can be met while pivots are still truncated
_MAX_STAGE_RESIDUAL = 0.05  # relative residual up to which a stage of the continuation counts as solved
_MAX_FAILURES = 4  # halvings of the continuation step
_CONTRACTION = 0.2  # reduction of the residual up to which the Jacobian is reused
_TIGHTEN = 1e-3  # factor of the truncation if it limits the residual
_SLOW = 0.5  # close to the solution, a step that does not halve the residual is slow
_ROUNDING_RESIDUAL = 1e-10  # relative residual below which one slow step means rounding
_STUCK = 0.95  # far from the solution, a step is stuck if it gains less than 5 %
_AS_PREDICTED = 1.02  # residual relative to the linear prediction
_MAX_SOLVED_RESIDUAL = 1e-4  # relative residual above which the result is not a solution


@dataclass(frozen=True)
class GaussNewton:
    """Full-step Gauss-Newton with backtracking, from the linearised start.

    Parameters
    ----------
    tolerance
        Stop when the solution moves by less than this, relative to its size.
    max_steps
        Limit on the number of Jacobians.
    truncation
        Pivots below ``truncation`` times the relative residual are dropped.
    continuation
        Steps of the homotopy that is tried if the direct iteration ends far from a solution (0 for none).
    delta, rounds
        Random restarts if the iteration ends far from a solution: the size of the perturbation relative to
        the coefficients, and their number (0 for none).
    linear
        The solver for each step; its ``cond`` is the smallest truncation.
    """

    tolerance: float = 1e-15
    max_steps: int = 50
    truncation: float = 1e-8
    continuation: int = 8
    delta: float = 0.5
    rounds: int = 3
    linear: ScaledSolver = field(default_factory=RidgeQR)
    to_the_last: bool = True
    """Whether to continue if the residual is close to the one predicted by the linearised equations."""

    def __post_init__(self) -> None:
        counts = {"max_steps": self.max_steps, "continuation": self.continuation, "rounds": self.rounds}
        check_nonnegative("GaussNewton", tolerance=self.tolerance, delta=self.delta, **counts)

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        if system.is_linear:
            return self.linear_solve(system)
        v = starting_values(system)
        zero = np.zeros(system.shape[1])
        best = self.descend(system, v, w=zero if not v.any() else None)
        if best.status is Status.STALLED and self.continuation:
            continued = self.follow_homotopy(system, v)
            best = continued if continued.cost < best.cost else best
        for _ in range(self.rounds):
            if best.status is not Status.STALLED:
                break
            size = float(np.sqrt(np.mean(best.w**2))) or 1.0
            noise = rng.uniform(-self.delta, self.delta, len(best.w))
            guess = best.w + size * noise
            again = self.descend(system, system.values(guess), w=guess)
            if again.cost < best.cost:
                best = again
        return best

    def follow_homotopy(self, system: Equations, v: Array) -> Outcome:
        """Solve by continuation from the system linearised about v to the system itself."""
        J, b = system.linearise(v)
        coarse = replace(self, tolerance=1e-2, max_steps=10)
        share, step, failures = 0.0, 1.0 / max(self.continuation, 1), 0
        w = None
        while share < 1.0 and failures < _MAX_FAILURES:
            aim = min(share + step, 1.0)
            stage: Equations = system if aim == 1.0 else Homotopy(system, J, b, aim)
            outcome = (self if aim == 1.0 else coarse).descend(stage, v, w=w)
            if aim < 1.0 and outcome.relative > _MAX_STAGE_RESIDUAL:
                step, failures = 0.5 * step, failures + 1
                continue
            share, w = aim, outcome.w
            v = system.values(w)
        return self.descend(system, v, w=w) if share < 1.0 or w is None else outcome

    def linear_solve(self, system: Equations) -> Outcome:
        """Solve a linear system, with one step of iterative refinement, which halves the rounding error."""
        J, b = system.linearise(system.values_of_constant(0.0))
        check_deadline("linear")
        factors = self.linear.factor_scaled(J, system.row_scales(J), self.linear.cond)
        w = factors.apply(b)
        if not as_matrix(J).is_streamed:  # refinement would cost as much as the solve itself
            w = w + factors.apply(b - J @ w)
        return Outcome(w, cost_of(system.residual(w)), 1, Status.SOLVED, factors.rank, factors=factors)

    def descend(self, system: Equations, v: Array, relative: float = 1.0, w: Array | None = None) -> Outcome:
        """Iterate from a function with the values v, whose residual relative to that of zero is ``relative``.

        If w are the coefficients of that function in this basis, the first step is damped like all others.
        """
        floor = self.linear.cond
        r = system.residual(np.zeros(system.shape[1]))
        J, b = system.linearise(v)
        rows = system.row_scales(J)
        initial = (_norm(r, rows) if np.isfinite(r).all() else _norm(b, rows)) or 1.0
        loss = np.inf
        if w is None:
            w = np.zeros(system.shape[1])
        else:
            r = system.residual(w)
            loss = _norm(r, rows)
            loss = loss if np.isfinite(loss) and loss > 0 else np.inf
        factors = None
        cut, limit = np.inf, self.truncation
        status, slow, stuck, steps = Status.STEP_LIMIT, 0, 0, 0
        before = 0.0
        while steps < self.max_steps:
            check_deadline(__name__)
            needed = max(floor, limit * min(relative, 1.0))
            if factors is None or needed < cut:
                if steps:
                    J, b = system.linearise(v)
                cut, steps, own = needed, steps + 1, True
                factors = self.linear.factor_scaled(J, rows, cut)
            else:
                b, own = J @ w - r, False  # the factored Jacobian is reused
            target = factors.apply(b)
            moved, r_new, loss_new = _backtrack(system, w, target, rows, loss)
            predicted = _norm(J @ target - b, rows)
            if loss_new < 2.0 * predicted:
                # The residual is due to the truncation, not to the linearisation.
                limit *= _TIGHTEN
            if not loss_new < loss:
                if not own:
                    factors = None  # a Jacobian of another point gives no descent
                    continue
                if cut <= floor or stuck:
                    status = Status.SOLVED
                    break
                limit, stuck = 0.0, stuck + 1
                continue
            # Without truncation during the iteration, cut <= floor does not mean that the solution is close.
            close = cut <= floor and (self.to_the_last or loss_new < _MAX_STAGE_RESIDUAL * initial)
            slow = slow + 1 if close and loss_new > _SLOW * loss else 0
            stuck = stuck + 1 if loss_new > _STUCK * loss else 0
            if loss_new > _CONTRACTION * loss:
                factors = None  # J has changed too much to be reused
            v_new = system.values(moved)
            change = float(np.abs(v_new - v).max(initial=0.0))
            size = float(np.abs(v_new).max(initial=0.0))
            w, r, loss, v = moved, r_new, loss_new, v_new
            relative = loss / initial
            # Extrapolate the remaining change from the last two changes.
            left = change * min(change / before, 1.0) if before > 0 else change
            before = change
            settled = left <= self.tolerance * size and (cut <= floor or self.tolerance > _COARSE_TOLERANCE)
            # If the basis cannot represent the solution, the residual stays as large as predicted.
            near = not self.to_the_last and cut <= floor and relative < _MAX_STAGE_RESIDUAL
            settled |= near and loss < _AS_PREDICTED * predicted
            if settled or slow >= (1 if relative < _ROUNDING_RESIDUAL else 2) or stuck >= 6:
                status = Status.SOLVED
                break
        if status is Status.SOLVED and relative > _MAX_SOLVED_RESIDUAL:
            status = Status.STALLED
        rank = None if factors is None else factors.rank
        return Outcome(w, cost_of(r), steps, status, rank, relative, factors)


def _norm(r: Array, rows: Array) -> float:
    return float(np.linalg.norm(r / rows))


def _backtrack(
    system: Equations, w: Array, target: Array, rows: Array, loss: float
) -> tuple[Array, Array, float]:
    """Return the first of the steps 1, ½, ¼, … towards ``target`` that reduces the residual."""
    step = 1.0
    for _ in range(_MAX_HALVINGS if np.isfinite(loss) else 1):
        moved = target if step == 1.0 else w + step * (target - w)
        r = system.residual(moved)
        new = _norm(r, rows) if np.isfinite(r).all() else np.inf
        if new < loss:
            return moved, r, new
        step *= 0.5
    return w, system.residual(w), loss

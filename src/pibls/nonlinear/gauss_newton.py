r"""Gauss-Newton method that solves for the new coefficients: L w + Σⱼ ρⱼ(v) (Φⱼ w - vⱼ) + ρ(v) = 0, v ← Φ w.

Solving for the update (J δ = -r) stalls: J is rank deficient, and components of its null space accumulate in
w. The minimum-norm solution w has none. The equation is linearized about the *function* v, not about the
coefficients: no digits are lost if coefficients are large, and v may come from a solution in another basis.
Row norms are fixed at the first step, so that every step minimises the same function.

Far from the solution the right-hand side is not the image of a smooth function, and fitting it to rounding
error makes the coefficients very large. Pivots are therefore truncated in proportion to the current residual,
which regularizes the first steps and does not affect the last ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array
from pibls.linalg import ScaledSolver
from pibls.linalg.matrix import Matrix, as_matrix
from pibls.linalg.protocol import Factorization
from pibls.linalg.ridge_qr import RidgeQR
from pibls.nonlinear.continuation import follow
from pibls.nonlinear.homotopy import Homotopy
from pibls.nonlinear.newton import StepSizes, iterate
from pibls.nonlinear.protocol import Equations, Outcome, check_nonnegative, cost_of, starting_values
from pibls.runtime.deadline import check_deadline
from pibls.status import Status

_MIN_DAMPING = 2.0**-11
_COARSE_TOLERANCE = 1e-6  # a larger tolerance can be met while pivots are still truncated
_MAX_STAGE_RESIDUAL = 0.05  # relative residual up to which a stage of the continuation counts as solved
_CONTRACTION = 0.2  # reduction of the residual up to which the Jacobian is reused
_TIGHTEN = 1e-3  # factor of the truncation if it limits the residual
_SLOW = 0.5  # close to the solution, a step that does not halve the residual is slow
_ROUNDING_RESIDUAL = 1e-10  # relative residual below which one slow step means rounding
_STUCK = 0.95  # far from the solution, a step is stuck if it gains less than 5 %
_AS_PREDICTED = 1.02  # residual relative to the linear prediction
_MAX_SOLVED_RESIDUAL = 1e-4  # relative residual above which the result is not a solution


@dataclass(frozen=True)
class GaussNewton:
    """Full-step Gauss-Newton with backtracking, from the linearized start.

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
    """Whether to continue if the residual is close to the one predicted by the linearized equations."""

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
        """Solve by continuation from the system linearized about v to the system itself."""
        J, b = system.linearize(v)
        coarse = replace(self, tolerance=1e-2, max_steps=10)

        def stage(share: float, before: _Stage) -> _Stage | None:
            if share == 1.0:
                return _Stage(v, None, self.descend(system, before.v, w=before.w))
            found = coarse.descend(Homotopy(system, J, b, share), before.v, w=before.w)
            if found.relative > _MAX_STAGE_RESIDUAL:
                return None
            return _Stage(system.values(found.w), found.w)

        _, last = follow(stage, _Stage(v, None), 1.0 / max(self.continuation, 1))
        return self.descend(system, last.v, w=last.w) if last.outcome is None else last.outcome

    def linear_solve(self, system: Equations) -> Outcome:
        """Solve a linear system, with one step of iterative refinement, which halves the rounding error."""
        J, b = system.linearize(system.values_of_constant(0.0))
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
        iteration = _Iteration.start(self, system, v, relative, w)
        status = Status.STEP_LIMIT
        if iterate(iteration, self.max_steps):
            is_far = iteration.relative > _MAX_SOLVED_RESIDUAL
            status = Status.STALLED if is_far else Status.SOLVED
        factors = iteration.factors
        rank = None if factors is None else factors.rank
        return Outcome(
            iteration.w, cost_of(iteration.r), iteration.steps, status, rank, iteration.relative, factors
        )


class _Stage(NamedTuple):
    """A solution of the homotopy: its values and coefficients, and the outcome for the system itself."""

    v: Array
    w: Array | None
    outcome: Outcome | None = None


class _Trial(NamedTuple):
    """Coefficients, their residual and its scaled norm."""

    w: Array
    r: Array
    loss: float


@dataclass
class _Iteration:
    """State of `GaussNewton.descend`, a `NewtonIteration`."""

    method: GaussNewton
    system: Equations
    rows: Array
    """Divisors of the rows, fixed at the first step."""
    initial_loss: float
    """The norm of the scaled residual at w = 0."""
    J: Matrix
    b: Array
    v: Array
    w: Array
    r: Array
    loss: float
    """The norm of the scaled residual at w."""
    relative: float
    limit: float
    """Truncation of pivots at the relative residual 1."""
    factors: Factorization | None = None
    cut: float = np.inf
    """Truncation of the current factors."""
    steps: int = 0
    """Number of Jacobians."""
    slow: int = 0
    stuck: int = 0
    """Numbers of successive steps that are slow or stuck."""
    sizes: StepSizes = field(default_factory=StepSizes)
    """Changes of v."""
    is_new: bool = True
    """Whether the factors are those of the Jacobian at v."""
    predicted: float = np.inf
    """The norm of the linearized residual after a full step."""

    @classmethod
    def start(
        cls, method: GaussNewton, system: Equations, v: Array, relative: float, w: Array | None
    ) -> _Iteration:
        r = system.residual(np.zeros(system.shape[1]))
        J, b = system.linearize(v)
        rows = system.row_scales(J)
        initial = (_norm(r, rows) if np.isfinite(r).all() else _norm(b, rows)) or 1.0
        loss = np.inf
        if w is not None:
            r = system.residual(w)
            known = _norm(r, rows)
            loss = known if np.isfinite(known) and known > 0 else np.inf
        else:
            w = np.zeros(system.shape[1])
        return cls(method, system, rows, initial, J, b, v, w, r, loss, relative, method.truncation)

    @property
    def is_truncated(self) -> bool:
        """Whether the factors omit more than the smallest pivots."""
        return not self.cut <= self.method.linear.cond

    @property
    def min_damping(self) -> float:
        return _MIN_DAMPING if np.isfinite(self.loss) else 1.0

    def direction(self) -> Array:
        """Return the minimum of the linearized residual."""
        needed = max(self.method.linear.cond, self.limit * min(self.relative, 1.0))
        self.is_new = self.factors is None or needed < self.cut
        if self.factors is None or self.is_new:
            factors, b = self._factored(needed)
        else:
            factors, b = self.factors, self.J @ self.w - self.r
        target = factors.apply(b)
        self.predicted = _norm(self.J @ target - b, self.rows)
        return target

    def trial(self, target: Array, damping: float) -> _Trial | None:
        """Return the point that far on the way to the target, if its residual is smaller."""
        w = target if damping == 1.0 else self.w + damping * (target - self.w)
        r = self.system.residual(w)
        loss = _norm(r, self.rows) if np.isfinite(r).all() else np.inf
        return _Trial(w, r, loss) if loss < self.loss else None

    def _factored(self, cut: float) -> tuple[Factorization, Array]:
        """Return the factors of the Jacobian at v and its right-hand side."""
        if self.steps:
            self.J, self.b = self.system.linearize(self.v)
        self.steps += 1
        self.cut = cut
        self.factors = self.method.linear.factor_scaled(self.J, self.rows, cut)
        return self.factors, self.b

    def reject(self) -> bool:
        """Stay at w; the iteration ends if a new Jacobian without truncation gives no descent."""
        self._tighten(self.loss)
        if not self.is_new:
            self.factors = None  # a Jacobian of another point gives no descent
            return False
        if not self.is_truncated or self.stuck:
            return True
        self.limit, self.stuck = 0.0, self.stuck + 1
        return False

    def _tighten(self, loss: float) -> None:
        """Truncate less if the residual is due to the truncation and not to the linearization."""
        if loss < 2.0 * self.predicted:
            self.limit *= _TIGHTEN

    def accept(self, trial: _Trial, damping: float) -> bool:
        """Move to a trial; return whether the iteration has converged or makes no progress."""
        method, loss = self.method, trial.loss
        self._tighten(loss)
        # Without truncation during the iteration, full factors do not mean that the solution is close.
        close = method.to_the_last or loss < _MAX_STAGE_RESIDUAL * self.initial_loss
        self.slow = self.slow + 1 if close and not self.is_truncated and loss > _SLOW * self.loss else 0
        self.stuck = self.stuck + 1 if loss > _STUCK * self.loss else 0
        if loss > _CONTRACTION * self.loss:
            self.factors = None  # J has changed too much to be reused
        v = self.system.values(trial.w)
        self.sizes.record(float(np.abs(v - self.v).max(initial=0.0)))
        self.w, self.r, self.loss, self.v = trial.w, trial.r, loss, v
        self.relative = loss / self.initial_loss
        return (
            self._has_settled()
            or self._is_limited_by_basis()
            or self.slow >= (1 if self.relative < _ROUNDING_RESIDUAL else 2)
            or self.stuck >= 6
        )

    def _has_settled(self) -> bool:
        """Whether the remaining change of v is within the tolerance."""
        size, tolerance = float(np.abs(self.v).max(initial=0.0)), self.method.tolerance
        is_final = not self.is_truncated or tolerance > _COARSE_TOLERANCE
        return self.sizes.remaining <= tolerance * size and is_final

    def _is_limited_by_basis(self) -> bool:
        """Whether the residual stays as large as predicted: the basis cannot represent the solution."""
        near = not self.method.to_the_last and not self.is_truncated and self.relative < _MAX_STAGE_RESIDUAL
        return near and self.loss < _AS_PREDICTED * self.predicted


def _norm(r: Array, rows: Array) -> float:
    return float(np.linalg.norm(r / rows))

r"""J w⁺ = J w - r: Gauss-Newton for the whole new vector.

Solving for the update instead (J δ = -r) stalls: J is rank deficient, and components of its null
space pile up in w. The minimum-norm w⁺ has none. Row norms are fixed at the first step, so that
every step minimises the same function.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.solver.pivoted_qr import PivotedQR, norms
from pibls.solver.protocol import Equations, Outcome, cost_of
from pibls.status import Status

_SLOW = 0.5  # a step that does not halve the residual is slow


@dataclass(frozen=True)
class GaussNewton:
    """Full-step Gauss-Newton with backtracking, from the linearised start.

    Parameters
    ----------
    tolerance
        Stop when the solution moves by less than this, relative to its size.
    max_steps
        Limit on the number of Jacobians.
    perturbation, rounds
        Random restarts when it ends far from a solution: size relative to the coefficients, and
        how many (0 for none).
    """

    tolerance: float = 1e-15
    max_steps: int = 50
    perturbation: float = 0.5
    rounds: int = 3
    linear: PivotedQR = field(default_factory=PivotedQR)

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        start = np.zeros(system.shape[1])
        best = self._descend(system, start)
        for _ in range(self.rounds):
            if best.status is not Status.STALLED:
                break
            noise = rng.uniform(-1.0, 1.0, len(start)) * self.perturbation
            scale = np.sqrt(np.mean(best.w**2)) or 1.0
            again = self._descend(system, best.w + scale * noise)
            if again.cost < best.cost:
                best = again
        return best

    def _descend(self, system: Equations, w: Array) -> Outcome:
        J, r = system.jacobian(w), system.residual(w)
        rows = norms(J, 1)
        initial = loss = float(np.linalg.norm(r / rows))
        values = system.values(w)
        status, slow, steps, rank = Status.STEP_LIMIT, 0, 0, None
        for steps in range(1, self.max_steps + 1):
            factors = self.linear.factor_scaled(J, rows)
            target = factors.apply(J @ w - r)
            rank = factors.rank
            moved, r_new, loss_new = self._backtrack(system, w, target, rows, loss)
            if not loss_new < loss or system.is_linear:
                if system.is_linear or loss_new <= loss:
                    w, r, loss = moved, r_new, loss_new
                status = Status.SOLVED
                break
            values_new = system.values(moved)
            change = float(np.abs(values_new - values).max(initial=0.0))
            size = float(np.abs(values_new).max(initial=0.0))
            slow = slow + 1 if loss_new > _SLOW * loss else 0
            w, r, loss, values = moved, r_new, loss_new, values_new
            if change <= self.tolerance * size or slow >= 2:
                status = Status.SOLVED
                break
            J = system.jacobian(w)
        if status is Status.SOLVED and not system.is_linear and loss > 1e-4 * initial:
            status = Status.STALLED
        return Outcome(w, cost_of(r), steps, status, rank)

    def _backtrack(
        self, system: Equations, w: Array, target: Array, rows: Array, loss: float
    ) -> tuple[Array, Array, float]:
        """The longest of the steps 1, ½, ¼, … that lowers the residual."""
        step = 1.0
        for _ in range(12):
            moved = target if step == 1.0 else w + step * (target - w)
            r = system.residual(moved)
            new = float(np.linalg.norm(r / rows)) if np.isfinite(r).all() else np.inf
            if new < loss or system.is_linear:
                return moved, r, new
            step *= 0.5
        return w, system.residual(w), loss

r"""Trust-region method for nonlinear least squares: min ‖J p + r‖² with ‖p‖ ≤ Δ.

Without bounds, the trust-region reflective method is the method of Moré. Each Jacobian is reduced once to its
triangle R; each trial of the multiplier λ then costs one structured QR of [R; √λ I], a small fraction of the
singular value decomposition that SciPy's implementation computes at every step. Steps, radius rules and
stopping tests are those of SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array
from pibls.linalg import LinearSolver
from pibls.linalg.matrix import Matrix, as_matrix
from pibls.linalg.svd import SVD
from pibls.nonlinear.protocol import Equations, Outcome, cost_of, limited_by_basis, linear_start
from pibls.status import Status

_EPS = float(np.finfo(float).eps)
_MAX_REJECTIONS = 10
_MAX_SOLVED_RESIDUAL = 1e-4  # residual relative to the right-hand side of the linearized start


@dataclass(frozen=True)
class TrustRegion:
    """One trust-region iteration from the linearized start: Algorithm 2 without its perturbations.

    Parameters
    ----------
    ftol, xtol, gtol
        Stopping tests: relative decrease of the cost, relative step, gradient.
    max_steps
        Limit on the number of Jacobians.
    linear
        The solver for the linearized start.
    """

    ftol: float = 1e-15
    xtol: float = 1e-15
    gtol: float = 1e-15
    max_steps: int = 100
    linear: LinearSolver = field(default_factory=SVD)

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        A, b = linear_start(system)
        factors = self.linear.factor(A)
        w0 = factors.apply(b)
        w, cost, steps, settled = self.minimize(system, w0)
        relative = float(np.sqrt(2.0 * cost)) / (float(np.linalg.norm(b)) or 1.0)
        solved = relative <= _MAX_SOLVED_RESIDUAL or limited_by_basis(cost, cost_of(A @ w0 - b))
        status = Status.SOLVED if solved else Status.STALLED
        if not settled:
            status = Status.STEP_LIMIT
        return Outcome(w, cost, steps, status, factors.rank, relative)

    def minimize(self, system: Equations, w: Array) -> tuple[Array, float, int, bool]:
        """Return w, the cost ½‖r‖², the number of steps, and whether a stopping test was met."""
        r = system.residual(w)
        cost = cost_of(r)
        radius = float(np.linalg.norm(w)) or 1.0
        multiplier = 0.0
        for step in range(self.max_steps):
            J = system.jacobian(w)
            model = Triangle.of(J, r)
            if model.gradient_norm < self.gtol:
                return w, cost, step, True
            for _ in range(_MAX_REJECTIONS):
                p, multiplier = model.step(radius, multiplier)
                trial = self._tried(system, model, w, p, cost)
                new_radius = trial.radius(radius)
                multiplier *= radius / new_radius
                radius = new_radius
                if trial.decrease > 0 or trial.is_final:
                    break
            else:
                # No step, however short, reduces the cost: it is at the level of rounding.
                return w, cost, step + 1, True
            if trial.decrease > 0:
                w, r, cost = w + p, trial.r, trial.cost
            if trial.is_final:
                return w, cost, step + 1, True
        return w, cost, self.max_steps, False

    def _tried(self, system: Equations, model: Triangle, w: Array, p: Array, cost: float) -> _Trial:
        """Evaluate the step p from w, where the cost is ``cost``."""
        length = float(np.linalg.norm(p))
        r = system.residual(w + p)
        new_cost = cost_of(r)
        decrease, predicted = cost - new_cost, model.decrease(p)
        ratio = decrease / predicted if predicted > 0 else float(decrease == predicted)
        is_flat = decrease < self.ftol * cost and ratio > 0.25
        is_tiny = length < self.xtol * (self.xtol + float(np.linalg.norm(w)))
        return _Trial(length, r, new_cost, decrease, ratio, is_flat or is_tiny)


class _Trial(NamedTuple):
    """A step and its cost."""

    length: float
    r: Array
    cost: float
    decrease: float
    ratio: float
    """Decrease of the cost relative to that of the model."""
    is_final: bool
    """Whether a stopping test is met."""

    def radius(self, radius: float) -> float:
        """Return the next radius of the trust region."""
        if self.ratio < 0.25:
            return 0.25 * self.length
        if self.ratio > 0.75 and self.length > 0.95 * radius:
            return 2.0 * radius
        return radius


@dataclass
class Triangle:
    """The quadratic model ½‖J p + r‖² by J = QR: the triangle R and c = Qᵀr."""

    R: Array
    c: Array
    gradient_norm: float

    @classmethod
    def of(cls, J: Matrix, r: Array) -> Triangle:
        R, c = as_matrix(J).triangle(r)
        return cls(R, c, float(np.abs(R.T @ c).max(initial=0.0)))

    def decrease(self, p: Array) -> float:
        """Return the decrease of the model for the step p."""
        Rp = self.R @ p
        return -float(0.5 * Rp @ Rp + Rp @ self.c)

    def step(self, radius: float, multiplier: float) -> tuple[Array, float]:
        """Return the minimiser with ‖p‖ ≤ radius (within 1 %) and its multiplier λ, by Newton on ‖p(λ)‖."""
        floor = (0.1 * _EPS * float(np.abs(np.diagonal(self.R)).max(initial=0.0))) ** 2
        # No multiplier is tried that corresponds to singular values below rounding.
        floor = max(floor, float(np.finfo(float).tiny))
        low, high = floor, np.inf
        trial = max(multiplier, floor)
        p = np.zeros(len(self.c))
        for _ in range(10):
            p, slope = self._regularized(trial)
            length = float(np.linalg.norm(p))
            excess = length - radius
            if abs(excess) <= 0.01 * radius or (excess < 0 and trial <= floor):
                break
            if excess < 0:
                high = min(high, trial)
            else:
                low = max(low, trial)
            # Newton for 1/‖p‖ - 1/Δ, which is nearly linear in λ; safeguarded by the bracket.
            newton = trial + (excess / radius) * length**2 / max(slope, np.finfo(float).tiny)
            if not low < newton < high:
                newton = np.sqrt(low * high) if np.isfinite(high) else 10.0 * trial
            trial = max(newton, floor)
        length = float(np.linalg.norm(p))
        if length > radius:
            p *= radius / length
        return p, trial

    def _regularized(self, multiplier: float) -> tuple[Array, float]:
        """Return p = argmin ‖R p + c‖² + λ‖p‖², and -½ d‖p‖²/dλ = ‖R_λ⁻ᵀ p‖²."""
        from scipy.linalg import lapack

        m = len(self.c)
        block = min(32, m)
        root = np.sqrt(multiplier) * np.eye(m, order="F")
        R, V, T, _ = lapack.dtpqrt(m, block, self.R, root, overwrite_b=True)
        top, _, _ = lapack.dtpmqrt(m, V, T, -self.c[:, None], np.zeros((m, 1)), side="L", trans="T")
        p, _ = lapack.dtrtrs(R, top)
        q, _ = lapack.dtrtrs(R, p, trans=1)
        return p[:, 0], float(q[:, 0] @ q[:, 0])

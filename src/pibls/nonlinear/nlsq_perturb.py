r"""Algorithm 2 of the paper: W ← NLSQ(W₀); while 𝓛 > 𝓛_tol: W ← NLSQ(W + Random(-δ, δ))."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.errors import ProblemError
from pibls.linalg import LinearSolver
from pibls.linalg.svd import SVD
from pibls.nonlinear.protocol import (
    Equations,
    Outcome,
    check_nonnegative,
    cost_of,
    limited_by_basis,
    linear_start,
)
from pibls.nonlinear.trust_region import TrustRegion
from pibls.status import Status

STARTS = ("linearised", "linear terms", "zero")


@dataclass(frozen=True)
class NLSQPerturb:
    """Algorithm 2: linearized start, trust-region least squares, random perturbations.

    Parameters
    ----------
    delta
        δ: perturbations are uniform in (-δ, δ), for every weight.
    rounds
        k_max: the maximum number of perturbations.
    tolerance
        𝓛_tol: no perturbation is tried if ‖r‖² is below this.
    trust_region
        The inner nonlinear least-squares method.
    linear
        The solver for the linearized start.
    random_factors
        Perturb w to ξ₂w + Random(-ξ₁δ, ξ₁δ) with ξ₁, ξ₂ uniform in (0, 1), as in Dong and Li (2021) and in
        the code of the paper's authors, instead of w + Random(-δ, δ), as in the paper.
    start
        W₀: "linearised" about a constant; "linear terms", with the nonlinear ones dropped; or "zero".
    """

    delta: float = 0.5
    rounds: int = 5
    tolerance: float = 1e-10
    trust_region: TrustRegion = field(default_factory=TrustRegion)
    linear: LinearSolver = field(default_factory=SVD)
    random_factors: bool = False
    start: str = "linearised"

    def __post_init__(self) -> None:
        check_nonnegative("NLSQPerturb", delta=self.delta, rounds=self.rounds, tolerance=self.tolerance)
        if self.start not in STARTS:
            raise ProblemError(
                "NLSQPerturb(start)",
                expected=f"one of {', '.join(map(repr, STARTS))}",
                got=repr(self.start),
                remedy="Leave start out to use that of the paper.",
            )

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        A, b = system.linear_part() if self.start == "linear terms" else linear_start(system)
        linear = self.linear.factor(A).apply(b)
        w0 = np.zeros(len(linear)) if self.start == "zero" else linear
        w, cost, steps, settled = self.trust_region.minimize(system, w0)
        for _ in range(self.rounds):
            if 2.0 * cost < self.tolerance:
                break
            by, kept = rng.uniform(size=2) if self.random_factors else (1.0, 1.0)
            guess = kept * w + by * rng.uniform(-self.delta, self.delta, len(w))
            w_new, cost_new, more, settled_new = self.trust_region.minimize(system, guess)
            steps += more
            if cost_new < cost:
                w, cost, settled = w_new, cost_new, settled_new
        solved = 2.0 * cost < self.tolerance
        if settled and not solved:
            # A residual due to the basis is not a stall; the validation residual measures the resolution.
            solved = limited_by_basis(cost, cost_of(A @ linear - b))
        status = Status.SOLVED if solved else Status.STALLED if settled else Status.STEP_LIMIT
        return Outcome(w, cost, steps, status)

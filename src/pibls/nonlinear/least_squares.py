r"""Algorithm 1 of the paper: the linear system A_sys W = T in the least-squares sense."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.errors import ProblemError
from pibls.linalg import LinearSolver, PivotedQR
from pibls.linalg.matrix import as_matrix
from pibls.linalg.protocol import is_linear_solver
from pibls.linalg.svd import SVD
from pibls.nonlinear.gauss_newton import GaussNewton
from pibls.nonlinear.protocol import Equations, Outcome, cost_of, linear_start
from pibls.status import Status


@dataclass(frozen=True)
class LeastSquares:
    """Algorithm 1: one linear least-squares solve.

    ``linear`` is the solver for the matrix: `SVD` as published, or `PivotedQR`, which is more
    accurate and faster.
    """

    linear: LinearSolver = field(default_factory=SVD)

    def __post_init__(self) -> None:
        if not is_linear_solver(self.linear):
            raise ProblemError(
                "LeastSquares(linear)",
                expected="SVD(), PivotedQR(), RidgeQR() or an object with factor(A)",
                got=repr(self.linear),
                remedy="Pass an object: LeastSquares(PivotedQR()).",
            )

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        if not system.is_linear:
            raise ProblemError(
                "method",
                expected="a method for nonlinear problems (GaussNewton or NLSQPerturb)",
                got="LeastSquares, and the problem is nonlinear",
                remedy="Leave method out, or pass GaussNewton().",
            )
        A, b = linear_start(system)
        factors = self.linear.factor(A)
        w = factors.apply(b)
        return Outcome(w, cost_of(system.residual(w)), 1, Status.SOLVED, factors.rank)


@dataclass(frozen=True)
class StructuredLeastSquares:
    """One linear least-squares solve by the factorization that suits the matrix.

    Pivoted QR for a dense matrix, which is the most accurate if columns are nearly dependent; block QR
    (`linalg.tree`) for a block-sparse matrix, whose dense form may not fit into memory: 28 x 28 cells of 64
    functions in the plane need 108 GiB.
    """

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        A, _ = linear_start(system)
        if as_matrix(A).is_sparse:
            return GaussNewton().linear_solve(system)
        return LeastSquares(PivotedQR()).solve(system, rng)

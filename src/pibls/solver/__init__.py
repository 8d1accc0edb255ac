"""Solvers: one algorithm per file. Linear ones factor and apply; methods take a system to an outcome."""

from pibls.solver.gauss_newton import GaussNewton
from pibls.solver.least_squares import LeastSquares
from pibls.solver.nlsq_perturb import NLSQPerturb
from pibls.solver.pivoted_qr import PivotedQR
from pibls.solver.protocol import Equations, Factorization, LinearSolver, Method, Outcome
from pibls.solver.ridge_qr import RidgeQR
from pibls.solver.svd import SVD
from pibls.solver.trust_region import TrustRegion

__all__ = [
    "SVD",
    "Equations",
    "Factorization",
    "GaussNewton",
    "LeastSquares",
    "LinearSolver",
    "Method",
    "NLSQPerturb",
    "Outcome",
    "PivotedQR",
    "RidgeQR",
    "TrustRegion",
]

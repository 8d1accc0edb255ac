"""Methods: one algorithm per file, each takes a system to an outcome."""

from pibls.solver.gauss_newton import GaussNewton
from pibls.solver.least_squares import LeastSquares, StructuredLeastSquares
from pibls.solver.nlsq_perturb import NLSQPerturb
from pibls.solver.protocol import Equations, Method, Outcome
from pibls.solver.trust_region import TrustRegion

__all__ = [
    "Equations",
    "GaussNewton",
    "LeastSquares",
    "Method",
    "NLSQPerturb",
    "Outcome",
    "StructuredLeastSquares",
    "TrustRegion",
]

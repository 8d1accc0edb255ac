"""Methods: one algorithm per file, each takes a system to an outcome."""

from pibls.nonlinear.gauss_newton import GaussNewton
from pibls.nonlinear.least_squares import LeastSquares, StructuredLeastSquares
from pibls.nonlinear.nlsq_perturb import NLSQPerturb
from pibls.nonlinear.protocol import Equations, Method, Outcome
from pibls.nonlinear.trust_region import TrustRegion

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

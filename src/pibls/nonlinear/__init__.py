"""Methods for nonlinear least-squares problems: Algorithms 1 and 2 of the paper, Gauss-Newton, Newton."""

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

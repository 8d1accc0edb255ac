"""Linear least squares and linear systems: one factorization per module, each with factor and apply."""

from pibls.linalg.pivoted_qr import PivotedQR
from pibls.linalg.protocol import Factorization, LeverageFactorization, LinearSolver, ScaledSolver
from pibls.linalg.ridge_qr import RidgeQR
from pibls.linalg.svd import SVD

__all__ = [
    "SVD",
    "Factorization",
    "LeverageFactorization",
    "LinearSolver",
    "PivotedQR",
    "RidgeQR",
    "ScaledSolver",
]

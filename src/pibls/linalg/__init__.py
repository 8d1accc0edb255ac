"""Linear least squares: one factorisation per file, each with factor and apply."""

from pibls.linalg.pivoted_qr import PivotedQR
from pibls.linalg.protocol import Factorization, LinearSolver, ScaledSolver
from pibls.linalg.ridge_qr import RidgeQR
from pibls.linalg.svd import SVD

__all__ = ["SVD", "Factorization", "LinearSolver", "PivotedQR", "RidgeQR", "ScaledSolver"]

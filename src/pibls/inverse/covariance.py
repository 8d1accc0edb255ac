r"""Covariance C = (JᵀJ)⁻¹ and correlation of the fitted parameters."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.inverse.losses import influence

RANK_TOLERANCE = 1e-5
"""Relative singular values of the scaled Jacobian up to this are zero: derivatives are accurate to 1e-6."""


def parameter_covariance(jacobian: Array, theta: Array, sigma: Array, residuals: Array, loss: str) -> Array:
    """Return the covariance of the parameters; infinite for parameters that the data do not determine.

    With a robust loss it is that of an M-estimator, E ψ² / (E ψ')² (JᵀJ)⁻¹.
    """
    A = jacobian / sigma[:, None]
    size = np.linalg.norm(A, axis=0)
    relative = size * np.where(theta != 0, np.abs(theta), 1.0)
    without_effect = relative <= RANK_TOLERANCE * relative.max(initial=0.0)
    size = np.where(size > 0, size, 1.0)
    A = np.where(without_effect, 0.0, A / size)
    _, s, Vt = np.linalg.svd(A, full_matrices=True)
    s = np.concatenate([s, np.zeros(len(Vt) - len(s))])
    with np.errstate(divide="ignore"):
        inverse = np.where(s > RANK_TOLERANCE * s.max(initial=0.0), 1.0 / s**2, np.inf)
    determined = np.isfinite(inverse)
    C = (Vt[determined].T * inverse[determined]) @ Vt[determined]
    if not determined.all():
        # A parameter with a component along an undetermined direction is not determined itself.
        share = np.abs(Vt[~determined]).max(axis=0)
        C[np.diag_indices(len(C))] += np.where(share > 1e-4, np.inf, 0.0)
    C = C / np.outer(size, size)
    if loss != "linear":
        psi, slope = influence(loss, residuals)
        n, p = jacobian.shape
        C = C * (np.sum(psi**2) / max(n - p, 1)) / max(float(np.mean(slope)), 1e-3) ** 2
    return np.asarray(C)


def correlation_matrix(C: Array) -> Array:
    """Return C_ij/√(C_ii C_jj); NaN for parameters that are not determined."""
    std = np.sqrt(np.diag(C))
    with np.errstate(invalid="ignore", divide="ignore"):
        out = C / np.outer(std, std)
    out[np.diag_indices(len(out))] = 1.0
    return np.asarray(out)

r"""C = (JᵀJ)⁻¹: how far the noise of the data moves the parameters."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.inverse.losses import weight_of

NULL = 1e-5
"""Singular values of the scaled Jacobian, relative, that are none: derivatives are right to 1e-6 or so."""


def covariance_of(jacobian: Array, theta: Array, sigma: Array, residuals: Array, loss: str) -> Array:
    """The covariance of the parameters; infinite along what the data do not determine.

    With a robust loss that of an M-estimator, E ψ² / (E ψ')² (JᵀJ)⁻¹.
    """
    A = jacobian / sigma[:, None]
    size = np.linalg.norm(A, axis=0)
    relative = size * np.where(theta != 0, np.abs(theta), 1.0)
    dead = relative <= NULL * relative.max(initial=0.0)
    size = np.where(size > 0, size, 1.0)
    A = np.where(dead, 0.0, A / size)
    _, s, Vt = np.linalg.svd(A, full_matrices=True)
    s = np.concatenate([s, np.zeros(len(Vt) - len(s))])
    with np.errstate(divide="ignore"):
        inverse = np.where(s > NULL * s.max(initial=0.0), 1.0 / s**2, np.inf)
    fine = np.isfinite(inverse)
    C = (Vt[fine].T * inverse[fine]) @ Vt[fine]
    if not fine.all():
        # A parameter that moves along an undetermined direction is not determined itself.
        share = np.abs(Vt[~fine]).max(axis=0)
        C[np.diag_indices(len(C))] += np.where(share > 1e-4, np.inf, 0.0)
    C = C / np.outer(size, size)
    if loss != "linear":
        psi, slope = weight_of(loss, residuals)
        n, p = jacobian.shape
        C = C * (np.sum(psi**2) / max(n - p, 1)) / max(float(np.mean(slope)), 1e-3) ** 2
    return np.asarray(C)


def correlation_of(C: Array) -> Array:
    """C_ij/√(C_ii C_jj); NaN where nothing is determined."""
    std = np.sqrt(np.diag(C))
    with np.errstate(invalid="ignore", divide="ignore"):
        out = C / np.outer(std, std)
    out[np.diag_indices(len(out))] = 1.0
    return np.asarray(out)

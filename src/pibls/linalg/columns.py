"""A S, and X with A X = B, for several columns: at once where the matrix is held whole, else one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.linalg.rows import Matrix


def times(A: Matrix, S: Array) -> Array:
    """A S, (rows, columns of S)."""
    if isinstance(A, np.ndarray):
        return np.asarray(A @ S)
    return np.column_stack([A @ s for s in S.T])


def applied(factors: Any, A: Matrix, B: Array) -> Array:
    """The least-squares solutions for all columns of B; ``factors`` are those of a matrix like A."""
    if isinstance(A, np.ndarray):
        return np.asarray(factors.apply(B))
    return np.column_stack([factors.apply(b) for b in B.T])

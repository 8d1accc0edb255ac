"""The polynomial of one time window of an ordinary differential equation, as a function of time."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.basis.polynomials.chebyshev import ChebyshevBasis
from pibls.spaces import SingleDomainSpace
from pibls.time.trajectory import Window


def solution_window(C: Array, start: float, stop: float) -> Window:
    """Return a window as a function, from Chebyshev coefficients (unknowns, size)."""
    size = C.shape[1]
    if stop < start:
        C = C * (-1.0) ** np.arange(size)  # integrated backwards: the same polynomials of -ξ
    basis = ChebyshevBasis(size, np.array([0.5 * (start + stop)]), np.array([0.5 * abs(stop - start)]))
    return Window(SingleDomainSpace.shared(basis, len(C)), C.ravel(), start, stop)

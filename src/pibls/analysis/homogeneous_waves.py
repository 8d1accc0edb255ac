r"""Wavenumbers of homogeneous plane-wave solutions: real ξ with det A(iξ) = 0.

u'' + k²u = f has the homogeneous solution sin kx. A basis too small to represent it finds a single smooth
solution; whether the conditions exclude the waves is known only if the basis resolves them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pibls.arrays import Array
from pibls.problem.forms.compilation import CompiledProblem

_WAVENUMBERS = np.geomspace(1.0, 2000.0, 400)  # times the half-length of the box; neighbours differ by 2 %
_MAX_RELATIVE_SYMBOL = 0.05  # relative to its terms: size of the symbol next to a root


def max_wavenumber(compiled: CompiledProblem, coefficients: Sequence[Array], box: Array) -> float:
    """Return the largest ξ of homogeneous waves along an axis, times the half-length of the box; 0 if none.

    ``coefficients`` are those of the linear terms of each equation, (terms, points).
    """
    equations = compiled.equations
    n, half = compiled.unknowns, 0.5 * np.ptp(box, axis=1)
    if len(equations) != n:
        return 0.0
    largest = 0.0
    for axis in range(len(box)):
        A = np.zeros((len(_WAVENUMBERS), coefficients[0].shape[1], n, n), dtype=complex)
        sizes = np.zeros((*A.shape[:3], 1))
        for i, (r, c) in enumerate(zip(equations, coefficients, strict=True)):
            for derivative, a in zip(r.linear, c, strict=True):
                if sum(derivative.alpha) == derivative.alpha[axis]:
                    term = (1j * _WAVENUMBERS / half[axis])[:, None] ** derivative.alpha[axis] * a
                    A[:, :, i, derivative.unknown] += term
                    sizes[:, :, i, 0] += np.abs(term)
        A /= np.maximum(sizes, 1e-300)
        left = np.abs(A[..., 0]) if n == 1 else np.linalg.svd(A, compute_uv=False)
        near = np.flatnonzero((left[..., -1] < _MAX_RELATIVE_SYMBOL).any(axis=1))
        largest = max(largest, float(_WAVENUMBERS[near].max(initial=0.0)))
    return largest

r"""det A(iξ) = 0, ξ real: the waves that solve the equations by themselves.

u'' + k²u = f has sin kx beside any solution that is smooth. Functions that are too few to show it see one
solution, and are content: whether the ends leave such waves free is known only where they are resolved.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pibls.arrays import Array
from pibls.problem.forms.lowering import LoweredProblem

_WAVES = np.geomspace(1.0, 2000.0, 400)  # of half a box; neighbours differ by 2 %
_SMALL = 0.05  # of its terms: what is left next to a root


def shortest(lowered: LoweredProblem, coefficients: Sequence[Array], box: Array) -> float:
    """The largest ξ of such waves along an axis, in units of half the box; 0 where there are none.

    ``coefficients`` are those of the equations' jets, (jets, places).
    """
    equations = [r for r in lowered.residuals if r.region.is_inside]
    n, half = lowered.unknowns, 0.5 * np.ptp(box, axis=1)
    if len(equations) != n:
        return 0.0
    longest = 0.0
    for axis in range(len(box)):
        A = np.zeros((len(_WAVES), coefficients[0].shape[1], n, n), dtype=complex)
        sizes = np.zeros((*A.shape[:3], 1))
        for i, (r, c) in enumerate(zip(equations, coefficients, strict=True)):
            for jet, a in zip(r.linear, c, strict=True):
                if sum(jet.alpha) == jet.alpha[axis]:
                    term = (1j * _WAVES / half[axis])[:, None] ** jet.alpha[axis] * a
                    A[:, :, i, jet.unknown] += term
                    sizes[:, :, i, 0] += np.abs(term)
        A /= np.maximum(sizes, 1e-300)
        left = np.abs(A[..., 0]) if n == 1 else np.linalg.svd(A, compute_uv=False)
        near = np.flatnonzero((left[..., -1] < _SMALL).any(axis=1))
        longest = max(longest, float(_WAVES[near].max(initial=0.0)))
    return longest

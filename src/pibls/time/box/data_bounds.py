r"""Lower bounds of the magnitudes of the unknowns from boundary data, max abs(u) ≥ max abs(g).

An evolution that starts at zero has no scale for relative tolerances: with u = 0 initially and u = sin 20t at
one end, a hundred windows before t = 1e-6 resolved u to 1e-10 of its tiny values.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pibls.arrays import Array
from pibls.problem.forms.compilation import Residual

_SAMPLE_TIMES = 65


def boundary_data_bounds(
    conditions: Iterable[tuple[Residual, Array, Array]], axis: int, span: tuple[float, float], unknowns: int
) -> Array:
    """Return the largest value prescribed for each unknown at any time; zero if there is none."""
    out = np.zeros(unknowns)
    times = np.linspace(*span, _SAMPLE_TIMES)
    for r, points, normals in conditions:
        if r.nonlinear or len(r.linear) != 1 or any(r.linear[0].alpha):
            continue
        X = np.repeat(points.reshape(-1, points.shape[-1]), len(times), axis=0)
        N = np.repeat(normals.reshape(-1, points.shape[-1]), len(times), axis=0)
        X[:, axis] = np.tile(times, len(X) // len(times))
        data = r.data_function_values(X)
        with np.errstate(all="ignore"):
            value = r.rest(X, N, data, np.empty((0, len(X)))) / r.coefficients(X, N, data)[0]
        found = np.abs(value[np.isfinite(value)]).max(initial=0.0)
        k = r.linear[0].unknown
        out[k] = max(out[k], float(found))
    return out

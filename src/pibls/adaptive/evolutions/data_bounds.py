r"""max|u| ≥ max|g|: how large the unknowns become at least, as far as the data say beforehand.

An evolution that begins at zero has no size to compare its windows with: u = 0 with u = sin 20t at one end
was followed to 1e-10 of itself, in a hundred windows before t = 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pibls.arrays import Array
from pibls.problem.forms.lowering import Residual

_TIMES = 65


def sizes_given(
    conditions: Iterable[tuple[Residual, Array, Array]], axis: int, span: tuple[float, float], unknowns: int
) -> Array:
    """The largest value that a condition gives each unknown at some time; zero where none does."""
    out = np.zeros(unknowns)
    times = np.linspace(*span, _TIMES)
    for r, points, normals in conditions:
        if r.nonlinear or len(r.linear) != 1 or any(r.linear[0].alpha):
            continue
        X = np.repeat(points.reshape(-1, points.shape[-1]), len(times), axis=0)
        N = np.repeat(normals.reshape(-1, points.shape[-1]), len(times), axis=0)
        X[:, axis] = np.tile(times, len(X) // len(times))
        data = r.known_data(X)
        with np.errstate(all="ignore"):
            value = r.rest(X, N, data, np.empty((0, len(X)))) / r.coefficients(X, N, data)[0]
        found = np.abs(value[np.isfinite(value)]).max(initial=0.0)
        k = r.linear[0].unknown
        out[k] = max(out[k], float(found))
    return out

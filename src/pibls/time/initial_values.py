"""Initial values of an evolution at points of space, and scales of unknowns that start at zero."""

from __future__ import annotations

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.problem.forms.compilation import CompiledProblem
from pibls.time.thresholds import TIME_STEPPING


def initial_values_at(compiled: CompiledProblem, e: Evolution, X: Array) -> Array:
    """Solve the initial conditions for ∂_t^a u at points X, (time derivatives, unknowns, N)."""
    columns = [(a, k) for k, order in enumerate(e.orders) for a in range(order)]
    A = np.zeros((len(X), len(columns), len(columns)))
    b = np.zeros((len(X), len(columns)))
    normals = np.zeros_like(X)
    for row, i in enumerate(e.initial_conditions):
        r = compiled.residuals[i]
        data = r.data_function_values(X)
        for j, c in zip(r.linear, r.coefficients(X, normals, data), strict=True):
            A[:, row, columns.index((j.alpha[e.axis], j.unknown))] += c
        b[:, row] = -r.rest(X, normals, data, np.empty((0, len(X))))
    out = np.zeros((max(e.orders), compiled.unknowns, len(X)))
    found = np.linalg.solve(A, b[:, :, None])[:, :, 0]
    for column, (a, k) in enumerate(columns):
        out[a, k] = found[:, column]
    return out


def magnitude_floor(initial_magnitudes: Array, expected: Array | None) -> Array:
    """Return scales for unknowns that are zero initially: the ``expected`` max abs(u), if known.

    Without them, u_t = Δu + 1 from zero is resolved relative to its tiny values from 1e-7 of the duration.
    """
    floor = np.full_like(initial_magnitudes, TIME_STEPPING.min_magnitude)
    return floor if expected is None else np.where(initial_magnitudes == 0, expected, floor)

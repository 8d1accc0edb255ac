"""Exact solutions of y' = A_p y + b_p in layers x_p < x < x_{p+1} with y continuous, by matrix exponentials.

References for interface problems. The state y consists of continuous quantities, such as (u, k u', w, w').
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import expm

from pibls.arrays import Array

LayerSpec = tuple[float, Array, Array]
"""The upper end, A (n, n) and b (n,)."""


@dataclass(frozen=True)
class LayeredSolution:
    """The solution, by its state at the lower end of each layer and the matrix of each layer."""

    ends: tuple[float, ...]
    matrices: tuple[Array, ...] = field(repr=False)
    """[[A, b], [0, 0]] of each layer."""
    states: tuple[Array, ...]
    """(y, 1) at the lower end of each layer."""

    @classmethod
    def solve(
        cls, layers: Sequence[LayerSpec], first: dict[int, float], last: dict[int, float]
    ) -> LayeredSolution:
        """On (0, end): ``first`` and ``last`` prescribe components of y at the two ends."""
        n = len(layers[0][2])
        ends = (0.0, *(end for end, _, _ in layers))
        matrices = tuple(np.vstack([np.column_stack([A, b]), np.zeros(n + 1)]) for _, A, b in layers)
        propagator = np.eye(n + 1)
        propagators = [expm(M * (b - a)) for M, a, b in zip(matrices, ends, ends[1:], strict=False)]
        for exponential in propagators:
            propagator = exponential @ propagator
        rows = [np.eye(n + 1)[i] for i in first] + [propagator[i] for i in last]
        prescribed = [*first.values(), *last.values()]
        rhs = [p - r[n] for p, r in zip(prescribed, rows, strict=True)]
        start = np.linalg.solve([r[:n] for r in rows], rhs)
        states = [np.append(start, 1.0)]
        for exponential in propagators[:-1]:
            states.append(exponential @ states[-1])
        return cls(ends, matrices, tuple(states))

    def __call__(self, X: Array) -> Array:
        """Return y at points, of shape (n, points)."""
        layer = np.clip(np.searchsorted(self.ends, X, side="right") - 1, 0, len(self.matrices) - 1)
        columns = [
            (expm(self.matrices[p] * (x - self.ends[p])) @ self.states[p])[:-1]
            for p, x in zip(layer.tolist(), X.tolist(), strict=True)
        ]
        return np.column_stack(columns)

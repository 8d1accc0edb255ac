"""y' = A_p y + b_p in layers x_p < x < x_{p+1}, with y continuous: exact solutions by matrix exponentials.

References for problems across interfaces. The state y holds what is continuous, such as (u, k u', w, w').
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import expm

from pibls.arrays import Array

Layer = tuple[float, Array, Array]
"""The upper end, A (n, n) and b (n,)."""


@dataclass(frozen=True)
class Layered:
    """The state at the lower ends of the layers, and the law of each."""

    ends: tuple[float, ...]
    laws: tuple[Array, ...] = field(repr=False)
    """[[A, b], [0, 0]] of each layer."""
    states: tuple[Array, ...]
    """(y, 1) at the lower end of each layer."""

    @classmethod
    def solve(cls, layers: Sequence[Layer], first: dict[int, float], last: dict[int, float]) -> Layered:
        """On (0, end): ``first`` and ``last`` give components of y at the two ends."""
        n = len(layers[0][2])
        ends = (0.0, *(end for end, _, _ in layers))
        laws = tuple(np.vstack([np.column_stack([A, b]), np.zeros(n + 1)]) for _, A, b in layers)
        through = np.eye(n + 1)
        steps = [expm(M * (b - a)) for M, a, b in zip(laws, ends, ends[1:], strict=False)]
        for step in steps:
            through = step @ through
        rows = [np.eye(n + 1)[i] for i in first] + [through[i] for i in last]
        given = [*first.values(), *last.values()]
        start = np.linalg.solve([r[:n] for r in rows], [g - r[n] for g, r in zip(given, rows, strict=True)])
        states = [np.append(start, 1.0)]
        for step in steps[:-1]:
            states.append(step @ states[-1])
        return cls(ends, laws, tuple(states))

    def __call__(self, X: Array) -> Array:
        """y at points, (n, points)."""
        layer = np.clip(np.searchsorted(self.ends, X, side="right") - 1, 0, len(self.laws) - 1)
        columns = [
            (expm(self.laws[p] * (x - self.ends[p])) @ self.states[p])[:-1]
            for p, x in zip(layer.tolist(), X.tolist(), strict=True)
        ]
        return np.column_stack(columns)

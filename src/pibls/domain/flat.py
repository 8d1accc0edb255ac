"""x_axis = level: a face of an axis-parallel box."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, Mask
from pibls.domain.face import ON, Boundary, Face


@dataclass(frozen=True)
class FlatFace:
    """x_axis = bounds[axis, side]: a face of an axis-parallel box."""

    owner: object
    bounds: tuple[tuple[float, float], ...]
    axis: int
    side: int

    has_chart = True
    is_closed = False

    @property
    def dimension(self) -> int:
        return len(self.bounds) - 1

    @property
    def level(self) -> float:
        """Where it is along its axis."""
        return self.bounds[self.axis][self.side]

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        n, d = len(U), len(self.bounds)
        free = [i for i in range(d) if i != self.axis]
        X = np.empty((n, d))
        X[:, self.axis] = self.level
        for column, i in enumerate(free):
            low, high = self.bounds[i]
            u = U[:, column]
            # This form, unlike low + (high - low) u, gives both ends exactly.
            X[:, i] = low * (1.0 - u) + high * u
        return Boundary(X, self.normals(X), (self.owner,) * n)

    def normals(self, X: Array) -> Array:
        out = np.zeros((len(X), len(self.bounds)))
        out[:, self.axis] = 1.0 if self.side else -1.0
        return out

    def measure(self, lengths: Array) -> float:
        sides = [(b - a) / lengths[i] for i, (a, b) in enumerate(self.bounds) if i != self.axis]
        return float(np.prod(sides))

    def touches(self, X: Array, tolerance: Array) -> Mask:
        low, high = np.array(self.bounds).T
        inside = np.all((low - tolerance <= X) & (high + tolerance >= X), axis=1)
        on = np.abs(X[:, self.axis] - self.level) <= tolerance[self.axis]
        return np.asarray(inside & on, dtype=np.bool_)

    def plane(self) -> tuple[int, float] | None:
        return self.axis, self.level

    def clipped(self, box: Array) -> tuple[Face, ...]:
        slack = ON * (box[:, 1] - box[:, 0])
        inward = self.level + (-2.0 if self.side else 2.0) * slack[self.axis]
        if not box[self.axis, 0] - slack[self.axis] <= inward <= box[self.axis, 1] + slack[self.axis]:
            return ()
        ends = []
        for i, (low, high) in enumerate(self.bounds):
            a, b = (low, high) if i == self.axis else (max(low, box[i, 0]), min(high, box[i, 1]))
            if b - a <= slack[i]:
                return ()
            ends.append((float(a), float(b)))
        return (replace(self, bounds=tuple(ends)),)

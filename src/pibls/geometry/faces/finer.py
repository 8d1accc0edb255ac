"""{f = 0} between the nodes of a grid: a hole or a neck that is smaller than its cells changes no sign there.

Where |f| is not larger than |∇f| times half the size of a cell, a zero may lie in it; such are halved until
they have one, or none. What faces run through is known already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.deadline import check_deadline
from pibls.geometry.faces.face import bisected

_HALVINGS = 12
_MANY = 200_000  # cells: f is almost zero along a whole curve, or everywhere
_NEAR = 0.5  # of a cell: points of a face stand closer


@dataclass(frozen=True)
class Sieve:
    """``side`` cells along each side of a box (d, 2)."""

    around: Array
    side: int

    @cached_property
    def nodes(self) -> Array:
        """All of them, ((side + 1)^d, d)."""
        axes = [np.linspace(a, b, self.side + 1) for a, b in self.around]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

    @property
    def steps(self) -> Array:
        """The sides of a cell."""
        return np.asarray((self.around[:, 1] - self.around[:, 0]) / self.side)

    @property
    def reach(self) -> float:
        """The longest of them."""
        return float(self.steps.max())

    @property
    def rim(self) -> Mask:
        """Which nodes lie on the boundary of the box."""
        inner = np.zeros((self.side + 1,) * len(self.around), dtype=np.bool_)
        inner[(slice(1, -1),) * len(self.around)] = True
        return np.asarray(~inner.ravel())


def unseen(
    f: Callable[[Array], Array], gradient: Callable[[Array], Array], grid: Sieve, values: Array, known: Array
) -> tuple[Array, float] | None:
    """A zero of f that is in no cell with a change of sign and not near to ``known`` points of {f = 0}, and
    the size of the cell in which it showed."""
    from scipy.spatial import cKDTree

    check_deadline()
    d, near, tree = known.shape[1], _NEAR * grid.reach, cKDTree(known)
    corners = np.array(list(product((0, 1), repeat=d)))

    def slope(X: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.linalg.norm(gradient(X), axis=1))

    def suspect(v: Array, slopes: Array, steps: Array) -> Mask:
        return np.asarray(np.abs(v).min(axis=0) <= 0.5 * np.linalg.norm(steps) * slopes.max(axis=0))

    def far(X: Array) -> Mask:
        return np.asarray(np.isinf(tree.query(X, distance_upper_bound=near)[0]))

    strides = (grid.side + 1) ** np.arange(d - 1, -1, -1)
    first = (
        np.stack(np.meshgrid(*(np.arange(grid.side),) * d, indexing="ij"), axis=-1).reshape(-1, d) @ strides
    )
    numbers = first + (corners @ strides)[:, None]
    numbers = numbers[:, (values[numbers] > 0).all(axis=0) | (values[numbers] <= 0).all(axis=0)]
    low, steps = grid.nodes[numbers[0]], grid.steps
    low = low[suspect(values[numbers], slope(grid.nodes)[numbers], steps)]
    for _ in range(_HALVINGS):
        steps = 0.5 * steps
        low = (low + (corners * steps)[:, None]).reshape(-1, d)
        low = low[far(low + 0.5 * steps)]
        if not 0 < len(low) <= _MANY:
            return None
        X = low + (corners * steps)[:, None]
        flat = X.reshape(-1, d)
        v = f(flat).reshape(len(corners), -1)
        inside = v <= 0
        mixed = inside.any(axis=0) & ~inside.all(axis=0)
        if mixed.any():
            rows = np.flatnonzero(mixed)
            a, b = X[inside[:, rows].argmax(axis=0), rows], X[(~inside[:, rows]).argmax(axis=0), rows]
            zeros = bisected(lambda c: (f(c) <= 0)[:, None], a, b)[0]
            zeros = zeros[far(zeros)]
            if len(zeros):
                return zeros[0], float(steps.max())
        low = low[~mixed & suspect(v, slope(flat).reshape(v.shape), steps)]
    return None

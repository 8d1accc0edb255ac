"""Search for zeros of f in grid cells without a sign change at their corners, such as small holes or necks.

A cell may contain a zero if |f| is at most |∇f| times half its diagonal at the corners. Such cells are
bisected until a zero is found or excluded. Cells near known faces are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.face import bisect
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline

_MAX_HALVINGS = 12
_MAX_CELLS = 200_000  # more arise if f is almost zero along a curve or everywhere
_KNOWN_DISTANCE = 0.5  # of a cell: points of known faces are closer to each other


@dataclass(frozen=True)
class UniformGrid:
    """A uniform grid with ``side`` cells along each side of a box (d, 2)."""

    box: Array
    side: int

    @cached_property
    def nodes(self) -> Array:
        """The grid nodes, ((side + 1)^d, d)."""
        axes = [np.linspace(a, b, self.side + 1) for a, b in self.box]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

    @property
    def steps(self) -> Array:
        """The side lengths of a cell, (d,)."""
        return np.asarray((self.box[:, 1] - self.box[:, 0]) / self.side)

    @property
    def max_step(self) -> float:
        """The longest side of a cell."""
        return float(self.steps.max())

    @property
    def on_boundary(self) -> Mask:
        """Which nodes lie on the boundary of the box."""
        inner = np.zeros((self.side + 1,) * len(self.box), dtype=np.bool_)
        inner[(slice(1, -1),) * len(self.box)] = True
        return np.asarray(~inner.ravel())


def find_hidden_zero(
    f: Callable[[Array], Array],
    gradient: Callable[[Array], Array],
    grid: UniformGrid,
    values: Array,
    known: Array,
) -> tuple[Array, float] | None:
    """Return a zero of f that the grid misses, and the size of the cell in which it was found, or None.

    The zero lies in no grid cell with a sign change and not near the ``known`` points (n, d) of {f = 0}.
    """
    from scipy.spatial import cKDTree

    check_deadline()
    d, known_distance, tree = known.shape[1], _KNOWN_DISTANCE * grid.max_step, cKDTree(known)
    corners = np.array(list(product((0, 1), repeat=d)))

    def slope(X: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.linalg.norm(gradient(X), axis=1))

    def may_contain_zero(v: Array, slopes: Array, steps: Array) -> Mask:
        return np.asarray(np.abs(v).min(axis=0) <= 0.5 * np.linalg.norm(steps) * slopes.max(axis=0))

    def is_far(X: Array) -> Mask:
        return np.asarray(np.isinf(tree.query(X, distance_upper_bound=known_distance)[0]))

    strides = (grid.side + 1) ** np.arange(d - 1, -1, -1)
    first = (
        np.stack(np.meshgrid(*(np.arange(grid.side),) * d, indexing="ij"), axis=-1).reshape(-1, d) @ strides
    )
    numbers = first + (corners @ strides)[:, None]
    numbers = numbers[:, (values[numbers] > 0).all(axis=0) | (values[numbers] <= 0).all(axis=0)]
    low, steps = grid.nodes[numbers[0]], grid.steps
    low = low[may_contain_zero(values[numbers], slope(grid.nodes)[numbers], steps)]
    for _ in range(_MAX_HALVINGS):
        steps = 0.5 * steps
        low = (low + (corners * steps)[:, None]).reshape(-1, d)
        low = low[is_far(low + 0.5 * steps)]
        if not 0 < len(low) <= _MAX_CELLS:
            return None
        X = low + (corners * steps)[:, None]
        flat = X.reshape(-1, d)
        v = f(flat).reshape(len(corners), -1)
        inside = v <= 0
        mixed = inside.any(axis=0) & ~inside.all(axis=0)
        if mixed.any():
            rows = np.flatnonzero(mixed)
            a, b = X[inside[:, rows].argmax(axis=0), rows], X[(~inside[:, rows]).argmax(axis=0), rows]
            zeros = bisect(lambda c: (f(c) <= 0)[:, None], a, b)[0]
            zeros = zeros[is_far(zeros)]
            if len(zeros):
                return zeros[0], float(steps.max())
        low = low[~mixed & may_contain_zero(v, slope(flat).reshape(v.shape), steps)]
    return None

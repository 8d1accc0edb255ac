"""Random points that no regular grid has."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from validation.statements.recorder import Recorded
from validation.statements.types import Array


def sample(bounds: Mapping[str, tuple[float, float]], count: int, seed: int) -> list[Array]:
    """Random points, a third of them near edges (at distances spread over six orders of magnitude)."""
    rng = np.random.default_rng([seed, 20240607])
    low, high = (np.array([b[i] for b in bounds.values()]) for i in (0, 1))
    unit = rng.random((count, len(low)))
    near = rng.random(count) < 1 / 3
    axis = rng.integers(len(low), size=count)
    close = 10.0 ** -rng.uniform(0.5, 6, size=count)
    close = np.where(rng.random(count) < 0.5, close, 1 - close)
    rows = np.flatnonzero(near)
    unit[rows, axis[rows]] = close[rows]
    return list((low + unit * (high - low)).T)


def shape_points(recorded: Recorded, count: int, seed: int) -> list[Array]:
    """Points in the shape, a third of them near its boundary, with times if there are any."""
    rng = np.random.default_rng([seed, 77])
    shape = recorded.shape
    assert shape is not None
    low, high = np.array(shape.box).T
    found = np.empty((0, len(low)))
    while len(found) < count:
        X = low + (high - low) * rng.random((4 * count, len(low)))
        found = np.vstack([found, X[shape.contains(X)]])
    found = found[:count]
    if not shape.loose:
        P, N = (np.vstack(q) for q in zip(*(shape.boundary(rng)[:2] for _ in range(count // 100 + 1))))
        deep = 10.0 ** -rng.uniform(1, 5.5, len(P)) * np.max(high - low)
        near = P - deep[:, None] * N
        near = near[shape.contains(near)][: count // 3]
        found[: len(near)] = near
    if recorded.time is not None:
        a, b = recorded.bounds[recorded.time]
        found = np.column_stack([found, a + (b - a) * rng.random(count)])
    return list(found.T)


def points_in(recorded: Recorded, count: int, seed: int) -> list[Array]:
    """Return random points in the domain of a problem, a third of them close to its boundary."""
    if recorded.shape is None:
        return sample(recorded.bounds, count, seed)
    return shape_points(recorded, count, seed)

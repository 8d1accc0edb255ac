"""Points in many boxes, and clusters of overlapping boxes, found by sorting along the first coordinate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pibls.arrays import Array, Indices


def points_in_boxes(low: Array, high: Array, X: Array) -> Iterator[tuple[int, Indices]]:
    """Yield (i, indices of the points X (n, d) in box i) for each box (m, d) that contains any point."""
    order = np.argsort(X[:, 0], kind="stable")
    along = X[order, 0]
    first = np.searchsorted(along, low[:, 0], side="left")
    last = np.searchsorted(along, high[:, 0], side="right")
    for i in np.flatnonzero(last > first).tolist():
        candidates = order[first[i] : last[i]]
        rest = X[candidates, 1:]
        inside = candidates[((low[i, 1:] <= rest) & (rest <= high[i, 1:])).all(axis=1)]
        if len(inside):
            yield i, inside


def overlap_clusters(low: Array, high: Array) -> list[list[int]]:
    """Return the indices of boxes (m, d) in groups that overlap, directly or through other boxes."""
    parent = list(range(len(low)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    order = np.argsort(low[:, 0], kind="stable")
    last = np.searchsorted(low[order, 0], high[order, 0], side="right")
    for k, i in enumerate(order.tolist()):
        others = order[k + 1 : last[k]]
        meets = ((low[others] <= high[i]) & (high[others] >= low[i])).all(axis=1)
        for j in others[meets].tolist():
            a, b = root(i), root(j)
            parent[max(a, b)] = min(a, b)
    out: dict[int, list[int]] = {}
    for i in range(len(low)):
        out.setdefault(root(i), []).append(i)
    return list(out.values())

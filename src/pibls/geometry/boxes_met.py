"""Which of many boxes meet points, or each other, without comparing every one with every other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pibls.arrays import Array, Numbers


def points_in_boxes(low: Array, high: Array, X: Array) -> Iterator[tuple[int, Numbers]]:
    """(i, numbers of the points X (n, d) in box i) for each of the boxes (m, d) that holds any."""
    order = np.argsort(X[:, 0], kind="stable")
    along = X[order, 0]
    first = np.searchsorted(along, low[:, 0], side="left")
    last = np.searchsorted(along, high[:, 0], side="right")
    for i in np.flatnonzero(last > first).tolist():
        maybe = order[first[i] : last[i]]
        there = X[maybe, 1:]
        inside = maybe[((low[i, 1:] <= there) & (there <= high[i, 1:])).all(axis=1)]
        if len(inside):
            yield i, inside


def clusters(low: Array, high: Array) -> list[list[int]]:
    """Boxes (m, d) that meet, directly or through others, in lists; each list in increasing order."""
    leader = list(range(len(low)))

    def led(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    order = np.argsort(low[:, 0], kind="stable")
    last = np.searchsorted(low[order, 0], high[order, 0], side="right")
    for k, i in enumerate(order.tolist()):
        others = order[k + 1 : last[k]]
        meets = ((low[others] <= high[i]) & (high[others] >= low[i])).all(axis=1)
        for j in others[meets].tolist():
            a, b = led(i), led(j)
            leader[max(a, b)] = min(a, b)
    out: dict[int, list[int]] = {}
    for i in range(len(low)):
        out.setdefault(led(i), []).append(i)
    return list(out.values())

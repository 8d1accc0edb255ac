r"""B u = g at the sides: the points in space at which a condition of an evolution is held, at every time."""

from __future__ import annotations

import numpy as np

from pibls.adaptive.evolutions.resolution import Resolution
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.assembly.placing import place_in
from pibls.basis.polynomials.nodes import nodes_of
from pibls.geometry import Boundary, faces_of
from pibls.problem import Region


def ends_of(region: Region, bench: Bench, free: list[int]) -> tuple[Array, Array] | None:
    """Where in space a condition holds, alike at every time; None where that cannot be said."""
    axis = next(i for i in range(len(bench.box)) if i not in free)
    if len(free) > 1:
        return np.empty((0, len(bench.box))), np.empty((0, len(bench.box)))
    seen = []
    low, high = bench.box[axis]
    for a, b in ((0.0, 1.0), (0.0, 0.1), (0.45, 0.55), (0.9, 1.0)):
        box = bench.box.copy()
        box[axis] = low + a * (high - low), low + b * (high - low)
        found = place_in(region, bench.domain, box, 100)
        rows = np.concatenate([found.sites[0][:, free], found.normals], axis=1)
        seen.append(np.unique(np.round(rows, 12), axis=0))
    if any(s.shape != seen[0].shape or not np.array_equal(s, seen[0]) for s in seen[1:]) or not len(seen[0]):
        return None
    X = np.zeros((len(seen[0]), len(bench.box)))
    X[:, free] = seen[0][:, : len(free)]
    for i in free:  # not as rounded, but as they are
        for end in bench.box[i]:
            X[np.abs(X[:, i] - end) < 1e-9, i] = end
    return X, seen[0][:, len(free) :]


def side_points(
    region: Region,
    bench: Bench,
    orders: tuple[tuple[int, ...], ...],
    free: tuple[int, ...],
    found: Resolution,
    square: bool,
) -> tuple[Array, Array]:
    """The points of a condition on the sides of a rectangle.

    Gauss's, as many as functions less those that the other two sides take; the corners belong to the sides
    across the first coordinate. Where that makes no square system, a few more, towards the ends.
    """
    axis = next(i for i in range(len(bench.box)) if i not in free)
    spots = region.spots(bench.domain)
    if len(spots):
        X = np.zeros((1, len(bench.box)))
        X[:, free] = spots[:1, free]
        return X, np.zeros_like(X)
    points, normals = [], []
    rng = np.random.default_rng(0)
    for face in faces_of(bench.domain):
        plane = face.plane()
        if plane is None or plane[0] == axis:
            continue
        along = next(i for i in free if i != plane[0])
        number = free.index(along)
        n, order, yes = found.sizes[number], max(orders[number]), found.repeated[number]
        if yes:
            s = nodes_of(n, True)
        elif square:
            s = nodes_of(n - order, False)
            if number == 1:
                s = np.concatenate([[-1.0], s, [1.0]])
        else:
            s = -np.cos(np.pi * (np.arange(n + 2) + 0.5) / (n + 2))
        edge = face.at(np.full((1, face.dimension), 0.5), rng)
        low, high = bench.box[along]
        X = np.repeat(edge.points, len(s), axis=0)
        X[:, along] = np.where(s == 1.0, high, low + 0.5 * (s + 1.0) * (high - low))
        moved = Boundary(X, np.repeat(edge.normals, len(s), axis=0), edge.owners * len(s))
        held = region.mask(moved) if region.plane() is None else np.full(len(s), region.plane() == plane)
        points.append(X[held])
        normals.append(moved.normals[held])
    return np.concatenate(points), np.concatenate(normals)

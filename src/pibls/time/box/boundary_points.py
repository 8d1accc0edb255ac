"""Collocation points of the boundary conditions of an evolution, at every time."""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array
from pibls.assembly.cell_points import place_in_cell
from pibls.basis.polynomials.quadrature import quadrature_nodes
from pibls.geometry import Boundary, faces_of
from pibls.problem import Region
from pibls.time.box.resolution import Resolution
from pibls.time.context import EvolutionContext


def boundary_sites(
    region: Region, context: EvolutionContext, space_axes: list[int]
) -> tuple[Array, Array] | None:
    """Return points and normals (N, d) of a condition on an interval; None if they depend on time."""
    axis = next(i for i in range(len(context.box)) if i not in space_axes)
    if len(space_axes) > 1:
        return np.empty((0, len(context.box))), np.empty((0, len(context.box)))
    seen = []
    low, high = context.box[axis]
    for a, b in ((0.0, 1.0), (0.0, 0.1), (0.45, 0.55), (0.9, 1.0)):
        box = context.box.copy()
        box[axis] = low + a * (high - low), low + b * (high - low)
        found = place_in_cell(region, context.domain, box, 100)
        rows = np.concatenate([found.sites[0][:, space_axes], found.normals], axis=1)
        seen.append(np.unique(np.round(rows, 12), axis=0))
    if any(s.shape != seen[0].shape or not np.array_equal(s, seen[0]) for s in seen[1:]) or not len(seen[0]):
        return None
    X = np.zeros((len(seen[0]), len(context.box)))
    X[:, space_axes] = seen[0][:, : len(space_axes)]
    for i in space_axes:  # replace rounded coordinates by the exact ends
        for end in context.box[i]:
            X[np.abs(X[:, i] - end) < 1e-9, i] = end
    return X, seen[0][:, len(space_axes) :]


def face_points(
    region: Region,
    context: EvolutionContext,
    orders: tuple[tuple[int, ...], ...],
    space_axes: tuple[int, ...],
    resolution: Resolution,
    square: bool,
) -> tuple[Array, Array]:
    """Return points and normals of a condition on the edges of a rectangle.

    Gauss points, as many as functions minus those that the other two edges determine; corners belong to the
    edges normal to the first coordinate. If the system is not ``square``, a few more, denser at the ends.
    """
    axis = next(i for i in range(len(context.box)) if i not in space_axes)
    isolated = region.isolated_points(context.domain)
    if len(isolated):
        X = np.zeros((1, len(context.box)))
        X[:, space_axes] = isolated[:1, space_axes]
        return X, np.zeros_like(X)
    points, normals = [], []
    rng = np.random.default_rng(0)
    for face in faces_of(context.domain):
        plane = face.plane()
        if plane is None or plane[0] == axis:
            continue
        along = next(i for i in space_axes if i != plane[0])
        number = space_axes.index(along)
        n, order, is_periodic = resolution.sizes[number], max(orders[number]), resolution.periodic[number]
        if is_periodic:
            s = quadrature_nodes(n, True)
        elif square:
            s = quadrature_nodes(n - order, False)
            if number == 1:
                s = np.concatenate([[-1.0], s, [1.0]])
        else:
            s = -np.cos(np.pi * (np.arange(n + 2) + 0.5) / (n + 2))
        edge = face.at(np.full((1, face.dimension), 0.5), rng)
        low, high = context.box[along]
        X = np.repeat(edge.points, len(s), axis=0)
        X[:, along] = np.where(s == 1.0, high, low + 0.5 * (s + 1.0) * (high - low))
        boundary = Boundary(X, np.repeat(edge.normals, len(s), axis=0), edge.owners * len(s))
        is_held = (
            region.mask(boundary) if region.plane() is None else np.full(len(s), region.plane() == plane)
        )
        points.append(X[is_held])
        normals.append(boundary.normals[is_held])
    return np.concatenate(points), np.concatenate(normals)

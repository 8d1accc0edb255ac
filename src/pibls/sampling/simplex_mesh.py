"""Simplex meshes, fitted to the boundary, of sections with one to three free coordinates.

Every cell of a grid is divided along its diagonal into simplices (2 triangles, 6 tetrahedra). On an edge with
one end inside and one outside the domain, the boundary point is found by bisection of ``contains``. The part
of a simplex inside the domain is then a simplex or a prism of such points and corners, which is divided into
simplices. This works for any domain, since only ``contains`` is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, Mask
from pibls.sampling.section import Section

_HALVINGS = 40
_MIN_RELATIVE_VOLUME = 1e-9  # of a cell: smaller simplices arise where the boundary passes through a node
_Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class SimplexMesh:
    """Simplices (m, k + 1) over points (n, k), and facets (r, k, k) on the boundary of the domain.

    Facets on the sides of the bounding box are not included.
    """

    points: Array
    cells: _Index
    boundary_facets: Array

    def restricted(self, keep: Mask) -> SimplexMesh:
        """Return the mesh without simplices that have a corner where ``keep`` is false."""
        return SimplexMesh(self.points, self.cells[keep[self.cells].all(axis=1)], self.boundary_facets)

    def with_points(self, points: Array, boundary_facets: Array) -> SimplexMesh:
        """Return the same mesh with other point coordinates."""
        return SimplexMesh(points, self.cells, boundary_facets)


def mesh_section(section: Section, axes: Sequence[Array]) -> SimplexMesh:
    """Return the mesh of a section, from a grid with these values of its coordinates."""
    k = len(axes)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, k)
    inside = section.inside(nodes)
    if not inside.any():
        raise section.empty_error()
    simplices = _simplices(tuple(len(a) for a in axes))
    corners_inside = inside[simplices]
    inner_corners = corners_inside.sum(axis=1)
    crossed = simplices[(inner_corners > 0) & (inner_corners <= k)]
    pairs, crossings = _crossings(section, nodes, inside, crossed)
    points = np.concatenate([nodes, crossings])
    cells, facets = _cut_simplices(crossed, inside, _CrossingIndex(pairs, len(nodes)))
    cells = np.concatenate([simplices[inner_corners == k + 1], cells])
    size = float(np.prod([np.diff(a).min() for a in axes]))
    return _cleaned_mesh(points, cells, points[facets], _MIN_RELATIVE_VOLUME * size)


def _simplices(shape: tuple[int, ...]) -> _Index:
    """Return the simplices of a grid: each cell is divided into k!, one per permutation of the axes."""
    number = np.arange(int(np.prod(shape))).reshape(shape)
    k = len(shape)
    out = []
    for order in permutations(range(k)):
        corner = np.zeros(k, dtype=int)
        corners = [corner.copy()]
        for axis in order:
            corner[axis] = 1
            corners.append(corner.copy())
        windows = [tuple(slice(c, c + n - 1) for c, n in zip(p, shape, strict=True)) for p in corners]
        out.append(np.stack([number[w].ravel() for w in windows], axis=1))
    return np.concatenate(out)


def _crossings(section: Section, nodes: Array, inside: Mask, crossed: _Index) -> tuple[_Index, Array]:
    """Return the edges (e, 2) from inside to outside, and their intersections with the boundary (e, k)."""
    k = crossed.shape[1]
    edges = np.concatenate([crossed[:, [i, j]] for i in range(k) for j in range(k) if i != j])
    edges = edges[inside[edges[:, 0]] & ~inside[edges[:, 1]]]
    pairs = np.unique(edges, axis=0)
    a, b = nodes[pairs[:, 0]], nodes[pairs[:, 1]]
    for _ in range(_HALVINGS if len(pairs) else 0):
        middle = 0.5 * (a + b)
        still = section.inside(middle)[:, None]
        a, b = np.where(still, middle, a), np.where(still, b, middle)
    return pairs, a


class _CrossingIndex:
    """Maps an edge from an inner to an outer node to the index of its boundary point."""

    def __init__(self, pairs: _Index, nodes: int) -> None:
        self.nodes = nodes
        self.keys = pairs[:, 0] * nodes + pairs[:, 1]  # sorted, since the pairs are

    def __call__(self, inner: _Index, outer: _Index) -> _Index:
        return self.nodes + np.searchsorted(self.keys, inner * self.nodes + outer)


def _cut_simplices(crossed: _Index, inside: Mask, crossing_index: _CrossingIndex) -> tuple[_Index, _Index]:
    """Return the simplices that fill the inner parts of crossed simplices, and the facets of the cut."""
    k = crossed.shape[1] - 1
    cells, facets = [np.empty((0, k + 1), dtype=np.intp)], [np.empty((0, k), dtype=np.intp)]
    # Inner corners first, then outer ones, each in the order of their indices: neighbours then divide a
    # common side in the same way.
    order = np.lexsort((crossed, ~inside[crossed]), axis=1)
    crossed = np.take_along_axis(crossed, order, axis=1)
    count = inside[crossed].sum(axis=1)
    for m in range(1, k + 1):
        group = crossed[count == m]
        inner, outer = group[:, :m], group[:, m:]
        if m <= k + 1 - m:
            # One layer per inner corner: the corner and the boundary points on its edges.
            layers = [
                np.column_stack(
                    [inner[:, i], *(crossing_index(inner[:, i], outer[:, j]) for j in range(k + 1 - m))]
                )
                for i in range(m)
            ]
        else:
            # One layer of the inner corners, and one of boundary points per outer corner.
            layers = [inner] + [
                np.column_stack([crossing_index(inner[:, i], outer[:, j]) for i in range(m)])
                for j in range(k + 1 - m)
            ]
        cells += _prism(layers)
        ends = [crossing_index(inner[:, i], outer[:, j]) for i in range(m) for j in range(k + 1 - m)]
        facets += [np.column_stack([ends[p] for p in facet]) for facet in _FACETS[len(ends)]]
    return np.concatenate(cells), np.concatenate(facets)


_FACETS: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((0,),),
    2: ((0, 1),),
    3: ((0, 1, 2),),
    4: ((0, 1, 3), (0, 3, 2)),
}
"""The division of a cut polygon into facets, by its number of points."""


def _prism(layers: list[_Index]) -> list[_Index]:
    """Divide a simplex (one layer) or the prism between two layers into simplices v₀…vᵢ tᵢ…tₙ."""
    if len(layers) == 1:
        return layers
    v, t = layers
    n = v.shape[1]
    return [np.column_stack([v[:, : i + 1], t[:, i:]]) for i in range(n)]


def _cleaned_mesh(points: Array, cells: _Index, facets: Array, min_volume: float) -> SimplexMesh:
    """Return the mesh without degenerate simplices and unused points, with positive orientation."""
    corners = points[cells]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    cells = np.where((volumes < 0)[:, None], cells[:, [1, 0, *range(2, cells.shape[1])]], cells)
    used, compact = np.unique(cells[np.abs(volumes) > min_volume], return_inverse=True)
    return SimplexMesh(points[used], compact.reshape(-1, cells.shape[1]), facets)

"""A grid that ends where the domain ends: simplices over a section with one to three free coordinates.

Every cell of a grid is cut into simplices along its diagonal (2 triangles, 6 tetrahedra). An edge with
one end inside and one outside gets a point where it leaves the domain, found by bisection of
``contains``; what is inside a simplex is then a simplex or a prism of such points and corners. So a hole
or a curved side is followed closely, whatever the shape, from the one question that every shape answers.
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
_FLAT = 1e-9  # simplices smaller than that, relative to a cell, arise where the boundary runs through a node
_Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Simplices:
    """Simplices (m, k + 1) over points (n, k), and the facets (r, k, k) by which the boundary is met.

    The sides of the bounds are no facets: they are where the grid ends anyway.
    """

    points: Array
    cells: _Index
    rim: Array

    def restricted(self, keep: Mask) -> Simplices:
        """Without the simplices that have a corner where ``keep`` is false."""
        return Simplices(self.points, self.cells[keep[self.cells].all(axis=1)], self.rim)

    def moved(self, points: Array, rim: Array) -> Simplices:
        """The same with its points elsewhere."""
        return Simplices(points, self.cells, rim)


def patch_of(section: Section, axes: Sequence[Array]) -> Simplices:
    """The section, from the grid of these values of its coordinates."""
    k = len(axes)
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, k)
    inside = section.inside(nodes)
    if not inside.any():
        raise section.outside()
    simplices = _simplices(tuple(len(a) for a in axes))
    whole = inside[simplices]
    within = whole.sum(axis=1)
    crossed = simplices[(within > 0) & (within <= k)]
    pairs, crossings = _crossings(section, nodes, inside, crossed)
    points = np.concatenate([nodes, crossings])
    cells, rim = _cut(crossed, inside, _Lookup(pairs, len(nodes)))
    cells = np.concatenate([simplices[within == k + 1], cells])
    size = float(np.prod([np.diff(a).min() for a in axes]))
    return _tidy(points, cells, points[rim], _FLAT * size)


def _simplices(shape: tuple[int, ...]) -> _Index:
    """All cells of a grid, each cut along its diagonal: one simplex for every order of the coordinates."""
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
    """The edges from inside to outside, (e, 2), and where each leaves the domain."""
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


class _Lookup:
    """The number of the point on the edge from an inner to an outer node."""

    def __init__(self, pairs: _Index, nodes: int) -> None:
        self.nodes = nodes
        self.keys = pairs[:, 0] * nodes + pairs[:, 1]  # sorted, since the pairs are

    def __call__(self, inner: _Index, outer: _Index) -> _Index:
        return self.nodes + np.searchsorted(self.keys, inner * self.nodes + outer)


def _cut(crossed: _Index, inside: Mask, leave: _Lookup) -> tuple[_Index, _Index]:
    """What is inside of crossed simplices, and the facets where they are cut."""
    k = crossed.shape[1] - 1
    cells, rim = [np.empty((0, k + 1), dtype=np.intp)], [np.empty((0, k), dtype=np.intp)]
    # Inner corners first, each kind in the order of their numbers: neighbours then split a common
    # side in the same way.
    order = np.lexsort((crossed, ~inside[crossed]), axis=1)
    crossed = np.take_along_axis(crossed, order, axis=1)
    count = inside[crossed].sum(axis=1)
    for m in range(1, k + 1):
        some = crossed[count == m]
        inner, outer = some[:, :m], some[:, m:]
        if m <= k + 1 - m:
            # One layer for each inner corner: itself, and where its edges lead out.
            layers = [
                np.column_stack([inner[:, i], *(leave(inner[:, i], outer[:, j]) for j in range(k + 1 - m))])
                for i in range(m)
            ]
        else:
            # One layer of the inner corners, one for each outer corner where the edges to it leave.
            layers = [inner] + [
                np.column_stack([leave(inner[:, i], outer[:, j]) for i in range(m)]) for j in range(k + 1 - m)
            ]
        cells += _prism(layers)
        ends = [leave(inner[:, i], outer[:, j]) for i in range(m) for j in range(k + 1 - m)]
        rim += [np.column_stack([ends[p] for p in facet]) for facet in _FACETS[len(ends)]]
    return np.concatenate(cells), np.concatenate(rim)


_FACETS: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((0,),),
    2: ((0, 1),),
    3: ((0, 1, 2),),
    4: ((0, 1, 3), (0, 3, 2)),
}
"""A cut with so many points, as simplices of one dimension less."""


def _prism(layers: list[_Index]) -> list[_Index]:
    """A simplex (one layer) or a prism between two layers, as simplices: v₀…vᵢ tᵢ…tₙ."""
    if len(layers) == 1:
        return layers
    v, t = layers
    n = v.shape[1]
    return [np.column_stack([v[:, : i + 1], t[:, i:]]) for i in range(n)]


def _tidy(points: Array, cells: _Index, rim: Array, least: float) -> Simplices:
    """Only simplices that have a size, all turned the same way, and only points that they use."""
    corners = points[cells]
    sizes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    cells = np.where((sizes < 0)[:, None], cells[:, [1, 0, *range(2, cells.shape[1])]], cells)
    used, compact = np.unique(cells[np.abs(sizes) > least], return_inverse=True)
    return Simplices(points[used], compact.reshape(-1, cells.shape[1]), rim)

r"""𝒳 ∩ B: the points of a problem's regions in one cell B, as many as the functions of the cell need."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pibls.arrays import Array
from pibls.basis.quasi import chebyshev, lobatto, sobol
from pibls.domain import Boundary, Domain, faces_of
from pibls.domain.face import Extruded, FlatFace
from pibls.problem import Inside, Pair, Part, Region, Slice, Spot
from pibls.system.points import PointSet

INSIDE = {1: 2.0, 2: 2.0, 3: 2.0}
"""Points inside a cell for each of its functions."""
_FACE = 1.5


@lru_cache(maxsize=64)
def reference(n: int, d: int, closed: bool = False) -> Array:
    """n points of the unit cube, the same for every cell."""
    rng = np.random.default_rng(n)
    if d == 0:
        return np.zeros((1, 0))
    if d == 1:
        return (lobatto if closed else chebyshev)(n, 1, rng)
    return sobol(n, d, rng)


def place_in(region: Region, domain: Domain, box: Array, nodes: int, last: bool) -> PointSet:
    """The points of a region in a box of that many functions; none where the two do not meet.

    ``last``: whether points on the upper face belong to this box too.
    """
    d = len(box)
    low, high = box.T
    if isinstance(region, Inside):
        U = reference(max(int(INSIDE.get(d, 2.0) * nodes), 4), d)
        X = low * (1.0 - U) + high * U
        X = X[np.asarray(domain.contains(X), dtype=bool)]
        return PointSet((X,), np.zeros_like(X))
    if isinstance(region, Slice):
        if not low[region.axis] <= region.level <= high[region.axis]:
            return _nothing(d)
        X = _plane(box, region.axis, region.level, nodes)
        keep = np.asarray(domain.contains(X), dtype=bool)
        if region.relation is not None:
            keep &= region.relation(X)
        return PointSet((X[keep],), np.zeros((int(keep.sum()), d)))
    if isinstance(region, Spot):
        return _spot(region, box)
    if isinstance(region, Pair):
        return _nothing(d)
    found = [_on_face(face, region, box, nodes) for face in faces_of(domain)]
    return PointSet(
        (np.concatenate([np.empty((0, d)), *(b.points for b in found)]),),
        np.concatenate([np.empty((0, d)), *(b.normals for b in found)]),
    )


def _nothing(d: int) -> PointSet:
    return PointSet((np.empty((0, d)),), np.empty((0, d)))


def _plane(box: Array, axis: int, level: float, nodes: int) -> Array:
    d = len(box)
    free = [i for i in range(d) if i != axis]
    n = int(_FACE * (2 * nodes) ** ((d - 1) / d)) if free else 1
    U = reference(n, d - 1, closed=True)
    X = np.empty((len(U), d))
    X[:, axis] = level
    X[:, free] = box[free, 0] * (1.0 - U) + box[free, 1] * U
    return X


def _on_face(face: object, part: Part, box: Array, nodes: int) -> Boundary:
    d = len(box)
    flat = face.face if isinstance(face, Extruded) else face
    assert isinstance(flat, FlatFace)
    level = flat.bounds[flat.axis][flat.side]
    if box[flat.axis, flat.side] != level:
        return Boundary(np.empty((0, d)), np.empty((0, d)), ())
    X = _plane(box, flat.axis, level, nodes)
    normals = np.zeros_like(X)
    normals[:, flat.axis] = 1.0 if flat.side else -1.0
    found = Boundary(X, normals, (flat.owner,) * len(X))
    return found.select(part.mask(found))


def _spot(region: Spot, box: Array) -> PointSet:
    d = len(box)
    fixed = [i for i, p in enumerate(region.point) if p is not None]
    inside = all(box[i, 0] <= region.point[i] <= box[i, 1] for i in fixed)  # type: ignore[operator]
    if not inside:
        return _nothing(d)
    free = [i for i in range(d) if i not in fixed]
    U = reference(24 if free else 1, len(free), closed=True)
    X = np.empty((len(U), d))
    for i in fixed:
        X[:, i] = region.point[i]
    X[:, free] = box[free, 0] * (1.0 - U) + box[free, 1] * U
    normal = np.zeros(d) if region.normal is None else np.array(region.normal)
    return PointSet((X,), np.tile(normal, (len(X), 1)))

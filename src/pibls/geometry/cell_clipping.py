r"""Intersection of a domain Ω with the cell B of a grid: bounding box of B ∩ Ω, points and faces in B.

A cell that the boundary cuts may contain only a sliver of the domain. Basis functions on the whole cell would
be undetermined outside the sliver, so they are scaled to the bounding box of the sliver.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.face import Face, FacesKey
from pibls.geometry.protocol import Domain, box_of, faces_of

_POINTS_PER_CURVE = 33
_GRID_SIZE = {1: 33, 2: 17, 3: 7}
_RELATIVE_MARGIN = 1e-6  # of the cell


def clipped_bounds(domain: Domain, box: Array) -> Array:
    """Return the bounding box of the part of the domain in a cell (d, 2), or the cell if that is not known.

    In 2D the box follows from the boundary in the cell and the corners of the cell; in 3D a grid of points is
    tested as well.
    """
    faces = faces_of(domain)
    d = len(box)
    if d not in (2, 3) or not all(face.has_chart for face in faces) or _is_box(domain, faces):
        return box
    clipped = faces_in_cell(domain, box)
    if not clipped:
        return box
    ticks = np.linspace(0.0, 1.0, _POINTS_PER_CURVE if d == 2 else _GRID_SIZE[d])
    U = np.stack(np.meshgrid(*(ticks,) * (d - 1), indexing="ij"), axis=-1).reshape(-1, d - 1)
    boundary_points = [part.at(U).points for part in clipped]
    low, high = box.T
    grid = np.array(list(product(*(np.linspace(0.0, 1.0, 2 if d == 2 else _GRID_SIZE[d]),) * d)))
    X = low + (high - low) * (_RELATIVE_MARGIN + (1.0 - 2.0 * _RELATIVE_MARGIN) * grid)
    inside = X[np.asarray(domain.contains(X), dtype=bool)]
    found = np.concatenate([inside, *boundary_points])
    margin = _RELATIVE_MARGIN * (high - low) if d == 2 else (high - low) / _GRID_SIZE[d]
    return np.stack(
        [np.maximum(found.min(axis=0) - margin, low), np.minimum(found.max(axis=0) + margin, high)], axis=1
    )


def is_in_cell(X: Array, box: Array, domain: Domain) -> Mask:
    """Return which points belong to a cell; a point on a common face belongs to the upper cell only."""
    bounds = box_of(domain)
    slack = 1e-12 * (bounds[:, 1] - bounds[:, 0])
    is_last = box[:, 1] >= bounds[:, 1] - slack
    below = np.where(is_last, box[:, 1] + slack >= X, box[:, 1] > X)
    return np.asarray(np.all((box[:, 0] <= X) & below, axis=1))


def faces_in_cell(domain: Domain, box: Array) -> tuple[Face, ...]:
    """Return the parts of the boundary faces in a cell; cached, since every condition needs them."""
    return _clipped(FacesKey(faces_of(domain)), box.tobytes(), box.shape[0])


@lru_cache(maxsize=1024)
def _clipped(key: FacesKey, box: bytes, d: int) -> tuple[Face, ...]:
    cell = np.frombuffer(box).reshape(d, 2)
    return tuple(part for face in key.faces for part in face.clipped(cell))


def _is_box(domain: Domain, faces: tuple[Face, ...]) -> bool:
    """Return whether the domain equals its bounding box."""
    sides = {(i, float(level)) for i, ends in enumerate(box_of(domain)) for level in ends}
    return all(face.plane() in sides for face in faces)

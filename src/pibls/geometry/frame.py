r"""B ↦ the least box around B ∩ Ω: where in a cell the domain is.

A cell that the boundary cuts may hold a sliver of the domain. Functions over the whole cell would be judged
by what they are outside, where nothing determines them; in the frame of the sliver they are at home.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.face import Face, Same
from pibls.geometry.protocol import Domain, box_of, faces_of

_ON_FACE = 33
_GRID = {1: 33, 2: 17, 3: 7}
_SPARE = 1e-6  # of the cell


def frame(domain: Domain, box: Array) -> Array:
    """The box around what of the domain lies in a cell (d, 2); the cell itself where that is not known.

    In the plane the boundary within the cell and the corners of the cell tell all; in space a grid helps.
    """
    faces = faces_of(domain)
    d = len(box)
    if d not in (2, 3) or not all(face.has_chart for face in faces) or _fills(domain, faces):
        return box
    cut = parts_in(domain, box)
    if not cut:
        return box
    ticks = np.linspace(0.0, 1.0, _ON_FACE if d == 2 else _GRID[d])
    U = np.stack(np.meshgrid(*(ticks,) * (d - 1), indexing="ij"), axis=-1).reshape(-1, d - 1)
    seen = [part.at(U).points for part in cut]
    low, high = box.T
    grid = np.array(list(product(*(np.linspace(0.0, 1.0, 2 if d == 2 else _GRID[d]),) * d)))
    X = low + (high - low) * (_SPARE + (1.0 - 2.0 * _SPARE) * grid)
    inside = X[np.asarray(domain.contains(X), dtype=bool)]
    found = np.concatenate([inside, *seen])
    margin = _SPARE * (high - low) if d == 2 else (high - low) / _GRID[d]
    return np.stack(
        [np.maximum(found.min(axis=0) - margin, low), np.minimum(found.max(axis=0) + margin, high)], axis=1
    )


def owned(X: Array, box: Array, domain: Domain) -> Mask:
    """Which points belong to a box: those on a common face to the upper one, so that each has one owner."""
    whole = box_of(domain)
    slack = 1e-12 * (whole[:, 1] - whole[:, 0])
    last = box[:, 1] >= whole[:, 1] - slack
    below = np.where(last, box[:, 1] + slack >= X, box[:, 1] > X)
    return np.asarray(np.all((box[:, 0] <= X) & below, axis=1))


def parts_in(domain: Domain, box: Array) -> tuple[Face, ...]:
    """What of the boundary lies in a cell; asked for by every condition, and found once."""
    return _clipped(Same(faces_of(domain)), box.tobytes(), box.shape[0])


@lru_cache(maxsize=1024)
def _clipped(same: Same, box: bytes, d: int) -> tuple[Face, ...]:
    there = np.frombuffer(box).reshape(d, 2)
    return tuple(part for face in same.faces for part in face.clipped(there))


def _fills(domain: Domain, faces: tuple[Face, ...]) -> bool:
    """Whether the domain is its own bounding box."""
    sides = {(i, float(level)) for i, ends in enumerate(box_of(domain)) for level in ends}
    return all(face.plane() in sides for face in faces)

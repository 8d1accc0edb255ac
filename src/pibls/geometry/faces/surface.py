"""x = x(U), U in the unit cube of two or more dimensions: a curved side of a body."""

from __future__ import annotations

from itertools import product

import numpy as np

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.geometry.faces.face import Face

_AT = (0.02, 0.5, 0.98)  # where a cell of the parameters is looked at, along each


class Surface:
    """A surface; each kind says `position` and `normal`, and may say how to divide U at first."""

    owner: object
    dimension: int = 2
    closed: bool = False
    per_side: int = 24

    def position(self, U: Array) -> Array:
        """x(U), (n, d)."""
        raise NotImplementedError

    def normal(self, U: Array) -> Array:
        """The unit outward normals, (n, d)."""
        raise NotImplementedError

    def on(self, X: Array, tolerance: Array) -> Mask:
        """Which points lie on it; none where it cannot tell."""
        return np.zeros(len(X), dtype=np.bool_)

    def normal_at(self, X: Array) -> Array | None:
        """The normals at points that lie on it; None where it cannot tell."""
        return None

    @cached_property
    def cells(self) -> Array:
        """The cube of the parameters in boxes (m, k, 2), neighbours one after the other."""
        edges = np.linspace(0.0, 1.0, self.per_side + 1)
        grids = np.meshgrid(*(np.arange(self.per_side),) * self.dimension, indexing="ij")
        low = edges[np.stack(grids, axis=-1).reshape(-1, self.dimension)]
        return np.stack([low, low + edges[1]], axis=-1)

    def areas(self, boxes: Array, lengths: Array) -> Array:
        """The measure of the surface over boxes of parameters (m, k, 2), in units of ``lengths``."""
        L = lattice(boxes)
        X = self.position(L.reshape(-1, self.dimension)).reshape(*L.shape[:2], -1)
        return sizes(X, self.dimension, lengths)

    def cells_near(self, box: Array) -> Array:
        """Those cells that may meet a box (d, 2); all of them where that is not known."""
        return self.cells


class FaceSurface(Surface):
    """A face with a chart as a surface, to be cut; its normals are those of the unflipped face."""

    def __init__(self, face: Face, *, flip: bool = False) -> None:
        self._face = face
        self.dimension, self.closed = face.dimension, face.is_closed
        self.owner = face.at(np.full((1, face.dimension), 0.5)).owners[0]
        self.per_side = {2: 24, 3: 8}.get(face.dimension, 3)
        self._sign = -1.0 if flip else 1.0

    def position(self, U: Array) -> Array:
        return self._face.at(U).points

    def normal(self, U: Array) -> Array:
        return np.asarray(self._sign * self._face.at(U).normals)

    def on(self, X: Array, tolerance: Array) -> Mask:
        return self._face.touches(X, tolerance)

    def normal_at(self, X: Array) -> Array | None:
        normals = self._face.normals(X)
        return None if normals is None else self._sign * normals


def lattice(cells: Array) -> Array:
    """Parameters (m, 3^k, k) at which cells (m, k, 2) are looked at; the middle of each is in the middle."""
    k = cells.shape[1]
    shares = np.array(list(product(_AT, repeat=k)))
    low, high = cells[..., 0], cells[..., 1]
    return np.asarray(low[:, None, :] + (high - low)[:, None, :] * shares)


def sizes(X: Array, k: int, lengths: Array) -> Array:
    """The measure of each cell from its lattice of points (m, 3^k, d): √det(E Eᵀ) of its edges E."""
    points = X / lengths
    middle = (3**k - 1) // 2
    steps = [3 ** (k - 1 - j) for j in range(k)]
    span = _AT[2] - _AT[0]
    E = np.stack([(points[:, middle + s] - points[:, middle - s]) / span for s in steps], axis=1)
    gram = E @ E.transpose(0, 2, 1)
    return np.asarray(np.sqrt(np.maximum(np.linalg.det(gram), 0.0)))

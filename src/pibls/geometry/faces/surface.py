"""Surfaces x = x(U) of bodies, with U in the unit cube of two or more dimensions."""

from __future__ import annotations

from itertools import product

import numpy as np

from pibls.arrays import Array, Mask
from pibls.geometry.faces.face import Face
from pibls.runtime.caching import cached_property

_CELL_POSITIONS = (0.02, 0.5, 0.98)  # of a parameter cell, along each parameter: where it is sampled


class Surface:
    """Base class of surfaces; derived classes define `position` and `normal`, and optionally `cells`."""

    owner: object
    dimension: int = 2
    is_closed: bool = False
    cells_per_side: int = 24

    def position(self, U: Array) -> Array:
        """Return x(U), (n, d)."""
        raise NotImplementedError

    def normal(self, U: Array) -> Array:
        """Return the unit outward normals at x(U), (n, d)."""
        raise NotImplementedError

    def touches(self, X: Array, tolerance: Array) -> Mask:
        """Return which points X lie on the surface; none if that is not available."""
        return np.zeros(len(X), dtype=np.bool_)

    def normal_at(self, X: Array) -> Array | None:
        """Return the normals at points X on the surface, or None if they are not available."""
        return None

    @cached_property
    def cells(self) -> Array:
        """The initial division of the unit cube of parameters into boxes (m, k, 2)."""
        edges = np.linspace(0.0, 1.0, self.cells_per_side + 1)
        grids = np.meshgrid(*(np.arange(self.cells_per_side),) * self.dimension, indexing="ij")
        low = edges[np.stack(grids, axis=-1).reshape(-1, self.dimension)]
        return np.stack([low, low + edges[1]], axis=-1)

    def areas(self, boxes: Array, lengths: Array) -> Array:
        """Return the area of the surface over boxes of parameters (m, k, 2), in units of ``lengths``."""
        L = cell_parameters(boxes)
        X = self.position(L.reshape(-1, self.dimension)).reshape(*L.shape[:2], -1)
        return cell_measures(X, self.dimension, lengths)

    def cells_near(self, box: Array) -> Array:
        """Return the cells that may meet a box (d, 2); by default all cells."""
        return self.cells


class FaceSurface(Surface):
    """A face with a chart as a surface that can be trimmed; with ``flip``, its normals are reversed."""

    def __init__(self, face: Face, *, flip: bool = False) -> None:
        self._face = face
        self.dimension, self.is_closed = face.dimension, face.is_closed
        self.owner = face.at(np.full((1, face.dimension), 0.5)).owners[0]
        self.cells_per_side = {2: 24, 3: 8}.get(face.dimension, 3)
        self._sign = -1.0 if flip else 1.0

    def position(self, U: Array) -> Array:
        return self._face.at(U).points

    def normal(self, U: Array) -> Array:
        return np.asarray(self._sign * self._face.at(U).normals)

    def touches(self, X: Array, tolerance: Array) -> Mask:
        return self._face.touches(X, tolerance)

    def normal_at(self, X: Array) -> Array | None:
        normals = self._face.normals(X)
        return None if normals is None else self._sign * normals


def cell_parameters(cells: Array) -> Array:
    """Return the 3^k sample parameters (m, 3^k, k) of cells (m, k, 2); the middle one is the cell centre."""
    k = cells.shape[1]
    positions = np.array(list(product(_CELL_POSITIONS, repeat=k)))
    low, high = cells[..., 0], cells[..., 1]
    return np.asarray(low[:, None, :] + (high - low)[:, None, :] * positions)


def cell_measures(X: Array, k: int, lengths: Array) -> Array:
    """Return the measure √det(E Eᵀ) of cells with edges E, from their sample points X (m, 3^k, d)."""
    points = X / lengths
    middle = (3**k - 1) // 2
    steps = [3 ** (k - 1 - j) for j in range(k)]
    span = _CELL_POSITIONS[2] - _CELL_POSITIONS[0]
    E = np.stack([(points[:, middle + s] - points[:, middle - s]) / span for s in steps], axis=1)
    gram = E @ E.transpose(0, 2, 1)
    return np.asarray(np.sqrt(np.maximum(np.linalg.det(gram), 0.0)))

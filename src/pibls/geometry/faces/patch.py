"""Faces of bodies that are a surface x(U) or a part of it, trimmed by other shapes or clipped to a box."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry.affine import Affine
from pibls.geometry.faces.face import Boundary, BoundaryFilter, Face, bounds_part_in_box
from pibls.geometry.faces.surface import Surface, cell_parameters

_MAX_DEPTH, _MAX_DEPTH_IN_BOX = 3, 9
_BOX_FRACTION = 4  # parameter cells in a box are this much smaller than the box
_MAX_ROUNDS = 8
_MAX_CELLS = 20_000  # of a trimmed surface


@dataclass(frozen=True)
class ParameterCells:
    """Boxes of parameters (m, k, 2), and the fraction of each that is kept, (m,)."""

    boxes: Array
    kept_fractions: Array


@dataclass(frozen=True)
class Patch:
    """A surface, or the part of it where every function in ``keep`` is true.

    ``cells`` are the parameter boxes that contain this part; None for the whole surface.
    """

    surface: Surface
    flip: bool = False
    keep: tuple[BoundaryFilter, ...] = ()
    cells: ParameterCells | None = field(default=None, compare=False)

    @property
    def dimension(self) -> int:
        return self.surface.dimension

    @property
    def has_chart(self) -> bool:
        return self.cells is None

    @property
    def is_closed(self) -> bool:
        return self.cells is None and self.surface.is_closed

    @property
    def is_slit_side(self) -> bool:
        return False

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        """Return the points for U; for a part of a surface, as many evenly distributed points."""
        if self.cells is None:
            return self._map(U)
        return self._even_points(self.cells, len(U), rng or np.random.default_rng(0))

    def _map(self, U: Array) -> Boundary:
        normals = self.surface.normal(U)
        return Boundary(
            self.surface.position(U), -normals if self.flip else normals, (self.surface.owner,) * len(U)
        )

    def _even_points(self, cells: ParameterCells, n: int, rng: np.random.Generator) -> Boundary:
        k = self.dimension
        weights = self._areas(cells, None) * cells.kept_fractions
        ends = np.cumsum(weights) / weights.sum()
        U, count = np.empty((0, k)), n
        for _ in range(_MAX_ROUNDS):
            # A Kronecker sequence is evenly distributed for any number of points.
            s = (rng.random(k) + np.arange(1, count + 1)[:, None] * _steps(k)) % 1.0
            index = np.minimum(np.searchsorted(ends, s[:, 0], side="right"), len(ends) - 1)
            start = np.where(index > 0, ends[index - 1], 0.0)
            s[:, 0] = (s[:, 0] - start) / np.maximum(ends[index] - start, 1e-300)
            low, high = cells.boxes[index, :, 0], cells.boxes[index, :, 1]
            found = low + (high - low) * np.clip(s, 0.0, 1.0)
            kept = self._kept(self._map(found))
            U = np.concatenate([U, found[kept]])
            if len(U) >= n:
                break
            count = 2 * (n - len(U)) + 8
        return self._map(U[:n])

    def _kept(self, boundary: Boundary) -> Mask:
        mask = np.ones(len(boundary.points), dtype=np.bool_)
        for keep in self.keep:
            mask &= keep(boundary)
        return mask

    def _areas(self, cells: ParameterCells, lengths: Array | None) -> Array:
        return self.surface.areas(cells.boxes, np.ones(self.dimension + 1) if lengths is None else lengths)

    def measure(self, lengths: Array) -> float:
        cells = self.cells or ParameterCells(self.surface.cells, np.ones(len(self.surface.cells)))
        return float((self._areas(cells, lengths) * cells.kept_fractions).sum())

    def touches(self, X: Array, tolerance: Array) -> Mask:
        on = self.surface.touches(X, tolerance)
        if on.any() and self.keep and (normals := self.normals(X)) is not None:
            on &= self._kept(Boundary(X, normals, (self.surface.owner,) * len(X)))
        return on

    def normals(self, X: Array) -> Array | None:
        normals = self.surface.normal_at(X)
        return -normals if normals is not None and self.flip else normals

    def plane(self) -> tuple[int, float] | None:
        return None

    def flipped(self) -> Patch:
        return replace(self, flip=not self.flip)

    def dense_points(self) -> Array:
        boxes = self.surface.cells if self.cells is None else self.cells.boxes
        U = cell_parameters(boxes).reshape(-1, self.dimension)
        found = self._map(U)
        return found.points if self.cells is None else found.points[self._kept(found)]

    def trimmed(self, keep: BoundaryFilter, near: Array) -> tuple[Face, ...]:
        return self._part(replace(self, keep=(*self.keep, keep)), None)

    def clipped(self, box: Array) -> tuple[Face, ...]:
        def in_box(boundary: Boundary) -> Mask:
            return bounds_part_in_box(box, boundary.points, boundary.normals)

        return self._part(replace(self, keep=(*self.keep, in_box)), box)

    def _candidate_boxes(self, box: Array | None) -> Array:
        """Return the parameter cells of the patch, or of its surface, near a box."""
        if self.cells is not None:
            return self.cells.boxes
        return self.surface.cells if box is None else self.surface.cells_near(box)

    def _part(self, part: Patch, box: Array | None) -> tuple[Face, ...]:
        boxes = self._candidate_boxes(box)
        if not len(boxes):
            return ()
        done: list[tuple[Array, Array]] = []
        is_whole = self.cells is None and len(boxes) == len(self.surface.cells)
        max_depth = _MAX_DEPTH if box is None else _MAX_DEPTH_IN_BOX
        for depth in range(1 + max_depth):
            samples = cell_parameters(boxes)
            boundary = part._map(samples.reshape(-1, self.dimension))
            kept = part._kept(boundary).reshape(samples.shape[:2])
            fractions = kept.mean(axis=1)
            split = (fractions > 0) & (fractions < 1)
            if box is not None:
                X = boundary.points.reshape(*samples.shape[:2], -1)
                split = _split_in_box(X, fractions, box, depth)
            is_last = depth == max_depth
            is_last |= int(split.sum()) << self.dimension > (_MAX_CELLS if self.dimension == 2 else 800)
            stay = (fractions > 0) & (~split | is_last)
            is_whole &= depth == 0 and bool(np.all(fractions == 1))
            done.append((boxes[stay], fractions[stay]))
            if is_last or not split.any():
                break
            boxes = _bisected_boxes(boxes[split])
        found = ParameterCells(np.concatenate([b for b, _ in done]), np.concatenate([s for _, s in done]))
        if is_whole:
            return (replace(self, flip=part.flip),)
        return (replace(part, cells=found),) if len(found.boxes) else ()

    def mapped(self, affine: Affine, owner: object) -> Face:
        return Patch(_Image(self, affine, owner), self.flip)


class _Image(Surface):
    """The image M x(U) + b of a surface."""

    def __init__(self, patch: Patch, affine: Affine, owner: object) -> None:
        self._surface, self._affine, self.owner = patch.surface, affine, owner
        self.dimension, self.is_closed = patch.surface.dimension, patch.surface.is_closed
        self.cells = patch.surface.cells

    def position(self, U: Array) -> Array:
        return self._affine.points(self._surface.position(U))

    def normal(self, U: Array) -> Array:
        return self._affine.normals(self._surface.normal(U))

    def touches(self, X: Array, tolerance: Array) -> Mask:
        scale = float(np.abs(self._affine.inverse).sum(axis=1).max())
        return self._surface.touches(self._affine.inverse_points(X), tolerance * scale)

    def normal_at(self, X: Array) -> Array | None:
        normals = self._surface.normal_at(self._affine.inverse_points(X))
        return None if normals is None else self._affine.normals(normals)


def _steps(k: int) -> Array:
    """Return irrational steps (k,) of a Kronecker sequence: powers of 1/r with r^(k+1) = r + 1."""
    root = 1.5
    for _ in range(40):
        root = (1.0 + root) ** (1.0 / (k + 1))
    return np.asarray((1.0 / root) ** np.arange(1, k + 1))


def _split_in_box(X: Array, fractions: Array, box: Array, depth: int) -> Mask:
    """Return which cells with sample points X to divide: those that meet a box and are coarse or trimmed."""
    low, high = X.min(axis=1), X.max(axis=1)
    reach = 0.5 * (high - low)
    meets_box = np.all((low - reach <= box[:, 1]) & (high + reach >= box[:, 0]), axis=1)
    is_coarse = np.any(high - low > (box[:, 1] - box[:, 0]) / _BOX_FRACTION, axis=1)
    split = meets_box & (fractions < 1) & (is_coarse | (fractions > 0))
    return np.asarray(split & (is_coarse | (depth < _MAX_DEPTH)))


def _bisected_boxes(boxes: Array) -> Array:
    """Divide each box (k, 2) into 2^k boxes."""
    k = boxes.shape[1]
    for j in range(k):
        middle = boxes[:, j].mean(axis=1)
        lower, upper = boxes.copy(), boxes.copy()
        lower[:, j, 1], upper[:, j, 0] = middle, middle
        boxes = np.stack([lower, upper], axis=1).reshape(-1, k, 2)
    return boxes

"""A curved side of a body as a face: whole, or what a box or other shapes leave of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry.faces.face import Boundary, Face, Keep, owned_by
from pibls.geometry.faces.surface import Surface, lattice
from pibls.geometry.maps import Affine

_DEPTH, _DEPTH_IN_BOX = 3, 9
_FINE = 4  # cells in a box are that much smaller than the box
_ROUNDS = 8
_MOST = 20_000  # cells


@dataclass(frozen=True)
class KeptBoxes:
    """Boxes of parameters (m, k, 2), and the share of each that is kept."""

    boxes: Array
    shares: Array


@dataclass(frozen=True)
class Patch:
    """A surface, or the part of it where every ``keep`` holds; its cells are those that have such points."""

    surface: Surface
    flip: bool = False
    keep: tuple[Keep, ...] = ()
    cells: KeptBoxes | None = field(default=None, compare=False)

    @property
    def dimension(self) -> int:
        return self.surface.dimension

    @property
    def has_chart(self) -> bool:
        return self.cells is None

    @property
    def is_closed(self) -> bool:
        return self.cells is None and self.surface.closed

    @property
    def is_thin(self) -> bool:
        return False

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        """The points for U; of a part, as many, evenly spread by themselves."""
        if self.cells is None:
            return self._map(U)
        return self._spread(self.cells, len(U), rng or np.random.default_rng(0))

    def _map(self, U: Array) -> Boundary:
        normals = self.surface.normal(U)
        return Boundary(
            self.surface.position(U), -normals if self.flip else normals, (self.surface.owner,) * len(U)
        )

    def _spread(self, cells: KeptBoxes, n: int, rng: np.random.Generator) -> Boundary:
        k = self.dimension
        weights = self._areas(cells, None) * cells.shares
        ends = np.cumsum(weights) / weights.sum()
        U, more = np.empty((0, k)), n
        for _ in range(_ROUNDS):
            # A Kronecker sequence: even, whatever the number of points.
            s = (rng.random(k) + np.arange(1, more + 1)[:, None] * _steps(k)) % 1.0
            index = np.minimum(np.searchsorted(ends, s[:, 0], side="right"), len(ends) - 1)
            begin = np.where(index > 0, ends[index - 1], 0.0)
            s[:, 0] = (s[:, 0] - begin) / np.maximum(ends[index] - begin, 1e-300)
            low, high = cells.boxes[index, :, 0], cells.boxes[index, :, 1]
            found = low + (high - low) * np.clip(s, 0.0, 1.0)
            kept = self._kept(self._map(found))
            U = np.concatenate([U, found[kept]])
            if len(U) >= n:
                break
            more = 2 * (n - len(U)) + 8
        return self._map(U[:n])

    def _kept(self, boundary: Boundary) -> Mask:
        mask = np.ones(len(boundary.points), dtype=np.bool_)
        for keep in self.keep:
            mask &= keep(boundary)
        return mask

    def _areas(self, cells: KeptBoxes, lengths: Array | None) -> Array:
        return self.surface.areas(cells.boxes, np.ones(self.dimension + 1) if lengths is None else lengths)

    def measure(self, lengths: Array) -> float:
        cells = self.cells or KeptBoxes(self.surface.cells, np.ones(len(self.surface.cells)))
        return float((self._areas(cells, lengths) * cells.shares).sum())

    def touches(self, X: Array, tolerance: Array) -> Mask:
        on = self.surface.on(X, tolerance)
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

    def dense(self) -> Array:
        boxes = self.surface.cells if self.cells is None else self.cells.boxes
        U = lattice(boxes).reshape(-1, self.dimension)
        found = self._map(U)
        return found.points if self.cells is None else found.points[self._kept(found)]

    def trimmed(self, keep: Keep, near: Array) -> tuple[Face, ...]:
        return self._parted(replace(self, keep=(*self.keep, keep)), None)

    def clipped(self, box: Array) -> tuple[Face, ...]:
        def in_box(boundary: Boundary) -> Mask:
            return owned_by(box, boundary.points, boundary.normals)

        return self._parted(replace(self, keep=(*self.keep, in_box)), box)

    def _parted(self, part: Patch, box: Array | None) -> tuple[Face, ...]:
        if self.cells is not None:
            boxes = self.cells.boxes
        else:
            boxes = self.surface.cells if box is None else self.surface.cells_near(box)
        if not len(boxes):
            return ()
        done: list[tuple[Array, Array]] = []
        whole = self.cells is None and len(boxes) == len(self.surface.cells)
        for depth in range(1 + (_DEPTH if box is None else _DEPTH_IN_BOX)):
            L = lattice(boxes)
            B = part._map(L.reshape(-1, self.dimension))
            kept = part._kept(B).reshape(L.shape[:2])
            shares = kept.mean(axis=1)
            split = (shares > 0) & (shares < 1)
            if box is not None:
                X = B.points.reshape(*L.shape[:2], -1)
                low, high = X.min(axis=1), X.max(axis=1)
                reach = 0.5 * (high - low)
                meets = np.all((low - reach <= box[:, 1]) & (high + reach >= box[:, 0]), axis=1)
                coarse = np.any(high - low > (box[:, 1] - box[:, 0]) / _FINE, axis=1)
                split = meets & (shares < 1) & (coarse | (shares > 0))
                split &= coarse | (depth < _DEPTH)
            last = depth == (_DEPTH if box is None else _DEPTH_IN_BOX)
            last |= int(split.sum()) << self.dimension > (_MOST if self.dimension == 2 else 800)
            stay = (shares > 0) & (~split | last)
            whole &= depth == 0 and bool(np.all(shares == 1))
            done.append((boxes[stay], shares[stay]))
            if last or not split.any():
                break
            boxes = _halved(boxes[split])
        found = KeptBoxes(np.concatenate([b for b, _ in done]), np.concatenate([s for _, s in done]))
        if whole:
            return (replace(self, flip=part.flip),)
        return (replace(part, cells=found),) if len(found.boxes) else ()

    def mapped(self, affine: Affine, owner: object) -> Face:
        return Patch(_Image(self, affine, owner), self.flip)


class _Image(Surface):
    """M x(U) + b."""

    def __init__(self, patch: Patch, affine: Affine, owner: object) -> None:
        self._surface, self._affine, self.owner = patch.surface, affine, owner
        self.dimension, self.closed = patch.surface.dimension, patch.surface.closed
        self.cells = patch.surface.cells

    def position(self, U: Array) -> Array:
        return self._affine.points(self._surface.position(U))

    def normal(self, U: Array) -> Array:
        return self._affine.normals(self._surface.normal(U))

    def on(self, X: Array, tolerance: Array) -> Mask:
        scale = float(np.abs(self._affine.inverse).sum(axis=1).max())
        return self._surface.on(self._affine.back(X), tolerance * scale)

    def normal_at(self, X: Array) -> Array | None:
        normals = self._surface.normal_at(self._affine.back(X))
        return None if normals is None else self._affine.normals(normals)


def _steps(k: int) -> Array:
    """Irrational steps for a Kronecker sequence: powers of the root of x^(k+1) = x + 1."""
    root = 1.5
    for _ in range(40):
        root = (1.0 + root) ** (1.0 / (k + 1))
    return np.asarray((1.0 / root) ** np.arange(1, k + 1))


def _halved(boxes: Array) -> Array:
    """Each box (k, 2) in 2^k."""
    k = boxes.shape[1]
    for j in range(k):
        middle = boxes[:, j].mean(axis=1)
        lower, upper = boxes.copy(), boxes.copy()
        lower[:, j, 1], upper[:, j, 0] = middle, middle
        boxes = np.stack([lower, upper], axis=1).reshape(-1, k, 2)
    return boxes

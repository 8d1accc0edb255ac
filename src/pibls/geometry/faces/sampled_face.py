"""The boundary of a user-defined domain, which can only be sampled at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array, Indices, Mask, Rng
from pibls.geometry.affine import Affine
from pibls.geometry.faces.crossings import boundary_crossings, with_known_planes
from pibls.geometry.faces.face import Boundary, BoundaryFilter, Face, bounds_part_in_box, join_boundaries

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain

_CACHED_POINTS = 1 << 13  # drawn once to locate the boundary
_MAX_ROUNDS = 8
_MIN_POINTS = 8
_MIN_POINTS_IN_BOX = 512  # with fewer, crossings of grid lines are computed
_MAX_CACHED_BOXES = 4096  # per domain
_MAX_GAP = 20.0  # mean distances between samples: no boundary point is further from a sample


@dataclass(frozen=True)
class SampledFace:
    """The boundary of a domain that can only be sampled, or the part of it where ``keep`` is true."""

    domain: Domain
    flip: bool = False
    keep: tuple[BoundaryFilter, ...] = ()
    known: Boundary | None = field(default=None, compare=False)
    """Known points of a part of the boundary; None for the whole boundary."""
    sizes: Array | None = field(default=None, compare=False)
    """The boundary measure that each known point represents, for a part in a box."""

    has_chart = False
    is_closed = False
    is_slit_side = False

    @property
    def dimension(self) -> int:
        return len(self.domain.coordinates) - 1

    @property
    def count(self) -> int:
        """The number of known points."""
        return 0 if self.known is None else len(self.known.points)

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        n, rng = len(U), rng or np.random.default_rng(0)
        if self.known is None:
            return self._drawn(n, rng)
        if self.sizes is not None:
            return _selected(self.known, rng.permutation(_farthest_points(self.known.points, n)))
        found, count = [self.known], len(self.known.points)
        for _ in range(_MAX_ROUNDS):
            if count >= n:
                break
            found.append(self._kept(self._drawn(_CACHED_POINTS, rng)))
            count += len(found[-1].points)
        return _selected(join_boundaries(found, self.known.points.shape[1]), rng.permutation(count)[:n])

    def _drawn(self, n: int, rng: np.random.Generator) -> Boundary:
        points, normals, owners = self.domain.boundary(n, rng)
        normals = np.asarray(normals, float)
        return Boundary(np.asarray(points, float), -normals if self.flip else normals, tuple(owners))

    def _kept(self, found: Boundary) -> Boundary:
        for keep in self.keep:
            found = found.select(keep(found))
        return found

    def measure(self, lengths: Array) -> float:
        """Return 1 for the whole boundary, the only face; for a part, an estimate from its points."""
        if self.known is None:
            return 1.0
        if self.sizes is None:
            return _estimated_measure(self.known.points / lengths, self.dimension)
        stretch = np.linalg.norm(self.known.normals * lengths, axis=1) / np.prod(lengths)
        return float((self.sizes * stretch).sum())

    def touches(self, X: Array, tolerance: Array) -> Mask:
        return np.zeros(len(X), dtype=np.bool_)

    def normals(self, X: Array) -> Array | None:
        return None

    def plane(self) -> tuple[int, float] | None:
        return None

    def dense_points(self) -> Array:
        return (_boundary_cache(self.domain).points if self.known is None else self.known).points

    def clipped(self, box: Array) -> tuple[Face, ...]:
        """Return the part in a box; if it has few known points, crossings of grid lines are computed."""

        def in_box(found: Boundary) -> Mask:
            return bounds_part_in_box(box, found.points, found.normals)

        parts = self._part(in_box)
        if self.dimension not in (1, 2) or sum(part.count for part in parts) >= _MIN_POINTS_IN_BOX:
            return parts
        found = _boundary_cache(self.domain).within(box)
        if found is None:
            return parts
        known, sizes = found
        known = known.flipped() if self.flip else known
        for keep in (*self.keep, in_box):
            kept = np.asarray(keep(known), dtype=np.bool_)
            known, sizes = known.select(kept), sizes[kept]
        if not len(sizes):
            return parts
        return (replace(self, keep=(*self.keep, in_box), known=known, sizes=sizes),)

    def trimmed(self, keep: BoundaryFilter, near: Array) -> tuple[Face, ...]:
        return self._part(keep)

    def _part(self, keep: BoundaryFilter) -> tuple[SampledFace, ...]:
        known = self.known
        if known is None:
            known = _boundary_cache(self.domain).points
            known = known.flipped() if self.flip else known
        kept = np.asarray(keep(known), dtype=np.bool_)
        sizes = None if self.sizes is None else self.sizes[kept]
        known = known.select(kept)
        if not len(known.points):
            return ()
        return (replace(self, keep=(*self.keep, keep), known=known, sizes=sizes),)

    def flipped(self) -> SampledFace:
        known = self.known
        flipped_points = None if known is None else known.flipped()
        return replace(self, flip=not self.flip, known=flipped_points)

    def mapped(self, affine: Affine, owner: object) -> Face:
        raise NotImplementedError(
            "a face without a chart has no affine image; map the points of the domain instead"
        )


class _BoundaryCache:
    """Cached samples of the boundary of a domain, their mean spacing, and crossings in boxes."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.points = SampledFace(domain).at(np.empty((_CACHED_POINTS, 0)))
        self.spacing = _mean_spacing(self.points.points)
        self.extent = float(np.ptp(self.points.points, axis=0).max())
        self._boxes: dict[bytes, tuple[Boundary, Array]] = {}

    def within(self, box: Array) -> tuple[Boundary, Array] | None:
        """Return boundary points in a slightly enlarged box with their measures; None if no sample is near.

        The result is cached, since refinement queries the same cells repeatedly.
        """
        key = box.tobytes()
        if key not in self._boxes:
            X, reach = self.points.points, _MAX_GAP * self.spacing
            near = np.all((box[:, 0] - reach <= X) & (box[:, 1] + reach >= X), axis=1)
            if not near.any():
                return None
            if len(self._boxes) >= _MAX_CACHED_BOXES:
                self._boxes.clear()
            self._boxes[key] = with_known_planes(
                boundary_crossings(self.domain, box), self.points.select(near), self.extent
            )
        return self._boxes[key]


_caches: list[_BoundaryCache] = []


def _boundary_cache(domain: Domain) -> _BoundaryCache:
    """Return the cache of a domain, compared by identity, since a user-defined shape may not be hashable."""
    for found in _caches:
        if found.domain is domain:
            return found
    _caches.append(_BoundaryCache(domain))
    del _caches[:-8]
    return _caches[-1]


def _mean_spacing(X: Array) -> float:
    """Return the mean distance of the points X to their nearest neighbours."""
    from scipy.spatial import cKDTree

    return float(cKDTree(X).query(X, k=2)[0][:, 1].mean())


def _selected(known: Boundary, chosen: Indices) -> Boundary:
    owners = tuple(known.owners[i] for i in chosen)
    return Boundary(known.points[chosen], known.normals[chosen], owners)


def _farthest_points(X: Array, n: int) -> Indices:
    """Return the indices of n points by farthest-point sampling; repeated if there are fewer than n."""
    if n >= len(X):
        return np.resize(np.arange(len(X)), n)
    Y = X / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
    out = [int(np.linalg.norm(Y - Y.mean(axis=0), axis=1).argmax())]
    distance = np.full(len(X), np.inf)
    while len(out) < n:
        distance = np.minimum(distance, np.linalg.norm(Y - Y[out[-1]], axis=1))
        out.append(int(distance.argmax()))
    return np.array(out, dtype=np.intp)


def _estimated_measure(X: Array, k: int) -> float:
    """Estimate the measure of a k-dimensional set from the nearest-neighbour distances of random points X."""
    if k == 0:
        return 1.0
    if len(X) < _MIN_POINTS:
        return float(np.linalg.norm(np.ptp(X, axis=0))) ** k
    from scipy.spatial import cKDTree

    distances = cKDTree(X).query(X, k=2)[0][:, 1]
    # E r = Γ(1 + 1/k) (n V_k / |S|)^(-1/k) where V_k is the volume of the unit ball.
    ball = math.pi ** (k / 2) / math.gamma(1 + k / 2)
    return float(len(X) * ball * (distances.mean() / math.gamma(1 + 1 / k)) ** k)

"""∂Ω of a domain that only knows how to draw from it: a user's own shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array, Mask, Numbers, Rng
from pibls.geometry.faces.crossings import crossings, flattened
from pibls.geometry.faces.face import Boundary, Face, Keep, join, owned_by
from pibls.geometry.maps import Affine

if TYPE_CHECKING:
    from pibls.geometry.protocol import Domain

_DENSE = 1 << 13  # points that are drawn once, to know where the boundary is
_ROUNDS = 8
_FEW = 8
_ENOUGH = 512  # points in a box from which some are chosen; fewer leave gaps
_BOXES = 4096  # for which the boundary in them is kept
_GAP = 20.0  # mean distances between two of them: nowhere is the boundary further from a known point


@dataclass(frozen=True)
class Cloud:
    """The boundary of a domain that only knows how to draw from it, or what is kept of it."""

    domain: Domain
    flip: bool = False
    keep: tuple[Keep, ...] = ()
    known: Boundary | None = field(default=None, compare=False)
    """Of a part: the points of it that are known already."""
    sizes: Array | None = field(default=None, compare=False)
    """Of a part in a box: how much of the boundary each of these stands for."""

    has_chart = False
    is_closed = False
    is_thin = False

    @property
    def dimension(self) -> int:
        return len(self.domain.coordinates) - 1

    @property
    def count(self) -> int:
        """How many of its points are known."""
        return 0 if self.known is None else len(self.known.points)

    def at(self, U: Array, rng: Rng | None = None) -> Boundary:
        n, rng = len(U), rng or np.random.default_rng(0)
        if self.known is None:
            return self._drawn(n, rng)
        if self.sizes is not None:
            return _taken(self.known, rng.permutation(_apart(self.known.points, n)))
        found, count = [self.known], len(self.known.points)
        for _ in range(_ROUNDS):
            if count >= n:
                break
            found.append(self._kept(self._drawn(_DENSE, rng)))
            count += len(found[-1].points)
        return _taken(join(found, self.known.points.shape[1]), rng.permutation(count)[:n])

    def _drawn(self, n: int, rng: np.random.Generator) -> Boundary:
        points, normals, owners = self.domain.boundary(n, rng)
        normals = np.asarray(normals, float)
        return Boundary(np.asarray(points, float), -normals if self.flip else normals, tuple(owners))

    def _kept(self, found: Boundary) -> Boundary:
        for keep in self.keep:
            found = found.select(keep(found))
        return found

    def measure(self, lengths: Array) -> float:
        """1 where it is the only face, and never compared; of a part, from how close its points lie."""
        if self.known is None:
            return 1.0
        if self.sizes is None:
            return _extent(self.known.points / lengths, self.dimension)
        stretch = np.linalg.norm(self.known.normals * lengths, axis=1) / np.prod(lengths)
        return float((self.sizes * stretch).sum())

    def touches(self, X: Array, tolerance: Array) -> Mask:
        return np.zeros(len(X), dtype=np.bool_)

    def normals(self, X: Array) -> Array | None:
        return None

    def plane(self) -> tuple[int, float] | None:
        return None

    def dense(self) -> Array:
        return (_seen(self.domain).points if self.known is None else self.known).points

    def clipped(self, box: Array) -> tuple[Face, ...]:
        """In a small box there are few known points, in a tiny one none at all: there they are looked for."""

        def in_box(found: Boundary) -> Mask:
            return owned_by(box, found.points, found.normals)

        parts = self._part(in_box)
        if self.dimension not in (1, 2) or sum(part.count for part in parts) >= _ENOUGH:
            return parts
        found = _seen(self.domain).within(box)
        if found is None:
            return parts
        known, sizes = found
        known = known._replace(normals=-known.normals) if self.flip else known
        for keep in (*self.keep, in_box):
            kept = np.asarray(keep(known), dtype=np.bool_)
            known, sizes = known.select(kept), sizes[kept]
        if not len(sizes):
            return parts
        return (replace(self, keep=(*self.keep, in_box), known=known, sizes=sizes),)

    def trimmed(self, keep: Keep, near: Array) -> tuple[Face, ...]:
        return self._part(keep)

    def _part(self, keep: Keep) -> tuple[Cloud, ...]:
        known = self.known
        if known is None:
            known = _seen(self.domain).points
            known = known._replace(normals=-known.normals) if self.flip else known
        kept = np.asarray(keep(known), dtype=np.bool_)
        sizes = None if self.sizes is None else self.sizes[kept]
        known = known.select(kept)
        if not len(known.points):
            return ()
        return (replace(self, keep=(*self.keep, keep), known=known, sizes=sizes),)

    def flipped(self) -> Cloud:
        known = self.known
        turned = None if known is None else known._replace(normals=-known.normals)
        return replace(self, flip=not self.flip, known=turned)

    def mapped(self, affine: Affine, owner: object) -> Face:
        raise NotImplementedError("a domain without charts maps its points, not its faces")


class _Seen:
    """What is known of the boundary of a domain: many points, how far apart they are, more in some boxes."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.points = Cloud(domain).at(np.empty((_DENSE, 0)))
        self.spacing = _apart_by(self.points.points)
        self.extent = float(np.ptp(self.points.points, axis=0).max())
        self._boxes: dict[bytes, tuple[Boundary, Array]] = {}

    def within(self, box: Array) -> tuple[Boundary, Array] | None:
        """The boundary in a box and a little around it, with sizes; None where there is none anywhere near.

        The cells of a tree are asked for it again and again while others are divided.
        """
        key = box.tobytes()
        if key not in self._boxes:
            X, reach = self.points.points, _GAP * self.spacing
            near = np.all((box[:, 0] - reach <= X) & (box[:, 1] + reach >= X), axis=1)
            if not near.any():
                return None
            if len(self._boxes) >= _BOXES:
                self._boxes.clear()
            self._boxes[key] = flattened(crossings(self.domain, box), self.points.select(near), self.extent)
        return self._boxes[key]


_known: list[_Seen] = []


def _seen(domain: Domain) -> _Seen:
    """Looked at once for each domain; a user's shape may have no hash."""
    for found in _known:
        if found.domain is domain:
            return found
    _known.append(_Seen(domain))
    del _known[:-8]
    return _known[-1]


def _apart_by(X: Array) -> float:
    """The mean distance to the nearest other point."""
    from scipy.spatial import cKDTree

    return float(cKDTree(X).query(X, k=2)[0][:, 1].mean())


def _taken(known: Boundary, chosen: Numbers) -> Boundary:
    owners = tuple(known.owners[i] for i in chosen)
    return Boundary(known.points[chosen], known.normals[chosen], owners)


def _apart(X: Array, n: int) -> Numbers:
    """The numbers of n points as far apart from each other as can be; some twice where there are fewer."""
    if n >= len(X):
        return np.resize(np.arange(len(X)), n)
    Y = X / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1.0)
    out = [int(np.linalg.norm(Y - Y.mean(axis=0), axis=1).argmax())]
    distance = np.full(len(X), np.inf)
    while len(out) < n:
        distance = np.minimum(distance, np.linalg.norm(Y - Y[out[-1]], axis=1))
        out.append(int(distance.argmax()))
    return np.array(out, dtype=np.intp)


def _extent(X: Array, k: int) -> float:
    """The measure of a k-dimensional set from random points of it: n of them are n^(-1/k) apart."""
    if k == 0:
        return 1.0
    if len(X) < _FEW:
        return float(np.linalg.norm(np.ptp(X, axis=0))) ** k
    from scipy.spatial import cKDTree

    apart = cKDTree(X).query(X, k=2)[0][:, 1]
    # E r = Γ(1 + 1/k) (n V_k / |S|)^(-1/k) with the volume V_k of the unit ball.
    ball = math.pi ** (k / 2) / math.gamma(1 + k / 2)
    return float(len(X) * ball * (apart.mean() / math.gamma(1 + 1 / k)) ** k)

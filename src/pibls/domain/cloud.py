"""∂Ω of a domain that only knows how to draw from it: a user's own shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array, Mask
from pibls.domain.face import Boundary, Face, Keep, join, owned_by
from pibls.domain.maps import Affine

if TYPE_CHECKING:
    from pibls.domain.protocol import Domain

_DENSE = 1 << 13  # points that are drawn once, to know where the boundary is
_ROUNDS = 8
_FEW = 8


@dataclass(frozen=True)
class Cloud:
    """The boundary of a domain that only knows how to draw from it, or what is kept of it."""

    domain: Domain
    flip: bool = False
    keep: tuple[Keep, ...] = ()
    known: Boundary | None = field(default=None, compare=False)
    """Of a part: the points of it that are known already."""

    has_chart = False
    is_closed = False

    @property
    def dimension(self) -> int:
        return len(self.domain.coordinates) - 1

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        if self.known is None:
            return self._drawn(len(U), rng)
        n = len(U)
        found, count = [self.known], len(self.known.points)
        for _ in range(_ROUNDS):
            if count >= n:
                break
            found.append(self._kept(self._drawn(_DENSE, rng)))
            count += len(found[-1].points)
        together = join(found, self.known.points.shape[1])
        chosen = rng.permutation(count)[:n]
        owners = tuple(together.owners[i] for i in chosen)
        return Boundary(together.points[chosen], together.normals[chosen], owners)

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
        return _extent(self.known.points / lengths, self.dimension)

    def touches(self, X: Array, tolerance: Array) -> Mask:
        return np.zeros(len(X), dtype=np.bool_)

    def normals(self, X: Array) -> Array | None:
        return None

    def plane(self) -> tuple[int, float] | None:
        return None

    def dense(self) -> Array:
        return (_dense(self.domain) if self.known is None else self.known).points

    def clipped(self, box: Array) -> tuple[Face, ...]:
        return self._part(lambda found: owned_by(box, found.points, found.normals))

    def trimmed(self, keep: Keep, near: Array) -> tuple[Face, ...]:
        return self._part(keep)

    def _part(self, keep: Keep) -> tuple[Face, ...]:
        known = self.known
        if known is None:
            known = _dense(self.domain)
            known = known._replace(normals=-known.normals) if self.flip else known
        known = known.select(keep(known))
        return (replace(self, keep=(*self.keep, keep), known=known),) if len(known.points) else ()

    def flipped(self) -> Cloud:
        known = self.known
        turned = None if known is None else known._replace(normals=-known.normals)
        return replace(self, flip=not self.flip, known=turned)

    def mapped(self, affine: Affine, owner: object) -> Face:
        raise NotImplementedError("a domain without charts maps its points, not its faces")


_drawn: list[tuple[Domain, Boundary]] = []


def _dense(domain: Domain) -> Boundary:
    """Many points, drawn once for each domain; a user's shape need not be hashable."""
    for known, dense in _drawn:
        if known is domain:
            return dense
    dense = Cloud(domain).at(np.empty((_DENSE, 0)), np.random.default_rng(0))
    _drawn.append((domain, dense))
    del _drawn[:-8]
    return dense


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

"""∂Ω of a domain that only knows how to draw from it: a user's own shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array, Mask
from pibls.domain.face import Boundary, Face, join, owned_by

if TYPE_CHECKING:
    from pibls.domain.protocol import Domain

_DENSE = 1 << 14  # points that are drawn once, to know where the boundary is
_ROUNDS = 6


@dataclass(frozen=True)
class Cloud:
    """The whole boundary of a domain that only knows how to draw from it."""

    domain: Domain

    has_chart = False
    is_closed = False

    @property
    def dimension(self) -> int:
        return len(self.domain.coordinates) - 1

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        points, normals, owners = self.domain.boundary(len(U), rng)
        return Boundary(np.asarray(points, float), np.asarray(normals, float), tuple(owners))

    def measure(self, lengths: Array) -> float:
        # A cloud is the only face of its domain, so its size is never compared with another's.
        return 1.0

    def touches(self, X: Array, tolerance: Array) -> Mask:
        return np.zeros(len(X), dtype=np.bool_)

    def normals(self, X: Array) -> Array | None:
        return None

    def plane(self) -> tuple[int, float] | None:
        return None

    def clipped(self, box: Array) -> tuple[Face, ...]:
        dense = _dense(self)
        mask = owned_by(box, dense.points, dense.normals)
        return (CloudPart(self, box, dense.select(mask)),) if mask.any() else ()


_kept: list[tuple[Domain, Boundary]] = []


def _dense(cloud: Cloud) -> Boundary:
    """Many points, drawn once for each domain; a user's shape need not be hashable."""
    for domain, dense in _kept:
        if domain is cloud.domain:
            return dense
    dense = cloud.at(np.empty((_DENSE, cloud.dimension)), np.random.default_rng(0))
    _kept.append((cloud.domain, dense))
    del _kept[:-4]
    return dense


@dataclass(frozen=True)
class CloudPart:
    """What of a cloud lies in a box."""

    cloud: Cloud
    box: Array
    known: Boundary

    has_chart = False
    is_closed = False

    @property
    def dimension(self) -> int:
        return self.cloud.dimension

    def at(self, U: Array, rng: np.random.Generator) -> Boundary:
        """len(U) points where so many can be found, the known ones first."""
        n = len(U)
        found, count = [self.known], len(self.known.points)
        for _ in range(_ROUNDS):
            if count >= n:
                break
            more = self.cloud.at(np.empty((_DENSE, self.dimension)), rng)
            found.append(more.select(owned_by(self.box, more.points, more.normals)))
            count += len(found[-1].points)
        together = join(found, self.known.points.shape[1])
        return Boundary(together.points[:n], together.normals[:n], together.owners[:n])

    def measure(self, lengths: Array) -> float:
        """As if it were smooth: about as large as the box around it is."""
        spread = np.ptp(self.known.points, axis=0) / lengths
        return float(np.linalg.norm(spread)) ** self.dimension if self.dimension else 1.0

    def touches(self, X: Array, tolerance: Array) -> Mask:
        return np.zeros(len(X), dtype=np.bool_)

    def normals(self, X: Array) -> Array | None:
        return None

    def plane(self) -> tuple[int, float] | None:
        return None

    def clipped(self, box: Array) -> tuple[Face, ...]:
        low, high = np.maximum(self.box[:, 0], box[:, 0]), np.minimum(self.box[:, 1], box[:, 1])
        return self.cloud.clipped(np.column_stack([low, high])) if np.all(low < high) else ()

r"""u(x) = u₁(x) + u₂(x) + …: a sum of functions, each in a space of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.problem import Jet
from pibls.spaces.protocol import Parted, Space


@dataclass(frozen=True)
class Summed(Parted):
    """Spaces over the same domain, whose functions are added."""

    parts: tuple[Space, ...]

    @property
    def _finest(self) -> Space:
        return max(self.parts, key=lambda p: len(p.windows))

    @property
    def windows(self) -> tuple[tuple[float, float], ...]:
        return self._finest.windows

    @property
    def reach(self) -> tuple[int, float, float] | None:
        known = [p.reach for p in self.parts if p.reach is not None]
        if not known:
            return None
        return known[0][0], max(r[1] for r in known), min(r[2] for r in known)

    def boxes_in(self, box: Array) -> Array:
        return self._finest.boxes_in(box)

    def values(self, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
        each = zip(self.parts, np.split(w, self.starts[1:-1]), strict=True)
        return np.asarray(sum(part.values(sites, jets, mine) for part, mine in each))

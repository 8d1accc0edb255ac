r"""Sums u(x) = u₁(x) + u₂(x) + … of functions from several spaces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.problem import PartialDerivative
from pibls.spaces.protocol import ConcatenatedSpace, Space


@dataclass(frozen=True)
class SumSpace(ConcatenatedSpace):
    """The sum of spaces over the same domain."""

    parts: tuple[Space, ...]

    @property
    def _finest(self) -> Space:
        return max(self.parts, key=lambda p: len(p.time_windows))

    @property
    def time_windows(self) -> tuple[tuple[float, float], ...]:
        return self._finest.time_windows

    @property
    def known_range(self) -> tuple[int, float, float] | None:
        known = [p.known_range for p in self.parts if p.known_range is not None]
        if not known:
            return None
        return known[0][0], max(r[1] for r in known), min(r[2] for r in known)

    def cell_boxes(self, box: Array) -> Array:
        return self._finest.cell_boxes(box)

    def values(self, sites: tuple[Array, ...], derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        each = zip(self.parts, np.split(w, self.starts[1:-1]), strict=True)
        return np.asarray(sum(part.values(sites, derivatives, mine) for part, mine in each))

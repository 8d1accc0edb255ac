r"""u(x, t) = u_i(x, t) for t in the window (t_i, t_{i+1}): one function over many windows in time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pibls.arrays import Array
from pibls.caching import cached_property
from pibls.problem import Jet
from pibls.spaces.protocol import Located, Parted, Space, by_part
from pibls.spaces.stacked import Stacked


@dataclass(frozen=True)
class Windows(Located, Parted):
    """Spaces one after another along an axis, with ``edges`` that ascend."""

    axis: int
    edges: tuple[float, ...]
    parts: tuple[Space, ...]

    @cached_property
    def _stacked(self) -> Stacked | None:
        return Stacked.of(self.parts)

    @property
    def is_line(self) -> bool:
        return self._stacked is not None

    @property
    def in_time(self) -> Windows:
        return self

    @property
    def windows(self) -> tuple[tuple[float, float], ...]:
        return tuple(pairwise(self.edges))

    @property
    def reach(self) -> tuple[int, float, float]:
        return self.axis, self.edges[0], self.edges[-1]

    def boxes_in(self, box: Array) -> Array:
        out = []
        for part, window in zip(self.parts, self.windows, strict=True):
            here = part.boxes_in(box).copy()
            here[:, self.axis] = window
            out.append(here)
        return np.concatenate(out)

    def _at(self, X: Array, jets: tuple[Jet, ...], w: Array) -> Array:
        """Not a number before the first window and after the last one."""
        out = np.full((len(jets), len(X)), np.nan)
        slack = 1e-12 * (self.edges[-1] - self.edges[0])
        t = X[:, self.axis]
        known = np.flatnonzero((t >= self.edges[0] - slack) & (t <= self.edges[-1] + slack))
        where = np.searchsorted(np.asarray(self.edges[1:-1]), t[known], side="right")
        if self._stacked is not None:
            out[:, known] = self._stacked.values(t[known], where, jets, w)
        elif len(known):
            own = X[known]
            out[:, known] = by_part(where, lambda i, rows: self._of_part(i, own[rows], jets, w), len(jets))
        return out

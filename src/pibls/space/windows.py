r"""u(x, t) = u_i(x, t) for t in the window (t_i, t_{i+1}): one function over many windows in time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from pibls.arrays import Array
from pibls.problem import Jet
from pibls.space.protocol import Parted, Space
from pibls.space.stacked import Stacked


@dataclass(frozen=True)
class Windows(Parted):
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

    def values(self, sites: tuple[Array, ...], jets: tuple[Jet, ...], w: Array) -> Array:
        out = np.empty((len(jets), len(sites[0])))
        inner = np.asarray(self.edges[1:-1])
        for site, X in enumerate(sites):
            here = np.array([i for i, j in enumerate(jets) if j.site == site], dtype=np.intp)
            if not len(here) or not len(X):
                continue
            wanted = tuple(Jet(jets[i].unknown, jets[i].alpha) for i in here)
            t = X[:, self.axis]
            slack = 1e-12 * (self.edges[-1] - self.edges[0])
            out[np.ix_(here, np.flatnonzero((t < self.edges[0] - slack) | (t > self.edges[-1] + slack)))] = (
                np.nan
            )
            where = np.searchsorted(inner, t, side="right")
            known = np.flatnonzero((t >= self.edges[0] - slack) & (t <= self.edges[-1] + slack))
            if not len(known):
                continue
            if self._stacked is not None:
                out[np.ix_(here, known)] = self._stacked.values(t[known], where[known], wanted, w)
                continue
            order = known[np.argsort(where[known], kind="stable")]
            windows, firsts = np.unique(where[order], return_index=True)
            for window, rows in zip(windows, np.split(order, firsts[1:]), strict=True):
                mine = w[self.starts[window] : self.starts[window + 1]]
                out[np.ix_(here, rows)] = self.parts[window].values((X[rows],), wanted, mine)
        return out

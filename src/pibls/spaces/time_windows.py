r"""A space divided into time windows: u(x, t) = u_i(x, t) for t in the window (t_i, t_{i+1})."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pibls.arrays import Array
from pibls.problem import PartialDerivative
from pibls.runtime.caching import cached_property
from pibls.spaces.protocol import ConcatenatedSpace, LocatedSpace, Space, evaluate_by_part
from pibls.spaces.stacked_windows import StackedWindows


@dataclass(frozen=True)
class TimeWindows(LocatedSpace, ConcatenatedSpace):
    """Spaces one after another along the time axis, with ascending ``edges``."""

    axis: int
    edges: tuple[float, ...]
    parts: tuple[Space, ...]

    @cached_property
    def _stacked(self) -> StackedWindows | None:
        return StackedWindows.of(self.parts)

    @property
    def is_time_only(self) -> bool:
        return self._stacked is not None

    @property
    def window_spaces(self) -> tuple[Space, ...]:
        return self.parts

    def window_coefficients(self, w: Array) -> list[Array]:
        return [w[a:b] for a, b in pairwise(self.starts)]

    def with_window_spaces(self, parts: Sequence[Space]) -> TimeWindows:
        return replace(self, parts=tuple(parts))

    @property
    def time_windows(self) -> tuple[tuple[float, float], ...]:
        return tuple(pairwise(self.edges))

    @property
    def known_range(self) -> tuple[int, float, float]:
        return self.axis, self.edges[0], self.edges[-1]

    def cell_boxes(self, box: Array) -> Array:
        out = []
        for part, window in zip(self.parts, self.time_windows, strict=True):
            here = part.cell_boxes(box).copy()
            here[:, self.axis] = window
            out.append(here)
        return np.concatenate(out)

    def _evaluate(self, X: Array, derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        """Return values; NaN before the first window and after the last one."""
        out = np.full((len(derivatives), len(X)), np.nan)
        slack = 1e-12 * (self.edges[-1] - self.edges[0])
        t = X[:, self.axis]
        known = np.flatnonzero((t >= self.edges[0] - slack) & (t <= self.edges[-1] + slack))
        where = np.searchsorted(np.asarray(self.edges[1:-1]), t[known], side="right")
        if self._stacked is not None:
            out[:, known] = self._stacked.values(t[known], where, derivatives, w)
        elif len(known):
            own = X[known]
            out[:, known] = evaluate_by_part(
                where, lambda i, rows: self._part_values(i, own[rows], derivatives, w), len(derivatives)
            )
        return out

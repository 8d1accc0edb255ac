r"""|δ_{k+1}| ≤ q |δ_k|: when the steps of Newton's method with a kept matrix are enough, rounding, or none.

Shared by windows on a line (`newton`) and on any shape (`room_solver`), with what both make of the values at
the moments of a window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.evolutions.time_stepping import NoWindowError
from pibls.adaptive.thresholds import LINES
from pibls.arrays import Array
from pibls.nonlinear.stages import Stages


@dataclass
class Contraction:
    """How the steps of one window shrink."""

    ratio: float = 1.0
    """The last step over the one before; at first, what is expected."""
    moved: float = math.inf
    steps: int = 0
    _slow: int = 0

    def hear(self, moved: float) -> None:
        """A step of that length was made."""
        if not math.isfinite(moved):
            raise NoWindowError
        if self.steps:
            self.ratio = moved / self.moved
        self.moved, self.steps = moved, self.steps + 1

    def is_there(self, enough: float) -> bool:
        """Whether this step, or all that would follow, are no longer than that."""
        ahead = self.moved * self.ratio / (1.0 - min(self.ratio, 0.9))
        return self.moved <= enough or ahead <= enough

    def is_rounding(self, most: float) -> bool:
        """Whether steps below that no longer shrink."""
        return self.steps > 1 and self.ratio > 0.7 and self.moved < most

    def is_slower(self, most: float) -> bool:
        return self.steps > 1 and self.ratio > most

    def wants_another(self, fresh: bool) -> bool:
        """Whether a matrix nearer to the solution is needed, where this one is not ``fresh``, or is slow."""
        if not self.is_slower(LINES.contraction):
            return False
        self._slow += 1
        if (self.ratio > 2.0 and fresh and self.steps > 3) or self._slow > 3:
            raise NoWindowError
        return not fresh or self.ratio < 1.0


def series_of(st: Stages, begun: Array, U: Array, orders: tuple[int, ...]) -> Array:
    """Coefficients in time of values at the start and at the moments, (cells, unknowns, n, s + 1)."""
    out = np.empty((*U.shape[:3], st.count + 1))
    every = np.concatenate([begun[..., None], U], axis=-1)
    for k, order in enumerate(orders):
        out[:, k] = every[:, k] @ st.series.T if order else U[:, k] @ st.bare.T
    return out


def extended(series: Array, window: tuple[float, float], times: Array) -> Array:
    """The polynomials of a window at other times."""
    s = 2.0 * (times - window[0]) / (window[1] - window[0]) - 1.0
    return np.asarray(series @ np.polynomial.legendre.legvander(s, series.shape[-1] - 1).T)


def start_from(extended: Array, held: Array, sizes: Array) -> Array:
    """Where Newton's method starts: the last window a little further, or, where that leads far, its end."""
    far = np.abs(extended - held).max()
    near = np.isfinite(far) and far < 0.5 * max(float(sizes.max()), 1e-300)
    return np.ascontiguousarray(extended if near else held)

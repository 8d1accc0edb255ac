r"""Convergence test of Newton's method with a reused Jacobian, abs(δ_{k+1}) ≤ q abs(δ_k), and initial guess.

Shared by `box.solver` and `shape.solver`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.time.radau_stages import RadauStages
from pibls.time.thresholds import COLLOCATION
from pibls.time.trajectory import WindowFailedError


@dataclass
class NewtonConvergence:
    """Sizes of the Newton steps of one window and their ratio."""

    ratio: float = 1.0
    """The last step over the one before; the expected ratio before the second step."""
    step_size: float = math.inf
    steps: int = 0
    _slow: int = 0

    def record_step(self, step_size: float) -> None:
        """Record the size of a step."""
        if not math.isfinite(step_size):
            raise WindowFailedError
        if self.steps:
            self.ratio = step_size / self.step_size
        self.step_size, self.steps = step_size, self.steps + 1

    def has_converged(self, enough: float) -> bool:
        """Whether this step, or the sum of all that would follow, is at most ``enough``."""
        ahead = self.step_size * self.ratio / (1.0 - min(self.ratio, 0.9))
        return self.step_size <= enough or ahead <= enough

    def is_rounding(self, most: float) -> bool:
        """Whether steps below ``most`` no longer shrink."""
        return self.steps > 1 and self.ratio > 0.7 and self.step_size < most

    def is_slower_than(self, most: float) -> bool:
        return self.steps > 1 and self.ratio > most

    def needs_new_jacobian(self, fresh: bool) -> bool:
        """Whether the Jacobian should be recomputed: it is not ``fresh`` and converges too slowly."""
        if not self.is_slower_than(COLLOCATION.max_contraction):
            return False
        self._slow += 1
        if (self.ratio > 2.0 and fresh and self.steps > 3) or self._slow > 3:
            raise WindowFailedError
        return not fresh or self.ratio < 1.0


def time_coefficients(st: RadauStages, initial: Array, U: Array, orders: tuple[int, ...]) -> Array:
    """Return Legendre coefficients in time from initial values and collocation values, (…, n, s + 1)."""
    out = np.empty((*U.shape[:3], st.count + 1))
    every = np.concatenate([initial[..., None], U], axis=-1)
    for k, order in enumerate(orders):
        out[:, k] = every[:, k] @ st.series.T if order else U[:, k] @ st.series_without_start.T
    return out


def extrapolate(series: Array, window: tuple[float, float], times: Array) -> Array:
    """Evaluate the polynomials of a window at other times."""
    s = 2.0 * (times - window[0]) / (window[1] - window[0]) - 1.0
    return np.asarray(series @ np.polynomial.legendre.legvander(s, series.shape[-1] - 1).T)


def newton_start(extrapolated: Array, constant: Array, magnitudes: Array) -> Array:
    """Return the initial guess: the extrapolation, or constant values if it deviates too far from them."""
    deviation = np.abs(extrapolated - constant).max()
    is_close = np.isfinite(deviation) and deviation < 0.5 * max(float(magnitudes.max()), 1e-300)
    return np.ascontiguousarray(extrapolated if is_close else constant)

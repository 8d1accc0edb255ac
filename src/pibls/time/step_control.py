"""Control of one time window: its errors, the relaxation of its tolerances and the choice of its length."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, TypeVar

from pibls.time.thresholds import TIME_STEPPING
from pibls.time.trajectory import Tolerances

StateT = TypeVar("StateT")
"""State at the start of a window."""


@dataclass(frozen=True)
class WindowErrors:
    """Error indicators of a solved window: its spectral tails, and its residual between the points."""

    time_tail: float
    space_tail: float
    residual: float

    @property
    def are_finite(self) -> bool:
        return all(map(math.isfinite, (self.time_tail, self.space_tail, self.residual)))

    def are_within(self, allowed: Tolerances) -> bool:
        """Whether all of them are within the tolerances."""
        return self._tails_are_within(allowed) and self.residual <= allowed.residual

    def excess(self, allowed: Tolerances) -> float:
        """Return the largest ratio of an indicator to its tolerance."""
        return max(
            self.time_tail / allowed.spectral_tail,
            self.space_tail / allowed.spectral_tail,
            self.residual / allowed.residual,
        )

    def are_spatial(self, allowed: Tolerances, is_futile: bool) -> bool:
        """Whether more functions in space are needed.

        A residual with small tails may come from space or from time: space is refined unless that
        ``is_futile``.
        """
        only_residual = self._tails_are_within(allowed) and not is_futile
        return self.space_tail > max(allowed.spectral_tail, 0.1 * self.time_tail) or only_residual

    def _tails_are_within(self, allowed: Tolerances) -> bool:
        return self.time_tail <= allowed.spectral_tail and self.space_tail <= allowed.spectral_tail


@dataclass
class ToleranceRelaxation:
    """Tolerances of one window, relaxed where rounding makes them unreachable."""

    tolerances: Tolerances
    factor: float = 1.0
    previous: tuple[float, float, int] | None = None
    """The previous attempt: error over tolerance, window length, number of functions."""

    @property
    def relaxed(self) -> Tolerances:
        return Tolerances(self.factor * self.tolerances.spectral_tail, self.factor * self.tolerances.residual)

    def is_futile(self, error_ratio: float, function_count: int) -> bool:
        """Whether more functions than in the previous attempt left more than half of the error."""
        return (
            self.previous is not None
            and function_count > self.previous[2]
            and error_ratio > 0.5 * self.previous[0]
        )

    def accept_rounding(
        self,
        error_ratio: float,
        length: float,
        function_count: int,
        *,
        min_remaining_ratio: float = 0.3,
        max_error: float = 1e-6,
    ) -> bool:
        """Relax the tolerances if the error is rounding; return whether they were relaxed.

        ``error_ratio`` is the error over the tolerance for a window of this length with this number of
        functions. The error is taken for rounding if it is less than ``max_error``, and either a shorter
        window left more than 0.3 of the previous error, or more functions left more than
        ``min_remaining_ratio`` of it.
        """
        if self.previous is None:
            return False
        shorter = length <= 0.75 * self.previous[1] and error_ratio > 0.3 * self.previous[0]
        finer = function_count > self.previous[2] and error_ratio > min_remaining_ratio * self.previous[0]
        if not (shorter or finer) or error_ratio * max(self.tolerances.spectral_tail, 1e-13) >= max_error:
            return False
        self.factor *= 3.0 * error_ratio
        return self.factor < TIME_STEPPING.max_relaxation


def newton_tolerance(tail: float) -> float:
    """Return the relative tolerance of Newton's method for a given tolerance of spectral tails."""
    return max(TIME_STEPPING.newton_tail_fraction[0] * tail, 1e-15)


def reduction_factor(allowed: Tolerances, time_tail: float, residual: float, stage_count: int) -> float:
    """Return the factor by which a rejected window is shortened.

    It follows from the spectral tail in time and from the residual between the collocation times.
    """
    ratio = min(allowed.spectral_tail / max(time_tail, 1e-300), allowed.residual / max(residual, 1e-300))
    return float(min(max(TIME_STEPPING.safety_factor * ratio ** (1.0 / (stage_count + 1.0)), 0.1), 0.7))


def growth_factor(allowed_tail: float, time_tail: float, stage_count: int) -> float:
    """Return the length of the next window over this one, from the allowed and the actual tail in time.

    A new length needs new matrix factorizations, so small changes are not made.
    """
    factor = min(
        TIME_STEPPING.safety_factor * (allowed_tail / max(time_tail, 1e-300)) ** (1.0 / (stage_count + 1.0)),
        TIME_STEPPING.max_growth,
    )
    return 1.0 if 0.95 <= factor < TIME_STEPPING.min_worthwhile_growth else factor


@dataclass
class WindowAttempt(Generic[StateT]):
    """The next attempt at a window: state at its start, length and tolerances, until it is accepted."""

    start: StateT
    t: float
    h: float
    """Length of the window."""
    is_start: bool
    """Whether the window follows the initial data or a switching time."""
    since: float
    """Time since the initial data or the last switching time."""
    in_layer: bool
    """Whether the window is in a layer after incompatible data, which is not resolved."""
    relaxation: ToleranceRelaxation
    number: int = -1

    def enter_layer(self, h: float) -> None:
        """Continue in a layer, with a window of length h."""
        self.in_layer, self.h, self.relaxation.previous = True, h, None

    def may_be_layer(self, time_tail: float) -> bool:
        """Whether so many attempts failed at the start that there must be a layer."""
        return (
            self.is_start
            and self.number == TIME_STEPPING.attempts_before_layer
            and not self.in_layer
            and time_tail > self.relaxation.relaxed.spectral_tail
        )

"""Control of the lengths of time windows: one controller for all spatial operators."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pibls.time.thresholds import TIME_STEPPING
from pibls.time.trajectory import Tolerances


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
        return max(self.space_tail / allowed.spectral_tail, self.excess_in_time(allowed))

    def excess_in_time(self, allowed: Tolerances) -> float:
        """Return the largest ratio to its tolerance of the indicators that a shorter window reduces."""
        return max(self.time_tail / allowed.spectral_tail, self.residual / allowed.residual)

    def are_spatial(self, allowed: Tolerances, is_futile: bool) -> bool:
        """Whether more functions in space are needed.

        A residual with small tails may come from space or from time: space is refined unless that
        ``is_futile``.
        """
        only_residual = self._tails_are_within(allowed) and not is_futile
        return self.space_tail > max(allowed.spectral_tail, 0.1 * self.time_tail) or only_residual

    def _tails_are_within(self, allowed: Tolerances) -> bool:
        return self.time_tail <= allowed.spectral_tail and self.space_tail <= allowed.spectral_tail


@dataclass(frozen=True)
class StepRule:
    """How the errors of a window depend on its length h."""

    order: float
    """The spectral tail in time is O(h^order)."""
    keeps_factors: bool = False
    """Whether the next window reuses matrix factors if it has the same length."""
    detects_rounding: bool = True
    """Whether tolerances are relaxed if errors no longer decrease."""
    confirms_rounding: bool = False
    """Whether an error counts as rounding only after a much shorter window; the errors at a jump of the data
    or of a derivative decrease slowly, but they do decrease."""


@dataclass
class StepController:
    """Length and tolerances of the attempts at one window.

    An error that a shorter window or more functions in space hardly reduce is rounding: the tolerances are
    relaxed.
    """

    tolerances: Tolerances
    rule: StepRule
    length: float
    min_length: float = 0.0
    """Length below which rejected windows are not shortened."""
    relaxation: float = 1.0
    """Factor of the tolerances."""
    has_failed: bool = False
    """Whether the equations of an attempt could not be solved: the next window is not longer."""
    previous: tuple[float, float, int] | None = None
    """The previous attempt: error over tolerance, window length, number of functions."""

    @property
    def allowed(self) -> Tolerances:
        """The relaxed tolerances."""
        return Tolerances(
            self.relaxation * self.tolerances.spectral_tail, self.relaxation * self.tolerances.residual
        )

    def fail(self) -> None:
        """Shorten the window after its equations could not be solved."""
        self.length, self.has_failed = TIME_STEPPING.failure_reduction * self.length, True

    def shorten(self, excess: float) -> None:
        """Shorten a window whose error in time is ``excess`` times the tolerance."""
        low, high = TIME_STEPPING.reduction_range
        factor = max(TIME_STEPPING.safety_factor * excess ** (-1.0 / self.rule.order), low)
        factor = min(factor, high) if self.rule.keeps_factors else factor
        self.length = max(self.length * factor, self.min_length)

    def is_futile(self, excess: float, functions: int) -> bool:
        """Whether more functions than in the previous attempt left more than half of the error."""
        return self.previous is not None and functions > self.previous[2] and excess > 0.5 * self.previous[0]

    def accept_rounding(self, excess: float, functions: int, max_error: float) -> bool:
        """Relax the tolerances if the error is rounding; return whether the window is tried again as it is.

        The error is taken for rounding if it is less than ``max_error``, and a shorter window left more than
        0.3 of the previous one, or more functions half of it.
        """
        previous, is_finer = self.previous, self.is_futile(excess, functions)
        is_shorter = previous is not None and self.length <= 0.75 * previous[1]
        if previous is None or is_shorter or functions > previous[2] or excess <= 0.3 * previous[0]:
            self.previous = excess, self.length, functions  # compare with clearly longer windows only
        if previous is None or not self.rule.detects_rounding:
            return False
        if not (is_shorter and excess > 0.3 * previous[0]) and not is_finer:
            return False
        if self.rule.confirms_rounding and self.length > TIME_STEPPING.rounding_test_reduction * previous[1]:
            self.length *= 0.8 * TIME_STEPPING.rounding_test_reduction
            return True
        if excess * max(self.tolerances.spectral_tail, 1e-13) >= max_error:
            return False
        self.previous = previous
        return self.relax(3.0 * excess)

    def relax(self, factor: float) -> bool:
        """Relax the tolerances by a factor; return whether that is allowed."""
        self.relaxation *= factor
        return self.relaxation < TIME_STEPPING.max_relaxation

    def next_length(self, length: float, tail: float) -> float:
        """Return the length of the next window after one of a length with a spectral tail in time."""
        aim = self.tolerances.spectral_tail * self.relaxation
        factor = float(TIME_STEPPING.safety_factor * (aim / max(tail, 1e-300)) ** (1.0 / self.rule.order))
        factor = min(factor, 1.0 if self.has_failed else TIME_STEPPING.max_growth)
        if self.rule.keeps_factors and 0.95 <= factor < TIME_STEPPING.min_worthwhile_growth:
            return length
        return length * factor


def newton_tolerance(tail: float) -> float:
    """Return the relative tolerance of Newton's method for a given tolerance of spectral tails."""
    return max(TIME_STEPPING.newton_tail_fraction[0] * tail, 1e-15)

"""Base class of strategies: each computes one candidate after the other and estimates their errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.adaptive.budget import Budget, Progress
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import UNCHECKED, ErrorEstimate
from pibls.arrays import Array
from pibls.status import Status

_UNSOLVED = (Status.STALLED, Status.STEP_LIMIT)


@dataclass
class Strategy(ABC):
    """A way of solving a problem, with its best candidate so far."""

    context: ValidationContext
    budget: Budget
    best: Candidate | None = None
    error: ErrorEstimate = UNCHECKED
    status: Status | None = None
    """The outcome, once the strategy has ended."""
    stagnation_count: int = 3
    """Number of candidates after which stagnation is diagnosed."""
    notes: dict[str, Any] = field(default_factory=dict)
    residual_history: list[float] = field(default_factory=list)
    """Relative residual, or error indicator, of each candidate."""
    _scales_cache: list[tuple[Candidate, Array]] = field(default_factory=list, repr=False)
    """Error scales of the last few candidates."""
    recent: list[Candidate] = field(default_factory=list, repr=False)
    """The last few candidates."""

    @property
    def has_ended(self) -> bool:
        """Whether there is no further candidate."""
        return self.status is not None

    @property
    def expected_seconds(self) -> float:
        """Expected duration of the next candidate, from the last one; 0 if it is not known."""
        return 0.0

    def is_worthwhile(self, dense_columns: int | None) -> bool:
        """Whether the next candidate is expected to lead to the tolerance.

        ``dense_columns`` limits the columns of a dense system, because another strategy costs less than more.
        """
        return not self.newton_fails

    @abstractmethod
    def advance(self) -> None:
        """Compute the next candidate."""

    def finalize(self) -> None:
        """Compare the best candidate with a companion solution, unless that was done before."""
        self.finalize_from_history()

    def finalize_from_history(self) -> None:  # noqa: B027 - optional
        """Estimate the error from the candidates so far, without another solve, at the deadline."""

    def warm_start(self, found: Candidate | None) -> None:  # noqa: B027 - optional
        """Receive the best candidate of all strategies as initial guess for a nonlinear problem."""

    def for_nearby_problem(self, context: ValidationContext, budget: Budget) -> Strategy | None:
        """Return this strategy for a similar problem, starting from its last solution and its mesh."""
        return None

    @property
    def indicator(self) -> float:
        """Largest error indicator of the last candidate, relative to max|u|."""
        return self.residual_history[-1] if self.residual_history else math.inf

    is_conclusive = False
    """Whether the rounding limit of this strategy is final, because no other strategy is more accurate."""

    @property
    def is_stagnating(self) -> bool:
        """Whether the last candidate is hardly better than the first and none is resolved."""
        is_too_early = len(self.residual_history) < self.stagnation_count
        return (
            not is_too_early
            and min(self.residual_history) > self.context.thresholds.unresolved_residual
            and self.residual_history[-1] > 0.3 * self.residual_history[0]
        )

    @property
    def newton_fails(self) -> bool:
        """Whether Newton's method failed to converge several times in a row without improvement.

        The first residual may be larger than all others; improving on that one alone is not progress.
        """
        before = self.residual_history[: max(len(self.residual_history) + 1 - self.stagnation_count, 1)]
        if (
            len(self.residual_history) < self.stagnation_count
            or min(self.residual_history) <= self.context.thresholds.unresolved_residual
        ):
            return False
        return self.residual_history[-1] > 0.3 * min(before) and all(
            a.outcome.status in _UNSOLVED for a in self.recent
        )

    def fits_budget(self) -> bool:
        """Whether the next candidate fits into the time limit; a nonlinear solve can be aborted."""
        return not self.context.compiled.is_linear or self.budget.fits(self.expected_seconds)

    def may_fit_budget(self) -> bool:
        """Whether the next candidate may fit although it is not expected to."""
        return False

    @property
    def best_error(self) -> float:
        """Estimated error of the best candidate relative to its scale; infinite without one."""
        return math.inf if self.best is None else self.relative_error(self.best, self.error)

    @property
    def best_residual(self) -> float:
        """Relative residual of the best candidate; infinite without one."""
        return math.inf if self.best is None else self.best.relative_residual

    @property
    def is_near_tolerance(self) -> bool:
        """Whether the estimated error is close to the tolerance."""
        if self.best is None or not self.error.checked:
            return False
        return self.best_error <= self.context.thresholds.near_tolerance_factor * self.context.tol

    def relative_error(self, found: Candidate, error: ErrorEstimate) -> float:
        """Return the largest estimated error of an unknown relative to its scale.

        Infinite if the error was not estimated or the residual is too large for a solution.
        """
        if (
            not error.checked
            or not np.isfinite(error.max)
            or found.relative_residual > self.context.thresholds.max_solution_residual
        ):
            return math.inf
        scales = self.scales(found)
        relative_errors = [
            e.max / s if s > 0 else (0.0 if e.max == 0 else math.inf)
            for e, s in zip(error.each, scales, strict=True)
        ]
        return max(relative_errors)

    def scales(self, found: Candidate) -> Array:
        """Return the scale of each unknown by which its error is divided, (unknowns,)."""
        context = self.context
        if context.compiled.unknowns == 1:
            return found.magnitudes
        cached = next((sizes for attempt, sizes in self._scales_cache if attempt is found), None)
        if cached is not None:
            return cached
        sizes = context.error_scales(*found.function, found.magnitudes)
        self._scales_cache = [(found, sizes), *self._scales_cache[:2]]
        return sizes

    def meets_tolerance(self, found: Candidate, error: ErrorEstimate) -> bool:
        """Whether the error of every unknown is within the tolerance."""
        return self.relative_error(found, error) <= self.context.tol

    def _keep_if_better(self, found: Candidate, error: ErrorEstimate) -> None:
        """Store a candidate as the best if its estimated error is not larger."""
        if (
            self.best is None
            or not self.error.checked
            or self.relative_error(found, error) <= self.relative_error(self.best, self.error)
        ):
            self.best, self.error = found, error

    def restore_if_better(self, best: Candidate | None, error: ErrorEstimate, notes: dict[str, Any]) -> None:
        """Restore an earlier result if a run with a tighter tolerance was less accurate or incomplete."""
        if best is None:
            return
        is_late, is_incomplete = self.status is Status.TIME_LIMIT, self.status is Status.INCOMPLETE
        # An earlier result that was continued past a pole is not restored: its estimate is too large.
        is_unbounded = self.relative_error(best, error) > self.context.thresholds.max_solution_residual
        is_worse = self.best is not None and self.relative_error(best, error) < self.relative_error(
            self.best, self.error
        )
        if is_worse if not (is_late or is_incomplete) else is_late or not is_unbounded:
            self.best, self.error, self.notes = best, error, notes
            self.status = Status.ROUNDING_LIMIT if is_incomplete else self.status

    def report(self, found: Candidate, error: float | None = None, **more: Any) -> None:
        """Report a candidate to the callback."""
        self.recent = [*self.recent[1 - self.stagnation_count :], found]
        self.budget.report(
            Progress(found.space.nodes, found.relative_residual, error, self.budget.spent, **more)
        )

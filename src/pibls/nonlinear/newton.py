r"""One Newton loop for every discretization: solve the linearized system, damp the step, test for the end.

Dense and block-sparse least squares (`gauss_newton`), tensor products (`tensor_newton`) and reduced bases
(`adaptive.sweeps`) supply the linearized solve and the measure of descent. The end is decided in function
space: coefficients of nearly dependent functions may change while the solution does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from pibls.runtime.deadline import check_deadline

Direction = TypeVar("Direction")
Trial = TypeVar("Trial")


class NewtonIteration(Protocol[Direction, Trial]):
    """State of an iteration, and what differs between discretizations."""

    @property
    def steps(self) -> int:
        """Number of linearized systems so far."""

    @property
    def min_damping(self) -> float:
        """The shortest fraction of a step that is tried; 1 for full steps only."""

    def direction(self) -> Direction | None:
        """Solve the system linearized about the current function; None if that is not possible."""

    def trial(self, direction: Direction, damping: float) -> Trial | None:
        """Return the function after this fraction of the step; None if it is no descent."""

    def accept(self, trial: Trial, damping: float) -> bool:
        """Move to a trial; return whether the iteration ends."""

    def reject(self) -> bool:
        """Stay where no fraction of the step is a descent; return whether the iteration ends."""


def iterate(iteration: NewtonIteration[Direction, Trial], max_steps: int) -> bool:
    """Run an iteration; return False if it ends at the limit of linearized systems."""
    while iteration.steps < max_steps:
        check_deadline(__name__)
        direction = iteration.direction()
        if direction is None:
            return True
        damping, shortest = 1.0, iteration.min_damping
        trial = iteration.trial(direction, damping)
        while trial is None and damping > shortest:
            damping *= 0.5
            trial = iteration.trial(direction, damping)
        if iteration.reject() if trial is None else iteration.accept(trial, damping):
            return True
    return False


@dataclass
class StepSizes:
    """Sizes of successive steps in function space."""

    last: float = 0.0
    ratio: float = 1.0
    """The last step over the one before."""
    count: int = 0

    def record(self, size: float) -> None:
        """Record the size of a step."""
        self.ratio = size / self.last if self.last > 0 else 1.0
        self.last, self.count = size, self.count + 1

    @property
    def remaining(self) -> float:
        """The next step, extrapolated from the last two."""
        return self.last * min(self.ratio, 1.0)

    def stagnate(self, most: float, ratio: float) -> bool:
        """Whether steps below ``most`` no longer become shorter by this ratio, because of rounding."""
        return self.count > 1 and self.last < most and self.ratio > ratio

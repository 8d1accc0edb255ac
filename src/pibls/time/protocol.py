"""What the integrator in time needs of space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from pibls.time.companion import CompanionSolution
from pibls.time.interval import TimeInterval
from pibls.time.step_control import StepRule, WindowErrors
from pibls.time.trajectory import ProgressCheck, Tolerances, Trajectory, Window

StateT = TypeVar("StateT")
"""State at the start of a window."""


class SolvedWindow(Protocol):
    """A solved window before it is accepted or rejected."""

    @property
    def errors(self) -> WindowErrors: ...

    @property
    def functions(self) -> int:
        """Number of functions in space."""


SolvedT = TypeVar("SolvedT", bound=SolvedWindow)


@dataclass(frozen=True)
class LayerRule:
    """Integration of a layer after incompatible data; lengths are fractions of the duration.

    A layer is not resolved and has no error estimate.
    """

    first_length: float
    """Length of the first window."""
    max_length: float
    """Length of the longest layer."""
    is_graded: bool
    """Whether cells are graded towards the incompatibility."""


class SpatialOperator(Protocol[StateT, SolvedT]):
    """Solves, judges and refines the time windows of an evolution.

    Implementations: `ode.windows` (no space), `box.windows`, `box.nonsmooth` and `shape.windows`.
    """

    @property
    def time_interval(self) -> TimeInterval: ...

    @property
    def step_rule(self) -> StepRule: ...

    @property
    def layer_rule(self) -> LayerRule | None:
        """None if data are never treated as incompatible."""

    @property
    def is_refinable(self) -> bool:
        """Whether the resolution in space can be changed; otherwise all errors come from time."""

    @property
    def newton_steps(self) -> int: ...

    @property
    def min_length(self) -> float:
        """Length below which rejected windows are not shortened."""

    def initial_state(self) -> tuple[StateT, float]:
        """Return the initial state and a first window length."""

    def cell_count(self, state: StateT) -> int: ...

    def is_incompatible(self, state: StateT, t: float) -> bool:
        """Whether data at the initial time or a switching time do not fit the state.

        Raises `IntegrationStoppedError` if that is beyond this operator.
        """

    def layer_state(self, state: StateT) -> StateT:
        """Return the state at the resolution at which a layer begins."""

    def solve(self, state: StateT, t: float, stop: float) -> SolvedT:
        """Solve the equations of a window; raises `WindowFailedError`."""

    def data_residual(self, solved: SolvedT) -> float:
        """Return the residual where the data differ most from their interpolant at the collocation times."""

    def refine(self, solved: SolvedT, allowed: Tolerances) -> StateT | None:
        """Return the start of a window at a finer resolution in space.

        None if the best resolution within the limits is used already; the tolerances are relaxed then.
        Raises `IntegrationStoppedError` if the solution is worth nothing without it.
        """

    def grade(self, solved: SolvedT) -> StateT | None:
        """Return the start of a window in a layer at a resolution graded towards it; None if none is finer.

        Raises `IntegrationStoppedError` at the limit.
        """

    def accept(self, solved: SolvedT, relaxation: float) -> tuple[Window, StateT, float | None]:
        """Return an accepted window, the state after it, and a new first length where the state jumps."""

    def predicted_tail(self, solved: SolvedT, allowed: Tolerances) -> float:
        """Return the spectral tail in time from which the length of the next window follows."""

    def companion(self, trajectory: Trajectory, check: ProgressCheck) -> CompanionSolution | None:
        """Compute a second solution on other windows; None if that fails."""

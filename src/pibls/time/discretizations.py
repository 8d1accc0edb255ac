"""Discretizations of a time window: collocation in space on boxes, Galerkin in space on any shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from pibls.arrays import Array
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.stepper import CollocationStepper
from pibls.time.context import EvolutionContext
from pibls.time.shape.operator import GalerkinOperator
from pibls.time.shape.stepper import GalerkinStepper
from pibls.time.thresholds import COLLOCATION, GALERKIN, TIME_DISCRETIZATIONS
from pibls.time.time_stepping import STEP_TOO_SMALL, ProgressCheck, TimeStepper
from pibls.time.trajectory import OUT_OF_MEMORY, TIME_LIMIT_REACHED, Tolerances, Trajectory

AnyStepper = TimeStepper[Any, Any]


class TimeDiscretization(Protocol):
    """Creates the time steppers of an evolution and estimates their cost."""

    expected_magnitudes: Array | None
    """max abs(u) of each unknown if another strategy has estimated it, else None."""

    @property
    def tightening(self) -> tuple[float, float]:
        """Largest factor, and factor of tol/error, by which tolerances are tightened for the next run."""

    @property
    def max_layer_fraction(self) -> float:
        """Largest fraction of the time interval that a layer after incompatible data may take."""

    def supports(self, context: EvolutionContext) -> bool:
        """Return whether the number of dimensions is supported."""

    def initial_tolerances(self, context: EvolutionContext) -> Tolerances:
        """Return the tolerances of the first run."""

    def nodes_per_cell(self, context: EvolutionContext) -> int:
        """Return the number of functions per cell."""

    def has_failed(self, trajectory: Trajectory) -> bool:
        """Whether the trajectory ended too early to be useful, so that another strategy should be tried."""

    @property
    def is_exhausted(self) -> bool:
        """Whether tighter tolerances would change nothing."""

    def stepper(
        self,
        context: EvolutionContext,
        tolerances: Tolerances,
        key: int,
        before: Trajectory | None,
        check: ProgressCheck,
    ) -> AnyStepper | None:
        """Return a stepper for the first solution or, given the first one as ``before``, for the companion.

        None if the problem does not fit this discretization.
        """


@dataclass
class CollocationInSpace:
    """Collocation in space: polynomials in cells of a box, or Fourier modes along periodic coordinates."""

    _operator: CollocationOperator | None = None
    _first_stepper: CollocationStepper | None = None
    expected_magnitudes: Array | None = None
    tightening = (0.3, 0.3)
    is_exhausted = False

    @property
    def max_layer_fraction(self) -> float:
        is_multidimensional = self._operator is not None and len(self._operator.space_axes) > 1
        return COLLOCATION.max_layer_fraction[not is_multidimensional]

    def supports(self, context: EvolutionContext) -> bool:
        return 2 <= context.compiled.dimension <= 4

    def initial_tolerances(self, context: EvolutionContext) -> Tolerances:
        return Tolerances(
            TIME_DISCRETIZATIONS.tail_fraction * context.tol,
            context.thresholds.max_window_residual * context.tol,
        ).clipped_to_rounding(context)

    def nodes_per_cell(self, context: EvolutionContext) -> int:
        return TIME_DISCRETIZATIONS.functions_per_cell[context.tol < context.thresholds.tight_tol]

    def has_failed(self, trajectory: Trajectory) -> bool:
        if trajectory.stopped in (None, TIME_LIMIT_REACHED, OUT_OF_MEMORY):
            return False
        e = trajectory.evolution
        progress = abs(trajectory.end_time - e.start) / abs(e.stop - e.start) if trajectory.windows else 0.0
        return trajectory.stopped != STEP_TOO_SMALL or progress < TIME_DISCRETIZATIONS.min_progress

    def stepper(
        self,
        context: EvolutionContext,
        tolerances: Tolerances,
        key: int,
        before: Trajectory | None,
        check: ProgressCheck,
    ) -> AnyStepper | None:
        self._operator = self._operator or CollocationOperator.of(context)
        if self._operator is None:
            return None
        tight = context.tol < context.thresholds.tight_tol
        factors_are_reused = context.compiled.is_linear or all(self._operator.periodic)
        if len(self._operator.space_axes) > 1:
            # In several dimensions factorizations are expensive; only wave equations need enough windows.
            factors_are_reused = context.compiled.is_linear and max(self._operator.evolution.orders) > 1
        stage_count = (
            TIME_DISCRETIZATIONS.many_collocation_times
            if factors_are_reused
            else TIME_DISCRETIZATIONS.collocation_times[tight]
        )
        if before is None:
            made = CollocationStepper(
                tolerances,
                self._operator,
                TIME_DISCRETIZATIONS.functions_per_cell[tight],
                stage_count,
                check=check,
            )
            made.expected_magnitudes = self.expected_magnitudes
            self._first_stepper = made
            return made
        assert self._first_stepper is not None
        made = CollocationStepper(
            tolerances,
            self._operator,
            TIME_DISCRETIZATIONS.functions_per_cell[tight],
            stage_count + 1,
            check=check,
        )
        made.primary = self._first_stepper
        return made


@dataclass
class GalerkinInSpace:
    """Galerkin method in space: orthonormal functions on any shape."""

    _operator: GalerkinOperator | None = None
    _first_stepper: GalerkinStepper | None = None
    expected_magnitudes: Array | None = None
    tightening = (0.1, 0.1)

    @property
    def max_layer_fraction(self) -> float:
        return COLLOCATION.max_layer_fraction[0]

    def supports(self, context: EvolutionContext) -> bool:
        return 3 <= context.compiled.dimension <= 4

    def initial_tolerances(self, context: EvolutionContext) -> Tolerances:
        return Tolerances(
            0.1 * context.tol, GALERKIN.residual_tolerance_factor * context.tol
        ).clipped_to_rounding(context)

    def nodes_per_cell(self, context: EvolutionContext) -> int:
        return (
            0
            if self._first_stepper is None or not self._first_stepper.degrees
            else self._first_stepper.degrees[-1]
        )

    def has_failed(self, trajectory: Trajectory) -> bool:
        return trajectory.stopped not in (None, TIME_LIMIT_REACHED, OUT_OF_MEMORY)

    @property
    def is_exhausted(self) -> bool:
        return self._first_stepper is not None and self._first_stepper.column_limit_reached

    def stepper(
        self,
        context: EvolutionContext,
        tolerances: Tolerances,
        key: int,
        before: Trajectory | None,
        check: ProgressCheck,
    ) -> AnyStepper | None:
        self._operator = self._operator or GalerkinOperator.of(context)
        if self._operator is None:
            return None
        tight = context.tol < context.thresholds.tight_tol
        made = GalerkinStepper(
            tolerances,
            self._operator,
            TIME_DISCRETIZATIONS.collocation_times[tight] + (before is not None),
            check=check,
        )
        if before is None:
            made.expected_magnitudes = self.expected_magnitudes
            self._first_stepper = made
        else:
            made.primary = self._first_stepper
        return made

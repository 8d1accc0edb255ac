"""Discretizations of an evolution: without space, collocation on boxes, Galerkin method on any shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from pibls.analysis.evolution import has_jumps_in_time
from pibls.arrays import Array
from pibls.basis.polynomials.chebyshev import Chebyshev
from pibls.time.box.integrator import BoxIntegrator
from pibls.time.box.operator import CollocationOperator
from pibls.time.companion import CompanionSolution
from pibls.time.context import EvolutionContext
from pibls.time.integrator import Integrator
from pibls.time.ode.initial_values import impulses
from pibls.time.ode.setup import ODESetup, ode_setup
from pibls.time.ode.windows import ODEWindows
from pibls.time.shape.operator import GalerkinOperator
from pibls.time.shape.windows import GalerkinWindows
from pibls.time.thresholds import COLLOCATION, GALERKIN, ODE, TIME_DISCRETIZATIONS
from pibls.time.trajectory import (
    OUT_OF_MEMORY,
    STEP_TOO_SMALL,
    TIME_LIMIT_REACHED,
    ProgressCheck,
    Tolerances,
    Trajectory,
)


class EvolutionIntegrator(Protocol):
    """Integrates one evolution, and computes its companion solution."""

    @property
    def layers(self) -> dict[float, float]:
        """Layers after incompatible data: time of the incompatibility → end of the layer."""

    @property
    def nonsmooth_since(self) -> float | None:
        """Start of the part left unresolved because of nonsmooth initial data; None if there is none."""

    def run(self) -> Trajectory:
        """Integrate up to the final time, or as far as possible."""

    def partial(self) -> Trajectory | None:
        """Return the windows computed up to an interruption; None if there are none."""

    def companion(self, trajectory: Trajectory, check: ProgressCheck) -> CompanionSolution | None:
        """Compute the companion solution; None if that fails."""


class TimeDiscretization(Protocol):
    """Creates the integrators of an evolution."""

    expected_magnitudes: Array | None
    """max abs(u) of each unknown if another strategy has estimated it, else None."""

    @property
    def tightening(self) -> tuple[float, float]:
        """Largest factor, and factor of tol/error, by which tolerances are tightened for the next run."""

    @property
    def report_interval(self) -> int:
        """Number of windows between two progress reports."""

    @property
    def max_layer_fraction(self) -> float:
        """Largest fraction of the time interval that a layer after incompatible data may take."""

    @property
    def is_exhausted(self) -> bool:
        """Whether tighter tolerances would change nothing."""

    @property
    def settings(self) -> dict[str, Any]:
        """What is known of the basis of a solution."""

    def supports(self, context: EvolutionContext) -> bool:
        """Return whether the problem is supported."""

    def initial_tolerances(self, context: EvolutionContext) -> Tolerances:
        """Return the tolerances of the first run."""

    def nodes_per_cell(self, context: EvolutionContext) -> int:
        """Return the number of functions per cell."""

    def has_failed(self, trajectory: Trajectory) -> bool:
        """Whether the trajectory ended too early to be useful, so that another strategy should be tried."""

    def has_free_solutions(self, trajectory: Trajectory) -> bool:
        """Whether several solutions have the same initial values."""

    def integrator(
        self, context: EvolutionContext, tolerances: Tolerances, check: ProgressCheck
    ) -> EvolutionIntegrator | None:
        """Return an integrator; None if the problem does not fit this discretization."""


@dataclass
class WithoutSpace:
    """Ordinary differential equations."""

    expected_magnitudes: Array | None = None
    tightening = (0.1, 0.1)
    report_interval = ODE.report_interval
    max_layer_fraction = 0.0
    is_exhausted = False
    _setup: ODESetup | None = None
    _windows: ODEWindows | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {} if self._setup is None else {"basis": Chebyshev(self._setup.collocation.radau.size)}

    def supports(self, context: EvolutionContext) -> bool:
        """Return whether it is an initial value problem with as many equations as unknowns."""
        self._setup = self._setup or ode_setup(context.compiled, context.evolution)
        return self._setup is not None

    def initial_tolerances(self, context: EvolutionContext) -> Tolerances:
        tol, thresholds = context.tol, context.thresholds
        tolerances = Tolerances(thresholds.max_ode_tail * tol, thresholds.max_window_residual * tol)
        return tolerances.clipped_to_rounding(context)

    def nodes_per_cell(self, context: EvolutionContext) -> int:
        return 0 if self._setup is None else self._setup.collocation.radau.size

    def has_failed(self, trajectory: Trajectory) -> bool:
        return False

    def has_free_solutions(self, trajectory: Trajectory) -> bool:
        return self._windows is not None and self._windows.has_free_solutions(trajectory)

    def integrator(
        self, context: EvolutionContext, tolerances: Tolerances, check: ProgressCheck
    ) -> EvolutionIntegrator | None:
        e, setup = context.evolution, self._setup or ode_setup(context.compiled, context.evolution)
        if e is None or setup is None:
            return None
        self._windows = ODEWindows(
            e,
            setup.collocation,
            setup.initial_values,
            tolerances,
            context.narrow_data_points[:, 0],
            impulses(context.compiled, e, setup.collocation.equations),
        )
        return Integrator(self._windows, e, tolerances, check)


@dataclass
class CollocationInSpace:
    """Collocation in space: polynomials in cells of a box, or Fourier modes along periodic coordinates."""

    expected_magnitudes: Array | None = None
    tightening = (0.3, 0.3)
    report_interval = 1
    is_exhausted = False
    _operator: CollocationOperator | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    @property
    def max_layer_fraction(self) -> float:
        is_multidimensional = self._operator is not None and len(self._operator.space_axes) > 1
        return COLLOCATION.max_layer_fraction[not is_multidimensional]

    def supports(self, context: EvolutionContext) -> bool:
        return 2 <= context.compiled.dimension <= 4 and _is_continuous(context)

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

    def has_free_solutions(self, trajectory: Trajectory) -> bool:
        return False

    def integrator(
        self, context: EvolutionContext, tolerances: Tolerances, check: ProgressCheck
    ) -> BoxIntegrator | None:
        self._operator = self._operator or CollocationOperator.of(context)
        if self._operator is None:
            return None
        tight = context.tol < context.thresholds.tight_tol
        factors_are_reused = context.compiled.is_linear or all(self._operator.periodic)
        if len(self._operator.space_axes) > 1:
            # In several dimensions factorizations are expensive; only wave equations need enough windows.
            factors_are_reused = context.compiled.is_linear and max(self._operator.evolution.orders) > 1
        return BoxIntegrator(
            tolerances,
            self._operator,
            TIME_DISCRETIZATIONS.functions_per_cell[tight],
            TIME_DISCRETIZATIONS.many_collocation_times
            if factors_are_reused
            else TIME_DISCRETIZATIONS.collocation_times[tight],
            check,
            self.expected_magnitudes,
        )


@dataclass
class GalerkinInSpace:
    """Galerkin method in space: orthonormal functions on any shape."""

    expected_magnitudes: Array | None = None
    tightening = (0.1, 0.1)
    report_interval = 1
    max_layer_fraction = COLLOCATION.max_layer_fraction[0]
    _operator: GalerkinOperator | None = None
    _windows: GalerkinWindows | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    @property
    def is_exhausted(self) -> bool:
        return self._windows is not None and self._windows.limit_reached

    def supports(self, context: EvolutionContext) -> bool:
        return 3 <= context.compiled.dimension <= 4 and _is_continuous(context)

    def initial_tolerances(self, context: EvolutionContext) -> Tolerances:
        return Tolerances(
            0.1 * context.tol, GALERKIN.residual_tolerance_factor * context.tol
        ).clipped_to_rounding(context)

    def nodes_per_cell(self, context: EvolutionContext) -> int:
        return 0 if self._windows is None or not self._windows.degrees else self._windows.degrees[-1]

    def has_failed(self, trajectory: Trajectory) -> bool:
        return trajectory.stopped not in (None, TIME_LIMIT_REACHED, OUT_OF_MEMORY)

    def has_free_solutions(self, trajectory: Trajectory) -> bool:
        return False

    def integrator(
        self, context: EvolutionContext, tolerances: Tolerances, check: ProgressCheck
    ) -> EvolutionIntegrator | None:
        self._operator = self._operator or GalerkinOperator.of(context)
        if self._operator is None:
            return None
        tight = context.tol < context.thresholds.tight_tol
        self._windows = GalerkinWindows(
            tolerances,
            self._operator,
            TIME_DISCRETIZATIONS.collocation_times[tight],
            check,
            self.expected_magnitudes,
        )
        return Integrator(self._windows, self._operator.evolution, tolerances, check)


def _is_continuous(context: EvolutionContext) -> bool:
    """Whether the solution does not jump in time."""
    e = context.evolution
    return e is not None and not has_jumps_in_time(context.compiled, e)

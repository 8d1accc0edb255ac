"""Integrator of an evolution on a box, with other functions in space where the first ones do not suffice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pibls.arrays import Array
from pibls.time.box.nonsmooth import NonsmoothWindows
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.windows import CELL_LIMIT, PROPAGATING_DISCONTINUITIES, CollocationWindows
from pibls.time.companion import CompanionSolution
from pibls.time.integrator import Integrator
from pibls.time.trajectory import UNRESOLVED_DATA, ProgressCheck, Tolerances, Trajectory


@dataclass
class BoxIntegrator:
    """Tries Fourier modes for periodic solutions, cells, divided axes, and nonsmooth solutions."""

    tolerances: Tolerances
    operator: CollocationOperator
    functions_per_cell: int
    stage_count: int
    check: ProgressCheck = lambda t, windows, cells: None
    expected_magnitudes: Array | None = None
    nonsmooth_since: float | None = None
    """Start of the part left unresolved because of nonsmooth initial data; None if there is none."""
    _integrator: Integrator[Any, Any] | None = None

    @property
    def layers(self) -> dict[float, float]:
        """Layers after incompatible data: time of the incompatibility → end of the layer."""
        return {} if self._integrator is None else self._integrator.layers

    def run(self) -> Trajectory:
        """Integrate up to the final time, or as far as possible."""
        windows, found = self._windows(), None
        if not any(self.operator.periodic) or windows.is_smooth_around_period():
            found = self._integrate(windows)
        has_cells = any(self.operator.periodic) and len(self.operator.space_axes) == 1
        if found is None or (has_cells and found.stopped == CELL_LIMIT):
            windows = self._windows(use_fourier=False)
            found = self._integrate(windows)
        if found.stopped in (CELL_LIMIT, UNRESOLVED_DATA) and self._divides_axes:
            windows = self._windows(divide_axes=True)
            found = self._integrate(windows)
        is_nonsmooth = found.stopped in (UNRESOLVED_DATA, PROPAGATING_DISCONTINUITIES)
        if is_nonsmooth and windows.has_undamped_short_waves(windows.first_state()):
            self.nonsmooth_since = self.operator.evolution.start
            found = self._integrate(
                NonsmoothWindows(self.tolerances, self.operator, self.functions_per_cell, self.stage_count)
            )
        return found

    def partial(self) -> Trajectory | None:
        """Return the windows computed up to an interruption; None if there are none."""
        return None if self._integrator is None else self._integrator.partial()

    def companion(self, trajectory: Trajectory, check: ProgressCheck) -> CompanionSolution | None:
        """Compute the companion solution; None if that fails."""
        return None if self._integrator is None else self._integrator.companion(trajectory, check)

    @property
    def _divides_axes(self) -> bool:
        """Whether the axes may be divided into intervals."""
        face_conditions = self.operator.face_conditions
        return face_conditions is not None and bool(face_conditions.interface_orders)

    def _windows(self, *, use_fourier: bool = True, divide_axes: bool = False) -> CollocationWindows:
        return CollocationWindows(
            self.tolerances,
            self.operator,
            self.functions_per_cell,
            self.stage_count,
            use_fourier,
            divide_axes,
            self.expected_magnitudes,
        )

    def _integrate(self, space: CollocationWindows | NonsmoothWindows) -> Trajectory:
        made: Integrator[Any, Any] = Integrator(space, self.operator.evolution, self.tolerances, self.check)  # type: ignore[arg-type]
        self._integrator = made
        return made.run()

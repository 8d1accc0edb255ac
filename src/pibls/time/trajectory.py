"""Trajectory of an evolution: u = uᵢ for tᵢ ≤ t ≤ tᵢ₊₁ on solved time windows, and their tolerances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.runtime.caching import cached_property
from pibls.spaces import CellSpace, SingleDomainSpace, TensorGridSpace, TimeWindows
from pibls.time.context import EvolutionContext
from pibls.time.thresholds import TIME_STEPPING

STEP_TOO_SMALL = "no window is short enough; the solution may blow up, or the equation may be singular there"
UNRESOLVED_DATA = "the initial data are not resolved"
UNRESOLVED_SPACE = "more basis functions are needed than the limit allows"
TIME_LIMIT_REACHED = "the time limit was reached"
OUT_OF_MEMORY = "there is not enough memory to continue"


ProgressCheck = Callable[[float, int, int], None]
"""Called with t, the number of windows (0 in a companion solution) and of cells; raises to stop."""


class WindowFailedError(Exception):
    """The equations of a time window could not be solved."""


class IntegrationStoppedError(Exception):
    """The integration cannot continue; the argument is the reason."""


@dataclass(frozen=True)
class Tolerances:
    """Relative tolerances of one time window: for the spectral tails and for the residuals."""

    spectral_tail: float
    residual: float

    @property
    def incompatibility_limit(self) -> float:
        """Relative mismatch of initial and boundary data above which a layer forms."""
        return max(
            TIME_STEPPING.incompatibility_limit[0] * self.spectral_tail,
            TIME_STEPPING.incompatibility_limit[1],
        )

    def clipped_to_rounding(self, context: EvolutionContext) -> Tolerances:
        """Return these tolerances, none of them below the rounding level."""
        return Tolerances(
            max(self.spectral_tail, min_tail_tolerance(context)),
            max(self.residual, TIME_STEPPING.min_residual),
        )


def min_tail_tolerance(context: EvolutionContext) -> float:
    """Return the smallest useful tolerance for spectral tails."""
    return context.thresholds.window_rounding[context.compiled.dimension > 1]


@dataclass(frozen=True)
class Window:
    """Solution on one time window, with coefficients ``w`` in ``space``."""

    space: SingleDomainSpace | CellSpace | TensorGridSpace
    w: Array
    start: float
    stop: float

    @property
    def boxes(self) -> int:
        """Number of cells with their own functions."""
        return len(self.space.cell_boxes(np.zeros((1, 2))))


@dataclass(frozen=True)
class Trajectory:
    """Solution of an evolution up to the time that was reached."""

    windows: tuple[Window, ...]
    evolution: Evolution
    stopped: str | None
    """Why the integration ended before the final time; None if it did not."""
    newton_steps: int = 0

    @property
    def end_time(self) -> float:
        return self.windows[-1].stop

    @cached_property
    def max_functions_per_box(self) -> int:
        """Largest number of functions in one cell of any window."""
        return max(x.space.nodes // x.boxes for x in self.windows)

    @property
    def edges(self) -> Array:
        """End points of the windows, in the direction of integration."""
        return np.array([*(x.start for x in self.windows), self.end_time])

    @property
    def cells(self) -> int:
        """Number of cells of the last window."""
        return self.windows[-1].boxes

    def function(self) -> tuple[TimeWindows, Array]:
        """Return the space of all windows and the coefficients in it."""
        ordered = self.windows if self.evolution.forward else self.windows[::-1]
        starts = [min(x.start, x.stop) for x in ordered]
        ends = [max(x.start, x.stop) for x in ordered]
        space = TimeWindows(self.evolution.axis, (*starts, ends[-1]), tuple(x.space for x in ordered))
        return space, np.concatenate([x.w for x in ordered])

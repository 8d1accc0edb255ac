"""u = uᵢ for tᵢ ≤ t ≤ tᵢ₊₁: an evolution in solved windows, and what was asked of each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.adaptive.evolution import Evolution
from pibls.adaptive.thresholds import MARCH
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.spaces import Cells, Lattice, Whole, Windows

LATE = "the time limit was reached"
FULL = "the memory is not enough to go on"


@dataclass(frozen=True)
class Demand:
    """What is asked of each window: tails and residuals, relative."""

    tail: float
    residual: float

    @property
    def misfit(self) -> float:
        """A beginning that contradicts the sides by more has a layer."""
        return max(MARCH.misfit[0] * self.tail, MARCH.misfit[1])

    def above(self, bench: Bench) -> Demand:
        """The same, but nothing below rounding."""
        return Demand(max(self.tail, floor_of(bench)), max(self.residual, MARCH.residual_floor))


def floor_of(bench: Bench) -> float:
    """The least tail that is asked of a window."""
    return bench.limits.window_floor[bench.lowered.dimension > 1]


@dataclass(frozen=True)
class Window:
    """One solved window."""

    space: Whole | Cells | Lattice
    w: Array
    start: float
    stop: float
    residual: float

    @property
    def boxes(self) -> int:
        """How many there are in it, with functions of their own."""
        return len(self.space.boxes_in(np.zeros((1, 2))))


@dataclass(frozen=True)
class Followed:
    """An evolution as far as it could be followed."""

    windows: tuple[Window, ...]
    evolution: Evolution
    stopped: str | None
    """Why it ends before its time, if it does."""
    steps: int
    tries: int

    @property
    def until(self) -> float:
        return self.windows[-1].stop

    @property
    def cells(self) -> int:
        """Those of the last window."""
        return self.windows[-1].boxes

    def function(self) -> tuple[Windows, Array]:
        """All windows as one function."""
        ordered = self.windows if self.evolution.forward else self.windows[::-1]
        starts = [min(x.start, x.stop) for x in ordered]
        ends = [max(x.start, x.stop) for x in ordered]
        space = Windows(self.evolution.axis, (*starts, ends[-1]), tuple(x.space for x in ordered))
        return space, np.concatenate([x.w[: x.space.columns] for x in ordered])

r"""A w = b, A w = b': a linear window that does not depend on time is factored once for all that follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.problem.lowering import LoweredProblem
from pibls.space import Cells, Whole
from pibls.system.cells import CellSystem
from pibls.system.system import System

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Again:
    """A solved window with its factors, for another one of the same length in the same cells."""

    axis: int
    boxes: Array = field(repr=False)
    """Those of its cells, (cells, d, 2)."""
    system: System | CellSystem = field(repr=False)
    factors: Any = field(repr=False)

    def moved(
        self, lowered: LoweredProblem, boxes: Array, space: Whole | Cells
    ) -> System | CellSystem | None:
        """The system of another window: the same operator with other data; None where it is another one."""
        if boxes.shape != self.boxes.shape or lowered.interfaces.fluxes or lowered.interfaces.sources:
            return None
        shift = float(boxes[0, self.axis, 0] - self.boxes[0, self.axis, 0])
        there = self.boxes.copy()
        there[:, self.axis] += shift
        if np.abs(there - boxes).max() > 4.0 * _EPS * np.abs(boxes).max():
            return None
        residuals = {r.name: r for r in lowered.residuals}
        return self.system.later(residuals, space, self.axis, shift)

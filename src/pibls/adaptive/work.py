"""W = steps · (c₀ + c₃ N³): what an attempt costs, in seconds of a machine that has nothing else to do.

Plans are compared by this and not by the clock: a busy machine must not change which of them is followed,
so that the same seed gives the same answer. What the clock says enters in one place, `Budget.pace`, and
decides only whether there is time left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pibls.adaptive.thresholds import COSTS


def dense(columns: int, steps: int) -> float:
    """One piece."""
    return COSTS.fixed + max(steps, 1) * COSTS.cubed * float(columns) ** 3


def divided(cells: int, columns: int, traces: int, steps: int) -> float:
    """Cells, each eliminated with the unknowns of its faces; a face has two cells."""
    front = (columns + 2.0 * traces) / cells
    each = COSTS.cell + COSTS.cubed * front**3
    return COSTS.fixed + max(steps, 1) * math.pow(cells, COSTS.together) * each


def multiplied(functions: Sequence[int], solves: int) -> float:
    """Products of so many functions along the axes, with the sum of one operator for each solved so often."""
    each = COSTS.along * math.prod(functions) * sum(functions)
    return COSTS.fixed + COSTS.factored * sum(float(n) ** 3 for n in functions) + solves * each


def eliminated(boxes: int, functions: int) -> float:
    """Boxes of a plane with so many functions of all unknowns, each eliminated by itself."""
    return boxes * (COSTS.eliminated * float(functions) ** 3 + COSTS.skeleton * 4.0 * math.sqrt(functions))

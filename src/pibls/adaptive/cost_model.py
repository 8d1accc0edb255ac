"""Cost model of candidates, W = steps · (c₀ + c₃ N³), in seconds on an idle machine.

Strategies are compared by this model and not by the clock, so that the same seed gives the same result on a
busy machine. Measured times enter only in `Budget.seconds_per_work`, which decides whether there is time
left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pibls.adaptive.thresholds import COSTS


def dense_cost(columns: int, steps: int) -> float:
    """Return the work of a dense system."""
    return COSTS.fixed + max(steps, 1) * COSTS.per_cubed_column * float(columns) ** 3


def cell_cost(cells: int, columns: int, traces: int, steps: int) -> float:
    """Return the work of a system of cells, each eliminated together with the traces on its faces."""
    front = (columns + 2.0 * traces) / cells
    each = COSTS.per_cell + COSTS.per_cubed_column * front**3
    return COSTS.fixed + max(steps, 1) * math.pow(cells, COSTS.cell_count_exponent) * each


def tensor_product_cost(functions: Sequence[int], solves: int) -> float:
    """Return the work of tensor products of ``functions`` along the axes with ``solves`` separable solves."""
    each = COSTS.per_product_function * math.prod(functions) * sum(functions)
    return COSTS.fixed + COSTS.per_cubed_axis_function * sum(float(n) ** 3 for n in functions) + solves * each


def condensation_cost(boxes: int, functions: int) -> float:
    """Return the work of static condensation of ``boxes`` in 2D with ``functions`` functions each."""
    return boxes * (
        COSTS.per_box_elimination * float(functions) ** 3
        + COSTS.per_skeleton_function * 4.0 * math.sqrt(functions)
    )

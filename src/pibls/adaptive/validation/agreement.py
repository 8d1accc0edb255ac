r"""u ≈ ũ: two solutions of a problem, or what two widths found of one, compared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pibls.adaptive.candidate import Attempt
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import ErrorEstimate, compare, estimated


def compared(bench: Bench, now: Attempt, second: Attempt, *, chosen: bool) -> ErrorEstimate:
    """The error by a second solution; where nothing was ``chosen`` yet by held-out points, at these."""
    region, inside = next(iter(bench.held_out.items()))
    others = chosen or bench.pieced is not None or bench.evolution is not None
    if others or not region.is_inside:
        return compare(now.function, second.function, bench.lowered.unknowns, bench.where)
    difference = now.values - bench.held_values(*second.function)
    even = difference[:, : len(inside) - len(bench.narrow)]
    found = estimated(difference, even, now.sizes, bench.where_held)
    return replace(found, pair=(now.function, second.function))


def are_the_same(now: Attempt, last: Attempt, settled: float) -> bool:
    """Whether two widths found the same function, with which the equations hold nowhere."""
    if abs(math.log(now.relative / max(last.relative, 1e-300))) >= settled:
        return False
    moved = np.abs(now.values - last.values).max(axis=1)
    worst = max(now.residuals.values(), key=lambda n: n.relative)
    return worst.rms > 0.1 * worst.max and bool(np.all(moved <= settled * now.sizes))

r"""min ‖J w‖ over functions with u(x) = 1: whether a problem leaves anything undetermined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from pibls.arrays import Array
from pibls.linalg import Factorization, RidgeQR
from pibls.linalg.protocol import Levered
from pibls.linalg.rows import Matrix, is_finite
from pibls.search.bench import Bench
from pibls.search.estimate import Norms
from pibls.solver import Outcome
from pibls.space import Space, Whole
from pibls.system.judging import residuals_at
from pibls.system.system import System
from pibls.system.tied import TiedSystem

_PROBES = 24


def stiffness(bench: Bench, system: System | TiedSystem, outcome: Outcome, key: int) -> float:
    """min over places x of 1/‖R⁻ᵀφ(x)‖, rows of unit length.

    Where a condition is missing, some function costs nothing, and only rounding keeps it from being zero.
    """
    J, _ = system.linearise(system.values(outcome.w))
    if not is_finite(J):
        return np.inf
    factors = _factors(J, outcome.factors if system.is_linear else None)
    space: Whole = system.space
    X = bench.where.all[bench.stream(4, key).choice(len(bench.where.all), _PROBES)]
    zero = (0,) * bench.lowered.dimension
    # The functions of a piece are asked for only there: beyond it nothing determines them.
    places = [X] * len(space.bases) if bench.pieced is None else bench.pieced.probes(X)
    least = np.inf
    for k, mine in enumerate(places):
        if not len(mine):
            continue
        values = np.zeros((len(mine), space.columns))
        values[:, space.slices[k]] = space.bases[k].jets(mine, [zero])[0]
        if isinstance(system, TiedSystem):
            values = system.tied(values)
        least = min(least, 1.0 / float(factors.leverage(values).max()))
    return least


def _factors(J: Matrix, known: Factorization | None) -> Levered:
    """The factors of J: the known ones where they serve."""
    if hasattr(known, "leverage"):
        return cast("Levered", known)
    made = RidgeQR().factor(J)
    return cast("Levered", made.factored() if hasattr(made, "factored") else made)


def left_over(bench: Bench, space: Space, w: Array, residuals: Mapping[str, Norms]) -> float:
    """max|r(w)| / max|r(0)|: the share of the data that a solution leaves unexplained.

    Next to the terms of a runaway solution any residual is small; next to the data it is not.
    """
    zero, _ = residuals_at(bench.lowered, bench.held_out, space, np.zeros_like(w), bench.box)
    sizes = {name: float(np.abs(judged.values).max(initial=0.0)) for name, judged in zero.items()}
    shares = [residuals[name].max / size for name, size in sizes.items() if 0 < size < np.inf]
    return max(shares, default=0.0)

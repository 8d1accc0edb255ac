r"""‖u - u*‖ ≲ κ ‖u - ũ‖: how far to trust a solution.

Held-out points judge how well the equations hold; a second solution, drawn independently *at another
scale*, tells how far the solution may be off. Two draws at the same scale span nearly the same
band-limited space and share their truncation error; another scale breaks that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.basis import Basis
from pibls.problem import Region
from pibls.problem.lowering import LoweredProblem
from pibls.system.points import PointSet
from pibls.system.system import residuals_at

OTHER_SCALE = 0.85
SAFETY = 4.0  # κ, from benchmarks/calibration.py
_ROUNDING = 8.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class ErrorEstimate:
    """Estimated absolute errors: the maximum, and the root mean square over the domain."""

    max: float
    l2: float

    def __str__(self) -> str:
        return f"max {self.max:.1e}, L2 {self.l2:.1e}"


@dataclass(frozen=True)
class Norms:
    """The size of a residual on held-out points, absolute and relative to the terms it is made of."""

    max: float
    rms: float
    relative: float

    def __str__(self) -> str:
        return f"max {self.max:.1e}, rms {self.rms:.1e}, relative {self.relative:.1e}"


def judge(
    lowered: LoweredProblem, held_out: Mapping[Region, PointSet], basis: Basis, w: Array
) -> tuple[dict[str, Norms], Array]:
    """How well each equation and condition holds on points that were not fitted, and the unknowns there."""
    out = {}
    judged, unknowns = residuals_at(lowered, held_out, basis, w)
    for name, found in judged.items():
        out[name] = norms_of(found.values, found.size)
    return out, unknowns


def norms_of(r: Array, size: float) -> Norms:
    """The norms of a residual that is the sum of terms of that size."""
    if not np.isfinite(r).all():
        return Norms(np.inf, np.inf, np.inf)
    top, rms = float(np.abs(r).max(initial=0.0)), float(np.sqrt(np.mean(r**2)))
    return Norms(top, rms, rms / size if size > 0 else 0.0)


def compare(u: Array, other: Array, safety: float = SAFETY) -> ErrorEstimate:
    """The error of u, estimated from an independent second solution at the same points."""
    floor = _ROUNDING * float(np.abs(u).max(initial=0.0))
    difference = u - other
    if not np.isfinite(difference).all():
        return ErrorEstimate(np.inf, np.inf)
    largest = float(np.abs(difference).max(initial=0.0))
    mean = float(np.sqrt(np.mean(difference**2))) if difference.size else 0.0
    return ErrorEstimate(safety * largest + floor, safety * mean + floor)

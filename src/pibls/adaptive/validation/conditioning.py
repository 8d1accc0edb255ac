r"""min ‖J w‖ over functions with u(x) = 1: how firmly a problem holds its solution.

Where that is nothing, the problem leaves something undetermined; where it is little, rounding moves the
solution by much: near a resonance two solutions may agree far better than either is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import Norms
from pibls.arrays import Array
from pibls.assembly.even_odd import EvenOddSystem
from pibls.assembly.judging import residuals_at
from pibls.assembly.system import System
from pibls.assembly.tied import TiedSystem
from pibls.linalg import RidgeQR
from pibls.linalg.matrix import Matrix, as_matrix, is_finite
from pibls.linalg.protocol import Levered, levered
from pibls.nonlinear import Outcome
from pibls.spaces import Space, Whole

_PROBES = 24
_ASIDE = 4e-15
"""A rounding of a place, as a share of its distance to the middle."""
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Probed:
    """How firmly a problem holds its solution."""

    stiffness: float
    """The least residual that a change of the solution by 1 somewhere causes."""
    rounding: Array = field(default_factory=lambda: np.zeros(1))
    """How far rounding in the terms of the equations moves each unknown."""


UNPROBED = Probed(np.inf)


def probed_at(
    bench: Bench, system: System | TiedSystem | EvenOddSystem, outcome: Outcome, key: int, *, exactly: bool
) -> Probed:
    """What is known at a solution, from the factors that it was found with; ``exactly``: from its own.

    Those of a nonlinear solve that ended early are cut off: what they find soft is looked at exactly.
    """
    found_with = levered(outcome.factors)
    if system.is_linear and found_with is not None:
        return probed(bench, system, found_with, outcome.w, key)
    J, _ = system.linearise(system.values(outcome.w))
    if not is_finite(J):
        return UNPROBED
    known = None if exactly else found_with
    found = probed(bench, system, _factors(J, known), outcome.w, key)
    if system.is_linear or exactly or found.stiffness > bench.limits.suspect:
        return found
    return probed(bench, system, _factors(J, None), outcome.w, key)


def probed(
    bench: Bench, system: System | TiedSystem | EvenOddSystem, factors: Levered, w: Array, key: int
) -> Probed:
    """min over places x of 1/‖R⁻ᵀφ(x)‖, rows of unit length, and Σᵢ|∂u/∂rᵢ| ε|terms| where that is least.

    Where a condition is missing, some function costs nothing, and only rounding keeps it from being zero.
    """
    space: Whole = system.space
    # Points that were drawn at random are as random if every so many of them is taken.
    X = bench.where.all[key % _PROBES :: max(len(bench.where.all) // _PROBES, 1)][:_PROBES]
    zero = (0,) * bench.lowered.dimension
    # The functions of a piece are asked for only there: beyond it nothing determines them.
    places = [X] * len(space.bases) if bench.pieced is None else bench.pieced.probes(X)
    least, softest = np.inf, []
    for k, mine in enumerate(places):
        if not len(mine):
            continue
        values = np.zeros((len(mine), space.columns))
        values[:, space.slices[k]] = space.bases[k].jets(mine, [zero])[0]
        values = system.tied(values)
        levers = factors.leverage(values)
        worst = int(np.argmax(levers))
        least = min(least, 1.0 / float(levers[worst]))
        softest.append(values[worst])
    if least > bench.limits.firm or len(softest) < len(places):
        return Probed(least)
    return Probed(least, _EPS * factors.influence(np.array(softest), system.terms(w)))


def _factors(J: Matrix, known: Levered | None) -> Levered:
    """The factors of J: the known ones where they serve."""
    made: Any = RidgeQR().factor(J) if known is None else known
    return cast("Levered", made.factored() if as_matrix(J).is_streamed and known is None else made)


def left_over(bench: Bench, space: Space, w: Array, residuals: Mapping[str, Norms]) -> float:
    """max|r(w)| / max|r(0)|: the share of the data that a solution leaves unexplained.

    Next to the terms of a runaway solution any residual is small; next to the data it is not. Data that are
    rounding, sin(πx) at x = 1, change altogether where the place does by a rounding: nothing is left of them.
    """
    beside = {
        region: replace(p, sites=tuple(X + _ASIDE * (bench.box.mean(axis=1) - X) for X in p.sites))
        for region, p in bench.held_out.items()
    }
    given, near = (
        residuals_at(bench.lowered, points, space, np.zeros_like(w), bench.box)[0]
        for points in (bench.held_out, beside)
    )
    sizes = {
        name: float(np.abs(there.values).max(initial=0.0))
        for name, there in given.items()
        if np.abs(there.values - near[name].values).max(initial=0.0)
        < 0.5 * np.abs(there.values).max(initial=0.0)
    }
    shares = [residuals[name].max / size for name, size in sizes.items() if 0 < size < np.inf]
    return max(shares, default=0.0)

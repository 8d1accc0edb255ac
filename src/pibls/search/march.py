r"""Ω × (t₀, t₀ + sT), s → 1: a nonlinear evolution, followed from its start.

Newton's method for all times at once finds nothing where the solution is far from every start that could
be guessed: a predator-prey cycle, over several periods. Over a short time the initial values are a good
guess. So the problem is solved over a short time first, and each solution, held at its last values, starts
the next one over a longer time. The steps grow while they succeed and are halved where they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis import Basis, BasisSpec
from pibls.domain import Domain, Interval, box_of, faces_of, time_of
from pibls.domain.time import During
from pibls.errors import ProblemError
from pibls.problem import Pair, Part, Slice, Spot
from pibls.problem.lowering import LoweredProblem
from pibls.search.attempt import Attempt, Bench, attempt

_FIRST, _GROWTH, _LEAST = 1 / 16, 1.5, 1 / 256
_MOST = 32  # attempts
_GOOD = 3e-3  # relative residual up to which a short solution is worth following


@dataclass(frozen=True)
class Frozen:
    """u(x, min(t, stop)): a function that stays at its last values."""

    basis: Basis
    stop: float

    @property
    def size(self) -> int:
        return self.basis.size

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        late = X[:, -1] > self.stop
        held = np.column_stack([X[:, :-1], np.minimum(X[:, -1], self.stop)])
        out = [np.array(jet) for jet in self.basis.jets(held, alphas)]
        for jet, alpha in zip(out, alphas, strict=True):
            if alpha[-1]:
                jet[late] = 0.0
        return out


def is_evolution(lowered: LoweredProblem, domain: Domain) -> bool:
    """Whether all conditions hold at the start, or on the boundary at every time."""
    start = float(box_of(domain)[-1, 0])
    last = lowered.dimension - 1
    timed = isinstance(domain, During)
    if not timed and not isinstance(domain, Interval):
        return False
    for region in {r.region for r in lowered.residuals}:
        match region:
            case Slice():
                fits = region.axis == last and region.level == start and region.relation is None
            case Part():
                fits = timed or not _at_the_end(region, domain)
            case Pair():
                fits = timed and region.axis != last
            case Spot():
                fits = timed and region.point[-1] is None
            case _:
                fits = True
        if not fits:
            return False
    return True


def _at_the_end(part: Part, domain: Domain) -> bool:
    end = faces_of(domain)[-1].at(np.empty((1, 0)), np.random.default_rng(0))
    return part.owners is not None or bool(part.mask(end).any())


def march(bench: Bench, spec: BasisSpec, key: int, is_late: Callable[[], bool]) -> Attempt | None:
    """The solution over the whole time, if it could be followed to its end."""
    done, step, found = 0.0, _FIRST, None
    for _ in range(_MOST):
        if step < _LEAST or is_late():
            return None
        aim = min(done + step, 1.0)
        now = bench if aim == 1.0 else bench.over(shortened(bench.domain, aim))
        try:
            tried = attempt(now, spec, None, None, key, found, persistent=False)
        except ProblemError:  # a condition that holds at later times only
            return None
        if not tried.relative < _GOOD:
            step *= 0.5
            continue
        if aim == 1.0:
            return tried
        stop = float(box_of(now.domain)[-1, 1])
        found = replace(tried, basis=Frozen(tried.basis, stop))
        done, step = aim, _GROWTH * step
    return None


def shortened(domain: Domain, share: float) -> Domain:
    """The same domain over a share of the time; of an interval, its first part."""
    start, stop = box_of(domain)[-1]
    end = start + share * (stop - start)
    if isinstance(domain, During):
        return During(domain.space, time_of(domain), start, end)
    return Interval(domain.coordinates[0], start, end)

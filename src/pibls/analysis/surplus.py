r"""L u = f of order 2m takes m conditions at each place of the boundary: what is told beside them is known.

An elliptic equation has a solution for any values on the boundary, or for any slopes, and not for both; on a
line one of order n takes n conditions in all. Whether what is told beyond that holds, a solution without it
shows.
"""

from __future__ import annotations

import numpy as np

from pibls.analysis.thresholds import SURPLUS
from pibls.geometry import Domain, faces_of, time_of
from pibls.problem.forms.lowering import LoweredProblem, Residual


def told_twice(lowered: LoweredProblem, domain: Domain) -> tuple[int, ...]:
    """The residuals of conditions beyond those that decide a linear equation, where that is known."""
    told = [i for i, r in enumerate(lowered.residuals) if not r.region.is_inside]
    inside = [r for r in lowered.residuals if r.region.is_inside]
    one = len(inside) == 1 == lowered.unknowns and lowered.is_linear and time_of(domain) is None
    if not one or len(told) < 2 or any(r.region.sites > 1 or r.region.is_sum for r in lowered.residuals):
        return ()
    order, line = _order(inside[0]), lowered.dimension == 1
    rng = np.random.default_rng(0)
    count = 1 if line else SURPLUS.probes
    faces = [f.at(0.01 + 0.98 * rng.random((count, f.dimension)), rng) for f in faces_of(domain)]
    had: list[set[int]] = [set() for f in faces for _ in f.points]
    # The orders of what is kept at each place: two values do not stand for a value and a slope.
    left, surplus, values = order, [], False
    for i in sorted(told, key=lambda i: _order(lowered.residuals[i])):
        r = lowered.residuals[i]
        own = _order(r)
        mine = np.flatnonzero(np.concatenate([np.asarray(r.region.mask(f), dtype=bool) for f in faces]))
        if line:
            many = len(mine) or len(r.region.spots(domain))
            needed = 0 < many <= left and not any(own in had[k] for k in mine)
            left -= many if needed else 0
        elif len(mine):
            needed = any(len(had[k]) < order // 2 and own not in had[k] for k in mine)
        elif len(r.region.spots(domain)):
            needed = not values  # where slopes alone are given, a value at a point may be what is missing
        else:
            return ()  # a surface inside, on which there may be anything
        if not needed:
            surplus.append(i)
            continue
        values |= own == 0 and len(mine) > 0
        for k in mine:
            had[k].add(own)
    enough = left == 0 if line else min(len(h) for h in had) >= order // 2 and _is_elliptic(inside[0], domain)
    return tuple(surplus) if enough else ()


def _order(r: Residual) -> int:
    return max((sum(j.alpha) for j in r.linear), default=0)


def _is_elliptic(r: Residual, domain: Domain) -> bool:
    """Whether Σ a_α ξ^α over the highest α has one sign in all directions, at a few places."""
    rng = np.random.default_rng(0)
    X = np.asarray(domain.interior(SURPLUS.places, rng), dtype=float)
    a = r.coefficients(X, np.zeros_like(X), r.known_data(X))
    directions = rng.standard_normal((SURPLUS.directions, X.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    P = np.zeros((len(X), len(directions)))
    for jet, row in zip(r.linear, a, strict=True):
        if sum(jet.alpha) == _order(r):
            P += row[:, None] * np.prod(directions ** np.array(jet.alpha), axis=1)
    size = np.abs(P).max(axis=1, keepdims=True)
    return bool((SURPLUS.elliptic * size < P).all() or (-SURPLUS.elliptic * size > P).all())

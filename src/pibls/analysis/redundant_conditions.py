r"""Redundant conditions of a scalar linear equation.

An elliptic equation of order 2m takes m conditions at each point of the boundary: it has a solution for any
values on the boundary, or for any normal derivatives, but not for both. In one dimension an equation of order
n takes n conditions in total. Further conditions are dropped, and checked with the solution found without
them.
"""

from __future__ import annotations

import numpy as np

from pibls.analysis.thresholds import REDUNDANCY
from pibls.geometry import Domain, faces_of, time_of
from pibls.problem.forms.compilation import CompiledProblem, Residual


def redundant_conditions(compiled: CompiledProblem, domain: Domain) -> tuple[int, ...]:
    """Return the indices of the residuals of redundant conditions, where they are known."""
    conditions = [i for i, r in enumerate(compiled.residuals) if not r.region.is_interior]
    inside = [r for r in compiled.residuals if r.region.is_interior]
    one = len(inside) == 1 == compiled.unknowns and compiled.is_linear and time_of(domain) is None
    if (
        not one
        or len(conditions) < 2
        or any(r.region.sites > 1 or r.region.is_integral for r in compiled.residuals)
    ):
        return ()
    order, line = _order(inside[0]), compiled.dimension == 1
    rng = np.random.default_rng(0)
    count = 1 if line else REDUNDANCY.face_samples
    faces = [f.at(0.01 + 0.98 * rng.random((count, f.dimension)), rng) for f in faces_of(domain)]
    kept_orders: list[set[int]] = [set() for f in faces for _ in f.points]
    # The orders of the conditions kept at each point: two values do not replace a value and a derivative.
    remaining, redundant, values = order, [], False
    for i in sorted(conditions, key=lambda i: _order(compiled.residuals[i])):
        r = compiled.residuals[i]
        own = _order(r)
        mine = np.flatnonzero(np.concatenate([np.asarray(r.region.mask(f), dtype=bool) for f in faces]))
        if line:
            many = len(mine) or len(r.region.isolated_points(domain))
            needed = 0 < many <= remaining and not any(own in kept_orders[k] for k in mine)
            remaining -= many if needed else 0
        elif len(mine):
            needed = any(len(kept_orders[k]) < order // 2 and own not in kept_orders[k] for k in mine)
        elif len(r.region.isolated_points(domain)):
            needed = not values  # with Neumann conditions alone, a value at a point may be needed
        else:
            return ()  # an interior surface, which is not analysed
        if not needed:
            redundant.append(i)
            continue
        values |= own == 0 and len(mine) > 0
        for k in mine:
            kept_orders[k].add(own)
    enough = (
        remaining == 0
        if line
        else min(len(h) for h in kept_orders) >= order // 2 and _is_elliptic(inside[0], domain)
    )
    return tuple(redundant) if enough else ()


def _order(r: Residual) -> int:
    return max((sum(j.alpha) for j in r.linear), default=0)


def _is_elliptic(r: Residual, domain: Domain) -> bool:
    """Whether the principal symbol Σ a_α ξ^α has one sign in all directions, at sample points."""
    rng = np.random.default_rng(0)
    X = np.asarray(domain.interior(REDUNDANCY.interior_samples, rng), dtype=float)
    a = r.coefficients(X, np.zeros_like(X), r.data_function_values(X))
    directions = rng.standard_normal((REDUNDANCY.directions, X.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    P = np.zeros((len(X), len(directions)))
    for derivative, row in zip(r.linear, a, strict=True):
        if sum(derivative.alpha) == _order(r):
            P += row[:, None] * np.prod(directions ** np.array(derivative.alpha), axis=1)
    size = np.abs(P).max(axis=1, keepdims=True)
    return bool(
        (REDUNDANCY.min_ellipticity * size < P).all() or (-REDUNDANCY.min_ellipticity * size > P).all()
    )

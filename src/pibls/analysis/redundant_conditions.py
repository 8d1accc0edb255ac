r"""Redundant conditions of a scalar linear equation.

An elliptic equation of order 2m takes m conditions at each point of the boundary: it has a solution for any
values on the boundary, or for any normal derivatives, but not for both. In one dimension an equation of order
n takes n conditions in total. Further conditions are dropped, and checked with the solution found without
them.
"""

from __future__ import annotations

import numpy as np

from pibls.analysis.thresholds import REDUNDANCY
from pibls.arrays import Indices
from pibls.geometry import Boundary, Domain, faces_of, time_of
from pibls.problem.forms.compilation import CompiledProblem, Residual


def redundant_conditions(compiled: CompiledProblem, domain: Domain) -> tuple[int, ...]:
    """Return the indices of the residuals of redundant conditions, where they are known."""
    conditions = [i for i, r in enumerate(compiled.residuals) if not r.region.is_interior]
    if len(conditions) < 2 or not _is_applicable(compiled, domain):
        return ()
    (equation,) = compiled.equations
    rng, is_line = np.random.default_rng(0), compiled.dimension == 1
    count = 1 if is_line else REDUNDANCY.face_samples
    faces = [f.at(0.01 + 0.98 * rng.random((count, f.dimension)), rng) for f in faces_of(domain)]
    kept = _KeptConditions(domain, _order(equation), is_line, faces)
    redundant = []
    for i in sorted(conditions, key=lambda i: _order(compiled.residuals[i])):
        needed = kept.add(compiled.residuals[i])
        if needed is None:
            return ()  # an interior surface, which is not analysed
        if not needed:
            redundant.append(i)
    return tuple(redundant) if kept.are_complete(equation) else ()


def _is_applicable(compiled: CompiledProblem, domain: Domain) -> bool:
    """Whether the problem is one linear, stationary equation without periodic conditions and integrals."""
    if not len(compiled.equations) == 1 == compiled.unknowns:
        return False
    if not compiled.is_linear or time_of(domain) is not None:
        return False
    return not any(r.region.sites > 1 or r.region.is_integral for r in compiled.residuals)


class _KeptConditions:
    """The conditions that are not redundant, collected in ascending order of their derivatives."""

    def __init__(self, domain: Domain, order: int, is_line: bool, faces: list[Boundary]) -> None:
        self._domain, self._order, self._is_line, self._faces = domain, order, is_line, faces
        self._orders: list[set[int]] = [set() for f in faces for _ in f.points]
        """The orders of the conditions at each point: two values do not replace a value and a derivative."""
        self._remaining = order
        self._has_values = False

    def add(self, r: Residual) -> bool | None:
        """Keep a condition if it is needed, and return whether; None if it is not on the boundary."""
        own = _order(r)
        mine = np.flatnonzero(np.concatenate([np.asarray(r.region.mask(f), dtype=bool) for f in self._faces]))
        needed = self._needed_on_line(r, own, mine) if self._is_line else self._needed(r, own, mine)
        if needed:
            self._has_values |= own == 0 and len(mine) > 0
            for k in mine:
                self._orders[k].add(own)
        return needed

    def _needed_on_line(self, r: Residual, own: int, mine: Indices) -> bool:
        many = len(mine) or len(r.region.isolated_points(self._domain))
        needed = 0 < many <= self._remaining and not any(own in self._orders[k] for k in mine)
        self._remaining -= many if needed else 0
        return needed

    def _needed(self, r: Residual, own: int, mine: Indices) -> bool | None:
        if len(mine):
            known = [self._orders[k] for k in mine]
            return any(len(orders) < self._order // 2 and own not in orders for orders in known)
        if len(r.region.isolated_points(self._domain)):
            return not self._has_values  # with Neumann conditions alone, a value at a point may be needed
        return None

    def are_complete(self, equation: Residual) -> bool:
        """Whether the conditions kept determine the solution."""
        if self._is_line:
            return self._remaining == 0
        return min(len(h) for h in self._orders) >= self._order // 2 and _is_elliptic(equation, self._domain)


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

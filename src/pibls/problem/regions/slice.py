"""{x ∈ Ω : x_axis = level}: a slice of the domain; the start of time is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.basis.quasi import CLOSED_RULES
from pibls.domain import Domain, box_of, time_of
from pibls.errors import ProblemError
from pibls.problem.regions.points import Points, PointSet, owned, too_few
from pibls.problem.regions.protocol import Pen, Place
from pibls.problem.relation import Relation

_ROUNDS = 12
_ROUNDS_IN_BOX = 5


@dataclass(frozen=True)
class Slice(Place):
    """The points of the domain with x_axis = level, where the relation holds."""

    axis: int
    level: float
    relation: Relation | None = None

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        rule = points.boundary_rule or points.rule
        if box is None:
            return PointSet.inside(self._fill(domain, self._count(name, domain, points), rule, rng))
        middle = box.mean(axis=1)
        middle[self.axis] = self.level
        n = points.initial if self._is_in_time(domain) else points.boundary // (2 * len(box))
        if len(box) == 1:
            n = 1
        if n < 1 or not owned(middle[None, :], box, domain)[0]:
            return PointSet.none(len(box))
        return PointSet.inside(self._fill_box(domain, box, n, rule, rng))

    def _is_in_time(self, domain: Domain) -> bool:
        return time_of(domain) is not None and self.axis == len(domain.coordinates) - 1

    def _count(self, name: str, domain: Domain, points: Points) -> int:
        in_time = self._is_in_time(domain)
        if in_time or len(domain.coordinates) == 1:
            if points.initial < 1 and in_time:
                raise too_few("initial", name, points.initial)
            return max(points.initial, 1)
        return max(points.boundary // (2 * len(domain.coordinates)), 1)

    def _candidates(self, box: Array, n: int, rule: str, rng: np.random.Generator) -> Array:
        low, high = np.delete(box, self.axis, axis=0).T
        U = CLOSED_RULES[rule](n, len(low), rng)
        return np.insert(low * (1.0 - U) + high * U, self.axis, self.level, axis=1)

    def _keep(self, domain: Domain, X: Array) -> Mask:
        return np.asarray(domain.contains(X), dtype=bool) & self.holds(X)

    def _fill(self, domain: Domain, n: int, rule: str, rng: np.random.Generator) -> Array:
        wanted = n
        for _ in range(_ROUNDS):
            X = self._candidates(box_of(domain), wanted, rule, rng)
            keep = self._keep(domain, X)
            if keep.all():
                return np.asarray(X)
            if keep.sum() >= n:
                return np.asarray(X[keep][:n])
            wanted = 2 * wanted + 8
        if keep.any():
            return np.asarray(X[keep])
        raise ProblemError(
            "on",
            expected="a relation that holds somewhere in the domain",
            got=f"level {self.level:g}" if self.relation is None else self.relation.expression,
            remedy="No point of the domain satisfies it: check the numbers.",
        )

    def _fill_box(self, domain: Domain, box: Array, n: int, rule: str, rng: np.random.Generator) -> Array:
        """n points; fewer where a sliver of the domain has so few, even when 16 n are looked at."""
        wanted = n
        for _ in range(_ROUNDS_IN_BOX):
            X = self._candidates(box, wanted, rule, rng)
            keep = self._keep(domain, X)
            if keep.all() or (not keep.any() and wanted > n):
                break
            if keep.sum() >= n:
                return np.asarray(X[keep][:n] if rule not in ("grid", "chebyshev") else X[keep])
            wanted = 2 * wanted
        return np.asarray(X[keep])

    @property
    def is_whole_slice(self) -> bool:  # type: ignore[override]
        """A relation of the coordinate across it alone, t = 1, holds on all of it."""
        relation = self.relation
        return relation is None or relation.expression.free_symbols <= {relation.coordinates[self.axis]}

    def holds(self, X: Array) -> Mask:
        return np.ones(len(X), dtype=np.bool_) if self.relation is None else self.relation(X)

    def plane(self) -> tuple[int, float] | None:
        return self.axis, self.level

    def follows(self, domain: Domain) -> bool:
        last = len(domain.coordinates) - 1
        start = float(box_of(domain)[-1, 0])
        return self.axis == last and self.level == start and self.is_whole_slice

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        if self.relation is not None:
            return f"where {pen.relation(self.relation.expression)}"
        return f"at {pen.point({coordinates[self.axis]: self.level})}"

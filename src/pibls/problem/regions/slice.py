"""A slice {x ∈ Ω : x_axis = level} of the domain, such as the initial time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.basis.cube_points import CLOSED_RULES
from pibls.errors import ProblemError
from pibls.expressions import Coordinate
from pibls.geometry import Domain, box_of, is_in_cell, time_of
from pibls.problem.regions.points import Points, PointSet, missing_points_error, sample_by_rejection
from pibls.problem.regions.protocol import Notation, Region
from pibls.problem.regions.relation import Relation


@dataclass(frozen=True)
class Slice(Region):
    """The points of the domain with x_axis = level, where the relation holds."""

    axis: int
    level: float
    relation: Relation | None = None

    def sample(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        rule = points.boundary_rule or points.rule
        if box is None:
            return PointSet.inside(self._filled(domain, None, self._count(name, domain, points), rule, rng))
        middle = box.mean(axis=1)
        middle[self.axis] = self.level
        n = points.initial if self._is_in_time(domain) else points.boundary // (2 * len(box))
        if len(box) == 1:
            n = 1
        if n < 1 or not is_in_cell(middle[None, :], box, domain)[0]:
            return PointSet.none(len(box))
        return PointSet.inside(self._filled(domain, box, n, rule, rng))

    def _is_in_time(self, domain: Domain) -> bool:
        return time_of(domain) is not None and self.axis == len(domain.coordinates) - 1

    def _count(self, name: str, domain: Domain, points: Points) -> int:
        in_time = self._is_in_time(domain)
        if in_time or len(domain.coordinates) == 1:
            if points.initial < 1 and in_time:
                raise missing_points_error("initial", name, points.initial)
            return max(points.initial, 1)
        return max(points.boundary // (2 * len(domain.coordinates)), 1)

    def _filled(self, domain: Domain, box: Array | None, n: int, rule: str, rng: Rng) -> Array:
        low, high = np.delete(box_of(domain) if box is None else box, self.axis, axis=0).T

        def candidates(count: int) -> Array:
            U = CLOSED_RULES[rule](count, len(low), rng)
            return np.insert(low * (1.0 - U) + high * U, self.axis, self.level, axis=1)

        def keep(X: Array) -> Mask:
            return np.asarray(domain.contains(X), dtype=bool) & self.holds(X)

        found = sample_by_rejection(candidates, keep, n, rule, in_box=box is not None)
        if box is None and not len(found):
            raise ProblemError(
                "on",
                expected="a relation that holds somewhere in the domain",
                got=f"level {self.level:g}" if self.relation is None else self.relation.expression,
                remedy="No point of the domain satisfies it: check its numbers.",
            )
        return found

    @property
    def is_whole_slice(self) -> bool:  # type: ignore[override]
        """Whether the relation only fixes the coordinate, as t = 1 does."""
        relation = self.relation
        return relation is None or relation.expression.free_symbols <= {relation.coordinates[self.axis]}

    def holds(self, X: Array) -> Mask:
        return np.ones(len(X), dtype=np.bool_) if self.relation is None else self.relation(X)

    def plane(self) -> tuple[int, float] | None:
        return self.axis, self.level

    def allows_time_stepping(self, domain: Domain) -> bool:
        last = len(domain.coordinates) - 1
        start = float(box_of(domain)[-1, 0])
        return self.axis == last and self.level == start and self.is_whole_slice

    def describe(self, coordinates: tuple[Coordinate, ...], pen: Notation) -> str:
        if self.relation is not None:
            return f"where {pen.relation(self.relation.expression)}"
        return f"at {pen.point({coordinates[self.axis]: self.level})}"

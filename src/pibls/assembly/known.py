r"""aⱼ(x), ρ(x): what a residual is at points, whatever function it is asked of.

Two solutions at the same places, and all that are judged at the same ones, share it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.assembly.points import PointSet
from pibls.basis.protocol import Operator
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.problem import Region
from pibls.problem.forms.lowering import Residual

ONES = np.ones(0)
"""In place of a factor that is 1 everywhere."""


class Term(NamedTuple):
    """diag(factor) Σ c ∂^α A w_unknown, at one of the sites of a region."""

    site: int
    unknown: int
    operator: Operator
    factor: Array


@dataclass(frozen=True)
class Known:
    """Data and coefficients of a residual at points, and ρ where it is linear."""

    residual: Residual
    points: PointSet
    data: Array
    coefficients: Array
    rest: Array | None

    @classmethod
    def of(cls, residual: Residual, points: PointSet, kept: dict[int, Known] | None = None) -> Known:
        """``kept``: what is known of other residuals, or of this one, at the same points."""
        found = None if kept is None else kept.get(id(residual))
        if found is not None and found.residual is residual and found.points is points:
            return found
        X, normals = points.sites[0], points.normals
        data = residual.known_data(X)
        none = np.empty((0, len(X)))
        rest = None if residual.nonlinear else residual.rest(X, normals, data, none)
        found = cls(residual, points, data, residual.coefficients(X, normals, data), rest)
        if kept is not None:
            kept[id(residual)] = found
        return found

    def at(self, rows: slice, points: PointSet) -> Known:
        """At some of the points, which are those."""
        rest = None if self.rest is None else self.rest[rows]
        return Known(self.residual, points, self.data[:, rows], self.coefficients[:, rows], rest)

    @cached_property
    def checked(self) -> Known:
        """Itself, where all that it is made of is finite."""
        X = self.points.sites[0]
        check_finite(self.coefficients, self.residual, X, "a coefficient")
        check_finite(self.data, self.residual, X, "a Python function")
        if self.rest is not None:
            check_finite(self.rest[None, :], self.residual, X, "the source or value")
        return self

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What has numbers as coefficients makes one term together; of an integral each is by itself."""
        by_place: dict[tuple[int, int], list[tuple[MultiIndex, Array]]] = {}
        for jet, c in zip(self.residual.linear, self.coefficients, strict=True):
            by_place.setdefault((jet.site, jet.unknown), []).append((jet.alpha, c))
        apart = self.points.weights is not None
        out = []
        for (site, unknown), found in by_place.items():
            numbers = [] if apart else [(alpha, float(c[0])) for alpha, c in found if _is_number(c)]
            if numbers:
                out.append(Term(site, unknown, tuple(numbers), ONES))
            together = {alpha for alpha, _ in numbers}
            out += [Term(site, unknown, ((alpha, 1.0),), c) for alpha, c in found if alpha not in together]
        return tuple(out)

    @cached_property
    def alone(self) -> tuple[Term, ...]:
        """Those that are all that a residual says of an unknown: their tables can be made in its rows."""
        unknowns = [t.unknown for t in self.terms]
        return tuple(t for t in self.terms if t.factor is ONES and unknowns.count(t.unknown) == 1)


@dataclass(frozen=True)
class Placed:
    """The points of every region, and what the residuals are there."""

    points: Mapping[Region, PointSet]
    known: dict[int, Known] = field(default_factory=dict, repr=False, compare=False)


def known_in(
    residuals: Sequence[Residual], cells: Sequence[Mapping[Region, PointSet]]
) -> list[dict[int, Known]]:
    """What residuals are at the points of each of some cells, looked up for all together."""
    out: list[dict[int, Known]] = [{} for _ in cells]
    for r in residuals:
        mine = [(k, points[r.region]) for k, points in zip(out, cells, strict=True) if r.region in points]
        if not mine:
            continue
        found, start = Known.of(r, PointSet.joined([points for _, points in mine])), 0
        for known, points in mine:
            known[id(r)] = found.at(slice(start, start + len(points)), points)
            start += len(points)
    return out


def _is_number(c: Array) -> bool:
    return bool(len(c) and (c == c[0]).all())


def check_finite(values: Array, residual: Residual, X: Array, what: str) -> None:
    """Raise an error that names the place where a value is infinite or undefined."""
    if math.isfinite(values.sum()):
        return  # one call: this is asked of every term at every solve
    fine = np.isfinite(values)
    if not fine.all():
        row, column = np.argwhere(~fine)[0]
        place = ", ".join(f"{c:.6g}" for c in X[column])
        raise ProblemError(
            residual.name,
            expected="finite values at every point",
            got=f"{values[row, column]} for {what} at the point ({place})",
            remedy="Look for a division by zero, the root or logarithm of a negative number, or bad data.",
        )

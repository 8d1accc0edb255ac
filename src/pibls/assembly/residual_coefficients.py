r"""Coefficients aⱼ(x) and given terms ρ(x) of residuals at points.

They do not depend on the solution, so solutions that use the same points share them.
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
from pibls.errors import ProblemError
from pibls.problem import Region
from pibls.problem.forms.compilation import Residual
from pibls.runtime.caching import cached_property

UNIT_FACTOR = np.ones(0)
"""Stands for a factor that is 1 everywhere."""


class Term(NamedTuple):
    """diag(factor) Σ c ∂^α A w_unknown, at one of the sites of a region."""

    site: int
    unknown: int
    operator: Operator
    factor: Array


@dataclass(frozen=True)
class ResidualCoefficients:
    """Data and coefficients of a residual at points, and ρ if the residual is linear."""

    residual: Residual
    points: PointSet
    data: Array
    coefficients: Array
    rest: Array | None

    @classmethod
    def of(
        cls, residual: Residual, points: PointSet, cache: dict[int, ResidualCoefficients] | None = None
    ) -> ResidualCoefficients:
        """Evaluate a residual's coefficients, or take them from the cache ``cache`` for the same points."""
        found = None if cache is None else cache.get(id(residual))
        if found is not None and found.residual is residual and found.points is points:
            return found
        X, normals = points.sites[0], points.normals
        data = residual.data_function_values(X)
        none = np.empty((0, len(X)))
        rest = None if residual.nonlinear else residual.rest(X, normals, data, none)
        found = cls(residual, points, data, residual.coefficients(X, normals, data), rest)
        if cache is not None:
            cache[id(residual)] = found
        return found

    def subset(self, rows: slice, points: PointSet) -> ResidualCoefficients:
        """Return the coefficients for some rows, whose points are ``points``."""
        rest = None if self.rest is None else self.rest[rows]
        return ResidualCoefficients(
            self.residual, points, self.data[:, rows], self.coefficients[:, rows], rest
        )

    @cached_property
    def checked(self) -> ResidualCoefficients:
        """These coefficients after a check that all of them are finite; raises a `ProblemError` otherwise."""
        X = self.points.sites[0]
        check_finite(self.coefficients, self.residual, X, "a coefficient")
        check_finite(self.data, self.residual, X, "a Python function")
        if self.rest is not None:
            check_finite(self.rest[None, :], self.residual, X, "the source or value")
        return self

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The linear terms; those with constant coefficients are combined, except in an integral."""
        by_place: dict[tuple[int, int], list[tuple[MultiIndex, Array]]] = {}
        for derivative, c in zip(self.residual.linear, self.coefficients, strict=True):
            by_place.setdefault((derivative.site, derivative.unknown), []).append((derivative.alpha, c))
        apart = self.points.weights is not None
        out = []
        for (site, unknown), found in by_place.items():
            numbers = [] if apart else [(alpha, float(c[0])) for alpha, c in found if _is_number(c)]
            if numbers:
                out.append(Term(site, unknown, tuple(numbers), UNIT_FACTOR))
            together = {alpha for alpha, _ in numbers}
            out += [Term(site, unknown, ((alpha, 1.0),), c) for alpha, c in found if alpha not in together]
        return tuple(out)

    @cached_property
    def sole_terms(self) -> tuple[Term, ...]:
        """The terms that are the only one of their unknown; their tables are computed in the rows."""
        unknowns = [t.unknown for t in self.terms]
        return tuple(t for t in self.terms if t.factor is UNIT_FACTOR and unknowns.count(t.unknown) == 1)


@dataclass(frozen=True)
class PlacedPoints:
    """The points of every region, and a cache of the residuals' coefficients there."""

    points: Mapping[Region, PointSet]
    cache: dict[int, ResidualCoefficients] = field(default_factory=dict, repr=False, compare=False)


def coefficients_in_cells(
    residuals: Sequence[Residual], cells: Sequence[Mapping[Region, PointSet]]
) -> list[dict[int, ResidualCoefficients]]:
    """Return the coefficients of residuals at the points of each cell, evaluated for all cells at once."""
    out: list[dict[int, ResidualCoefficients]] = [{} for _ in cells]
    for r in residuals:
        mine = [(k, points[r.region]) for k, points in zip(out, cells, strict=True) if r.region in points]
        if not mine:
            continue
        found, start = ResidualCoefficients.of(r, PointSet.joined([points for _, points in mine])), 0
        for known, points in mine:
            known[id(r)] = found.subset(slice(start, start + len(points)), points)
            start += len(points)
    return out


def _is_number(c: Array) -> bool:
    return bool(len(c) and (c == c[0]).all())


def check_finite(values: Array, residual: Residual, X: Array, what: str) -> None:
    """Raise an error that names the place where a value is infinite or undefined."""
    if math.isfinite(values.sum()):
        return  # a single call, because every term of every solve is checked
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

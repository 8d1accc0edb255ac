r"""a_j(x), g(x), ρ(x): what a residual is at points, whatever the solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.problem import Region
from pibls.problem.lowering import Residual
from pibls.system.points import PointSet


@dataclass(frozen=True)
class Known:
    """What a residual is at points, whatever the solution: data, coefficients, and ρ where it is linear."""

    data: Array
    coefficients: Array
    rest: Array | None

    @classmethod
    def of(cls, residual: Residual, where: PointSet) -> Known:
        X, normals = where.sites[0], where.normals
        data = residual.known_data(X)
        none = np.empty((0, len(X)))
        rest = None if residual.nonlinear else residual.rest(X, normals, data, none)
        return cls(data, residual.coefficients(X, normals, data), rest)

    @classmethod
    def checked(cls, residual: Residual, where: PointSet) -> Known:
        """The same, refused where a value is infinite or undefined."""
        found, X = cls.of(residual, where), where.sites[0]
        check_finite(found.coefficients, residual, X, "a coefficient")
        check_finite(found.data, residual, X, "a Python function")
        if found.rest is not None:
            check_finite(found.rest[None, :], residual, X, "the source or value")
        return found

    def at(self, rows: slice) -> Known:
        """At some of the points."""
        rest = None if self.rest is None else self.rest[rows]
        return Known(self.data[:, rows], self.coefficients[:, rows], rest)


def known_in(
    residuals: Sequence[Residual], cells: Sequence[Mapping[Region, PointSet]]
) -> list[dict[int, Known]]:
    """What residuals are at the points of each of some cells, by their ``id``; looked up for all together."""
    out: list[dict[int, Known]] = [{} for _ in cells]
    for r in residuals:
        mine = [
            (known, points[r.region]) for known, points in zip(out, cells, strict=True) if r.region in points
        ]
        if not mine:
            continue
        found, start = Known.checked(r, PointSet.joined([points for _, points in mine])), 0
        for known, points in mine:
            known[id(r)] = found.at(slice(start, start + len(points)))
            start += len(points)
    return out


def check_finite(values: Array, residual: Residual, X: Array, what: str) -> None:
    """Raise an error that names the place where a value is infinite or undefined."""
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

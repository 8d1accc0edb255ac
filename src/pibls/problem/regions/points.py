"""Numbers and rules of collocation points (`Points`), and the points of one region (`PointSet`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask
from pibls.basis.cube_points import check_rule
from pibls.errors import ProblemError

TENSOR_RULES = ("grid", "chebyshev")
"""Rules of tensor product grids, of which all points are used."""


@dataclass(frozen=True)
class Points:
    """Numbers of collocation points and the rules by which they are placed.

    Parameters
    ----------
    interior, boundary, initial
        Number of points inside, on the whole spatial boundary, and at the initial time. In one dimension the
        two end points are repeated, which gives them weight.
    rule
        "sobol", "halton", "uniform", "grid", "chebyshev", "lhs" or "closed-grid". The tensor rules "grid"
        and "chebyshev" use the largest grid with at most that many points. "closed-grid" includes the faces
        and uses a random subset of the smallest grid with at least that many points, as the code of the
        paper's authors does.
    boundary_rule
        Another rule for the boundary and the initial time; by default the same.

    >>> Points(400, 80).rule
    'sobol'
    """

    interior: int
    boundary: int
    initial: int = 0
    rule: str = "sobol"
    boundary_rule: str | None = None

    def __post_init__(self) -> None:
        for name, value, least in (
            ("interior", self.interior, 1),
            ("boundary", self.boundary, 0),
            ("initial", self.initial, 0),
        ):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ProblemError(
                    f"Points({name})",
                    expected=f"a whole number of at least {least}",
                    got=repr(value),
                    remedy="Give the number of points to use.",
                )
        check_rule(self.rule, "Points(rule)")
        if self.boundary_rule is not None:
            check_rule(self.boundary_rule, "Points(boundary_rule)")


@dataclass(frozen=True)
class PointSet:
    """The points of one region: one array (n, d) for each site, and normals (n, d), zero inside."""

    sites: tuple[Array, ...]
    normals: Array
    weights: Array | None = None
    """Quadrature weights (rows, q) of an integral: each q consecutive points make one row."""

    @property
    def rows(self) -> int:
        """Number of rows of a residual on these points."""
        return len(self) if self.weights is None else len(self.weights)

    def summed(self, values: Array) -> Array:
        """Return the values of the rows (…, rows) from those at the points (…, n)."""
        if self.weights is None:
            return values
        return np.asarray((values.reshape(*values.shape[:-1], *self.weights.shape) * self.weights).sum(-1))

    def __len__(self) -> int:
        return len(self.normals)

    def select(self, keep: Mask) -> PointSet:
        """Return the points selected by a mask; of an integral, the rows of which all points are selected."""
        if self.weights is None:
            return PointSet(tuple(s[keep] for s in self.sites), self.normals[keep])
        rows = keep.reshape(self.weights.shape).all(axis=1)
        points = np.repeat(rows, self.weights.shape[1])
        return PointSet(tuple(s[points] for s in self.sites), self.normals[points], self.weights[rows])

    @classmethod
    def inside(cls, X: Array) -> PointSet:
        """Return a set of points without normals."""
        return cls((X,), np.zeros_like(X))

    @classmethod
    def joined(cls, parts: Sequence[PointSet]) -> PointSet:
        """Return the union of point sets; integrals are added row by row."""
        if parts[0].weights is None:
            sites = tuple(np.concatenate(each) for each in zip(*(p.sites for p in parts), strict=True))
            return cls(sites, np.concatenate([p.normals for p in parts]))
        rows = len(parts[0].weights)

        def beside(arrays: Iterable[Array]) -> Array:
            split = [a.reshape(rows, -1, a.shape[-1]) for a in arrays]
            return np.concatenate(split, axis=1).reshape(-1, split[0].shape[-1])

        weights = np.concatenate([p.weights for p in parts if p.weights is not None], axis=1)
        return cls((beside(p.sites[0] for p in parts),), beside(p.normals for p in parts), weights)

    @classmethod
    def none(cls, dimension: int, sites: int = 1) -> PointSet:
        """Return an empty set."""
        return cls((np.empty((0, dimension)),) * sites, np.empty((0, dimension)))


def missing_points_error(which: str, name: str, got: int) -> ProblemError:
    """Return the error for a condition that needs points while their number is zero."""
    return ProblemError(
        f"points.{which}",
        expected=f"at least 1, for the condition {name}",
        got=got,
        remedy=f"Write Points(…, {which}=100).",
    )


def sample_by_rejection(
    candidates: Callable[[int], Array], keep: Callable[[Array], Mask], n: int, rule: str, *, in_box: bool
) -> Array:
    """Return n candidates that ``keep`` accepts, or all accepted points of a tensor product rule.

    The number of candidates grows until n are accepted or the limit is reached (16 n in a box), so that a
    small part of the domain gets fewer points.
    """
    wanted, most = n, 16 * n if in_box else 64 * n + 4096
    while True:
        X = candidates(wanted)
        kept = np.asarray(keep(X), dtype=np.bool_)
        count = int(kept.sum())
        if count == len(X) or count >= n:
            return np.asarray(X[kept] if rule in TENSOR_RULES or count == len(X) else X[kept][:n])
        if wanted >= most or (in_box and not count and wanted > n):
            return np.asarray(X[kept])
        wanted = min(max(2 * wanted, int(1.1 * n * wanted / max(count, 1)) if count else 0), most)


def is_points(given: object) -> bool:
    """Whether an argument gives numbers of points."""
    return isinstance(given, Points)

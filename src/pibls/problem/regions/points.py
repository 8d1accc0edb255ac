"""How many points, by which rule; and the points of one region."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask
from pibls.basis.quasi import rule
from pibls.errors import ProblemError

TENSOR = ("grid", "chebyshev")
"""Rules whose points are products, all or none of which are taken."""


@dataclass(frozen=True)
class Points:
    """How many points, by which rule.

    Parameters
    ----------
    interior, boundary, initial
        Number of points inside, on the whole spatial boundary, and at the start. On a boundary that
        is two end points (1D), they are repeated, which weighs them.
    rule
        "sobol", "halton", "uniform", "grid", "chebyshev", "lhs" or "closed-grid". The tensor rules "grid"
        and "chebyshev" use the largest grid with at most that many points. "closed-grid" includes the faces
        and takes a random part of the least grid with at least that many points, as the code of the paper's
        authors.
    boundary_rule
        Another rule for boundary and start; the same by default.

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
                    remedy="Say how many points to use.",
                )
        rule(self.rule, "Points(rule)")
        if self.boundary_rule is not None:
            rule(self.boundary_rule, "Points(boundary_rule)")


@dataclass(frozen=True)
class PointSet:
    """The points of one region: one array (n, d) per site, and normals (n, d) (zero inside)."""

    sites: tuple[Array, ...]
    normals: Array
    weights: Array | None = None
    """(rows, q) where q points, one after another, make one row together: an integral."""

    @property
    def rows(self) -> int:
        """How many rows a residual has there."""
        return len(self) if self.weights is None else len(self.weights)

    def summed(self, values: Array) -> Array:
        """Values (…, n) at the points ↦ those of the rows, (…, rows)."""
        if self.weights is None:
            return values
        return np.asarray((values.reshape(*values.shape[:-1], *self.weights.shape) * self.weights).sum(-1))

    def __len__(self) -> int:
        return len(self.normals)

    def select(self, keep: Mask) -> PointSet:
        """Some of the points; of integrals the rows of which all points stay."""
        if self.weights is None:
            return PointSet(tuple(s[keep] for s in self.sites), self.normals[keep])
        rows = keep.reshape(self.weights.shape).all(axis=1)
        points = np.repeat(rows, self.weights.shape[1])
        return PointSet(tuple(s[points] for s in self.sites), self.normals[points], self.weights[rows])

    @classmethod
    def inside(cls, X: Array) -> PointSet:
        """Points without normals."""
        return cls((X,), np.zeros_like(X))

    @classmethod
    def joined(cls, parts: Sequence[PointSet]) -> PointSet:
        """All of them; of integrals one sum, row by row."""
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
        """No points."""
        return cls((np.empty((0, dimension)),) * sites, np.empty((0, dimension)))


def too_few(which: str, name: str, got: int) -> ProblemError:
    """A condition needs points, and none are asked for."""
    return ProblemError(
        f"points.{which}",
        expected=f"at least 1, for the condition {name}",
        got=got,
        remedy=f"Write Points(…, {which}=100).",
    )


def filled(
    candidates: Callable[[int], Array], keep: Callable[[Array], Mask], n: int, rule: str, *, in_box: bool
) -> Array:
    """n of the candidates of a rule that are kept; of a tensor rule all of the least grid with so many.

    There are fewer where many more, in a box 16 n, do not have them: in a sliver of the domain.
    """
    wanted, most = n, 16 * n if in_box else 64 * n + 4096
    while True:
        X = candidates(wanted)
        kept = np.asarray(keep(X), dtype=np.bool_)
        count = int(kept.sum())
        if count == len(X) or count >= n:
            return np.asarray(X[kept] if rule in TENSOR or count == len(X) else X[kept][:n])
        if wanted >= most or (in_box and not count and wanted > n):
            return np.asarray(X[kept])
        wanted = min(max(2 * wanted, int(1.1 * n * wanted / max(count, 1)) if count else 0), most)

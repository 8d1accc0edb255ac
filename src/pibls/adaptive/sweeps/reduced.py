r"""u(k) ≈ Σᵢ cᵢ u(kᵢ): a solution at one value of the parameters from solutions at others.

Solutions that depend smoothly on a parameter lie in a space of few dimensions. The equations themselves, in
least squares at their points, find the coefficients c; nothing is interpolated. A dozen functions instead of
hundreds make that a matter of microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.adaptive.thresholds import REPEATED
from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.basis import Basis
from pibls.problem import Jet, Region
from pibls.problem.forms.lowering import LoweredProblem, Residual


@dataclass
class Reduced:
    """Snapshots wᵢ in one basis, and what they and their derivatives are at the points."""

    basis: Basis
    where: Mapping[Region, PointSet]
    unknowns: int
    scale: Array
    """The length of each row of the full operator: what a row is divided by."""
    snapshots: list[Array] = field(default_factory=list)
    _tables: dict[tuple[Region, Jet], list[Array]] = field(default_factory=dict)

    def add(self, lowered: LoweredProblem, w: Array) -> None:
        """One more solution."""
        size = len(w) // self.unknowns
        for region, jet in {(r.region, j) for r in lowered.residuals for j in (*r.linear, *r.nonlinear)}:
            phi = self.basis.jets(self.where[region].sites[jet.site], [jet.alpha])[0]
            column = phi @ w[jet.unknown * size : (jet.unknown + 1) * size]
            self._tables.setdefault((region, jet), []).append(column)
        self.snapshots.append(w)

    def solve(self, lowered: LoweredProblem, use: Sequence[int], start: int) -> Array:
        """w of the best combination of some snapshots, from the one at ``start`` among them."""
        rows = [_Rows.of(r, self.where[r.region], self._chosen(r, use)) for r in lowered.residuals]
        c: Array = np.zeros(len(use))
        c[start] = 1.0
        for _ in range(1 if lowered.is_linear else REPEATED.steps):
            parts = [row.linearised(c) for row in rows]
            J = np.concatenate([part[0] for part in parts]) / self.scale[:, None]
            b = np.concatenate([part[1] for part in parts]) / self.scale
            new, *_ = np.linalg.lstsq(J, b, rcond=REPEATED.cut)
            moved = float(np.linalg.norm(J @ (new - c)))
            c = np.asarray(new, dtype=float)
            if not moved > REPEATED.settled * float(np.linalg.norm(b)):
                break
        return np.asarray(np.column_stack([self.snapshots[i] for i in use]) @ c)

    def _chosen(self, r: Residual, use: Sequence[int]) -> dict[Jet, Array]:
        jets = (*r.linear, *r.nonlinear)
        return {j: np.column_stack([self._tables[r.region, j][i] for i in use]) for j in jets}


@dataclass(frozen=True)
class _Rows:
    """The rows of one residual for combinations of snapshots."""

    residual: Residual
    points: PointSet
    data: Array
    linear: Array
    jets: list[Array]

    @classmethod
    def of(cls, r: Residual, points: PointSet, jets: dict[Jet, Array]) -> _Rows:
        X = points.sites[0]
        data = r.known_data(X)
        linear: Any = np.zeros((len(X), next(iter(jets.values())).shape[1]))
        for a, j in zip(r.coefficients(X, points.normals, data), r.linear, strict=True):
            linear += a[:, None] * jets[j]
        return cls(r, points, data, linear, [jets[j] for j in r.nonlinear])

    def linearised(self, c: Array) -> tuple[Array, Array]:
        """J and b of the rows linearised about c: J c' = b."""
        X, normals = self.points.sites[0], self.points.normals
        v = np.array([phi @ c for phi in self.jets]).reshape(len(self.jets), len(X))
        rest = self.residual.rest(X, normals, self.data, v)
        if not self.jets:
            return self.linear, -rest
        slopes = self.residual.partials(X, normals, self.data, v)
        J = self.linear + sum(s[:, None] * phi for s, phi in zip(slopes, self.jets, strict=True))
        return J, np.sum(slopes * v, axis=0) - rest

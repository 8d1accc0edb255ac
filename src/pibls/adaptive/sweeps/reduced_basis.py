r"""Reduced basis u(k) ≈ Σᵢ cᵢ u(kᵢ) of solutions at other parameter values.

Solutions that depend smoothly on a parameter lie close to a space of low dimension. The coefficients c solve
the equations in the least-squares sense at their points; nothing is interpolated. With a dozen functions
instead of hundreds this takes microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.adaptive.thresholds import SWEEPS
from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.basis import Basis
from pibls.nonlinear.newton import iterate
from pibls.problem import PartialDerivative, Region
from pibls.problem.forms.compilation import CompiledProblem, Residual


@dataclass
class ReducedBasis:
    """Snapshots wᵢ in one basis, with their values and derivatives at the points."""

    basis: Basis
    points: Mapping[Region, PointSet]
    unknowns: int
    scale: Array
    """Norm of each row of the full operator, by which the row is divided."""
    snapshots: list[Array] = field(default_factory=list)
    _tables: dict[tuple[Region, PartialDerivative], list[Array]] = field(default_factory=dict)

    def add(self, compiled: CompiledProblem, w: Array) -> None:
        """Add a solution as a snapshot."""
        size = len(w) // self.unknowns
        for region, derivative in {
            (r.region, j) for r in compiled.residuals for j in (*r.linear, *r.nonlinear)
        }:
            phi = self.basis.jets(self.points[region].sites[derivative.site], [derivative.alpha])[0]
            column = phi @ w[derivative.unknown * size : (derivative.unknown + 1) * size]
            self._tables.setdefault((region, derivative), []).append(column)
        self.snapshots.append(w)

    def solve(self, compiled: CompiledProblem, use: Sequence[int], start: int) -> Array:
        """Return w of the best combination of the snapshots ``use``, starting from ``use[start]``."""
        rows = [_Rows.of(r, self.points[r.region], self._snapshot_tables(r, use)) for r in compiled.residuals]
        c: Array = np.zeros(len(use))
        c[start] = 1.0
        iteration = _Iteration(rows, self.scale, c)
        iterate(iteration, 1 if compiled.is_linear else SWEEPS.max_steps)
        return np.asarray(np.column_stack([self.snapshots[i] for i in use]) @ iteration.c)

    def _snapshot_tables(self, r: Residual, use: Sequence[int]) -> dict[PartialDerivative, Array]:
        derivatives = (*r.linear, *r.nonlinear)
        return {j: np.column_stack([self._tables[r.region, j][i] for i in use]) for j in derivatives}


@dataclass
class _Iteration:
    """State of `ReducedBasis.solve`, a `NewtonIteration` with full steps."""

    rows: Sequence[_Rows]
    scale: Array
    c: Array
    is_last: bool = False
    """Whether the last step hardly changed the residual."""
    steps: int = 0
    min_damping = 1.0

    def direction(self) -> Array:
        """Return the minimum of the linearized residual."""
        parts = [row.linearize(self.c) for row in self.rows]
        J = np.concatenate([part[0] for part in parts]) / self.scale[:, None]
        b = np.concatenate([part[1] for part in parts]) / self.scale
        target, *_ = np.linalg.lstsq(J, b, rcond=SWEEPS.relative_cutoff)
        moved = float(np.linalg.norm(J @ (target - self.c)))
        self.is_last = not moved > SWEEPS.step_tolerance * float(np.linalg.norm(b))
        self.steps += 1
        return np.asarray(target, dtype=float)

    def trial(self, target: Array, damping: float) -> Array:
        return target

    def accept(self, trial: Array, damping: float) -> bool:
        self.c = trial
        return self.is_last

    def reject(self) -> bool:
        return True


@dataclass(frozen=True)
class _Rows:
    """Rows of one residual for combinations of snapshots."""

    residual: Residual
    points: PointSet
    data: Array
    linear: Array
    derivatives: list[Array]

    @classmethod
    def of(cls, r: Residual, points: PointSet, derivatives: dict[PartialDerivative, Array]) -> _Rows:
        X = points.sites[0]
        data = r.data_function_values(X)
        linear: Any = np.zeros((len(X), next(iter(derivatives.values())).shape[1]))
        for a, j in zip(r.coefficients(X, points.normals, data), r.linear, strict=True):
            linear += a[:, None] * derivatives[j]
        return cls(r, points, data, linear, [derivatives[j] for j in r.nonlinear])

    def linearize(self, c: Array) -> tuple[Array, Array]:
        """Return J and b of the rows linearized about c: J c' = b."""
        X, normals = self.points.sites[0], self.points.normals
        v = np.array([phi @ c for phi in self.derivatives]).reshape(len(self.derivatives), len(X))
        rest = self.residual.rest(X, normals, self.data, v)
        if not self.derivatives:
            return self.linear, -rest
        slopes = self.residual.partials(X, normals, self.data, v)
        J = self.linear + sum(s[:, None] * phi for s, phi in zip(slopes, self.derivatives, strict=True))
        return J, np.sum(slopes * v, axis=0) - rest

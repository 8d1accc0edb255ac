r"""Least squares min_w ‖D (J w - b)‖² with an updatable factorization, for a basis that grows.

A linear problem has one J. A nonlinear problem is linearized about the last solution; after an addition the
same Jacobian, extended by the new columns, is used for simplified Gauss-Newton steps

    w ← argmin_w ‖D (J w - (J w_k - r(w_k)))‖,

and is recomputed if these do not contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.assembly.system import System
from pibls.incremental.rows import RowBatch, RowScale
from pibls.linalg.matrix import norms
from pibls.linalg.updated_qr import UpdatedQR
from pibls.runtime.caching import cached_property

_RIDGE = 0.1 * float(np.finfo(float).eps)
"""τ relative to the Frobenius norm of D J, as in `RidgeQR`."""
_STEPS = 30
_CONTRACTION = 0.3
"""A step that reduces the residual by less, and is not at the minimum, requires a new Jacobian."""
_AS_PREDICTED = 1.0 + 1e-6
"""Residual relative to that of the linearized problem up to which a step is at the minimum; rounding errors
of the norm are far smaller."""
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class UpdatableLeastSquares:
    """Batches of rows with their scales, the factors of D J, and the values about which J was linearized."""

    batches: tuple[RowBatch, ...]
    scales: tuple[RowScale, ...]
    factors: UpdatedQR
    base_columns: int
    v: tuple[Array, ...]
    """The derivatives in nonlinear terms about which each batch was linearized."""

    @classmethod
    def of(cls, batches: Sequence[RowBatch], v: Sequence[Array]) -> UpdatableLeastSquares:
        """Factor all columns of all batches."""
        first = [batch.parts[0].linearize(at)[0] for batch, at in zip(batches, v, strict=True)]
        scales = tuple(RowScale.of(b.parts[0], J) for b, J in zip(batches, first, strict=True))
        base = batches[0].parts[0].shape[1]
        stacked = [_scaled(batches, scales, v, i) for i in range(len(batches[0].parts))]
        B = np.asfortranarray(np.hstack(stacked)) if len(stacked) > 1 else stacked[0]
        return cls(tuple(batches), scales, UpdatedQR.of(B, _ridge(B, base)), base, tuple(v))

    @property
    def is_linear(self) -> bool:
        return self.batches[0].parts[0].is_linear

    def with_columns(self, parts: Sequence[System]) -> UpdatableLeastSquares:
        """Return the problem with the columns of one more addition, its systems ``parts`` at each batch."""
        batches = tuple(b.with_part(p) for b, p in zip(self.batches, parts, strict=True))
        C = _scaled(batches, self.scales, self.v, -1)
        factors = self.factors.with_columns(C, _ridge(C, self.base_columns))
        return replace(self, batches=batches, factors=factors)

    def with_rows(self, batch: RowBatch, v: Array) -> UpdatableLeastSquares:
        """Return the problem with the rows of one more batch of points, linearized about v."""
        scale = RowScale.of(batch.parts[0], batch.parts[0].linearize(v)[0])
        B = np.hstack([scale.matrix(part.linearize(v)[0]) for part in batch.parts])
        return replace(
            self,
            batches=(*self.batches, batch),
            scales=(*self.scales, scale),
            factors=self.factors.with_rows(B),
            v=(*self.v, v),
        )

    def solve(self, w: Array | None = None) -> tuple[Array, int, UpdatableLeastSquares]:
        """Return w, the number of steps, and the problem with the factors used last.

        ``w`` is the initial guess of a nonlinear problem.
        """
        if self.is_linear:
            b = self._scaled_rows([batch.target(v) for batch, v in zip(self.batches, self.v, strict=True)])
            w = self.factors.apply(b)
            # One step of iterative refinement removes half of the rounding error.
            return w + self.factors.apply(b - self.scaled_product(w)), 1, self
        return self._gauss_newton(np.zeros(self.factors.size) if w is None else w)

    def _gauss_newton(self, w: Array) -> tuple[Array, int, UpdatableLeastSquares]:
        """Simplified Gauss-Newton steps from w; J is recomputed if they do not contract."""
        now, fresh = self, False
        r = now.scaled_residual(w)
        for step in range(1, _STEPS + 1):
            b = now.scaled_product(w) - r
            target = now.factors.apply(b)
            r_new, predicted = now.scaled_residual(target), _norm(b - now.scaled_product(target))
            contraction = _norm(r_new) / max(_norm(r), _TINY)
            if contraction < 1.0:
                w, r = target, r_new
            if _norm(r_new) <= _AS_PREDICTED * predicted:
                # The residual equals that of the linearized problem: this is the minimum for these nodes.
                return target, step, now
            if not contraction < _CONTRACTION:
                if fresh:
                    break
                now, fresh = (
                    UpdatableLeastSquares.of(now.batches, [batch.values(w) for batch in now.batches]),
                    True,
                )
        return w, step, now

    def _scaled_rows(self, parts: Sequence[Array]) -> Array:
        return np.concatenate([s.vector(b) for s, b in zip(self.scales, parts, strict=True)])

    @cached_property
    def _jacobians(self) -> list[list[Array]]:
        """The Jacobian of each batch and addition."""
        return [[part.linearize(v)[0] for part in b.parts] for b, v in zip(self.batches, self.v, strict=True)]

    def scaled_product(self, w: Array) -> Array:
        """Return D J w."""
        found = []
        for batch, parts in zip(self.batches, self._jacobians, strict=True):
            split = np.split(w, batch.ends[:-1])
            found.append(np.sum([J @ x for J, x in zip(parts, split, strict=True)], axis=0))
        return self._scaled_rows(found)

    def scaled_residual(self, w: Array) -> Array:
        """Return D r(w)."""
        return self._scaled_rows([batch.residual(w) for batch in self.batches])


def _scaled(batches: Sequence[RowBatch], scales: Sequence[RowScale], v: Sequence[Array], part: int) -> Array:
    """Return D J of one addition at all points, (rows, columns)."""
    found = [s.matrix(b.parts[part].linearize(at)[0]) for b, s, at in zip(batches, scales, v, strict=True)]
    return found[0] if len(found) == 1 else np.asfortranarray(np.vstack(found))


def _ridge(B: Array, base_columns: int) -> Array:
    """Return the ridge of new columns; it depends on the size of the base, not on the number of additions."""
    return np.asarray(_RIDGE * np.sqrt(base_columns) * norms(B, 0))


def _norm(r: Array) -> float:
    return float(np.linalg.norm(r))

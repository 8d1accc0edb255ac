r"""min_w ‖D (J w - b)‖² with J = QR kept: the least-squares problem of a basis that grows.

A linear problem has one J. A nonlinear one is linearised about the last solution; after an addition the same
Jacobian, extended by the new columns, serves for simplified Gauss-Newton steps

    w ← argmin_w ‖D (J w - (J w_k - r(w_k)))‖,

and is factored anew where these do not contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.assembly.system import System
from pibls.caching import cached_property
from pibls.incremental.rows import RowBatch, RowScale
from pibls.linalg.matrix import norms
from pibls.linalg.updated_qr import UpdatedQR

_RIDGE = 0.1 * float(np.finfo(float).eps)
"""τ relative to the Frobenius norm of D J; that of `RidgeQR`."""
_STEPS = 30
_CONTRACTION = 0.3
"""Steps that reduce the residual by less than this, and are not at the minimum, call for a new Jacobian."""
_AS_PREDICTED = 1.0 + 1e-6
"""Residual relative to that of the linearised problem at which a step is at its minimum; the rounding of the
norm is far below."""
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Factored:
    """Rows, their scales, the factors of D J, and where J was linearised."""

    batches: tuple[RowBatch, ...]
    scales: tuple[RowScale, ...]
    factors: UpdatedQR
    base_columns: int
    v: tuple[Array, ...]
    """The nonlinear jets about which each batch was linearised."""

    @classmethod
    def of(cls, batches: Sequence[RowBatch], v: Sequence[Array]) -> Factored:
        """All columns of all batches, factored at once."""
        first = [batch.parts[0].linearise(at)[0] for batch, at in zip(batches, v, strict=True)]
        scales = tuple(RowScale.of(b.parts[0], J) for b, J in zip(batches, first, strict=True))
        base = batches[0].parts[0].shape[1]
        stacked = [_scaled(batches, scales, v, i) for i in range(len(batches[0].parts))]
        B = np.asfortranarray(np.hstack(stacked)) if len(stacked) > 1 else stacked[0]
        return cls(tuple(batches), scales, UpdatedQR.of(B, _ridge(B, base)), base, tuple(v))

    @property
    def is_linear(self) -> bool:
        return self.batches[0].parts[0].is_linear

    def with_columns(self, parts: Sequence[System]) -> Factored:
        """With the columns of one more addition, its system at each batch of points."""
        batches = tuple(b.with_part(p) for b, p in zip(self.batches, parts, strict=True))
        C = _scaled(batches, self.scales, self.v, -1)
        factors = self.factors.with_columns(C, _ridge(C, self.base_columns))
        return replace(self, batches=batches, factors=factors)

    def with_rows(self, batch: RowBatch, v: Array) -> Factored:
        """With the rows of more points, linearised about v there."""
        scale = RowScale.of(batch.parts[0], batch.parts[0].linearise(v)[0])
        B = np.hstack([scale.matrix(part.linearise(v)[0]) for part in batch.parts])
        return replace(
            self,
            batches=(*self.batches, batch),
            scales=(*self.scales, scale),
            factors=self.factors.with_rows(B),
            v=(*self.v, v),
        )

    def solved(self, w: Array | None = None) -> tuple[Array, int, Factored]:
        """w, the steps taken, and the factors that were used last.

        ``w``: where a nonlinear problem starts.
        """
        if self.is_linear:
            b = self._right([batch.target(v) for batch, v in zip(self.batches, self.v, strict=True)])
            w = self.factors.apply(b)
            # One step of iterative refinement removes half of the rounding error.
            return w + self.factors.apply(b - self._product(w)), 1, self
        return self._descended(np.zeros(self.factors.size) if w is None else w)

    def _descended(self, w: Array) -> tuple[Array, int, Factored]:
        """Simplified Gauss-Newton steps from w; J is factored anew where they do not contract."""
        now, fresh = self, False
        r = now._residual(w)
        for step in range(1, _STEPS + 1):
            b = now._product(w) - r
            target = now.factors.apply(b)
            r_new, predicted = now._residual(target), _norm(b - now._product(target))
            contraction = _norm(r_new) / max(_norm(r), _TINY)
            if contraction < 1.0:
                w, r = target, r_new
            if _norm(r_new) <= _AS_PREDICTED * predicted:
                # What is left is what these nodes leave of the linearised problem: the minimum.
                return target, step, now
            if not contraction < _CONTRACTION:
                if fresh:
                    break
                now, fresh = Factored.of(now.batches, [batch.values(w) for batch in now.batches]), True
        return w, step, now

    def _right(self, parts: Sequence[Array]) -> Array:
        return np.concatenate([s.vector(b) for s, b in zip(self.scales, parts, strict=True)])

    @cached_property
    def _jacobians(self) -> list[list[Array]]:
        """J of each batch and addition."""
        return [[part.linearise(v)[0] for part in b.parts] for b, v in zip(self.batches, self.v, strict=True)]

    def _product(self, w: Array) -> Array:
        """D J w."""
        found = []
        for batch, parts in zip(self.batches, self._jacobians, strict=True):
            split = np.split(w, batch.ends[:-1])
            found.append(np.sum([J @ x for J, x in zip(parts, split, strict=True)], axis=0))
        return self._right(found)

    def _residual(self, w: Array) -> Array:
        return self._right([batch.residual(w) for batch in self.batches])


def _scaled(batches: Sequence[RowBatch], scales: Sequence[RowScale], v: Sequence[Array], part: int) -> Array:
    """D J of one addition at all points, (rows, columns)."""
    found = [s.matrix(b.parts[part].linearise(at)[0]) for b, s, at in zip(batches, scales, v, strict=True)]
    return found[0] if len(found) == 1 else np.asfortranarray(np.vstack(found))


def _ridge(B: Array, base_columns: int) -> Array:
    """The same for a column whenever it is added: it depends on the base, not on how many there are."""
    return np.asarray(_RIDGE * np.sqrt(base_columns) * norms(B, 0))


def _norm(r: Array) -> float:
    return float(np.linalg.norm(r))

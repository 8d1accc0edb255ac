r"""Systems in which several unknowns share coefficients: r(Tc) and J(Tc) T with a 0-1 matrix T."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from pibls.arrays import Array, Indices
from pibls.assembly.points import PointSet
from pibls.assembly.streaming import StreamedSystem
from pibls.assembly.system import Block, System
from pibls.assembly.system_base import SystemBase
from pibls.linalg.matrix import Matrix, as_matrix, norms
from pibls.problem.forms.compilation import Residual
from pibls.spaces import SingleDomainSpace


def merge_shared_columns(A: Array, index: Indices) -> Array:
    """Return A T: the sums of the columns that belong to the same shared coefficient."""
    out = np.zeros((len(A), int(index.max()) + 1), order="F")
    for column, target in enumerate(index):
        out[:, target] += A[:, column]
    return out


@dataclass(frozen=True)
class SharedCoefficientSystem(SystemBase[Matrix]):
    """A system whose coefficient i equals entry ``index[i]`` of the solution vector."""

    system: System | StreamedSystem
    index: Indices
    has_singular_functions = True
    _memory: dict[str, tuple[Matrix, Array]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def space(self) -> SingleDomainSpace:
        return self.system.space

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        return self.system.is_linear

    @property
    def columns(self) -> int:
        return int(self.index.max()) + 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.system.shape[0], self.columns

    def row_scales(self, J: Matrix) -> Array:
        """Return the divisors of the rows, including their singular functions at full size.

        The columns of an unknown are scaled by the median row of its regular functions. Close to a corner a
        row is as large as its terms, including those that cancel between the unknowns: a residual there
        changes the solution correspondingly less.
        """
        known = self._memory.get("rows")
        return known[1] if known is not None and known[0] is J else norms(J, 1)

    def _row_scales(self, J: Array) -> Array:
        total = np.zeros(len(J))
        for part in self.space.slices:
            own = self.index[part]
            run = int(np.argmax(np.append(np.diff(own) != 1, True))) + 1
            block = J[:, part]
            plain = np.einsum("ij,ij->i", block[:, :run], block[:, :run])
            # Not the maximum: near a singular gradient rows are arbitrarily large.
            some = plain[plain > 0]
            size = float(np.median(some)) if len(some) else 1.0
            total += (plain + np.einsum("ij,ij->i", block[:, run:], block[:, run:])) / size
        return np.where(total > 0, np.sqrt(total), 1.0)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return cast("System", self.system).blocks

    @property
    def linear(self) -> Array:
        """Matrix of the underlying system, with a column for each coefficient of the space."""
        return cast("System", self.system).linear

    @property
    def nonlinear_values(self) -> int:
        return cast("System", self.system).nonlinear_values

    def expand(self, w: Array) -> Array:
        return np.asarray(w[self.index])

    def residual(self, w: Array) -> Array:
        return self.system.residual(w[self.index])

    def term_magnitudes(self, w: Array) -> Array:
        return self.system.term_magnitudes(w[self.index])

    @property
    def nonlinear_residuals(self) -> Iterator[tuple[PointSet, Residual]]:
        return self.system.nonlinear_residuals

    def values(self, w: Array) -> Array:
        return self.system.values(w[self.index])

    def _linearized(self, v: Array) -> tuple[Matrix, Array]:
        J, b = self.system.linearize(v)
        whole = as_matrix(J)
        made = whole.map_rows(self.merge_columns, self.columns)
        if not whole.is_streamed:
            self._memory["rows"] = made, self._row_scales(np.asarray(J))
        return made, b

    def merge_columns(self, A: Array) -> Array:
        """Return A T, the sums of the columns that share a coefficient."""
        return merge_shared_columns(A, self.index)

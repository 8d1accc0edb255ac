r"""r(Tc), J(Tc) T: a system in which some coefficients are one and the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.assembly.points import PointSet
from pibls.assembly.streaming import StreamedSystem
from pibls.assembly.system import Block, System
from pibls.assembly.system_base import Asked
from pibls.linalg.matrix import Matrix, as_matrix, norms
from pibls.problem.forms.lowering import Residual
from pibls.spaces import Whole


def shared_columns(A: Array, index: Numbers) -> Array:
    """A T: the columns of what is one, added."""
    out = np.zeros((len(A), int(index.max()) + 1), order="F")
    for column, target in enumerate(index):
        out[:, target] += A[:, column]
    return out


@dataclass(frozen=True)
class TiedSystem(Asked[Matrix]):
    """``index`` says for each coefficient of the system which of those that are looked for it is."""

    system: System | StreamedSystem
    index: Numbers
    has_corners = True
    _memory: dict[str, tuple[Matrix, Array]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def space(self) -> Whole:
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

    def row_sizes(self, J: Matrix) -> Array:
        """As those of a system, in which what is singular is as large as it is.

        The columns of an unknown are measured by a usual row of those that are not singular. Close to a
        corner a row is as large as the terms in it, also those that cancel between the unknowns: a residual
        there moves the solution by that much less.
        """
        known = self._memory.get("rows")
        return known[1] if known is not None and known[0] is J else norms(J, 1)

    def _sizes(self, J: Array) -> Array:
        total = np.zeros(len(J))
        for part in self.space.slices:
            own = self.index[part]
            run = int(np.argmax(np.append(np.diff(own) != 1, True))) + 1
            block = J[:, part]
            plain = np.einsum("ij,ij->i", block[:, :run], block[:, :run])
            # Not by the largest: beside a singular gradient rows are as large as one likes.
            some = plain[plain > 0]
            size = float(np.median(some)) if len(some) else 1.0
            total += (plain + np.einsum("ij,ij->i", block[:, run:], block[:, run:])) / size
        return np.where(total > 0, np.sqrt(total), 1.0)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return cast("System", self.system).blocks

    @property
    def linear(self) -> Array:
        """Of the system, with a column for each coefficient of the space."""
        return cast("System", self.system).linear

    @property
    def nonlinear_values(self) -> int:
        return cast("System", self.system).nonlinear_values

    def full(self, w: Array) -> Array:
        return np.asarray(w[self.index])

    def residual(self, w: Array) -> Array:
        return self.system.residual(w[self.index])

    def terms(self, w: Array) -> Array:
        return self.system.terms(w[self.index])

    @property
    def bent(self) -> Iterator[tuple[PointSet, Residual]]:
        return self.system.bent

    def values(self, w: Array) -> Array:
        return self.system.values(w[self.index])

    def _linearised(self, v: Array) -> tuple[Matrix, Array]:
        J, b = self.system.linearise(v)
        whole = as_matrix(J)
        made = whole.mapped(self.tied, self.columns)
        if not whole.is_streamed:
            self._memory["rows"] = made, self._sizes(np.asarray(J))
        return made, b

    def tied(self, A: Array) -> Array:
        """A T: the columns of what is one, added."""
        return shared_columns(A, self.index)

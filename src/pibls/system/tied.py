r"""r(Tc), J(Tc) T: a system in which some coefficients are one and the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.linalg.rows import Matrix, Rows, is_held, is_streamed, norms
from pibls.space import Space, Whole
from pibls.system.streaming import StreamedSystem
from pibls.system.system import System


@dataclass(frozen=True)
class TiedSystem:
    """``index`` says for each coefficient of the system which of those that are looked for it is."""

    system: System | StreamedSystem
    index: npt.NDArray[np.intp]

    @property
    def space(self) -> Whole:
        return self.system.space

    @property
    def is_linear(self) -> bool:
        return self.system.is_linear

    @property
    def columns(self) -> int:
        return int(self.index.max()) + 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.system.shape[0], self.columns

    @cached_property
    def _own(self) -> tuple[slice, ...]:
        """The columns of each unknown alone."""
        out = []
        for part in self.space.slices:
            own = self.index[part]
            run = int(np.argmax(np.append(np.diff(own) != 1, True))) + 1
            out.append(slice(int(own[0]), int(own[0]) + run))
        return tuple(out)

    def row_sizes(self, J: Matrix) -> Array:
        """As those of a system (`solver.gauss_newton`), in which what is singular is as large as it is.

        The columns of an unknown are measured by a usual row of those that are not singular: close to a
        corner a row is as large as what stands in it, and its residual no more important than any other.
        """
        if not is_held(J):
            return norms(J, 1)
        total, sizes, done = np.zeros(len(J)), [], 0
        for part in self._own:
            squares = np.einsum("ij,ij->i", J[:, part], J[:, part])
            # Not by the largest: beside a singular gradient rows are as large as one likes.
            some = squares[squares > 0]
            sizes.append(float(np.median(some)) if len(some) else 0.0)
            total += squares / (sizes[-1] or 1.0)
            done = part.stop
        owners = np.full(self.columns, 0.0)
        for size, part in zip(sizes, self.space.slices, strict=True):
            np.maximum.at(owners, self.index[part], size)
        rest = slice(done, self.columns)
        weights = 1.0 / np.where(owners[rest] > 0, owners[rest], 1.0)
        total += np.einsum("ij,ij,j->i", J[:, rest], J[:, rest], weights)
        return np.where(total > 0, np.sqrt(total), 1.0)

    def residual(self, w: Array) -> Array:
        return self.system.residual(w[self.index])

    def values(self, w: Array) -> Array:
        return self.system.values(w[self.index])

    def values_of(self, space: Space, w: Array) -> Array:
        return self.system.values_of(space, w)

    def level(self, u: float) -> Array:
        return self.system.level(u)

    def jacobian(self, w: Array) -> Matrix:
        return self.linearise(self.values(w))[0]

    def linearise(self, v: Array) -> tuple[Matrix, Array]:
        """J and b of the system linearised about v."""
        return self._linear if self.is_linear else self._linearised(v)

    @cached_property
    def _linear(self) -> tuple[Matrix, Array]:
        return self._linearised(np.empty(0))

    def _linearised(self, v: Array) -> tuple[Matrix, Array]:
        J, b = self.system.linearise(v)
        if is_streamed(J):
            blocks = J.blocks

            def tied() -> Iterator[Array]:
                return (self.tied(B) for B in blocks())

            return Rows(self.shape, tied), b
        return self.tied(np.asarray(J)), b

    def tied(self, A: Array) -> Array:
        """A T: the columns of what is one, added."""
        out = np.zeros((len(A), self.columns), order="F")
        for column, target in enumerate(self.index):
            out[:, target] += A[:, column]
        return out

r"""A(x) = [χ₁(x) A₁(x) | … | χ_S(x) A_S(x)]: a basis of its own in each cell of a box.

The cells do not overlap, and a function belongs to one cell alone: most of the matrix is zero. What holds
the cells together are further equations, continuity across the interfaces (`decomposition`), as in the
local extreme learning machine (locELM) of Dong and Li.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from math import ceil, prod

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, MultiIndex
from pibls.basis.checks import whole
from pibls.basis.protocol import Basis, BasisSpec
from pibls.errors import ProblemError

Cells = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Decomposed:
    """``local`` drawn anew in each cell of a grid of ``cells`` over the bounding box.

    ``interface``: points on each interface between two cells, where derivatives below the equation's order
    are made to agree; by default as dense as points on a boundary.

    >>> from pibls.basis import Features
    >>> Decomposed((4, 2), Features(50, scale=3.0)).size
    400
    """

    cells: tuple[int, ...]
    local: BasisSpec
    interface: int | None = None

    def __post_init__(self) -> None:
        cells = (self.cells,) if isinstance(self.cells, int) else tuple(self.cells)
        object.__setattr__(self, "cells", cells)
        for count in cells:
            whole(count, "Decomposed(cells)", least=1)
        if not (hasattr(self.local, "draw") and hasattr(self.local, "size")):
            raise ProblemError(
                "Decomposed(local)",
                expected="a basis for each cell",
                got=repr(self.local),
                remedy="Write Decomposed((4, 4), Features(100, scale=3.0)).",
            )
        if self.interface is not None:
            whole(self.interface, "Decomposed(interface)", least=1)

    @property
    def size(self) -> int:
        return prod(self.cells) * self.local.size

    def draw(self, box: Array, rng: np.random.Generator) -> DecomposedBasis:
        if len(self.cells) != len(box):
            raise ProblemError(
                "Decomposed(cells)",
                expected=f"a number of cells for each of the {len(box)} coordinates",
                got=repr(self.cells),
                remedy="Write Decomposed((4, 2), …) for four by two cells.",
            )
        edges = tuple(
            np.linspace(low, high, n + 1) for (low, high), n in zip(box.tolist(), self.cells, strict=True)
        )
        sides = (list(pairwise(e.tolist())) for e in edges)
        boxes = [np.array(corner) for corner in product(*sides)]
        parts = tuple(
            self.local.draw(b, child) for b, child in zip(boxes, rng.spawn(len(boxes)), strict=True)
        )
        d = len(box)
        on_face = ceil(1.5 * (2 * self.local.size) ** ((d - 1) / d)) if d > 1 else 1
        return DecomposedBasis(edges, parts, self.interface or on_face)


@dataclass(frozen=True)
class Interface:
    """A face between the cells ``low`` and ``high``, across one axis: its place and its extent (d, 2)."""

    low: int
    high: int
    axis: int
    box: Array


@dataclass(frozen=True)
class DecomposedBasis:
    """One drawn basis per cell; cells are numbered like the entries of an array, the last axis fastest."""

    edges: tuple[Array, ...] = field(repr=False)
    parts: tuple[Basis, ...]
    on_interface: int

    @property
    def size(self) -> int:
        return sum(p.size for p in self.parts)

    @property
    def starts(self) -> Cells:
        """Where the functions of each cell begin, and the end."""
        return np.concatenate([[0], np.cumsum([p.size for p in self.parts])]).astype(np.intp)

    def cells_of(self, X: Array) -> Cells:
        """The cell that each point belongs to; a point on an interface belongs to the upper one."""
        places = [
            np.clip(np.searchsorted(e, X[:, i], side="right") - 1, 0, len(e) - 2)
            for i, e in enumerate(self.edges)
        ]
        shape = tuple(len(e) - 1 for e in self.edges)
        return np.asarray(np.ravel_multi_index(tuple(places), shape), dtype=np.intp)

    def interfaces(self) -> Iterator[Interface]:
        """All faces that two cells share."""
        shape = tuple(len(e) - 1 for e in self.edges)
        for place in np.ndindex(*shape):
            low = int(np.ravel_multi_index(place, shape))
            for axis, n in enumerate(shape):
                if place[axis] + 1 == n:
                    continue
                other = tuple(p + (i == axis) for i, p in enumerate(place))
                box = np.array([(e[p], e[p + 1]) for e, p in zip(self.edges, place, strict=True)])
                box[axis] = self.edges[axis][place[axis] + 1]
                yield Interface(low, int(np.ravel_multi_index(other, shape)), axis, box)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        out = [np.zeros((len(X), self.size), order="F") for _ in alphas]
        where, starts = self.cells_of(X), self.starts
        for cell in np.unique(where):
            rows = np.flatnonzero(where == cell)
            columns = slice(starts[cell], starts[cell + 1])
            for A, phi in zip(out, self.parts[cell].jets(X[rows], alphas), strict=True):
                A[rows, columns] = phi
        return out

    def apply(self, X: Array, alphas: Sequence[MultiIndex], w: Array) -> list[Array]:
        """∂^α A(X) w for each α, without the zeros."""
        out = [np.zeros(len(X)) for _ in alphas]
        where, starts = self.cells_of(X), self.starts
        for cell in np.unique(where):
            rows = np.flatnonzero(where == cell)
            mine = w[starts[cell] : starts[cell + 1]]
            for values, phi in zip(out, self.parts[cell].jets(X[rows], alphas), strict=True):
                values[rows] = phi @ mine
        return out

    def only(self, cells: Sequence[int]) -> Basis:
        """The functions of some cells, side by side, each still zero outside its own cell."""
        return self.parts[cells[0]] if len(cells) == 1 else Restricted(self, tuple(cells))


@dataclass(frozen=True)
class Restricted:
    """Some cells of a decomposed basis."""

    whole: DecomposedBasis
    cells: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(self.whole.parts[c].size for c in self.cells)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        out = [np.zeros((len(X), self.size), order="F") for _ in alphas]
        where, start = self.whole.cells_of(X), 0
        for cell in self.cells:
            part = self.whole.parts[cell]
            rows = np.flatnonzero(where == cell)
            for A, phi in zip(out, part.jets(X[rows], alphas), strict=True):
                A[rows, start : start + part.size] = phi
            start += part.size
        return out

r"""A space with its own functions in each cell of a tree: u(x) = u_c(x) for x in the cell c."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TypeVar

import numpy as np

from pibls.arrays import Array, Indices
from pibls.basis.polynomials.product import CellProducts
from pibls.problem import PartialDerivative
from pibls.runtime.caching import cached_property
from pibls.spaces.cell_tree import CellTree
from pibls.spaces.protocol import ConcatenatedSpace, LocatedSpace, Space, apply_first, evaluate_by_part
from pibls.spaces.single_domain import SingleDomainSpace

T = TypeVar("T")

_NEIGHBOUR_STEP = 1e-9  # of the lengths of the box: a step into a neighbouring cell


@dataclass(frozen=True)
class CellSpace(LocatedSpace, ConcatenatedSpace):
    """One space per cell; the coefficients of the cells are concatenated."""

    tree: CellTree
    parts: tuple[SingleDomainSpace, ...]

    @cached_property
    def _products(self) -> CellProducts | None:
        """All cells at once if they have the same tensor-product polynomials, else None."""
        if any(len(set(map(id, p.bases))) > 1 for p in self.parts):
            return None
        return CellProducts.of([p.bases[0] for p in self.parts])

    def by_kind(
        self,
        *,
        single_domain: Callable[[SingleDomainSpace], T] | None = None,
        cells: Callable[[CellSpace], T] | None = None,
        other: Callable[[Space], T] | None = None,
    ) -> T:
        return apply_first(self, cells, other)

    def parts_with_coefficients(self, w: Array) -> list[tuple[SingleDomainSpace, Array]]:
        """Return the space of each cell with its coefficients."""
        return [(part, w[a:b]) for part, (a, b) in zip(self.parts, pairwise(self.starts), strict=True)]

    def with_empty_cells_filled(self, w: Array, frames: Array) -> tuple[CellSpace, Array]:
        """Return a space in which each cell without coefficients has those of the nearest nonempty cell.

        Cells that contain too small a part of the domain for any point have only zero coefficients, and the
        solution would be zero there. ``frames`` (M, d, 2) are the bounding boxes of the parts of the domain.
        """
        pairs = self.parts_with_coefficients(w)
        empty = np.array([not own.any() for _, own in pairs])
        full = np.flatnonzero(~empty)
        if not empty.any() or not len(full):
            return self, w
        for i in np.flatnonzero(empty):
            low, high = self.tree.boxes[i].T
            away = np.maximum(np.maximum(frames[full, :, 0] - high, low - frames[full, :, 1]), 0.0)
            pairs[i] = pairs[full[np.argmin(np.linalg.norm(away, axis=1))]]
        parts, weights = zip(*pairs, strict=True)
        return CellSpace(self.tree, tuple(parts)), np.concatenate(weights)

    def cell_boxes(self, box: Array) -> Array:
        return self.tree.boxes

    def _evaluate(self, X: Array, derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        where = self._holding(X, w)
        if self._products is not None:
            by_cell = w[: self.columns].reshape(len(self.parts), len(self.parts[0].bases), -1)
            return self._products.linear_combinations(
                X, where, [(j.alpha, by_cell[:, j.unknown]) for j in derivatives]
            )
        return evaluate_by_part(
            where, lambda cell, rows: self._part_values(cell, X[rows], derivatives, w), len(derivatives)
        )

    def _holding(self, X: Array, w: Array) -> Indices:
        """Return the cell of each point; for a point on a face of an empty cell, a nonempty neighbour.

        A cell outside the domain has no rows, and its coefficients are all zero.
        """
        where = self.tree.locate(X)
        empty = np.array([not w[a:b].any() for a, b in pairwise(self.starts)])
        lost = np.flatnonzero(empty[where])
        if not len(lost) or empty.all():
            return where
        box = np.array(self.tree.box)
        step = _NEIGHBOUR_STEP * (box[:, 1] - box[:, 0])
        for sides in product((0.0, -1.0, 1.0), repeat=len(box)):
            near = self.tree.locate(X[lost] + np.array(sides) * step)
            held = ~empty[near]
            where[lost[held]] = near[held]
            lost = lost[~held]
        return where

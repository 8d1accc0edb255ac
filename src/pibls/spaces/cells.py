r"""u(x) = u_c(x) for x in the cell c: a space of its own in each cell of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.basis.polynomials.product import Products
from pibls.caching import cached_property
from pibls.problem import Jet
from pibls.spaces.protocol import Located, Parted, by_part
from pibls.spaces.single_domain import Whole
from pibls.spaces.tree import CellTree

_ASIDE = 1e-9  # of the whole box: a step to a cell nearby


@dataclass(frozen=True)
class Cells(Located, Parted):
    """One drawn space per cell; the coefficients of the cells stand one after another."""

    tree: CellTree
    parts: tuple[Whole, ...]

    @cached_property
    def _products(self) -> Products | None:
        """Where all cells have the same products, they are evaluated together."""
        if any(len(set(map(id, p.bases))) > 1 for p in self.parts):
            return None
        return Products.of([p.bases[0] for p in self.parts])

    @property
    def cells(self) -> Cells:
        return self

    def each(self, w: Array) -> list[tuple[Whole, Array]]:
        """The cells' spaces, each with its coefficients."""
        return [(part, w[a:b]) for part, (a, b) in zip(self.parts, pairwise(self.starts), strict=True)]

    def filled(self, w: Array, frames: Array) -> tuple[Cells, Array]:
        """Where a cell has nothing, what is in the nearest frame: a sliver too small for any point is there.

        It was zero there: off by all of the solution, where nobody looked.
        """
        pairs = self.each(w)
        empty = np.array([not own.any() for _, own in pairs])
        full = np.flatnonzero(~empty)
        if not empty.any() or not len(full):
            return self, w
        for i in np.flatnonzero(empty):
            low, high = self.tree.boxes[i].T
            away = np.maximum(np.maximum(frames[full, :, 0] - high, low - frames[full, :, 1]), 0.0)
            pairs[i] = pairs[full[np.argmin(np.linalg.norm(away, axis=1))]]
        parts, weights = zip(*pairs, strict=True)
        return Cells(self.tree, tuple(parts)), np.concatenate(weights)

    def boxes_in(self, box: Array) -> Array:
        return self.tree.boxes

    def _at(self, X: Array, jets: tuple[Jet, ...], w: Array) -> Array:
        where = self._holding(X, w)
        if self._products is not None:
            by_cell = w[: self.columns].reshape(len(self.parts), len(self.parts[0].bases), -1)
            return self._products.sums(X, where, [(j.alpha, by_cell[:, j.unknown]) for j in jets])
        return by_part(where, lambda cell, rows: self._of_part(cell, X[rows], jets, w), len(jets))

    def _holding(self, X: Array, w: Array) -> Numbers:
        """The cell of each point; for one on a side of an empty cell a neighbour that is not empty.

        A cell outside the domain has no rows, and its coefficients are all zero.
        """
        where = self.tree.locate(X)
        empty = np.array([not w[a:b].any() for a, b in pairwise(self.starts)])
        lost = np.flatnonzero(empty[where])
        if not len(lost) or empty.all():
            return where
        box = np.array(self.tree.box)
        step = _ASIDE * (box[:, 1] - box[:, 0])
        for sides in product((0.0, -1.0, 1.0), repeat=len(box)):
            near = self.tree.locate(X[lost] + np.array(sides) * step)
            held = ~empty[near]
            where[lost[held]] = near[held]
            lost = lost[~held]
        return where

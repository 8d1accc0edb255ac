r"""u(x) = Σ c_{i₁ … i_d} P_{i₁}(ξ₁) ⋯ P_{i_d}(ξ_d) in each box of a lattice of boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Numbers
from pibls.basis.polynomials.product import Products
from pibls.caching import cached_property
from pibls.problem import Jet
from pibls.spaces.protocol import Located


@dataclass(frozen=True)
class Lattice(Located):
    """``sizes`` polynomials along each axis in every box between the ``edges``.

    Coefficients: unknown by unknown, box by box with the last axis fastest, and so within each box.
    """

    edges: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...]
    unknowns: int = 1

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Pieces of each axis."""
        return tuple(len(e) - 1 for e in self.edges)

    def __len__(self) -> int:
        return math.prod(self.counts)

    @property
    def nodes(self) -> int:
        return len(self) * math.prod(self.sizes)

    @property
    def columns(self) -> int:
        return self.unknowns * self.nodes

    @cached_property
    def boxes(self) -> Array:
        """All boxes, (M, d, 2)."""
        low, high = (
            np.stack(np.meshgrid(*(np.array(e)[part] for e in self.edges), indexing="ij"), -1)
            for part in (slice(None, -1), slice(1, None))
        )
        d = len(self.edges)
        return np.stack([low.reshape(-1, d), high.reshape(-1, d)], axis=-1)

    @cached_property
    def _products(self) -> Products:
        boxes = self.boxes
        return Products(self.sizes, (), boxes.mean(axis=2), 0.5 * (boxes[:, :, 1] - boxes[:, :, 0]))

    def ordered(self, by_axis: Array) -> Array:
        """The coefficients from an array (unknowns, N₁, N₂, …), piece after piece along each axis."""
        d = len(self.sizes)
        split = [m for pair in zip(self.counts, self.sizes, strict=True) for m in pair]
        C = by_axis.reshape(-1, *split)
        return np.ascontiguousarray(C.transpose(0, *range(1, 2 * d, 2), *range(2, 2 * d + 1, 2)))

    def locate(self, X: Array) -> Numbers:
        """The box of each point; one on a face belongs to the upper one."""
        out = np.zeros(len(X), dtype=np.intp)
        for i, (edges, count) in enumerate(zip(self.edges, self.counts, strict=True)):
            out = out * count + np.searchsorted(np.array(edges[1:-1]), X[:, i], side="right")
        return out

    def boxes_in(self, box: Array) -> Array:
        return self.boxes

    def _at(self, X: Array, jets: tuple[Jet, ...], w: Array) -> Array:
        by_box = w[: self.columns].reshape(self.unknowns, len(self), -1)
        return self._products.sums(X, self.locate(X), [(j.alpha, by_box[j.unknown]) for j in jets])

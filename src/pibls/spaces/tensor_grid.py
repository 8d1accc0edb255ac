r"""Tensor-product polynomials Σ c_{i₁ … i_d} P_{i₁}(ξ₁) ⋯ P_{i_d}(ξ_d) in each box of a tensor grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Indices
from pibls.basis.polynomials.product import CellProducts
from pibls.problem import PartialDerivative
from pibls.runtime.caching import cached_property
from pibls.spaces.protocol import LocatedSpace


@dataclass(frozen=True)
class TensorGridSpace(LocatedSpace):
    """``sizes`` polynomials along each axis in every box between the ``edges``.

    Coefficients are ordered by unknown, then by box, then by degree, each with the last axis fastest.
    """

    edges: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...]
    unknowns: int = 1

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of intervals along each axis."""
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
    def _products(self) -> CellProducts:
        boxes = self.boxes
        return CellProducts(self.sizes, (), boxes.mean(axis=2), 0.5 * (boxes[:, :, 1] - boxes[:, :, 0]))

    def coefficients_from_axes(self, by_axis: Array) -> Array:
        """Return the coefficients of an array (unknowns, N₁, N₂, …) ordered by interval along each axis."""
        d = len(self.sizes)
        split = [m for pair in zip(self.counts, self.sizes, strict=True) for m in pair]
        C = by_axis.reshape(-1, *split)
        return np.ascontiguousarray(C.transpose(0, *range(1, 2 * d, 2), *range(2, 2 * d + 1, 2)))

    def locate(self, X: Array) -> Indices:
        """Return the box of each point; a point on a face belongs to the upper box."""
        out = np.zeros(len(X), dtype=np.intp)
        for i, (edges, count) in enumerate(zip(self.edges, self.counts, strict=True)):
            out = out * count + np.searchsorted(np.array(edges[1:-1]), X[:, i], side="right")
        return out

    def cell_boxes(self, box: Array) -> Array:
        return self.boxes

    def _evaluate(self, X: Array, derivatives: tuple[PartialDerivative, ...], w: Array) -> Array:
        by_box = w[: self.columns].reshape(self.unknowns, len(self), -1)
        return self._products.linear_combinations(
            X, self.locate(X), [(j.alpha, by_box[j.unknown]) for j in derivatives]
        )

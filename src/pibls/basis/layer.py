r"""∂^α φ(xW + β) = φ^{(|α|)}(xW + β) ⊙ W^α: one layer of ridge functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.activation import Activation

_SLICE = 64
"""Points at a time for a table, so that what the activation needs on the way stays in the cache."""


@dataclass(frozen=True)
class Layer:
    """φ(ξW + β) with ξ = (x - centre)/half: weights (d, M) and biases (M,) for [-1, 1]^d."""

    weights: Array
    biases: Array
    activation: Activation
    centre: Array
    half: Array
    tables: LayerTables | None = field(default=None, repr=False, compare=False)
    """Values at points that are asked for again and again, where they are kept."""

    @classmethod
    def on_box(cls, weights: Array, biases: Array, activation: Activation, box: Array) -> Layer:
        """The layer for inputs from ``box`` (d, 2), mapped to [-1, 1]^d."""
        return cls(weights, biases, activation, box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0]))

    @property
    def size(self) -> int:
        return len(self.biases)

    def since(self, first: int) -> Layer:
        """The nodes from one of them on."""
        return replace(self, weights=self.weights[:, first:], biases=self.biases[first:], tables=None)

    def keeping(self, sites: Sequence[Array]) -> Layer:
        """The same layer, which keeps its values at these points (n, d) once they were asked for."""
        return replace(self, tables=LayerTables(sites) if sites else None)

    def activations(self, X: Array, orders: Iterable[int]) -> dict[int, Array]:
        """φ⁽ᵏ⁾ at the points, (N, M), for each order k; in Fortran order where they are not kept."""
        wanted = sorted(set(orders))
        kept = None if self.tables is None else self.tables.find(X)
        if kept is not None:
            return kept.activations(self, wanted)
        # (WᵀXᵀ)ᵀ rather than XW: the result is in Fortran order, as LAPACK will want the system.
        s = (self.weights.T @ ((X - self.centre) / self.half).T).T
        s += self.biases
        return dict(zip(wanted, self.activation.derivatives(s, wanted), strict=True))

    def power(self, alpha: MultiIndex) -> Array:
        """W^α in the units of x: the factor that ∂^α brings, (M,)."""
        factor = np.ones(self.size)
        for w, h, a in zip(self.weights, self.half, alpha, strict=True):
            if a:
                factor *= (w / h) ** a
        return factor


class LayerTables:
    """φ⁽ᵏ⁾ of all nodes at some sets of points, filled when they are asked for."""

    def __init__(self, sites: Sequence[Array]) -> None:
        self.sites = tuple(sites)
        self._filled: list[dict[int, Array]] = [{} for _ in self.sites]
        self._rows: list[dict[bytes, int]] = [
            {row.tobytes(): i for i, row in reversed(list(enumerate(X)))} for X in self.sites
        ]

    def find(self, X: Array) -> KeptRows | None:
        """Where consecutive points of one of the sets are X; None where they are others."""
        for site, rows, filled in zip(self.sites, self._rows, self._filled, strict=True):
            first = rows.get(X[0].tobytes()) if len(X) else None
            if first is not None and np.array_equal(site[first : first + len(X)], X):
                return KeptRows(site, filled, slice(first, first + len(X)))
        return None


@dataclass(frozen=True)
class KeptRows:
    """Some of the points of a set whose values are kept."""

    site: Array
    filled: dict[int, Array]
    rows: slice

    def activations(self, layer: Layer, wanted: Sequence[int]) -> dict[int, Array]:
        missing = [k for k in wanted if k not in self.filled]
        if missing:
            plain = replace(layer, tables=None)
            new = {k: np.empty((len(self.site), layer.size)) for k in missing}
            for start in range(0, len(self.site), _SLICE):
                part = slice(start, start + _SLICE)
                for k, found in plain.activations(self.site[part], missing).items():
                    new[k][part] = found
            self.filled.update(new)
        return {k: self.filled[k][self.rows] for k in wanted}

r"""One layer of ridge functions φ(xW + β), with ∂^α φ(xW + β) = φ^{(|α|)}(xW + β) ⊙ W^α."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.activation import Activation

_SLICE = 64
"""Points per slice, so that the temporary arrays of an activation stay in the processor's cache."""


@dataclass(frozen=True)
class Layer:
    """φ(ξW + β) with ξ = (x - centre)/half: weights (d, M) and biases (M,) for [-1, 1]^d."""

    weights: Array
    biases: Array
    activation: Activation
    centre: Array
    half: Array
    cache: ActivationCache | None = field(default=None, repr=False, compare=False)
    """Cached values at points that are evaluated repeatedly; None without a cache."""

    @classmethod
    def on_box(cls, weights: Array, biases: Array, activation: Activation, box: Array) -> Layer:
        """The layer for inputs from ``box`` (d, 2), mapped to [-1, 1]^d."""
        return cls(weights, biases, activation, box.mean(axis=1), 0.5 * (box[:, 1] - box[:, 0]))

    @property
    def size(self) -> int:
        return len(self.biases)

    def nodes_from(self, first: int) -> Layer:
        """Return the layer of the nodes from number ``first`` on."""
        return replace(self, weights=self.weights[:, first:], biases=self.biases[first:], cache=None)

    def caching_at(self, sites: Sequence[Array]) -> Layer:
        """Return the same layer with a cache of its values at these sets of points (n, d)."""
        return replace(self, cache=ActivationCache(sites) if sites else None)

    def activations(self, X: Array, orders: Iterable[int]) -> dict[int, Array]:
        """Return φ⁽ᵏ⁾ at the points, (N, M), for each order k; in Fortran order unless cached."""
        wanted = sorted(set(orders))
        cached = None if self.cache is None else self.cache.find(X)
        if cached is not None:
            return cached.activations(self, wanted)
        # (WᵀXᵀ)ᵀ rather than XW gives Fortran order, which LAPACK needs.
        s = (self.weights.T @ ((X - self.centre) / self.half).T).T
        s += self.biases
        return dict(zip(wanted, self.activation.derivatives(s, wanted), strict=True))

    def weight_power(self, alpha: MultiIndex) -> Array:
        """Return W^α in the units of x, (M,): the factor of φ^{(|α|)} in ∂^α."""
        factor = np.ones(self.size)
        for w, h, a in zip(self.weights, self.half, alpha, strict=True):
            if a:
                factor *= (w / h) ** a
        return factor


class ActivationCache:
    """Values φ⁽ᵏ⁾ of all nodes at some sets of points, computed on first use."""

    def __init__(self, sites: Sequence[Array]) -> None:
        self.sites = tuple(sites)
        self._filled: list[dict[int, Array]] = [{} for _ in self.sites]
        self._rows: list[dict[bytes, int]] = [
            {row.tobytes(): i for i, row in reversed(list(enumerate(X)))} for X in self.sites
        ]

    def find(self, X: Array) -> CachedRows | None:
        """Return the cached rows if X are consecutive points of one of the sets, else None."""
        for site, rows, filled in zip(self.sites, self._rows, self._filled, strict=True):
            first = rows.get(X[0].tobytes()) if len(X) else None
            if first is not None and np.array_equal(site[first : first + len(X)], X):
                return CachedRows(site, filled, slice(first, first + len(X)))
        return None


@dataclass(frozen=True)
class CachedRows:
    """Consecutive points of a set whose values are cached."""

    site: Array
    filled: dict[int, Array]
    rows: slice

    def activations(self, layer: Layer, wanted: Sequence[int]) -> dict[int, Array]:
        missing = [k for k in wanted if k not in self.filled]
        if missing:
            plain = replace(layer, cache=None)
            new = {k: np.empty((len(self.site), layer.size)) for k in missing}
            for start in range(0, len(self.site), _SLICE):
                part = slice(start, start + _SLICE)
                for k, found in plain.activations(self.site[part], missing).items():
                    new[k][part] = found
            self.filled.update(new)
        return {k: self.filled[k][self.rows] for k in wanted}

r"""The chain rule of any order: ∂^α ξ(g(x)) = Σ_k ξ⁽ᵏ⁾(g) B_{α,k}(∂g).

B_{α,k} are the partial Bell polynomials in several variables. With e_i a unit multi-index and
α = α' + e_i they satisfy

    B_{α,k} = Σ_{β ≤ α'} C(α', β) · ∂^{β+e_i} g · B_{α'-β, k-1},   B_{0,0} = 1,

which follows from differentiating ∂^{e_i} ξ(g) = ξ'(g) ∂^{e_i} g by Leibniz' rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import comb, prod

from pibls.arrays import Array, MultiIndex


def indices_up_to(alpha: MultiIndex) -> Iterable[MultiIndex]:
    """All multi-indices β ≤ α."""
    return product(*(range(a + 1) for a in alpha))


def lower_closure(alphas: Iterable[MultiIndex]) -> list[MultiIndex]:
    """All multi-indices β ≤ α for one of the given α, sorted by order."""
    return sorted({b for a in alphas for b in indices_up_to(a)}, key=lambda b: (sum(b), b))


class Composition:
    """Derivatives of ξ∘g, from ξ⁽ᵏ⁾(g) (k = 0, 1, …) and ∂^β g (β ≠ 0)."""

    def __init__(self, outer: Mapping[int, Array], inner: Mapping[MultiIndex, Array]) -> None:
        self._outer = outer
        self._inner = inner
        self._bell: dict[tuple[MultiIndex, int], Array | float] = {}

    def derivative(self, alpha: MultiIndex) -> Array:
        """Return ∂^α ξ(g)."""
        order = sum(alpha)
        if order == 0:
            return self._outer[0]
        total = self._outer[1] * self._polynomial(alpha, 1)
        for k in range(2, order + 1):
            total += self._outer[k] * self._polynomial(alpha, k)
        return total

    def _polynomial(self, alpha: MultiIndex, k: int) -> Array | float:
        order = sum(alpha)
        if k == 0 or order < k:
            return 1.0 if k == order == 0 else 0.0
        key = (alpha, k)
        if key not in self._bell:
            self._bell[key] = self._recursion(alpha, k)
        return self._bell[key]

    def _recursion(self, alpha: MultiIndex, k: int) -> Array | float:
        axis = next(i for i, a in enumerate(alpha) if a)
        rest = _minus(alpha, axis)
        total: Array | float = 0.0
        for beta in indices_up_to(rest):
            remainder = tuple(r - b for r, b in zip(rest, beta, strict=True))
            if not (k - 1 <= sum(remainder) and (k > 1 or not any(remainder))):
                continue
            weight = prod(comb(r, b) for r, b in zip(rest, beta, strict=True))
            term = self._inner[_plus(beta, axis)] * self._polynomial(remainder, k - 1)
            total = total + (term if weight == 1 else weight * term)
        return total


def _plus(alpha: MultiIndex, axis: int) -> MultiIndex:
    return tuple(a + (i == axis) for i, a in enumerate(alpha))


def _minus(alpha: MultiIndex, axis: int) -> MultiIndex:
    return tuple(a - (i == axis) for i, a in enumerate(alpha))

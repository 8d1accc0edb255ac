"""Taylor series with 50 digits, the reference of the derivative tests.

No formula of a derivative is used. An activation is defined by its values and differentiated by mpmath;
a function of several variables is a truncated power series; compositions use Horner's rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import factorial, prod
from typing import Any, TypeAlias

import mpmath

from pibls.arrays import MultiIndex

mp = mpmath.mp.clone()
mp.dps = 50

Series: TypeAlias = dict[MultiIndex, Any]
"""Coefficients c_α of Σ c_α h^α up to a total order."""

DEFINITIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": mp.tanh,
    "sin": mp.sin,
    "cos": mp.cos,
    "gaussian": lambda s: mp.exp(-(s**2)),
    "sigmoid": lambda s: 1 / (1 + mp.exp(-s)),
    "softplus": lambda s: mp.log(1 + mp.exp(s)),
    "swish": lambda s: s / (1 + mp.exp(-s)),
    "arctan": mp.atan,
    "multiquadric": lambda s: 1 / mp.sqrt(1 + s**2),
}


def indices(dimension: int, order: int) -> list[MultiIndex]:
    """Return all multi-indices of a total order of at most ``order``."""
    return [a for a in product(range(order + 1), repeat=dimension) if sum(a) <= order]


def coefficients(name: str, s: Any, order: int) -> list[Any]:
    """σ⁽ᵏ⁾(s)/k! for k = 0, …, order; small coefficients are kept, they make up the tail."""
    series: list[Any] = mp.taylor(DEFINITIONS[name], s, order, chop=False)
    return series


def affine(constant: Any, slopes: Sequence[Any]) -> Series:
    """constant + Σ slopes_i h_i."""
    d = len(slopes)
    units = [tuple(int(i == j) for i in range(d)) for j in range(d)]
    return {(0,) * d: constant, **dict(zip(units, slopes, strict=True))}


def add(terms: Iterable[tuple[Any, Series]]) -> Series:
    """Σ factor · series."""
    out: Series = {}
    for factor, series in terms:
        for alpha, c in series.items():
            out[alpha] = out.get(alpha, mp.zero) + factor * c
    return out


def multiply(a: Series, b: Series, order: int) -> Series:
    """Return the product without terms beyond ``order``."""
    out: Series = {}
    for alpha, x in a.items():
        for beta, y in b.items():
            if sum(alpha) + sum(beta) <= order:
                gamma = tuple(i + j for i, j in zip(alpha, beta, strict=True))
                out[gamma] = out.get(gamma, mp.zero) + x * y
    return out


def compose(name: str, inner: Series, order: int) -> Series:
    """σ(g) for the activation of that name: Σ σ⁽ᵏ⁾(g₀)/k! (g - g₀)ᵏ."""
    zero = (0,) * len(next(iter(inner)))
    outer = coefficients(name, inner[zero], order)
    shifted = {alpha: c for alpha, c in inner.items() if alpha != zero}
    value: Series = {zero: outer[order]}
    for k in reversed(range(order)):
        value = add([(1, multiply(value, shifted, order)), (outer[k], {zero: mp.one})])
    return value


def derivative(series: Series, alpha: MultiIndex) -> Any:
    """∂^α at the centre: α! c_α."""
    return prod(map(factorial, alpha)) * series.get(alpha, mp.zero)

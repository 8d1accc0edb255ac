r"""∫ f ≈ Σ w_i f(s_i) on [-1, 1]: where equations and conditions are held along a coordinate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pibls.arrays import Array


@lru_cache(maxsize=64)
def nodes_of(n: int, repeats: bool) -> Array:
    """n points in [-1, 1]: Gauss's, or as many that divide the circle."""
    if repeats:
        return np.asarray(-1.0 + 2.0 * (np.arange(n) + 0.5) / n)
    return np.asarray(np.polynomial.legendre.leggauss(n)[0])


@lru_cache(maxsize=64)
def weights_of(n: int, repeats: bool) -> Array:
    """Their weights."""
    return np.full(n, 2.0 / n) if repeats else np.asarray(np.polynomial.legendre.leggauss(n)[1])


@lru_cache(maxsize=64)
def held_at(n: int, order: int, repeats: bool) -> Array:
    """n points in [-1, 1]: n - m nodes, then as many more as there are conditions, at the ends and near."""
    s = nodes_of(n if repeats else n - order, repeats)
    if repeats or not order:
        return s
    low = (order + 1) // 2
    steps = -1.0 + (1.0 + s[0]) * np.arange(low) / low
    return np.concatenate([s, steps, -steps[: order - low]])

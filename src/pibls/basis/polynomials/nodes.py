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
def jacobi(n: int, a: int, b: int) -> Array:
    """The n zeros of p with ∫ p q (1 - s)^a (1 + s)^b = 0 for all q of lower degree: Radau's, Lobatto's.

    Eigenvalues of the recurrence, and a step of Newton's: `scipy.special` takes 0.3 s to import.
    """
    k = np.arange(n, dtype=float)
    c = 2.0 * k + a + b
    middle = np.full(n, (b - a) / (a + b + 2.0))
    middle[1:] = (b * b - a * a) / (c[1:] * (c[1:] + 2.0))
    k, c = k[1:], c[1:]
    beside = 4.0 * k * (k + a) * (k + b) * (k + a + b) / (c**2 * (c**2 - 1.0))
    s = np.linalg.eigvalsh(np.diag(middle) + np.diag(np.sqrt(beside), 1) + np.diag(np.sqrt(beside), -1))
    before, now, slope_before, slope = np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n)
    for m, share in zip(middle, (0.0, *beside), strict=False):
        slope_before, slope = slope, (s - m) * slope + now - share * slope_before
        before, now = now, (s - m) * now - share * before
    return np.asarray(s - now / slope)


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

r"""Quadrature rules ∫ f ≈ Σ w_i f(s_i) on [-1, 1] and collocation points along one coordinate."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pibls.arrays import Array


@lru_cache(maxsize=64)
def quadrature_nodes(n: int, periodic: bool) -> Array:
    """Return n Gauss-Legendre nodes in [-1, 1], or equidistant nodes for a periodic coordinate."""
    if periodic:
        return np.asarray(-1.0 + 2.0 * (np.arange(n) + 0.5) / n)
    return np.asarray(np.polynomial.legendre.leggauss(n)[0])


@lru_cache(maxsize=64)
def jacobi_nodes(n: int, a: int, b: int) -> Array:
    """Return the n zeros of the Jacobi polynomial P_n^(a, b): interior nodes of Radau and Lobatto rules.

    Computed as eigenvalues of the Jacobi matrix with one Newton step, because importing `scipy.special` takes
    0.3 s.
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
def quadrature_weights(n: int, periodic: bool) -> Array:
    """Return the weights of `quadrature_nodes`."""
    return np.full(n, 2.0 / n) if periodic else np.asarray(np.polynomial.legendre.leggauss(n)[1])


@lru_cache(maxsize=64)
def collocation_points(n: int, order: int, periodic: bool) -> Array:
    """Return n points in [-1, 1]: n - m quadrature nodes, then m = ``order`` points at and near the ends."""
    s = quadrature_nodes(n if periodic else n - order, periodic)
    if periodic or not order:
        return s
    low = (order + 1) // 2
    steps = -1.0 + (1.0 + s[0]) * np.arange(low) / low
    return np.concatenate([s, steps, -steps[: order - low]])

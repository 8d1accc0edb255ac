r"""Quadrature rules ∫ f dx ≈ Σ wᵢ f(xᵢ), and Gauss rules on intervals, boxes and balls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array


@dataclass(frozen=True)
class QuadratureRule:
    """Points (n, d), weights (n,), and unit outward normals (n, d) on a boundary (zero in the interior)."""

    points: Array
    weights: Array
    normals: Array

    @classmethod
    def interior(cls, points: Array, weights: Array) -> QuadratureRule:
        """Return a rule with zero normals."""
        return cls(points, weights, np.zeros_like(points))

    @classmethod
    def concatenated(cls, parts: list[QuadratureRule], dimension: int) -> QuadratureRule:
        """Return the concatenation of several rules."""
        none = np.empty((0, dimension))
        return cls(
            np.concatenate([none, *(p.points for p in parts)]),
            np.concatenate([np.empty(0), *(p.weights for p in parts)]),
            np.concatenate([none, *(p.normals for p in parts)]),
        )

    def product(self, levels: Array, weights: Array) -> QuadratureRule:
        """Return the product with a rule (levels, weights) in an additional last coordinate."""
        m, n = len(self.weights), len(levels)
        return QuadratureRule(
            np.column_stack([np.repeat(self.points, n, axis=0), np.tile(levels, m)]),
            np.repeat(self.weights, n) * np.tile(weights, m),
            np.column_stack([np.repeat(self.normals, n, axis=0), np.zeros(m * n)]),
        )


@lru_cache(maxsize=256)
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Return nodes and weights of the n-point Gauss-Legendre rule on (0, 1)."""
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (x + 1.0), 0.5 * w


@lru_cache(maxsize=64)
def differentiation_matrix(n: int) -> Array:
    """Return D with (D f)ᵢ = p'(xᵢ) for the interpolating polynomial p at the n Gauss nodes on (0, 1)."""
    x = gauss_legendre(n)[0]
    away = x[:, None] - x[None, :]
    np.fill_diagonal(away, 1.0)
    # Barycentric weights by logarithms: the products underflow for more than a few dozen nodes.
    size, sign = np.log(np.abs(away)).sum(axis=1), np.prod(np.sign(away), axis=1)
    D = np.exp(size[:, None] - size[None, :]) * (sign[:, None] * sign[None, :]) / away
    np.fill_diagonal(D, 0.0)
    np.fill_diagonal(D, -D.sum(axis=1))
    return np.asarray(D)


def box_rule(box: Array, n: int) -> QuadratureRule:
    """Return the tensor-product Gauss rule with n nodes along each side of a box (d, 2)."""
    x, w = gauss_legendre(n)
    d = len(box)
    grids = np.meshgrid(*(a + (b - a) * x for a, b in box), indexing="ij")
    weights = np.ones(1)
    for a, b in box:
        weights = np.outer(weights, (b - a) * w).ravel()
    return QuadratureRule.interior(np.stack(grids, axis=-1).reshape(-1, d), weights)


def ball_rule(center: Array, radius: float, n: int) -> QuadratureRule:
    """Return a rule on a ball in any dimension, by slices that are balls of one dimension less.

    The substitution x = r sin φ makes the measure of the slices smooth.
    """
    x, w = gauss_legendre(n)
    if len(center) == 1:
        return QuadratureRule.interior((center[0] + radius * (2.0 * x - 1.0))[:, None], 2.0 * radius * w)
    angle = np.pi * (x - 0.5)
    parts = []
    for a, weight in zip(angle, w, strict=True):
        slice_rule = ball_rule(center[:-1], radius * float(np.cos(a)), n)
        height = np.array([center[-1] + radius * np.sin(a)])
        parts.append(slice_rule.product(height, np.array([np.pi * weight * radius * np.cos(a)])))
    return QuadratureRule.concatenated(parts, len(center))


def ball_rule_3d(center: Array, radius: float, n: int) -> QuadratureRule:
    """Return a rule on a ball in 3D that is exact to degree 2n - 1.

    Gauss rules in r² and in height, equal steps in longitude.
    """
    from scipy.special import roots_jacobi

    s, ws = roots_jacobi(n // 2 + 1, 0.0, 0.5)  # ∫ f r² dr = ½ ∫ f √σ dσ, σ = r²
    r = radius * np.sqrt(0.5 * (s + 1.0))
    wr = 0.5 * radius**3 * ws / 2.0**1.5
    x, w = gauss_legendre(n)
    height = 2.0 * x - 1.0
    angle = 2.0 * np.pi * (np.arange(2 * n) + 0.5) / (2 * n)
    ring = np.sqrt(1.0 - height**2)
    unit = np.stack(
        [np.outer(ring, np.cos(angle)), np.outer(ring, np.sin(angle)), np.outer(height, np.ones(2 * n))],
        axis=-1,
    ).reshape(-1, 3)
    round_weights = np.repeat(2.0 * w, 2 * n) * (np.pi / n)
    points = np.asarray(center) + (r[:, None, None] * unit[None]).reshape(-1, 3)
    return QuadratureRule.interior(points, np.outer(wr, round_weights).ravel())

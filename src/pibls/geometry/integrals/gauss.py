r"""∫ f dx ≈ Σ wᵢ f(xᵢ): points with weights, and Gauss's rule on intervals and boxes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.arrays import Array


@dataclass(frozen=True)
class Rule:
    """Points (n, d), weights (n,), and the unit outward normals (n, d) of a boundary (zero inside)."""

    points: Array
    weights: Array
    normals: Array

    @classmethod
    def inside(cls, points: Array, weights: Array) -> Rule:
        """Without normals."""
        return cls(points, weights, np.zeros_like(points))

    @classmethod
    def joined(cls, parts: list[Rule], dimension: int) -> Rule:
        """One after another."""
        none = np.empty((0, dimension))
        return cls(
            np.concatenate([none, *(p.points for p in parts)]),
            np.concatenate([np.empty(0), *(p.weights for p in parts)]),
            np.concatenate([none, *(p.normals for p in parts)]),
        )

    def across(self, levels: Array, weights: Array) -> Rule:
        """The product with a rule (levels, weights) of one more coordinate, the last one."""
        m, n = len(self.weights), len(levels)
        return Rule(
            np.column_stack([np.repeat(self.points, n, axis=0), np.tile(levels, m)]),
            np.repeat(self.weights, n) * np.tile(weights, m),
            np.column_stack([np.repeat(self.normals, n, axis=0), np.zeros(m * n)]),
        )


@lru_cache(maxsize=256)
def gauss(n: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss's rule on (0, 1)."""
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (x + 1.0), 0.5 * w


@lru_cache(maxsize=64)
def slopes(n: int) -> Array:
    """D with (D f)ᵢ = f'(xᵢ), for the polynomial through the values at the n Gauss nodes on (0, 1)."""
    x = gauss(n)[0]
    away = x[:, None] - x[None, :]
    np.fill_diagonal(away, 1.0)
    # Barycentric weights by their logarithms: the products underflow beyond a few dozen nodes.
    size, sign = np.log(np.abs(away)).sum(axis=1), np.prod(np.sign(away), axis=1)
    D = np.exp(size[:, None] - size[None, :]) * (sign[:, None] * sign[None, :]) / away
    np.fill_diagonal(D, 0.0)
    np.fill_diagonal(D, -D.sum(axis=1))
    return np.asarray(D)


def on_box(box: Array, n: int) -> Rule:
    """The tensor product rule with n nodes along each side of a box (d, 2)."""
    x, w = gauss(n)
    d = len(box)
    grids = np.meshgrid(*(a + (b - a) * x for a, b in box), indexing="ij")
    weights = np.ones(1)
    for a, b in box:
        weights = np.outer(weights, (b - a) * w).ravel()
    return Rule.inside(np.stack(grids, axis=-1).reshape(-1, d), weights)


def in_ball(center: Array, radius: float, n: int) -> Rule:
    """Slices of a ball, each a ball of one dimension less; x = r sin φ makes their sizes smooth."""
    x, w = gauss(n)
    if len(center) == 1:
        return Rule.inside((center[0] + radius * (2.0 * x - 1.0))[:, None], 2.0 * radius * w)
    angle = np.pi * (x - 0.5)
    parts = []
    for a, share in zip(angle, w, strict=True):
        below = in_ball(center[:-1], radius * float(np.cos(a)), n)
        height = np.array([center[-1] + radius * np.sin(a)])
        parts.append(below.across(height, np.array([np.pi * share * radius * np.cos(a)])))
    return Rule.joined(parts, len(center))


def in_round_ball(center: Array, radius: float, n: int) -> Rule:
    """A ball in space: Gauss's rules in r² and in height, equal steps around; exact to the degree 2n - 1."""
    from scipy.special import roots_jacobi

    s, ws = roots_jacobi(n // 2 + 1, 0.0, 0.5)  # ∫ f r² dr = ½ ∫ f √σ dσ, σ = r²
    r = radius * np.sqrt(0.5 * (s + 1.0))
    wr = 0.5 * radius**3 * ws / 2.0**1.5
    x, w = gauss(n)
    height = 2.0 * x - 1.0
    angle = 2.0 * np.pi * (np.arange(2 * n) + 0.5) / (2 * n)
    ring = np.sqrt(1.0 - height**2)
    unit = np.stack(
        [np.outer(ring, np.cos(angle)), np.outer(ring, np.sin(angle)), np.outer(height, np.ones(2 * n))],
        axis=-1,
    ).reshape(-1, 3)
    round_weights = np.repeat(2.0 * w, 2 * n) * (np.pi / n)
    points = np.asarray(center) + (r[:, None, None] * unit[None]).reshape(-1, 3)
    return Rule.inside(points, np.outer(wr, round_weights).ravel())

"""Small solved problems in several dimensions, for tests of plots and exports; shapes Ring and Ball."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls.arrays import Array, Mask
from pibls.geometry import Boundary

x, y, z, t = sp.symbols("x y z t")
COORDINATES = sp.symbols("x1:6")


@dataclass(frozen=True)
class Ring(pibls.Shape):
    """r² < x² + y² < 1, with only the required methods of the protocol: no faces."""

    coordinates: tuple[Any, ...] = (x, y)
    inner: float = 0.4

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return ((-1.0, 1.0), (-1.0, 1.0))

    def contains(self, X: Array) -> Mask:
        r = np.hypot(X[:, 0], X[:, 1])
        return np.asarray((r >= self.inner) & (r <= 1.0))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return self._polar(np.sqrt(rng.uniform(self.inner**2, 1.0, n)), rng)

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        is_inner = rng.random(n) < self.inner / (1 + self.inner)
        points = self._polar(np.where(is_inner, self.inner, 1.0), rng)
        outward = points / np.linalg.norm(points, axis=1)[:, None]
        return Boundary(points, np.where(is_inner, -1.0, 1.0)[:, None] * outward, (self,) * n)

    @staticmethod
    def _polar(r: Array, rng: np.random.Generator) -> Array:
        angle = rng.uniform(0, 2 * np.pi, len(r))
        return np.column_stack([r * np.cos(angle), r * np.sin(angle)])


@dataclass(frozen=True)
class Ball(pibls.Shape):
    """x² + y² + z² < 1."""

    coordinates: tuple[Any, ...] = (x, y, z)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return ((-1.0, 1.0),) * 3

    def contains(self, X: Array) -> Mask:
        return np.asarray(np.sum(X**2, axis=1) <= 1.0)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return np.asarray(self.boundary(n, rng).points * rng.random((n, 1)) ** (1 / 3))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        X = rng.standard_normal((n, 3))
        X /= np.linalg.norm(X, axis=1)[:, None]
        return Boundary(X, X, (self,) * n)


def solve_for_exact(domain: Any, exact: Any, *, nodes: int = 60) -> pibls.Solution:
    """Solve u = exact, an equation without derivatives, which is fast on every domain."""
    u = sp.Function("u")(*domain.coordinates)
    return solve_with_features(pibls.Problem(domain, [sp.Eq(u, exact)], [pibls.Dirichlet(u, exact)]), nodes)


def solve_with_features(problem: pibls.Problem, nodes: int = 60) -> pibls.Solution:
    """Solve with a fixed basis of random features, whatever the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, basis=pibls.Waves(nodes, scale=2.0))


@lru_cache
def line() -> pibls.Solution:
    return solve_for_exact(pibls.Interval(x, 0, 2), sp.cos(x))


@lru_cache
def plane() -> pibls.Solution:
    return solve_for_exact(pibls.Box({x: (0, 2), y: (0, 1)}), sp.cos(x) * sp.exp(-y))


@lru_cache
def ring() -> pibls.Solution:
    return solve_for_exact(Ring(), x + y)


@lru_cache
def line_in_time() -> pibls.Solution:
    return solve_for_exact(pibls.Interval(x, 0, 2).during(t, 0, 1), sp.cos(x - t))


@lru_cache
def plane_in_time() -> pibls.Solution:
    return solve_for_exact(pibls.Box({x: (0, 2), y: (0, 1)}).during(t, 0, 1), sp.cos(x - t) * y)


@lru_cache
def ring_in_time() -> pibls.Solution:
    return solve_for_exact(Ring().during(t, 0, 1), (x + y) * t)


@lru_cache
def cuboid() -> pibls.Solution:
    return solve_for_exact(pibls.Box({x: (0, 1), y: (0, 2), z: (0, 3)}), sp.cos(x + y) * z / 3)


@lru_cache
def ball() -> pibls.Solution:
    return solve_for_exact(Ball(), x + y * z)


@lru_cache
def cube_in_time() -> pibls.Solution:
    return solve_for_exact(pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)}).during(t, 0, 1), (x + y) * z * t)


@lru_cache
def unit_box(d: int) -> pibls.Solution:
    return solve_for_exact(pibls.Box(dict.fromkeys(COORDINATES[:d], (0, 1))), sp.cos(sum(COORDINATES[:d])))


@lru_cache
def rotation_and_pressure() -> pibls.Solution:
    """Three unknowns (u, v, p) on a square; (u, v) is a rotation."""
    u, v, p = (sp.Function(name)(x, y) for name in "uvp")
    domain = pibls.Box({x: (-1, 1), y: (-1, 1)})
    equations = [sp.Eq(u, -y), sp.Eq(v, x), sp.Eq(p, x * y)]
    return solve_with_features(pibls.Problem(domain, equations, [pibls.Dirichlet(u, -y)]))

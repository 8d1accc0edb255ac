r"""Problems that one smooth basis does not resolve: layers, fronts, peaks, waves, corners, material layers.

Each problem has a tolerance, a reference that is independent of pibls, and a peer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

import pibls
from benchmarks.peers import hard_ngsolve as peers
from benchmarks.peers.hard_ngsolve import Peer
from pibls.arrays import Array

_REFERENCE = 56, 14
"""Cells and order of the NGSolve reference; it differs by 2e-10 from our tensor-product solution at 1e-9."""
x, y, z = sp.symbols("x y z")
Tries = tuple[tuple[int, int], ...]
LINE: Tries = tuple((n, p) for n in (4, 8, 16, 32) for p in (4, 8, 12, 16))
PLANE: Tries = tuple((n, p) for n in (4, 8, 16, 32) for p in (6, 10, 14))
SLANT: Tries = tuple((n, p) for n in (30, 40, 60, 80) for p in (8, 10, 12, 14))
FEW: Tries = ((1, 2), (1, 4), (2, 4))
CORNER: Tries = tuple((n, p) for n in (4, 6, 7, 8, 9) for p in (5, 8, 11))
SPACE: Tries = ((2, 6), (2, 8), (2, 9), (4, 6))
FINE: Tries = ((22, 5),)  # (18, 5) leaves 2e-6 of a peak in a cube after 43 s, (8, 6) 5e-5 after 18 s


@dataclass(frozen=True)
class Hard:
    """A problem, its tolerance, its solution as a function of points (n, d), and its hard region."""

    problem: pibls.Problem
    tol: float
    exact: Callable[[Array], Array]
    peer: Peer | None = None
    tries: Tries = PLANE
    """Meshes (cells) and orders to try for the peer."""
    near: tuple[Array, float] | None = None
    """Centre and radius of additional test points."""
    dense: bool = False
    """Whether one dense basis is measured too."""


def line(e: float) -> Hard:
    """-ε u'' + u' = 1."""
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(-e * u.diff(x, 2) + u.diff(x), 1)], [pibls.Dirichlet(u, 0)]
    )

    def exact(X: Array) -> Array:
        s = X[:, 0]
        return np.asarray(s - (np.exp((s - 1) / e) - np.exp(-1 / e)) / (1 - np.exp(-1 / e)))

    return Hard(problem, 1e-10, exact, peers.outflow(e), LINE, (np.array([1.0]), 20 * e))


def manufactured(
    expression: Any,
    tol: float,
    wave: float = 0.0,
    near: tuple[Array, float] | None = None,
    mesh: Callable[[int], Any] | None = None,
    dense: bool = False,
) -> Hard:
    """Δu + κ² u = f with a given solution, on the unit square or cube."""
    names = (x, y, z) if expression.has(z) else (x, y)
    u = sp.Function("u")(*names)

    def left(w: Any) -> Any:
        return sum(w.diff(c, 2) for c in names) + wave**2 * w

    def graded(n: int) -> Any:
        if near is None:
            return peers.rectangles(n, [float] * len(names))
        return peers.rectangles(n, [peers.clustered_at(float(c), 1.5 * near[1]) for c in near[0]])

    domain = pibls.Box(dict.fromkeys(names, (0, 1)))
    source = left(expression)
    problem = pibls.Problem(domain, [sp.Eq(left(u), source)], [pibls.Dirichlet(u, expression)])
    function = sp.lambdify(names, expression)
    peer = peers.manufactured(expression, source, wave, names, mesh or graded)
    flat = PLANE if mesh is None else SLANT
    tries = flat if len(names) == 2 else SPACE if near is None else FINE
    return Hard(problem, tol, lambda X: np.asarray(function(*X.T)), peer, tries, near, dense)


def front(steepness: float, a: float, b: float, c: float) -> Hard:
    """tanh(k (a x + b y + c)): the peer's triangles are small along the line."""

    def mesh(n: int) -> Any:
        s = np.linspace(0.0, 1.0, 4 * n + 1)
        along = np.stack([s, -(a * s + c) / b], axis=1)
        return peers.refined_near(n, along[(along[:, 1] >= 0) & (along[:, 1] <= 1)])

    return manufactured(sp.tanh(steepness * (a * x + b * y + sp.nsimplify(c))), 1e-8, mesh=mesh)


def material_layers(edges: list[float], k: list[float], source: list[float], d: int = 1) -> Hard:
    """(k u')' = -s in layers, u = 0 and 1 at the ends; in the plane the same across a strip."""
    names = (x, y)[:d]
    u = sp.Function("u")(*names)

    def piece(values: list[float]) -> Any:
        if len(set(values)) == 1:
            return sp.Float(values[0])
        ends = [(sp.Float(v), x < e) for v, e in zip(values, edges[1:-1], strict=False)]
        return sp.Piecewise(*ends, (sp.Float(values[-1]), True))

    exact = _layers(edges, k, source)
    equation = sp.Eq(pibls.div(piece(k) * pibls.grad(u)), -piece(source))
    conditions: list[Any] = [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 1, on=sp.Eq(x, 1))]
    if d == 2:
        conditions.append(pibls.Neumann(u, 0, on=sp.Or(sp.Eq(y, 0), sp.Eq(y, 1))))
    domain = pibls.Interval(x, 0, 1) if d == 1 else pibls.Box({x: (0, 1), y: (0, 1)})
    problem = pibls.Problem(domain, [equation], conditions)
    return Hard(problem, 1e-10, lambda X: exact(X[:, 0]), peers.material_layers(edges, k, source, d), FEW)


def _layers(edges: list[float], k: list[float], source: list[float]) -> Callable[[Array], Array]:
    """u = -s ξ²/2k + A ξ + B in each layer, ξ from its lower end; value and flux are continuous."""
    n, lengths = len(k), np.diff(edges)
    M, b = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    M[0, 1] = 1.0
    M[1, -2:], b[1] = [lengths[-1], 1.0], 1.0 + source[-1] * lengths[-1] ** 2 / (2 * k[-1])
    for i in range(n - 1):
        M[2 + 2 * i, 2 * i : 2 * i + 4] = [lengths[i], 1.0, 0.0, -1.0]
        b[2 + 2 * i] = source[i] * lengths[i] ** 2 / (2 * k[i])
        M[3 + 2 * i, 2 * i], M[3 + 2 * i, 2 * i + 2] = k[i], -k[i + 1]
        b[3 + 2 * i] = source[i] * lengths[i]
    A = np.linalg.solve(M, b).reshape(n, 2)

    def exact(s: Array) -> Array:
        i = np.clip(np.searchsorted(edges, s, side="right") - 1, 0, n - 1)
        r = s - np.array(edges)[i]
        return np.asarray(-np.array(source)[i] * r**2 / (2 * np.array(k)[i]) + A[i, 0] * r + A[i, 1])

    return exact


def beam() -> Hard:
    """u'''' = δ(x - 1/3), clamped at the left and free at the right."""
    u = sp.Function("u")(x)
    a = sp.Rational(1, 3)
    left, right = sp.Eq(x, 0), sp.Eq(x, 1)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 4), sp.DiracDelta(x - a))],
        [
            pibls.Dirichlet(u, 0, on=left),
            pibls.Neumann(u, 0, on=left),
            pibls.Condition(sp.Eq(u.diff(x, 2), 0), on=right),
            pibls.Condition(sp.Eq(u.diff(x, 3), 0), on=right),
        ],
    )

    def exact(X: Array) -> Array:
        s = X[:, 0]
        return np.asarray(s**2 / 6 - s**3 / 6 + np.maximum(s - 1 / 3, 0) ** 3 / 6)

    return Hard(problem, 1e-10, exact, peers.beam(1 / 3), FEW)


def convection_diffusion(e: float) -> Hard:
    """-ε Δu + (1, 2)·∇u = 1 on the unit square, u = 0; the reference is NGSolve's on a finer mesh."""
    u = sp.Function("u")(x, y)
    domain = pibls.Box({x: (0, 1), y: (0, 1)})
    equation = sp.Eq(-e * (u.diff(x, 2) + u.diff(y, 2)) + u.diff(x) + 2 * u.diff(y), 1)
    problem = pibls.Problem(domain, [equation], [pibls.Dirichlet(u, 0)])
    near = np.array([1.0, 1.0]), 5 * e
    return Hard(problem, 1e-6, lambda X: _fine(e)(X), peers.convection_diffusion(e), PLANE, near)


@cache
def _fine(e: float) -> Callable[[Array], Array]:
    return peers.convection_diffusion(e)(*_REFERENCE)


class LShape:
    """[-1, 1]² without its lower right quarter, as a shape of one's own that knows nothing of its corners."""

    coordinates = (x, y)
    bounds = ((-1.0, 1.0), (-1.0, 1.0))

    def contains(self, X: Array) -> Any:
        inside = np.all(np.abs(X) <= 1 + 1e-12, axis=1)
        return np.asarray(inside & ~((X[:, 0] > 1e-12) & (X[:, 1] < -1e-12)))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        X = rng.uniform(-1, 1, (2 * n + 50, 2))
        return np.asarray(X[self.contains(X)][:n])

    def boundary(self, n: int, rng: np.random.Generator) -> Any:
        from pibls.geometry.faces.face import Boundary

        corners = np.array([[-1, -1], [0, -1], [0, 0], [1, 0], [1, 1], [-1, 1]], dtype=float)
        side = np.arange(n) % 6
        start, stop = corners[side], corners[(side + 1) % 6]
        along = (stop - start) / np.linalg.norm(stop - start, axis=1)[:, None]
        normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
        return Boundary(start + rng.random((n, 1)) * (stop - start), normals, (self,) * n)


def corner() -> Hard:
    """Δu = 0, u = r^(2/3) sin(2θ/3), in cells alone."""
    u = sp.Function("u")(x, y)

    def exact(X: Array) -> Array:
        angle = np.mod(np.arctan2(X[:, 1], X[:, 0]), 2 * np.pi)
        return np.asarray(np.hypot(*X.T) ** (2 / 3) * np.sin(2 / 3 * angle))

    problem = pibls.Problem(
        LShape(),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), 0)],
        [pibls.Dirichlet(u, lambda a, b: exact(np.stack([a, b], axis=1)))],
    )
    return Hard(problem, 1e-5, exact, peers.corner, CORNER)


def plate() -> Hard:
    """-Δu = 1 on the unit square, u = 0: a series, and NGSolve on a mesh graded to the corners."""
    u = sp.Function("u")(x, y)
    domain = pibls.Box({x: (0, 1), y: (0, 1)})
    problem = pibls.Problem(domain, [sp.Eq(u.diff(x, 2) + u.diff(y, 2), -1)], [pibls.Dirichlet(u, 0)])

    def exact(X: Array) -> Array:
        # The parabola across, and a series that falls exponentially away from the ends: along the axis whose
        # ends are farther away.
        near = np.minimum(X, 1 - X)
        s = np.take_along_axis(X, near.argmin(axis=1)[:, None], axis=1)[:, 0]
        far = near.max(axis=1)
        out = 0.5 * s * (1 - s)
        for n in range(1, 4001, 2):
            k = n * np.pi
            ratio = (np.exp(-k * far) + np.exp(-k * (1 - far))) / (1 + np.exp(-k))
            out = out - 4 / k**3 * np.sin(k * s) * ratio
        return np.asarray(out)

    return Hard(problem, 1e-8, exact, peers.plate)


def bump(steepness: float, centre: tuple[float, ...]) -> Any:
    names = (x, y, z)[: len(centre)]
    return sp.exp(-steepness * sum((c - sp.Float(m)) ** 2 for c, m in zip(names, centre, strict=True)))


def near(centre: tuple[float, ...], width: float) -> tuple[Array, float]:
    return np.array(centre), width


PROBLEMS: dict[str, Callable[[], Hard]] = {
    **{f"outflow {e:g}": lambda e=e: line(e) for e in (1e-2, 1e-3, 1e-4, 1e-5)},  # type: ignore[misc]
    "wall 1|10": lambda: material_layers([0, 0.5, 1], [1, 10], [0, 0]),
    "wall 1|10 heated": lambda: material_layers([0, 0.5, 1], [1, 10], [1, 1]),
    "wall 1|400": lambda: material_layers([0, 0.3, 1], [1, 400], [0, 0]),
    "wall 1|400 heated": lambda: material_layers([0, 0.3, 1], [1, 400], [2, 2]),
    "five layers": lambda: material_layers([0, 0.1, 0.35, 0.5, 0.9, 1], [1, 20, 0.3, 5, 2], [1, 1, 1, 1, 1]),
    "heater of 0.01": lambda: material_layers([0, 0.4, 0.41, 1], [1, 1, 1], [0, 100, 0]),
    "gap of 1e-3": lambda: material_layers([0, 0.5, 0.501, 1], [1, 1e-3, 1], [1, 1, 1]),
    "point load": beam,
    "wall 1|10 in the plane": lambda: material_layers([0, 0.5, 1], [1, 10], [1, 1], 2),
    "wall 1|400 in the plane": lambda: material_layers([0, 0.3, 1], [1, 400], [0, 0], 2),
    "plate": plate,
    "L-shape in cells": corner,
    "peak exp(-1000 r²)": lambda: manufactured(bump(1000, (0.4, 0.6)), 1e-8, near=near((0.4, 0.6), 0.05)),
    "source of 1/200": lambda: manufactured(bump(2e4, (0.37, 0.61)), 1e-8, near=near((0.37, 0.61), 0.01)),
    "front tanh(20(x+y-1))": lambda: front(20, 1, 1, -1),
    "front tanh(30(x-2y+1/3))": lambda: front(30, 1, -2, 1 / 3),
    "30 wavelengths": lambda: manufactured(sp.cos(190.0 * (0.8 * x + 0.6 * y)), 1e-8, 190.0),
    "convected 1e-2": lambda: convection_diffusion(1e-2),
    "convected 1e-3": lambda: convection_diffusion(1e-3),
    "cube, smooth": lambda: manufactured(
        sp.sin(3 * x + 1) * sp.cos(4 * y) * sp.exp(z / 2) + sp.cos(5 * x * z), 1e-8, 10.0, dense=True
    ),
    "cube, peak of 1/20": lambda: manufactured(
        bump(400, (0.4, 0.55, 0.5)), 1e-6, near=near((0.4, 0.55, 0.5), 0.06)
    ),
}

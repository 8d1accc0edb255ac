"""Shapes of the recorder: membership, boundary points and normals, without pibls."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import sympy as sp


class Outline(ABC):
    """A plane or solid shape."""

    time: Any = None
    coordinates: tuple[Any, ...]
    box: list[tuple[float, float]]
    loose = False
    """Whether only a cautious part of the inside is known, and no boundary."""

    def during(self, symbol: Any, start: Any, end: Any) -> Any:
        return Timed(self, symbol, (start, end))

    def __sub__(self, other: Any) -> Any:
        return Minus(self, other)

    def extruded(self, symbol: Any, a: Any, b: Any) -> Any:
        return Extruded(self, symbol, a, b)

    @abstractmethod
    def contains(self, X: Any) -> Any:
        """Return which of the points (n, d) lie inside."""

    @abstractmethod
    def boundary(self, rng: Any) -> Any:
        """Return random points on the boundary, outward normals, and the shape of each point."""

    @property
    def bounds(self) -> Any:
        return dict(zip(self.coordinates, self.box, strict=True))


class Timed:
    def __init__(self, shape: Any, symbol: Any, span: Any) -> None:
        self.shape, self.time = shape, symbol
        self.bounds = {**shape.bounds, symbol: span}


class Parametric(Outline):
    """A closed curve given by points on it and outward normals."""

    @abstractmethod
    def curve(self, a: Any) -> Any:
        """Return points and outward normals at parameters from 0 to 1."""

    def boundary(self, rng: Any, count: Any = 40) -> Any:
        P, N = self.curve(rng.random(count))
        return P, N, [self] * len(P)


class Disk(Parametric):
    def __init__(self, coordinates: Any, center: Any, radius: Any) -> None:
        self.coordinates, self.c, self.R = tuple(coordinates), np.array(center, float), float(radius)
        self.box = [(c - self.R, c + self.R) for c in self.c]
        self.inside = sum((q - c) ** 2 for q, c in zip(coordinates, center)) < radius**2

    def contains(self, X: Any) -> Any:
        return np.sum((X - self.c) ** 2, axis=1) < self.R**2

    def curve(self, a: Any) -> Any:
        d = len(self.coordinates)
        if d == 2:
            n = np.column_stack([np.cos(2 * np.pi * a), np.sin(2 * np.pi * a)])
        else:
            n = np.random.default_rng(int(1e6 * a[0])).normal(size=(len(a), d))
            n /= np.linalg.norm(n, axis=1)[:, None]
        return self.c + self.R * n, n


class Ellipse(Parametric):
    def __init__(self, coordinates: Any, center: Any, radii: Any, angle: Any = 0.0) -> None:
        self.coordinates, self.c, self.q, self.angle = (
            tuple(coordinates),
            np.array(center, float),
            np.array(radii, float),
            float(angle),
        )
        self.turn = np.array(
            [[math.cos(self.angle), -math.sin(self.angle)], [math.sin(self.angle), math.cos(self.angle)]]
        )
        h = np.sqrt(((self.turn * self.q) ** 2).sum(axis=1))
        self.box = [(c - w, c + w) for c, w in zip(self.c, h)]

    def contains(self, X: Any) -> Any:
        return np.sum(((X - self.c) @ self.turn / self.q) ** 2, axis=1) < 1

    def curve(self, a: Any) -> Any:
        e = np.column_stack([np.cos(2 * np.pi * a), np.sin(2 * np.pi * a)])
        n = e / self.q
        n /= np.linalg.norm(n, axis=1)[:, None]
        return self.c + (e * self.q) @ self.turn.T, n @ self.turn.T


class Polygon(Outline):
    def __init__(self, coordinates: Any, vertices: Any, holes: Any = ()) -> None:
        self.coordinates, self.rings = tuple(coordinates), [np.array(v, float) for v in (vertices, *holes)]
        v = self.rings[0]
        self.box = [(v[:, i].min(), v[:, i].max()) for i in (0, 1)]

    def contains(self, X: Any) -> Any:
        inside = np.zeros(len(X), bool)
        for ring in self.rings:
            for a, b in zip(ring, np.roll(ring, -1, axis=0)):
                cross = (a[1] > X[:, 1]) != (b[1] > X[:, 1])
                with np.errstate(all="ignore"):
                    at = a[0] + (X[:, 1] - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
                inside ^= cross & (X[:, 0] < at)
        return inside

    def boundary(self, rng: Any, count: Any = 6) -> Any:
        P, N = [], []
        for ring in self.rings:
            for a, b in zip(ring, np.roll(ring, -1, axis=0)):
                p = a + (b - a) * rng.uniform(0.03, 0.97, count)[:, None]
                n = np.array([b[1] - a[1], a[0] - b[0]]) / np.linalg.norm(b - a)
                if self.contains(p[:1] + 1e-6 * n)[0]:
                    n = -n
                P.append(p)
                N.append(np.tile(n, (count, 1)))
        return np.vstack(P), np.vstack(N), [self] * (len(P) * count)


class Spline(Polygon):
    """Only a cautious part of the inside (the polygon through the points, shrunk) is used for points."""

    loose = True

    def __init__(self, coordinates: Any, points: Any) -> None:
        super().__init__(coordinates, points)
        self.middle = self.rings[0].mean(axis=0)

    def contains(self, X: Any) -> Any:
        return super().contains(self.middle + (X - self.middle) / 0.93)


class Implicit(Outline):
    def __init__(self, expression: Any, bounds: Any) -> None:
        self.coordinates = tuple(bounds)
        self.box = [(float(a), float(b)) for a, b in bounds.values()]
        self.f = sp.lambdify(self.coordinates, expression, "numpy")
        self.g = [sp.lambdify(self.coordinates, sp.diff(expression, c), "numpy") for c in self.coordinates]

    def contains(self, X: Any) -> Any:
        low, high = np.array(self.box).T
        return (self.f(*X.T) < 0) & np.all((low < X) & (high > X), axis=1)

    def boundary(self, rng: Any, count: Any = 40) -> Any:
        low, high = np.array(self.box).T
        P: list[Any] = []
        while len(P) < count:
            a, b = low + (high - low) * rng.random((2, len(low)))
            if self.f(*a) * self.f(*b) < 0:
                for _ in range(60):
                    m = (a + b) / 2
                    a, b = (m, b) if self.f(*m) * self.f(*a) > 0 else (a, m)
                P.append((a + b) / 2)
        X = np.array(P)
        N = np.column_stack([np.broadcast_to(g(*X.T), len(X)) for g in self.g])
        return X, N / np.linalg.norm(N, axis=1)[:, None], [self] * len(X)


class CutBox(Outline):
    """A box that may be cut."""

    def __init__(self, bounds: Any) -> None:
        self.coordinates = tuple(bounds)
        self.box = [(float(a), float(b)) for a, b in bounds.values()]

    def contains(self, X: Any) -> Any:
        low, high = np.array(self.box).T
        return np.all((low < X) & (high > X), axis=1)

    def boundary(self, rng: Any, count: Any = 8) -> Any:
        low, high = np.array(self.box).T
        P, N = [], []
        for i in range(len(low)):
            for side in (0, 1):
                p = low + (high - low) * rng.uniform(0.03, 0.97, (count, len(low)))
                p[:, i] = (low, high)[side][i]
                n = np.zeros(len(low))
                n[i] = 2 * side - 1
                P.append(p)
                N.append(np.tile(n, (count, 1)))
        return np.vstack(P), np.vstack(N), [self] * (len(P) * count)


class Minus(Outline):
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b, self.coordinates, self.box = a, b, a.coordinates, a.box

    def contains(self, X: Any) -> Any:
        return self.a.contains(X) & ~self.b.contains(X)

    def boundary(self, rng: Any) -> Any:
        P, N, owners = self.a.boundary(rng)
        keep = ~self.b.contains(P)
        Q, M, W = self.b.boundary(rng)
        also = self.a.contains(Q)
        return (
            np.vstack([P[keep], Q[also]]),
            np.vstack([N[keep], -M[also]]),
            [o for o, k in zip(owners, keep) if k] + [o for o, k in zip(W, also) if k],
        )


class Extruded(Outline):
    def __init__(self, base: Any, symbol: Any, a: Any, b: Any) -> None:
        self.base, self.span = base, (float(a), float(b))
        self.coordinates, self.box = (*base.coordinates, symbol), [*base.box, self.span]

    def contains(self, X: Any) -> Any:
        return self.base.contains(X[:, :-1]) & (X[:, -1] > self.span[0]) & (X[:, -1] < self.span[1])

    def boundary(self, rng: Any) -> Any:
        P, N, owners = self.base.boundary(rng)
        h = rng.uniform(*self.span, len(P))
        low, high = np.array(self.base.box).T
        inner = low + (high - low) * rng.random((60, len(low)))
        inner = inner[self.base.contains(inner)]
        ends = [np.column_stack([inner, np.full(len(inner), v)]) for v in self.span]
        flat = np.zeros((len(inner), len(low)))
        normals = [np.column_stack([flat, np.full(len(inner), v)]) for v in (-1.0, 1.0)]
        return (
            np.vstack([np.column_stack([P, h]), *ends]),
            np.vstack([np.column_stack([N, 0 * h]), *normals]),
            owners + [self] * (2 * len(inner)),
        )

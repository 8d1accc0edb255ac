r"""P(∂)u = f with constant coefficients, P(w) = 0: functions exp(w·x) for thin layers along any wall.

In the direction n of a wall the roots λ of P(λn) = 0 tell of layers of the width 1/λ there. All directions
together make up what solves the equation without a source in a domain without dents: along a wall of the
radius R each of them serves an angle of 1/√(λR). Where a flow runs through the domain, waves across it are
carried along, and decay slowly. What is left is smooth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.analysis.corners.symbol import Complexes
from pibls.analysis.thresholds import LAYERS
from pibls.arrays import Array, MultiIndex
from pibls.basis import ExponentialBasis
from pibls.basis.quasi import sobol
from pibls.caching import cached_property
from pibls.geometry import Boundary, Domain, faces_of, lengths_of, time_of
from pibls.geometry.faces.face import Face, join
from pibls.problem.forms.lowering import LoweredProblem, Residual

Polynomial = dict[MultiIndex, float]


@dataclass(frozen=True)
class Layers:
    """The walls of a domain, seen from outside, and an equation with thin layers."""

    domain: Domain
    symbol: tuple[tuple[MultiIndex, float], ...]
    walls: Array
    """Points of the outer boundary, that tell how far it reaches in each direction."""
    width: float
    """Of the thinnest layer."""
    _made_before: dict[float, tuple[ExponentialBasis, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def dimension(self) -> int:
        return int(self.walls.shape[1])

    def functions(self, digits: float) -> tuple[ExponentialBasis, ...]:
        """As many as leave e^-digits."""
        if digits not in self._made_before:
            self._made_before[digits] = self._functions(digits)
        return self._made_before[digits]

    def _functions(self, digits: float) -> tuple[ExponentialBasis, ...]:
        directions = self._in_the_plane(digits) if self.dimension == 2 else self._in_space(digits)
        rates = growths(dict(self.symbol), directions)
        w = [directions[:, row > 0] * row[row > 0] for row in rates.T]
        parts = [np.concatenate(w, axis=1) + 0j]
        if self.dimension == 2:
            parts.append(self._carried(digits))
        return (self._made(np.concatenate(parts, axis=1)),)

    def _made(self, w: Complexes) -> ExponentialBasis:
        """cos and, of those that turn, sin; 1 at the wall."""
        turning = np.abs(w.imag).max(axis=0) > 0
        both = np.concatenate([w, w[:, turning]], axis=1)
        phases = np.repeat([0.0, -0.5 * math.pi], [w.shape[1], int(turning.sum())])
        reach = np.concatenate(
            [(self.walls @ part).max(axis=0) for part in np.array_split(both.real, 8, axis=1) if part.size]
        )
        return ExponentialBasis(both.real.copy(), both.imag.copy(), reach, phases)

    def _in_the_plane(self, digits: float) -> Array:
        """Directions, closer together where the boundary is bent less."""
        density = self._density
        along = np.concatenate([[0.0], np.cumsum(density)])
        n = math.ceil(along[-1] / _spacing(digits))
        angle = np.interp((np.arange(n) + 0.5) * along[-1] / n, along, np.linspace(0, 2 * np.pi, len(along)))
        return np.stack([np.cos(angle), np.sin(angle)])

    @cached_property
    def _density(self) -> Array:
        """√(λR) dθ, with R dθ the way along the boundary."""
        n = LAYERS.seen // 3
        angle = 2.0 * np.pi * (np.arange(n) + 0.5) / n
        d = np.stack([np.cos(angle), np.sin(angle)])
        X = self.walls[np.concatenate([np.argmax(self.walls @ p, axis=0) for p in np.array_split(d, 8, 1)])]
        way = np.linalg.norm(np.roll(X, -1, axis=0) - X, axis=1)
        step = 2.0 * np.pi / n
        # Points are some way apart: the mean over a few of them.
        even = np.convolve(np.concatenate([way[-5:], way, way[:5]]), np.full(11, 1 / 11), mode="valid")
        rate = growths(dict(self.symbol), d).max(axis=1)
        return np.asarray(np.sqrt(rate * even * step) + step)

    def _in_space(self, digits: float) -> Array:
        """Directions, evenly."""
        size = 0.5 * float(lengths_of(self.domain).max())
        n = min(math.ceil(4.0 * math.pi * (size / self.width) / _spacing(digits) ** 2), LAYERS.most)
        k = np.arange(n) + 0.5
        z, angle = 1.0 - 2.0 * k / n, k * math.pi * (3.0 - math.sqrt(5.0))
        r = np.sqrt(1.0 - z**2)
        return np.stack([r * np.cos(angle), r * np.sin(angle), z])

    def _carried(self, digits: float) -> Complexes:
        """Waves across a flow: the slow root of P(μb + ikt)."""
        b = np.array([c for alpha, c in _first_order(self.symbol)])
        if not b.any():
            return np.empty((2, 0), dtype=complex)
        n = -b / np.linalg.norm(b)
        across = float(np.ptp(self.walls @ np.array([-n[1], n[0]])))
        step = math.pi / (LAYERS.across * across)
        return _turned(dict(self.symbol), n, [k * step for k in range(1, math.ceil(LAYERS.carried * digits))])

    def rim(self, digits: float) -> Boundary:
        """Points of the boundary, as many as the functions need."""
        n = LAYERS.per_function * sum(f.size for f in self.functions(digits))
        faces, lengths = faces_of(self.domain), lengths_of(self.domain)
        sizes = np.array([face.measure(lengths) for face in faces])
        counts = np.ceil(n * sizes / sizes.sum()).astype(int)
        return join([_even(face, k) for face, k in zip(faces, counts.tolist(), strict=True)], self.dimension)

    @property
    def near(self) -> Array:
        """Points in the layers, that judge."""
        wall = self.domain.boundary(LAYERS.judging, np.random.default_rng(1))
        X = np.concatenate([wall.points - depth * self.width * wall.normals for depth in LAYERS.depths])
        return np.asarray(X[np.asarray(self.domain.contains(X), dtype=bool)])


def layers_of(lowered: LoweredProblem, domain: Domain, outer: Sequence[Face]) -> Layers | None:
    """The layers of one equation for one unknown with constant coefficients, where they are thin.

    None where the outer boundary has dents or straight sides, which no such functions reach.
    """
    equations = [r for r in lowered.residuals if r.region.is_inside]
    if len(equations) != 1 or lowered.unknowns != 1 or lowered.dimension not in (2, 3):
        return None
    symbol = constants_of(equations[0], lowered.dimension)
    if symbol is None or time_of(domain) is not None or not all(f.has_chart for f in outer):
        return None
    axes = np.concatenate([np.eye(lowered.dimension), -np.eye(lowered.dimension)], axis=1)
    rates = growths(symbol, axes)
    fastest = float(rates.max(initial=0.0))
    if fastest * float(lengths_of(domain).max()) < LAYERS.thin:
        return None
    wall = join([_even(face, LAYERS.seen // len(outer) + 8) for face in outer], lowered.dimension)
    layers = Layers(domain, tuple(symbol.items()), wall.points, 1.0 / fastest)
    rates = growths(symbol, wall.normals.T).max(axis=1)
    missed = rates * ((wall.points @ wall.normals.T).max(axis=0) - np.sum(wall.points * wall.normals, axis=1))
    size = float(lengths_of(domain).max())
    bare = missed.max() > LAYERS.missed or any(_is_straight(face, LAYERS.straight * size) for face in outer)
    return None if bare else layers


def _is_straight(face: Face, length: float) -> bool:
    """Whether it is a straight side, longer than that."""
    ends = face.at(np.linspace(0.0, 1.0, 5)[:, None] * np.ones(face.dimension))
    long = float(np.linalg.norm(np.ptp(ends.points, axis=0))) > length
    return long and float(np.abs(ends.normals - ends.normals[0]).max()) < 1e-9


def steady(r: Residual, d: int, X: Array | None = None) -> Array | None:
    """The coefficients of an equation that is linear, if they are constant, at points X if any are given."""
    X = np.random.default_rng(2).random((16, d)) if X is None else X
    a = np.nan_to_num(r.coefficients(X))
    varies = np.any(np.ptp(a, axis=1) > 1e-12 * np.abs(a).max(axis=1))
    return None if r.nonlinear or varies else a[:, 0]


def constants_of(r: Residual, d: int, X: Array | None = None) -> Polynomial | None:
    """P of P(∂)u = f with coefficients that are constant, at points X if there are any given; else None."""
    a = steady(r, d, X) if len({j.unknown for j in r.linear}) == 1 else None
    return None if a is None else {j.alpha: float(c) for j, c in zip(r.linear, a, strict=True) if c}


@dataclass(frozen=True)
class Reduction:
    """u = e^{g·x} v: P(∂)u = 0 of second order in the plane is Δv = κ²v in the plane of z = x + μy."""

    mu: complex
    rate: float
    """κ; below zero of Δv = -κ²v."""
    growth: tuple[float, float]


def reduction_of(r: Residual, X: Array | None = None) -> Reduction | None:
    """Of an equation for one unknown with constant coefficients, that is elliptic; else None."""
    symbol = constants_of(r, 2, X)
    if not symbol or max(map(sum, symbol)) != 2:
        return None
    a, b, d = (symbol.get(alpha, 0.0) for alpha in ((2, 0), (1, 1), (0, 2)))
    if 4.0 * a * d - b * b <= 0.0:
        return None
    isotropic = math.isclose(a, d, rel_tol=1e-9) and abs(b) < 1e-9 * abs(a)
    mu = 1j if isotropic else complex(-b, math.copysign(math.sqrt(4.0 * a * d - b * b), d)) / (2.0 * d)
    first = np.array([symbol.get((1, 0), 0.0), symbol.get((0, 1), 0.0)])
    g = -0.5 * np.linalg.solve(np.array([[a, 0.5 * b], [0.5 * b, d]]), first)
    left = symbol.get((0, 0), 0.0) + 0.5 * float(first @ g)
    square = -2.0 * left / (a + b * mu.real + d * abs(mu) ** 2)
    return Reduction(mu, math.copysign(math.sqrt(abs(square)), square), (float(g[0]), float(g[1])))


def growths(symbol: Polynomial, directions: Array) -> Array:
    """The real roots λ > 0 of P(λn) for each n, a row for each; 0 where there are fewer."""
    order = max(sum(alpha) for alpha in symbol)
    along = np.zeros((order + 1, directions.shape[1]))
    for alpha, c in symbol.items():
        along[sum(alpha)] += c * np.prod(directions ** np.array(alpha)[:, None], axis=0)
    # Eigenvalues of the companion matrices.
    companion = np.zeros((directions.shape[1], order, order))
    companion[:, np.arange(1, order), np.arange(order - 1)] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        companion[:, :, -1] = np.nan_to_num(-along[:-1] / along[-1], posinf=0.0, neginf=0.0).T
    roots = np.linalg.eigvals(companion)
    real = (np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0)
    return np.asarray(np.where(real, roots.real, 0.0))


def _turned(symbol: Polynomial, n: Array, frequencies: Sequence[float]) -> Complexes:
    """w = μn + ikt with P(w) = 0 for each k: of the roots that grow along n, the slowest."""
    t = np.array([-n[1], n[0]])
    order = max(sum(alpha) for alpha in symbol)
    nodes = np.exp(2j * np.pi * np.arange(order + 1) / (order + 1))
    out = []
    for k in frequencies:
        w = n[:, None] * nodes + 1j * k * t[:, None]
        values = sum(c * np.prod(w ** np.array(alpha)[:, None], axis=0) for alpha, c in symbol.items())
        roots = np.roots((np.fft.fft(values) / (order + 1))[::-1])
        growing = roots[roots.real > 0]
        if len(growing):
            out.append(growing[np.argmin(growing.real)] * n + 1j * k * t)
    return np.array(out, dtype=complex).reshape(-1, 2).T


def _first_order(symbol: tuple[tuple[MultiIndex, float], ...]) -> list[tuple[MultiIndex, float]]:
    found = dict(symbol)
    d = len(symbol[0][0])
    return [(e, found.get(e, 0.0)) for e in (tuple(int(i == j) for j in range(d)) for i in range(d))]


def _spacing(digits: float) -> float:
    """So far apart Gauss's functions of the width 1 make up what is smooth but for e^-digits."""
    return LAYERS.closer * math.pi * math.sqrt(2.0 / digits)


def _even(face: Face, n: int) -> Boundary:
    if face.dimension == 1:
        return face.at(((np.arange(n) + 0.5) / n)[:, None])
    return face.at(sobol(n, face.dimension, np.random.default_rng(3)))

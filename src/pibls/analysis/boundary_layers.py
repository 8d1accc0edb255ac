r"""Exponential functions exp(w·x), P(w) = 0, for boundary layers of P(∂)u = f with constant coefficients.

In the direction n of the boundary normal, the roots λ of P(λn) = 0 give layers of width 1/λ. The functions of
all directions span the homogeneous solutions in a domain without re-entrant parts: on a boundary of radius of
curvature R each direction covers an angle of 1/√(λR). With advection, waves across the flow are carried
downstream and decay slowly; they are added. The remainder of the solution is smooth.
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
from pibls.basis.cube_points import sobol
from pibls.geometry import Boundary, Domain, faces_of, lengths_of, time_of
from pibls.geometry.faces.face import Face, join_boundaries
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.runtime.caching import cached_property

Polynomial = dict[MultiIndex, float]


@dataclass(frozen=True)
class BoundaryLayers:
    """The outer boundary of a domain and the symbol of an equation with thin layers."""

    domain: Domain
    symbol: tuple[tuple[MultiIndex, float], ...]
    outer_points: Array
    """Points that sample the outer boundary, (n, d)."""
    width: float
    """Width of the thinnest layer."""
    _cache: dict[float, tuple[ExponentialBasis, ...]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def dimension(self) -> int:
        return int(self.outer_points.shape[1])

    def functions(self, efolds: float) -> tuple[ExponentialBasis, ...]:
        """Return as many functions as leave an error of e^-efolds."""
        if efolds not in self._cache:
            self._cache[efolds] = self._functions(efolds)
        return self._cache[efolds]

    def _functions(self, efolds: float) -> tuple[ExponentialBasis, ...]:
        directions = self._plane_directions(efolds) if self.dimension == 2 else self._space_directions(efolds)
        rates = growth_rates(dict(self.symbol), directions)
        w = [directions[:, row > 0] * row[row > 0] for row in rates.T]
        parts = [np.concatenate(w, axis=1) + 0j]
        if self.dimension == 2:
            parts.append(self._advected(efolds))
        return (self._real_basis(np.concatenate(parts, axis=1)),)

    def _real_basis(self, w: Complexes) -> ExponentialBasis:
        """Return Re and, for complex w, Im of exp(w·x), scaled to the maximum 1 on the boundary."""
        turning = np.abs(w.imag).max(axis=0) > 0
        both = np.concatenate([w, w[:, turning]], axis=1)
        phases = np.repeat([0.0, -0.5 * math.pi], [w.shape[1], int(turning.sum())])
        reach = np.concatenate(
            [
                (self.outer_points @ part).max(axis=0)
                for part in np.array_split(both.real, 8, axis=1)
                if part.size
            ]
        )
        return ExponentialBasis(both.real.copy(), both.imag.copy(), reach, phases)

    def _plane_directions(self, efolds: float) -> Array:
        """Return directions in the plane, denser where the boundary is less curved."""
        density = self._density
        along = np.concatenate([[0.0], np.cumsum(density)])
        n = math.ceil(along[-1] / _spacing(efolds))
        angle = np.interp((np.arange(n) + 0.5) * along[-1] / n, along, np.linspace(0, 2 * np.pi, len(along)))
        return np.stack([np.cos(angle), np.sin(angle)])

    @cached_property
    def _density(self) -> Array:
        """√(λR) dθ, where R dθ is the arc length of the boundary."""
        n = LAYERS.boundary_samples // 3
        angle = 2.0 * np.pi * (np.arange(n) + 0.5) / n
        d = np.stack([np.cos(angle), np.sin(angle)])
        X = self.outer_points[
            np.concatenate([np.argmax(self.outer_points @ p, axis=0) for p in np.array_split(d, 8, 1)])
        ]
        arc_lengths = np.linalg.norm(np.roll(X, -1, axis=0) - X, axis=1)
        step = 2.0 * np.pi / n
        # Moving average, because the sample points are a finite distance apart.
        even = np.convolve(
            np.concatenate([arc_lengths[-5:], arc_lengths, arc_lengths[:5]]),
            np.full(11, 1 / 11),
            mode="valid",
        )
        rate = growth_rates(dict(self.symbol), d).max(axis=1)
        return np.asarray(np.sqrt(rate * even * step) + step)

    def _space_directions(self, efolds: float) -> Array:
        """Return evenly distributed directions in space."""
        size = 0.5 * float(lengths_of(self.domain).max())
        n = min(math.ceil(4.0 * math.pi * (size / self.width) / _spacing(efolds) ** 2), LAYERS.max_functions)
        k = np.arange(n) + 0.5
        z, angle = 1.0 - 2.0 * k / n, k * math.pi * (3.0 - math.sqrt(5.0))
        r = np.sqrt(1.0 - z**2)
        return np.stack([r * np.cos(angle), r * np.sin(angle), z])

    def _advected(self, efolds: float) -> Complexes:
        """Return w of waves across the flow: the slow root of P(μb + ikt)."""
        b = np.array([c for alpha, c in _first_order(self.symbol)])
        if not b.any():
            return np.empty((2, 0), dtype=complex)
        n = -b / np.linalg.norm(b)
        across = float(np.ptp(self.outer_points @ np.array([-n[1], n[0]])))
        step = math.pi / (LAYERS.periods_per_width * across)
        return _oscillating_roots(
            dict(self.symbol), n, [k * step for k in range(1, math.ceil(LAYERS.waves_per_efold * efolds))]
        )

    def boundary_points(self, efolds: float, shift: float = 0.0) -> Boundary:
        """Return points of the boundary, as many as the functions need; ``shift`` has no effect."""
        n = LAYERS.points_per_function * sum(f.size for f in self.functions(efolds))
        faces, lengths = faces_of(self.domain), lengths_of(self.domain)
        sizes = np.array([face.measure(lengths) for face in faces])
        counts = np.ceil(n * sizes / sizes.sum()).astype(int)
        return join_boundaries(
            [_uniform_points(face, k) for face, k in zip(faces, counts.tolist(), strict=True)], self.dimension
        )

    def fit_points(self, efolds: float, domain: Domain) -> Array:
        """Return no points: the functions solve the equation by themselves."""
        return np.empty((0, self.dimension))

    @property
    def validation_points(self) -> Array:
        """Validation points in the layers."""
        boundary = self.domain.boundary(LAYERS.validation_points, np.random.default_rng(1))
        X = np.concatenate(
            [boundary.points - depth * self.width * boundary.normals for depth in LAYERS.validation_depths]
        )
        return np.asarray(X[np.asarray(self.domain.contains(X), dtype=bool)])


def find_boundary_layers(
    compiled: CompiledProblem, domain: Domain, outer: Sequence[Face]
) -> BoundaryLayers | None:
    """Return the boundary layers of a scalar equation with constant coefficients, if they are thin.

    None if the outer boundary has re-entrant parts or straight sides, which these functions do not resolve.
    """
    equations = compiled.equations
    if len(equations) != 1 or compiled.unknowns != 1 or compiled.dimension not in (2, 3):
        return None
    symbol = constant_symbol(equations[0], compiled.dimension)
    if symbol is None or time_of(domain) is not None or not all(f.has_chart for f in outer):
        return None
    axes = np.concatenate([np.eye(compiled.dimension), -np.eye(compiled.dimension)], axis=1)
    rates = growth_rates(symbol, axes)
    fastest = float(rates.max(initial=0.0))
    if fastest * float(lengths_of(domain).max()) < LAYERS.min_decay:
        return None
    boundary = join_boundaries(
        [_uniform_points(face, LAYERS.boundary_samples // len(outer) + 8) for face in outer],
        compiled.dimension,
    )
    layers = BoundaryLayers(domain, tuple(symbol.items()), boundary.points, 1.0 / fastest)
    rates = growth_rates(symbol, boundary.normals.T).max(axis=1)
    missed = rates * (
        (boundary.points @ boundary.normals.T).max(axis=0)
        - np.sum(boundary.points * boundary.normals, axis=1)
    )
    size = float(lengths_of(domain).max())
    is_unsuitable = missed.max() > LAYERS.max_unreached_efolds or any(
        _is_straight(face, LAYERS.min_straight_length * size) for face in outer
    )
    return None if is_unsuitable else layers


def _is_straight(face: Face, length: float) -> bool:
    """Whether a face is straight and longer than ``length``."""
    ends = face.at(np.linspace(0.0, 1.0, 5)[:, None] * np.ones(face.dimension))
    long = float(np.linalg.norm(np.ptp(ends.points, axis=0))) > length
    return long and float(np.abs(ends.normals - ends.normals[0]).max()) < 1e-9


def constant_coefficients(r: Residual, d: int, X: Array | None = None) -> Array | None:
    """Return the coefficients of a linear equation if constant (over points X if given), else None."""
    X = np.random.default_rng(2).random((16, d)) if X is None else X
    a = np.nan_to_num(r.coefficients(X))
    varies = np.any(np.ptp(a, axis=1) > 1e-12 * np.abs(a).max(axis=1))
    return None if r.nonlinear or varies else a[:, 0]


def constant_symbol(r: Residual, d: int, X: Array | None = None) -> Polynomial | None:
    """Return P of P(∂)u = f if its coefficients are constant (over points X if given), else None."""
    a = constant_coefficients(r, d, X) if len({j.unknown for j in r.linear}) == 1 else None
    return None if a is None else {j.alpha: float(c) for j, c in zip(r.linear, a, strict=True) if c}


@dataclass(frozen=True)
class HelmholtzReduction:
    """Reduction of P(∂)u = 0 of second order to Δv = κ²v by u = e^{g·x} v, in the plane of z = x + μy."""

    mu: complex
    rate: float
    """κ; negative for Δv = -κ²v."""
    growth: tuple[float, float]


def helmholtz_reduction(r: Residual, X: Array | None = None) -> HelmholtzReduction | None:
    """Return the reduction of an elliptic scalar equation with constant coefficients, else None."""
    symbol = constant_symbol(r, 2, X)
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
    return HelmholtzReduction(mu, math.copysign(math.sqrt(abs(square)), square), (float(g[0]), float(g[1])))


def growth_rates(symbol: Polynomial, directions: Array) -> Array:
    """Return the real roots λ > 0 of P(λn), one row per direction n, padded with 0."""
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


def _oscillating_roots(symbol: Polynomial, n: Array, frequencies: Sequence[float]) -> Complexes:
    """Return w = μn + ikt with P(w) = 0 for each k: the slowest root that grows along n."""
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


def _spacing(efolds: float) -> float:
    """Return the spacing at which Gaussians of width 1 approximate smooth functions up to e^-efolds."""
    return LAYERS.spacing_factor * math.pi * math.sqrt(2.0 / efolds)


def _uniform_points(face: Face, n: int) -> Boundary:
    if face.dimension == 1:
        return face.at(((np.arange(n) + 0.5) / n)[:, None])
    return face.at(sobol(n, face.dimension, np.random.default_rng(3)))

r"""Random Fourier features of inverted coordinates (Kelvin transform), for solutions around a hole.

a(x) = |x - c|^(2-d) cos(w·ξ), |x - c|^(2-d) sin(w·ξ) with the inversion ξ = ϱ(x - c)/|x - c|².

Around a hole or an inclusion, the singularities of a solution lie inside it: x/|x|², log|x|, K₀(k|x|).
Fourier features of x approximate them badly, but they are smooth functions of ξ. By the factor |x - c|^(2-d),
functions that are harmonic in ξ are harmonic in x. In the plane the logarithm, which is not smooth at ξ = 0,
is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb, prod

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.chain_rule import Composition, indices_up_to, lower_closure
from pibls.basis.random_fourier import RandomFourierBasis, RandomFourierFeatures

_MIN_RADIUS = 0.25  # of the radius: points are not nearer to the centre, except by rounding


@dataclass(frozen=True)
class Mirrored:
    """Fourier features after inversion in the circle or sphere about ``centre``; time is unchanged."""

    waves: RandomFourierFeatures
    centre: tuple[float, ...]
    radius: float

    @property
    def size(self) -> int:
        return self.waves.size + (len(self.centre) == 2)

    def draw(self, box: Array, rng: np.random.Generator) -> MirroredBasis:
        """Return the basis for points in ``box``; inverted coordinates lie in the unit ball."""
        image = box.copy()
        image[: len(self.centre)] = (-1.0, 1.0)
        return MirroredBasis(self.waves.draw(image, rng), np.array(self.centre), np.array([self.radius]))


@dataclass(frozen=True)
class MirroredBasis:
    """Drawn Fourier features of the inverted coordinates, and in the plane log|x - c|."""

    features: RandomFourierBasis
    centre: Array
    radius: Array

    @property
    def size(self) -> int:
        return self.features.size + (len(self.centre) == 2)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        k, d = len(self.centre), X.shape[1]
        away = (X[:, :k] - self.centre) / self.radius
        least = (away**2).sum(axis=1)
        away = away / np.sqrt(np.minimum(least / _MIN_RADIUS**2, 1.0).clip(1e-300))[:, None]
        wanted = lower_closure(alphas)
        # ∂^β ξ with respect to x, in units of the radius, from ∂^β |x|⁻² by Leibniz' rule.
        spatial = lower_closure([alpha[:k] for alpha in wanted])
        inverse = _inverse_square(away, spatial)
        image = {b: _times_coordinates(away, inverse, b) for b in spatial}
        powers = _inverse(away, spatial) if k == 3 else None
        mirrored = np.column_stack([image[(0,) * k], X[:, k:]])
        cosine, sine = self.features.cos_and_sin(mirrored)
        w = self.features.frequencies / self.features.half[:, None]
        unit = float(self.radius[0])
        inner = {
            b: self._phase(image, b, w, k, d) / unit ** sum(b[:k]) for b in wanted if any(b)
        }  # fmt: skip
        most = max(map(sum, wanted), default=0)
        cycle = [cosine, -sine, -cosine, sine]
        even = Composition({n: cycle[n % 4] for n in range(most + 1)}, inner)
        odd = Composition({n: cycle[(n + 3) % 4] for n in range(most + 1)}, inner)
        waves = _Waves(even, odd)
        m, out = cosine.shape[1], []
        for alpha in alphas:
            A = np.empty((len(X), self.size), order="F")
            if powers is None:
                A[:, :m], A[:, m : 2 * m] = waves.derivative(alpha)
            else:
                A[:] = 0.0
                waves.add_product(A[:, : 2 * m], powers, alpha, k, unit)
            if k == 2:
                A[:, 2 * m] = _logarithm(away, image, alpha[:k], alpha[k:]) / unit ** sum(alpha[:k])
            out.append(A)
        return out

    @staticmethod
    def _phase(image: dict[MultiIndex, Array], b: MultiIndex, w: Array, k: int, d: int) -> Array:
        """Return ∂^β of w·(ξ, t), in units of the radius."""
        if any(b[k:]):
            return np.broadcast_to(w[k:].T @ np.array(b[k:]) if sum(b) == 1 else 0.0, (1, w.shape[1]))
        return np.asarray(image[b[:k]] @ w[:k])


@dataclass(frozen=True)
class _Waves:
    """Cosines and sines of the inverted coordinates; each derivative is computed once."""

    even: Composition
    odd: Composition
    known: dict[MultiIndex, tuple[Array, Array]] = field(default_factory=dict)

    def derivative(self, b: MultiIndex) -> tuple[Array, Array]:
        """Return ∂^b of the cosines and of the sines."""
        if b not in self.known:
            self.known[b] = (self.even.derivative(b), self.odd.derivative(b))
        return self.known[b]

    def add_product(
        self, A: Array, powers: dict[MultiIndex, Array], alpha: MultiIndex, k: int, unit: float
    ) -> None:
        """Add ∂^α of |x|⁻¹ times the waves by Leibniz' rule; ``powers`` are derivatives of |x|⁻¹."""
        m = A.shape[1] // 2
        for b in indices_up_to(alpha[:k]):
            rest = tuple(a - c for a, c in zip(alpha[:k], b, strict=True))
            factor = prod(comb(a, c) for a, c in zip(alpha[:k], b, strict=True)) * powers[b]
            both = self.derivative((*rest, *alpha[k:]))
            for part, half in zip((slice(0, m), slice(m, 2 * m)), both, strict=True):
                A[:, part] += (factor / unit ** sum(b))[:, None] * half


def _inverse_square(x: Array, wanted: Sequence[MultiIndex]) -> dict[MultiIndex, Array]:
    """Return ∂^β |x|⁻², from ∂^β (|x|² |x|⁻²) = 0."""
    square = (x**2).sum(axis=1)
    out: dict[MultiIndex, Array] = {}
    for b in wanted:
        if not any(b):
            out[b] = 1.0 / square
            continue
        total = np.zeros(len(x))
        for i, n in enumerate(b):
            if n:
                total += 2.0 * n * x[:, i] * out[_less(b, i)]
            if n > 1:
                total += n * (n - 1) * out[_less(b, i, 2)]
        out[b] = -total / square
    return out


def _times_coordinates(x: Array, s: dict[MultiIndex, Array], b: MultiIndex) -> Array:
    """Return ∂^β (xᵢ s) for every i, (n, d)."""
    out = x * s[b][:, None]
    for i, n in enumerate(b):
        if n:
            out[:, i] += n * s[_less(b, i)]
    return np.asarray(out)


def _inverse(x: Array, wanted: Sequence[MultiIndex]) -> dict[MultiIndex, Array]:
    """Return ∂^β |x|⁻¹, from ∂^β (|x|² ∂ᵢ|x|⁻¹ + xᵢ |x|⁻¹) = 0."""
    square = (x**2).sum(axis=1)
    out: dict[MultiIndex, Array] = {}
    for b in wanted:
        if not any(b):
            out[b] = square**-0.5
            continue
        i = next(j for j, n in enumerate(b) if n)
        rest = _less(b, i)
        total = x[:, i] * out[rest]
        if rest[i]:
            total = total + rest[i] * out[_less(rest, i)]
        for j, n in enumerate(rest):
            if n:
                total = total + 2.0 * n * x[:, j] * out[_less(b, j)]
            if n > 1:
                total = total + n * (n - 1) * out[_less(b, j, 2)]
        out[b] = -total / square
    return out


def _logarithm(x: Array, image: dict[MultiIndex, Array], b: MultiIndex, time: MultiIndex) -> Array:
    """Return ∂^β log|x|, whose gradient is the inversion x/|x|²."""
    if any(time):
        return np.zeros(len(x))
    if not any(b):
        return np.asarray(0.5 * np.log((x**2).sum(axis=1)))
    i = next(j for j, n in enumerate(b) if n)
    return image[_less(b, i)][:, i]


def _less(b: MultiIndex, i: int, by: int = 1) -> MultiIndex:
    return tuple(n - by * (j == i) for j, n in enumerate(b))

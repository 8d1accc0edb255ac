r"""a(x) = |x - c|^(2-d) cos(w·ξ), sin(w·ξ), ξ = ϱ(x - c)/|x - c|²: waves in the mirror of a circle or sphere.

Around a hole or an inclusion a solution has its singularities inside of it: x/|x|², log|x|, K₀(k|x|). No wave
over the whole domain is like that, while in the mirror image ξ, where the outside is the inside, it is
smooth. With the power of |x - c| in front (Kelvin's), what is harmonic in ξ is harmonic in x. In the plane
the logarithm, which is not smooth at ξ = 0, is a function of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.chain import Composition, below, closure
from pibls.basis.waves import WaveBasis, Waves

_NEAREST = 0.25  # of the radius: nearer to the centre nothing is ever asked for but by rounding


@dataclass(frozen=True)
class Mirrored:
    """Waves in the mirror of the circle or sphere about ``centre``; a time, the last coordinate, is kept."""

    waves: Waves
    centre: tuple[float, ...]
    radius: float

    @property
    def size(self) -> int:
        return self.waves.size + (len(self.centre) == 2)

    def draw(self, box: Array, rng: np.random.Generator) -> MirroredBasis:
        """``box`` is that of the points; the mirror image lies in the unit ball."""
        image = box.copy()
        image[: len(self.centre)] = (-1.0, 1.0)
        return MirroredBasis(self.waves.draw(image, rng), np.array(self.centre), np.array([self.radius]))


@dataclass(frozen=True)
class MirroredBasis:
    """Drawn waves of the mirror image; in the plane, log|x - c| besides."""

    waves: WaveBasis
    centre: Array
    radius: Array

    @property
    def size(self) -> int:
        return self.waves.size + (len(self.centre) == 2)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        k, d = len(self.centre), X.shape[1]
        away = (X[:, :k] - self.centre) / self.radius
        least = (away**2).sum(axis=1)
        away = away / np.sqrt(np.minimum(least / _NEAREST**2, 1.0).clip(1e-300))[:, None]
        wanted = closure(alphas)
        # ∂^β of ξ by x, in units of the radius: |x|⁻² and what follows from it by Leibniz' rule.
        spatial = closure([alpha[:k] for alpha in wanted])
        inverse = _inverse_square(away, spatial)
        image = {b: _times_coordinates(away, inverse, b) for b in spatial}
        powers = _inverse(away, spatial) if k == 3 else None
        mirrored = np.column_stack([image[(0,) * k], X[:, k:]])
        cosine, sine = self.waves.tables(mirrored)
        w = self.waves.frequencies / self.waves.half[:, None]
        unit = float(self.radius[0])
        inner = {
            b: self._phase(image, b, w, k, d) / unit ** sum(b[:k]) for b in wanted if any(b)
        }  # fmt: skip
        most = max(map(sum, wanted), default=0)
        cycle = [cosine, -sine, -cosine, sine]
        even = Composition({n: cycle[n % 4] for n in range(most + 1)}, inner)
        odd = Composition({n: cycle[(n + 3) % 4] for n in range(most + 1)}, inner)
        plain: dict[MultiIndex, tuple[Array, Array]] = {}

        def wave(b: MultiIndex) -> tuple[Array, Array]:
            if b not in plain:
                plain[b] = (even.derivative(b), odd.derivative(b))
            return plain[b]

        m, out = cosine.shape[1], []
        for alpha in alphas:
            A = np.empty((len(X), self.size), order="F")
            if powers is None:
                A[:, :m], A[:, m : 2 * m] = wave(alpha)
                if k == 2:
                    A[:, 2 * m] = _logarithm(away, image, alpha[:k], alpha[k:]) / unit ** sum(alpha[:k])
            else:
                A[:] = 0.0
                for b in below(alpha[:k]):
                    rest = tuple(a - c for a, c in zip(alpha[:k], b, strict=True))
                    factor = prod(comb(a, c) for a, c in zip(alpha[:k], b, strict=True)) * powers[b]
                    both = wave((*rest, *alpha[k:]))
                    for part, half in zip((slice(0, m), slice(m, 2 * m)), both, strict=True):
                        A[:, part] += (factor / unit ** sum(b))[:, None] * half
            out.append(A)
        return out

    @staticmethod
    def _phase(image: dict[MultiIndex, Array], b: MultiIndex, w: Array, k: int, d: int) -> Array:
        """∂^β of w·(ξ, t), in units of the radius."""
        if any(b[k:]):
            return np.broadcast_to(w[k:].T @ np.array(b[k:]) if sum(b) == 1 else 0.0, (1, w.shape[1]))
        return np.asarray(image[b[:k]] @ w[:k])


def _inverse_square(x: Array, wanted: Sequence[MultiIndex]) -> dict[MultiIndex, Array]:
    """∂^β |x|⁻², from ∂^β (|x|² |x|⁻²) = 0."""
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
    """∂^β (xᵢ s) for every i, (n, d)."""
    out = x * s[b][:, None]
    for i, n in enumerate(b):
        if n:
            out[:, i] += n * s[_less(b, i)]
    return np.asarray(out)


def _inverse(x: Array, wanted: Sequence[MultiIndex]) -> dict[MultiIndex, Array]:
    """∂^β |x|⁻¹, from ∂^β (|x|² ∂ᵢ|x|⁻¹ + xᵢ |x|⁻¹) = 0."""
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
    """∂^β log|x|: its gradient is the mirror image."""
    if any(time):
        return np.zeros(len(x))
    if not any(b):
        return np.asarray(0.5 * np.log((x**2).sum(axis=1)))
    i = next(j for j, n in enumerate(b) if n)
    return image[_less(b, i)][:, i]


def _less(b: MultiIndex, i: int, by: int = 1) -> MultiIndex:
    return tuple(n - by * (j == i) for j, n in enumerate(b))

r"""Components of singular functions of systems at a corner: Re Σ c ζᵖ ζ̄^q logˡ ζ for one unknown.

ζ = e^{-iψ} (x + μy)/R relative to the corner, with a characteristic root μ of the equations
(`analysis.corners.symbol`); anisotropic equations have several. The power p may be complex. A function is a
sum of such terms. Its components for other unknowns are in other bases, and all components share one
coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb, perm
from typing import Any

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.runtime.caching import cached_property

MIN_DISTANCE = 1e-10  # of the length R: nearer to the corner, derivatives are those at this distance
MIN_ABS_ZETA = 1e-120  # lower bound of abs(ζ) in logarithms
_ON_RAY = (
    64 * 2.2e-16
)  # of the coordinates: tolerance for points on a ray; slit sides are offset by half of it


@dataclass(frozen=True)
class PowersBasis:
    """Components of singular functions as arrays; not random.

    The corner ``point`` (2,); ``frames`` (ψ, R, Re μ, Im μ) of each root (roots, 4); ``terms`` (root, Re p,
    Im p, q, l), (n, 5); ``weights`` c, real and imaginary parts (2, n, M).
    """

    point: Array
    frames: Array
    terms: Array
    weights: Array
    rays: Array = field(default_factory=lambda: np.empty((0, 2)), compare=False, repr=False)
    """Unit vectors (n, 2) along the sides of the corner; points within rounding of a side are moved onto it.

    An offset δ of a point changes the normal derivative of √r by r^(-3/2) δ: 3e-6 for δ = 1e-16 at r = 1e-7.
    """

    needs_dense_boundary = True
    """Whether these functions need more boundary points."""

    @property
    def size(self) -> int:
        return int(self.weights.shape[2])

    def draw(self, box: Array, rng: np.random.Generator) -> PowersBasis:
        return self

    def chosen(self, columns: Any) -> PowersBasis:
        """Return the basis of some of the functions."""
        weights = self.weights[:, :, columns]
        used = np.abs(weights).max(axis=(0, 2), initial=0.0) > 0
        kept = np.ascontiguousarray(weights[:, used])
        return PowersBasis(self.point, self.frames, self.terms[used], kept, self.rays)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        out = [np.zeros((len(X), self.size), order="F") for _ in alphas]
        Y = X - self.point
        off = _ON_RAY * float(np.abs(X).max(initial=0.0))
        for ray in self.rays:
            on = (np.abs(ray[0] * Y[:, 1] - ray[1] * Y[:, 0]) < off) & (Y @ ray > 0)
            Y[on] = (Y[on] @ ray)[:, None] * ray
        for group in self._groups:
            for table, found in zip(out, group.jets(Y, alphas), strict=True):
                table += found
        return out

    @cached_property
    def _groups(self) -> list[_Group]:
        roots = self.terms[:, 0].astype(int)
        out = []
        for root, (psi, length, re, im) in enumerate(self.frames):
            mine = roots == root
            if mine.any():
                turn = complex(np.exp(-1j * psi)) / length
                powers = self.terms[mine, 1] + 1j * self.terms[mine, 2]
                rest = self.terms[mine, 3:].astype(int)
                c = self.weights[0, mine] + 1j * self.weights[1, mine]
                out.append(_Group(turn, complex(re, im), powers, rest[:, 0], rest[:, 1], c))
        return out


@dataclass(frozen=True)
class _Group:
    """The terms of one characteristic root."""

    turn: complex
    mu: complex
    p: Any
    q: Any
    log: Any
    weights: Any

    def jets(self, Y: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        zeta = self.turn * (Y[:, 0] + self.mu * Y[:, 1])
        near = np.abs(zeta) < MIN_DISTANCE
        # Values are taken at the actual distance: a small power of a small number is not small.
        least = np.log(np.maximum(np.abs(zeta[near]), MIN_ABS_ZETA))
        zeta = np.where(near, MIN_DISTANCE, zeta)
        log = np.log(zeta)
        inverse = 1.0 / zeta
        most = max((sum(alpha) for alpha in alphas), default=0)
        unique, which = self._unique
        holomorphic = self._holomorphic(unique, log, inverse, most)
        conjugate = np.conj(zeta)
        others = {q: _powers(conjugate, q) for q in set(self.q.tolist())}
        out = []
        for alpha in alphas:
            total = np.zeros((len(Y), self.weights.shape[1]))
            shares = wirtinger_coefficients(alpha, self.turn, self.turn * self.mu)
            for q, powers in others.items():
                mine = np.flatnonzero(self.q == q)
                raw: Any = 0.0
                for n, share in enumerate(shares):
                    if share and n <= q:
                        part = holomorphic[sum(alpha) - n][:, which[mine]]
                        raw = raw + share * perm(q, n) * powers[q - n][:, None] * part
                c = self.weights[mine]
                total += raw.real @ c.real - raw.imag @ c.imag
            if near.any() and not any(alpha):
                total[near] = self._at(least)
            out.append(total)
        return out

    @cached_property
    def _unique(self) -> tuple[Any, Any]:
        """The distinct (p, log), (3, n), and the index of each term among them."""
        keys = np.stack([self.p.real, self.p.imag, self.log.astype(float)])
        unique, which = np.unique(keys, axis=1, return_inverse=True)
        return unique, np.reshape(which, -1)

    @staticmethod
    def _holomorphic(keys: Any, log: Any, inverse: Any, most: int) -> list[Any]:
        """Return dᵏ/dζᵏ of ζᵖ, or of ζᵖ log ζ = ∂ζᵖ/∂p, for k up to ``most``, (n, powers)."""
        p, logs = keys[0] + 1j * keys[1], keys[2] > 0
        power = np.exp(log[:, None] * p)
        value, slope = np.ones_like(p), np.zeros_like(p)
        out = []
        for k in range(most + 1):
            table = power * value
            if logs.any():
                table[:, logs] = power[:, logs] * (value[logs] * log[:, None] + slope[logs])
            out.append(table)
            power = power * inverse[:, None]
            value, slope = value * (p - k), slope * (p - k) + value
        return out

    def _at(self, log: Any) -> Array:
        """Return the functions at (or very near) the corner, on the bisector of the angle."""
        power = np.exp(log[:, None] * np.maximum((self.p + self.q).real, 0.0))
        raw = power * np.where(self.log > 0, np.maximum(log, np.log(MIN_DISTANCE))[:, None], 1.0)
        return np.asarray((raw @ self.weights).real)


def _powers(z: Any, most: int) -> list[Any]:
    out = [np.ones_like(z)]
    for _ in range(most):
        out.append(out[-1] * z)
    return out


@lru_cache(maxsize=256)
def wirtinger_coefficients(beta: MultiIndex, a: complex, b: complex) -> list[complex]:
    """Return the coefficients cₙ of (a∂ + ā∂̄)^β₁ (b∂ + b̄∂̄)^β₂ = Σₙ cₙ ∂^(|β| - n) ∂̄^n."""
    out = [0j] * (sum(beta) + 1)
    for i in range(beta[0] + 1):
        for j in range(beta[1] + 1):
            first = comb(beta[0], i) * a ** (beta[0] - i) * a.conjugate() ** i
            out[i + j] += first * comb(beta[1], j) * b ** (beta[1] - j) * b.conjugate() ** j
    return out

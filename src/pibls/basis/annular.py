r"""a(x) = f(r) cos nθ, f(r) sin nθ: functions around a point outside of the domain, in a hole.

With z = x + iy seen from the centre, in units of a length R, two families, each closed under derivatives:

- powers, zᵖ z̄^q and log|z| zᵖ z̄^q: for q = 0 harmonic, for q ≤ 1 what plane elasticity, Stokes flow and
  plates are made of, for more what other terms of an equation bring;
- Bessel functions, K_n(κr) e^{inθ} of -Δu + κ²u = 0 and Y_n(κr) e^{inθ} of Δu + κ²u = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.singular import expanded, falling

_SLOWEST = 1e-300


@dataclass(frozen=True)
class Annular:
    """Functions around one point; there is nothing to draw.

    ``orders`` are the n ≤ N, ``depth`` the highest power of z̄ beside them. For a ``rate`` κ above zero the
    functions are K_n(κr), below zero Y_n(|κ|r), instead of powers.
    """

    centre: tuple[float, float]
    length: float
    orders: int
    depth: int = 0
    rate: float = 0.0

    spread = 0
    """They need no points all over the domain, but around the hole."""

    @property
    def size(self) -> int:
        if self.rate:
            return 2 * self.orders + 1
        return 2 * self.orders * (self.depth + 1) + (self.depth + 1) ** 2

    def reduced(self, share: float) -> Annular:
        """Without the highest orders: for a second solution that does not share what is left over."""
        return replace(self, orders=max(int(share * self.orders), 1))

    def draw(self, box: Array, rng: np.random.Generator) -> AnnularBasis:
        return AnnularBasis(
            np.array(self.centre), np.array([self.length, self.orders, self.depth, self.rate], dtype=float)
        )


@dataclass(frozen=True)
class AnnularBasis:
    """The same as arrays: the centre (2,), and length, orders, depth and rate (4,)."""

    centre: Array
    kind: Array

    @property
    def _spec(self) -> Annular:
        length, orders, depth, rate = self.kind.tolist()
        return Annular((0.0, 0.0), length, int(orders), int(depth), rate)

    @property
    def size(self) -> int:
        return self._spec.size

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        spec = self._spec
        z = ((X[:, 0] - self.centre[0]) + 1j * (X[:, 1] - self.centre[1])) / spec.length
        most = max((sum(alpha) for alpha in alphas), default=0)
        family: Any = _Bessel(z, spec, most) if spec.rate else _Powers(z, spec, most)
        out = [np.empty((len(X), self.size), order="F") for _ in alphas]
        for table, alpha in zip(out, alphas, strict=True):
            order = sum(alpha)
            factors = [(n, c) for n, c in enumerate(expanded(*alpha)) if c]
            scale = spec.length**-order
            column = 0
            for term in family.terms:
                total: Any = 0.0
                for n, c in factors:
                    total = total + c * family.derivative(term, order - n, n)
                table[:, column] = scale * total.real
                column += 1
                if not family.is_real(term):
                    # Re(-i f): the sine beside the cosine.
                    total = 0.0
                    for n, c in factors:
                        total = total - 1j * c * family.derivative(term, order - n, n)
                    table[:, column] = scale * total.real
                    column += 1
        return out


class _Powers:
    """∂ᵃ∂̄ᵇ of zᵖ z̄^q log|z|ˡ, with |z| about 1 at the rim of the hole."""

    def __init__(self, z: Any, spec: Annular, most: int) -> None:
        self.log = np.log(np.maximum(np.abs(z), _SLOWEST))
        self.up: dict[int, Any] = {0: np.ones_like(z)}
        for n in range(1, spec.depth + 1):
            self.up[n] = self.up[n - 1] * z
        inverse = 1.0 / z
        for n in range(1, spec.orders + most + 1):
            self.up[-n] = self.up[1 - n] * inverse
        powers = [(-n, j, 0) for j in range(spec.depth + 1) for n in range(1, spec.orders + 1)]
        # log|z| zⁱ z̄ʲ and its conjugate are the same two functions.
        logs = [(i, j, 1) for i in range(spec.depth + 1) for j in range(i + 1)]
        self.terms = powers + logs

    def is_real(self, term: tuple[int, int, int]) -> bool:
        return term[0] == term[1]

    def derivative(self, term: tuple[int, int, int], a: int, b: int) -> Any:
        p, q, log = term
        if not log:
            factor = falling(p, a)[0] * falling(q, b)[0]
            return factor * self.up[p - a] * np.conj(self.up[q - b]) if factor else 0.0
        # log|z| = (log z + log z̄)/2, and ∂ᵃ(zᵖ log z) = (ff log z + ff') z^(p-a).
        (f, df), (g, dg) = falling(p, a), falling(q, b)
        if not (f and g):
            factor = 0.5 * (df * g + f * dg)
            return factor * self.up[p - a] * np.conj(self.up[q - b]) if factor else 0.0
        weight = f * g * self.log + 0.5 * (df * g + f * dg)
        return weight * self.up[p - a] * np.conj(self.up[q - b])


class _Bessel:
    """∂ᵃ∂̄ᵇ of Z_n(κr) e^{inθ}: each derivative is a neighbour in n, times κ/2."""

    def __init__(self, z: Any, spec: Annular, most: int) -> None:
        from scipy import special

        self.rate = abs(spec.rate) * spec.length
        self.decays = spec.rate > 0
        r = self.rate * np.abs(z)
        one = np.where(np.abs(z) > 0, z / np.maximum(np.abs(z), _SLOWEST), 1.0)
        radial = special.kv if self.decays else special.yn
        self.terms = list(range(spec.orders + 1))
        self.value: dict[int, Any] = {}
        turn = np.ones_like(one)
        for n in range(spec.orders + most + 1):
            f = radial(n, r)
            # Z_-n = ±Z_n: K is even in n, Y has the sign of n.
            sign = 1.0 if self.decays or n % 2 == 0 else -1.0
            self.value[n], self.value[-n] = f * turn, sign * f * np.conj(turn)
            turn = turn * one
        self.unit = {n: 1.0 / max(abs(float(radial(n, self.rate))), _SLOWEST) for n in self.terms}

    def is_real(self, n: int) -> bool:
        return n == 0

    def derivative(self, n: int, a: int, b: int) -> Any:
        # ∂(K_n e^{inθ}) = -κ/2 K_{n-1} e^{i(n-1)θ}, ∂̄ = -κ/2 K_{n+1} …; of Y the first has the other sign.
        sign = (-1.0) ** (a + b) if self.decays else (-1.0) ** b
        return self.unit[n] * sign * (0.5 * self.rate) ** (a + b) * self.value[n - a + b]

r"""Functions f(r) cos nθ, f(r) sin nθ about a point in a hole of the domain.

With z = (x + iy)/R relative to the centre, there are two families, each closed under differentiation:

- powers, z⁻ⁿ z̄^q and log|z| zᵖ z̄^q with q ≤ p ≤ depth: harmonic for depth 0, biharmonic for depth 1 (plane
  elasticity, Stokes flow, plates); larger depths for other terms of an equation;
- Bessel functions, K_n(κr) e^{inθ} for -Δu + κ²u = 0 and Y_n(κr) e^{inθ} for Δu + κ²u = 0.

If the equation has first derivatives, they are multiplied by e^{g·x}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.singular.corner_functions import falling_factorial, times_exponential
from pibls.basis.singular.powers import wirtinger_coefficients
from pibls.runtime.caching import cached_property

_TINY = 1e-300


@dataclass(frozen=True)
class Annular:
    """Functions about one point, without random weights.

    ``orders`` is the highest n, ``depth`` the highest power of z̄, and of z with the logarithm. For a
    ``rate`` κ > 0 the functions are K_n(κr), for κ < 0 they are Y_n(|κ|r), and for κ = 0 powers. All are
    multiplied by e^{g·x}, x relative to the centre, with g = ``growth``.
    """

    centre: tuple[float, float]
    length: float
    orders: int
    depth: int = 0
    rate: float = 0.0
    growth: tuple[float, float] = (0.0, 0.0)

    interior_size = 0
    """They need points around the hole, not in the whole domain."""

    @property
    def size(self) -> int:
        if self.rate:
            return 2 * self.orders + 1
        return 2 * self.orders * (self.depth + 1) + (self.depth + 1) ** 2

    def draw(self, box: Array, rng: np.random.Generator) -> AnnularBasis:
        form = (self.length, self.orders, self.depth, self.rate, *(self.growth if any(self.growth) else ()))
        return AnnularBasis(np.array(self.centre), np.array(form, dtype=float))


@dataclass(frozen=True)
class AnnularBasis:
    """Annular functions as arrays: the centre (2,), and (length, orders, depth, rate), then g if nonzero."""

    centre: Array
    form: Array

    @cached_property
    def _spec(self) -> Annular:
        length, orders, depth, rate = self.form[:4].tolist()
        return Annular((0.0, 0.0), length, int(orders), int(depth), rate)

    @property
    def size(self) -> int:
        return self._spec.size

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        return times_exponential(self._without_growth, X, alphas, self.form[4:], self.centre)

    def _without_growth(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        spec = self._spec
        z = ((X[:, 0] - self.centre[0]) + 1j * (X[:, 1] - self.centre[1])) / spec.length
        most = max((sum(alpha) for alpha in alphas), default=0)
        family: Any = _Bessel(z, spec, most) if spec.rate else _Powers(z, spec, most)
        out = []
        for alpha in alphas:
            table = np.empty((len(X), self.size), order="F")
            factors = [(n, c) for n, c in enumerate(wirtinger_coefficients(alpha, 1.0 + 0j, 1j)) if c]
            scale, order, column = spec.length ** -sum(alpha), sum(alpha), 0
            for group in family.groups:
                total: Any = 0.0
                for n, c in factors:
                    part = family.derivative(group, order - n, n)
                    total = total if part is None else total + (scale * c) * part
                if np.isscalar(total):
                    total = np.zeros((len(X), family.width(group)), dtype=complex)
                # Re f are the cosines, Im f the sines.
                width = total.shape[1]
                table[:, column : column + width] = total.real
                column += width
                if not family.is_real(group):
                    table[:, column : column + width] = total.imag
                    column += width
            out.append(table)
        return out


class _Powers:
    """∂ᵃ∂̄ᵇ of zᵖ z̄^q log|z|ˡ, with |z| about 1 at the boundary of the hole.

    A group is (q, -1), all z⁻ⁿ z̄^q of one q, or (q, p), the function log|z| zᵖ z̄^q with p ≥ q (its conjugate
    has the same real and imaginary parts up to sign).
    """

    def __init__(self, z: Any, spec: Annular, most: int) -> None:
        self.orders = spec.orders
        self.log = np.log(np.maximum(np.abs(z), _TINY))
        self.down = np.empty((len(z), spec.orders + most + 1), dtype=complex, order="F")  # z^-n
        self.down[:, 0] = 1.0
        inverse = 1.0 / z
        for n in range(1, self.down.shape[1]):
            self.down[:, n] = self.down[:, n - 1] * inverse
        self.up = [z**n for n in range(spec.depth + 1)]
        logs = [(q, p) for p in range(spec.depth + 1) for q in range(p + 1)]
        self.groups = [(q, -1) for q in range(spec.depth + 1)] + logs

    def is_real(self, group: tuple[int, int]) -> bool:
        return group[0] == group[1]

    def width(self, group: tuple[int, int]) -> int:
        return self.orders if group[1] < 0 else 1

    def derivative(self, group: tuple[int, int], a: int, b: int) -> Any:
        """Return the derivative (rows, width), or None if it is zero."""
        q, p = group
        g, dg = falling_factorial(q, b)
        if p < 0:
            if not g:
                return None
            part = self.down[:, 1 + a : 1 + a + self.orders] * (g * _all_falling(self.orders, a))
            return part if q == b else part * np.conj(self._power(q - b))[:, None]
        # log|z| = (log z + log z̄)/2, and ∂ᵃ(zᵖ log z) = (f log z + f') z^(p-a).
        f1, df = falling_factorial(p, a)
        weight = 0.5 * (df * g + f1 * dg) + f1 * g * self.log
        return (weight * self._power(p - a) * np.conj(self._power(q - b)))[:, None]

    def _power(self, n: int) -> Any:
        return self.up[n] if n >= 0 else self.down[:, -n]


@lru_cache(maxsize=256)
def _all_falling(orders: int, a: int) -> Array:
    """Return the factors f of dᵃ/dzᵃ z⁻ⁿ = f z^(-n-a) for n = 1 … orders."""
    return np.array([falling_factorial(-n, a)[0] for n in range(1, orders + 1)])


class _Bessel:
    """∂ᵃ∂̄ᵇ of Z_n(κr) e^{inθ}: derivatives change n by one, with a factor κ/2. Groups: n = 0, n > 0."""

    def __init__(self, z: Any, spec: Annular, most: int) -> None:
        from scipy import special

        self.rate, self.orders, self.most = abs(spec.rate) * spec.length, spec.orders, most
        self.decays = spec.rate > 0
        size = np.abs(z)
        r = self.rate * size
        one = np.where(size > 0, z / np.maximum(size, _TINY), 1.0)
        radial = special.kv if self.decays else special.yn
        # Z_-n = ±Z_n: K is even in n, Y has the sign of n.
        self.value = np.empty((len(z), spec.orders + 2 * most + 1), dtype=complex, order="F")
        turn = np.ones_like(one)
        for n in range(spec.orders + most + 1):
            f = radial(n, r)
            self.value[:, most + n] = f * turn
            if 0 < n <= most:
                sign = 1.0 if self.decays or n % 2 == 0 else -1.0
                self.value[:, most - n] = sign * f * np.conj(turn)
            turn = turn * one
        sizes = np.abs(radial(np.arange(spec.orders + 1), self.rate))
        self.unit = 1.0 / np.maximum(sizes, _TINY)
        self.groups = [0, 1]

    def is_real(self, group: int) -> bool:
        return group == 0

    def width(self, group: int) -> int:
        return self.orders if group else 1

    def derivative(self, group: int, a: int, b: int) -> Any:
        # ∂(K_n e^{inθ}) = -κ/2 K_{n-1} e^{i(n-1)θ}, ∂̄ = -κ/2 K_{n+1} …; of Y the first has the other sign.
        sign = (-1.0) ** (a + b) if self.decays else (-1.0) ** b
        n = np.arange(1, self.orders + 1) if group else np.array([0])
        first = self.most + int(n[0]) - a + b
        return self.value[:, first : first + len(n)] * (sign * (0.5 * self.rate) ** (a + b) * self.unit[n])

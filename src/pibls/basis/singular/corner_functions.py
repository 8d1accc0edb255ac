r"""Singular functions Re(e^{-iδ} ζᵖ ζ̄^q logˡ ζ) at a corner, for one unknown.

ζ = (z - c) e^{-iψ}/R with z = x + μy: polar coordinates about a corner c, rotated so that the branch cut lies
outside the domain. If the ray of the cut meets the domain again (a hole), the cut ends at a point b outside
the domain: ζ = κ (z - c)/(z - b). For μ = i and q = 0 the functions are harmonic for any power p; with a + bμ
+ dμ² = 0 they solve a u_xx + b u_xy + d u_yy = 0. All derivatives follow from one formula in 1/(z - c) and
1/(z - b).

If the equation has constant coefficients, u = e^{g·x} v transforms it into Δv ∓ κ²v = 0 in the plane of z.
With a rate κ and a growth g the functions solve the whole equation; ζᵖ is then the leading term of a Bessel
function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex, MultiIndex
from pibls.basis.singular.bessel import RegularBesselFactors
from pibls.basis.singular.powers import MIN_ABS_ZETA, MIN_DISTANCE, wirtinger_coefficients
from pibls.runtime.caching import cached_property

_OFFSET = 1e-6  # of the length R: distance of `Tip.inside` from the corner


@dataclass(frozen=True)
class Tip:
    """A corner: its point, the direction of its bisector, a length, and the end of the branch cut."""

    point: tuple[float, ...]
    middle: float
    length: float
    end: tuple[float, float] | None = None
    mu: complex = 1j
    """z = x + μy; ``middle`` and ``length`` refer to z."""
    rate: float = 0.0
    """κ > 0 for Δv = κ²v, κ < 0 for Δv = -κ²v …"""
    growth: tuple[float, float] = (0.0, 0.0)
    """… with u = e^{g·x} v."""

    @property
    def frame(self) -> Array:
        """Direction, length, μ and, if nonzero, κ and g as one array."""
        plain = (self.middle, self.length, self.mu.real, self.mu.imag)
        return np.array(
            plain if not self.rate and not any(self.growth) else (*plain, self.rate, *self.growth)
        )

    @property
    def inside(self) -> Array:
        """A point (2,) of the domain next to the corner."""
        z = _OFFSET * self.length * np.exp(1j * self.middle)
        y = z.imag / self.mu.imag
        return np.asarray(np.array(self.point) + np.array([z.real - self.mu.real * y, y]))


@dataclass(frozen=True)
class Singular:
    """Singular functions at one corner, each given by (p, q, l, δ); not random."""

    tip: Tip
    terms: tuple[tuple[float, int, int, float], ...]

    needs_dense_boundary = True
    """Whether these functions need more boundary points."""

    @property
    def size(self) -> int:
        return len(self.terms)

    def reduced(self, share: float) -> Singular:
        """Return the functions without the highest powers, for a companion solution."""
        highest = max(p + q for p, q, _, _ in self.terms)
        return Singular(self.tip, tuple(t for t in self.terms if t[0] + t[1] <= max(share * highest, 4.0)))

    def draw(self, box: Array, rng: np.random.Generator) -> SingularBasis:
        return SingularBasis(
            np.array(self.tip.point),
            self.tip.frame,
            np.array([] if self.tip.end is None else self.tip.end),
            np.array(self.terms).reshape(-1, 4),
        )


@dataclass(frozen=True)
class SingularBasis:
    """Singular functions as arrays.

    The corner ``point`` (2,); ``frame``: direction, length, then μ unless it is i, then κ and g if nonzero
    (2, 4 or 7 entries); the end of the branch cut (2,) or (0,); ``terms`` (p, q, l, δ), (M, 4).
    """

    point: Array
    frame: Array
    end: Array
    terms: Array

    @property
    def size(self) -> int:
        return len(self.terms)

    def chosen(self, columns: Any) -> SingularBasis:
        """Return the basis of some of the functions."""
        return SingularBasis(self.point, self.frame, self.end, self.terms[columns])

    @cached_property
    def _powers(self) -> Any:
        """The distinct (p, l), and the index of each term among them."""
        return np.unique(self.terms[:, [0, 2]], axis=0, return_inverse=True)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        if X.shape[1] == 1:  # one dimension: embed the line as the x-axis
            plane = replace(self, point=np.append(self.point, 0.0))
            return plane.jets(np.column_stack([X, np.zeros(len(X))]), [(n, 0) for (n,) in alphas])
        return times_exponential(self._without_growth, X, alphas, self.frame[5:], self.point)

    def _without_growth(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        most = max((sum(alpha) for alpha in alphas), default=0)
        at = self._coordinates(X, most)
        if len(self.frame) > 4 and self.frame[4]:
            return self._bessel(alphas, at)
        pairs, which = self._powers
        which = np.reshape(which, -1)
        holomorphic = [at.derivatives(p, bool(log_too), most) for p, log_too in pairs]
        conjugate = {q: at.derivatives(float(q), False, most) for q in set(self.terms[:, 1].astype(int))}
        out = [np.empty((len(X), self.size), order="F") for _ in alphas]
        wanted = [wirtinger_coefficients(alpha, 1.0 + 0j, self._mu) for alpha in alphas]
        for column, (_, q, _, delta) in enumerate(self.terms):
            f, g = holomorphic[which[column]], conjugate[int(q)]
            turn = np.exp(-1j * delta)
            # Derivatives of ζ̄^q above q vanish unless the branch cut ends at a point.
            most_conjugate = most if at.has_end else int(q)
            for table, c in zip(out, wanted, strict=True):
                value = turn * _leibniz(c, f, g, most_conjugate) if q else turn * c[0] * f[len(c) - 1]
                table[:, column] = value.real
        return out

    @property
    def _mu(self) -> complex:
        """μ of z = x + μy."""
        return complex(*self.frame[2:4]) if len(self.frame) > 2 else 1j

    def _coordinates(self, X: Array, most: int) -> _CornerCoordinates:
        """Return z - c, log ζ and the powers up to ``most`` at the points; those at the corner are moved."""
        middle, length = self.frame[:2]
        mu = self._mu
        away = (X[:, 0] - self.point[0]) + mu * (X[:, 1] - self.point[1])
        near = np.abs(away) < MIN_DISTANCE * length
        least = np.maximum(np.abs(away[near]) / length, MIN_ABS_ZETA)
        away[near] = MIN_DISTANCE * length * np.exp(1j * middle)
        A = 1.0 / away
        if len(self.end):
            gap = self.point - self.end
            tail = complex(gap[0] + mu * gap[1])
            B = 1.0 / (away + tail)
            zeta = away * B * (abs(tail) / length) * np.exp(1j * (np.angle(tail) - middle))
        else:
            B = np.zeros_like(A)
            zeta = away * (np.exp(-1j * middle) / length)
        log = np.log(zeta)
        own = log.copy()  # values at the actual distance: small powers of it are not small
        own[near] = np.log(least)
        ups, downs = [np.ones_like(A)], [np.ones_like(A)]
        for _ in range(most):
            ups.append(ups[-1] * A)
            downs.append(downs[-1] * B)
        return _CornerCoordinates(away, log, own, ups, downs, bool(len(self.end)))

    def _bessel(self, alphas: Sequence[MultiIndex], at: _CornerCoordinates) -> list[Array]:
        """Return derivatives of Re(e^{-iδ} zᵖ E_p(κr)), or of its derivative with respect to p if l = 1."""
        away, ups, rate = at.away, at.ups, float(self.frame[4])
        tau, square = math.copysign(1.0, rate), 0.25 * rate * rate
        most = len(ups) - 1
        powers, logs = self.terms[:, 0], self.terms[:, 2] > 0
        functions = RegularBesselFactors(
            powers.tolist(), powers[logs].tolist(), square * np.abs(away) ** 2, tau, most
        )
        downs = [away**k for k in range(most + 1)]
        out = [np.empty((len(away), self.size), order="F") for _ in alphas]
        wanted = [wirtinger_coefficients(alpha, 1.0 + 0j, self._mu) for alpha in alphas]
        for column, (p, _, with_log, delta) in enumerate(self.terms.tolist()):
            turn = complex(np.exp(-1j * delta))
            values, power = turn * np.exp(p * at.own_log), turn * np.exp(p * at.log)
            for table, c in zip(out, wanted, strict=True):
                order, total = len(c) - 1, 0.0
                for n, factor in enumerate(c):
                    if not factor:
                        continue
                    s = order - 2 * n
                    value, slope = functions.factor(p, s)
                    log = at.log if order else at.own_log
                    part: Any = log * value + slope if with_log else value
                    part = part * (ups[s] if s >= 0 else downs[-s])
                    total = total + (factor * (tau * square) ** n) * part
                table[:, column] = ((power if order else values) * total).real
        return out


Jets = Callable[[Array, Sequence[MultiIndex]], list[Array]]


def times_exponential(
    jets: Jets, X: Array, alphas: Sequence[MultiIndex], growth: Array, point: Array
) -> list[Array]:
    """Return derivatives of e^{g·(x - c)} f from those of f, by Leibniz' rule."""
    if not np.any(growth):
        return jets(X, alphas)
    shares = [
        {
            (i, j): comb(a, i) * comb(b, j) * growth[0] ** (a - i) * growth[1] ** (b - j)
            for i in range(a + 1)
            for j in range(b + 1)
        }
        for a, b in alphas
    ]
    parts = list(dict.fromkeys(beta for share in shares for beta in share))
    found = dict(zip(parts, jets(X, parts), strict=True))
    size = np.exp((X - point) @ growth)[:, None]
    return [
        np.asfortranarray(size * sum(c * found[beta] for beta, c in share.items() if c)) for share in shares
    ]


@dataclass(frozen=True)
class _CornerCoordinates:
    """Complex coordinates about a corner, at points."""

    away: Complex
    """z - c."""
    log: Complex
    """log ζ, for derivatives."""
    own_log: Complex
    """log ζ at the actual distance, for values."""
    ups: list[Complex]
    """Powers of 1/(z - c)."""
    downs: list[Complex]
    """Powers of 1/(z - b)."""
    has_end: bool
    """Whether the branch cut ends at a point b."""

    def derivatives(self, p: float, with_log: bool, most: int) -> list[Any]:
        """Return dᵏ/dzᵏ of ζᵖ, or of ζᵖ log ζ = ∂ζᵖ/∂p, for k up to ``most``."""
        first = np.exp(p * self.own_log)
        out: list[Any] = [first * self.own_log if with_log else first]
        power = np.exp(p * self.log) if most else first
        for k in range(1, most + 1):
            value: Any = 0.0
            slope: Any = 0.0
            for i in range(0 if self.has_end else k, k + 1):
                up, up_slope = falling_factorial(p, i)
                down, down_slope = falling_factorial(-p, k - i)
                factor = comb(k, i) * (self.ups[i] * self.downs[k - i] if self.has_end else self.ups[i])
                value = value + up * down * factor
                if with_log:
                    slope = slope + (up_slope * down - up * down_slope) * factor
            out.append(power * (value if not with_log else self.log * value + slope))
        return out


def _leibniz(c: Sequence[complex], f: list[Any], g: list[Any], most: int) -> Any:
    """Return Σ_n c_n ∂^(m-n) f conj(∂^n g) for n up to ``most``, with m = len(c) - 1."""
    total: Any = 0.0
    for n, factor in enumerate(c[: most + 1]):
        if factor:
            total = total + factor * f[len(c) - 1 - n] * np.conj(g[n])
    return total


def falling_factorial(p: float, k: int) -> tuple[float, float]:
    """Return p (p - 1) … (p - k + 1) and its derivative with respect to p."""
    value, slope = 1.0, 0.0
    for i in range(k):
        value, slope = value * (p - i), slope * (p - i) + value
    return value, slope

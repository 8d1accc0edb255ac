r"""Activation functions σ with exact derivatives of any order.

An activation is an object with ``name`` and ``derivatives(s, orders)``, which returns σ⁽ᵏ⁾(s) for each k in
``orders``. Several orders are passed at once so that common terms (an exponential, a sine) are computed once.
The formulas keep the *relative* accuracy for large abs(s): 1 - tanh² is never formed by subtraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.polynomial import Polynomial, hermite, legendre

from pibls.arrays import Array
from pibls.basis.sincos import cos_and_sin
from pibls.errors import ProblemError


@runtime_checkable
class Activation(Protocol):
    """An activation function σ with its derivatives; user classes need these two members."""

    @property
    def name(self) -> str:
        """The name on the command line and in files."""

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        """σ⁽ᵏ⁾(s) for each k in ``orders``, each of the shape of ``s``."""


_SMALL = 0.05  # abs(s) below which tanh is evaluated directly


def _horner(coefficients: tuple[float, ...], t: Array) -> Array:
    value = np.full_like(t, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value *= t
        if c:
            value += c
    return value


@cache
def _tanh_factor(order: int) -> tuple[float, ...]:
    """Q with tanh⁽ᵏ⁾ = sech²·Q(tanh), k ≥ 1: Q₁ = 1, Q_{k+1} = (1-t²) Q_k' - 2t Q_k."""
    q, t = Polynomial([1.0]), Polynomial([0.0, 1.0])
    for _ in range(order - 1):
        q = (1.0 - t**2) * q.deriv() - 2.0 * t * q
    return tuple(q.coef.tolist())


@cache
def _hermite(order: int) -> tuple[float, ...]:
    """P with (e^{-s²})⁽ᵏ⁾ = P(s) e^{-s²}: (-1)ᵏ times Hermite's polynomial."""
    return tuple(((-1.0) ** order * hermite.herm2poly([0.0] * order + [1.0])).tolist())


class Tanh:
    """σ(s) = tanh s, the activation of the paper."""

    name = "tanh"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        if not any(orders):
            return [np.tanh(s)] * len(orders)
        # With e = exp(-2|s|), 4e/(1+e)² keeps the relative accuracy that 1 - t² loses for large abs(s), and
        # (1-e)/(1+e) saves a second transcendental function except near zero.
        size = np.abs(s)
        e = np.exp(-2.0 * size)
        inverse = 1.0 / (1.0 + e)
        t = np.copysign((1.0 - e) * inverse, s)
        small = size < _SMALL
        t[small] = np.tanh(s[small])
        sech2 = e
        sech2 *= inverse
        sech2 *= inverse
        sech2 *= 4.0
        out = []
        for k in orders:
            if k < 2:
                out.append(sech2 if k else t)
            else:
                value = _horner(_tanh_factor(k), t)
                value *= sech2
                out.append(value)
        return out


@dataclass(frozen=True)
class Sine:
    """σ(s) = sin(s + shift·π/2): the default of pibls, spectrally accurate for smooth solutions."""

    name: str = "sin"
    shift: int = 0

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        phases = {(k + self.shift) % 4 for k in orders}
        cosine, sine = cos_and_sin(s)
        table = {0: sine, 1: cosine}
        if 2 in phases:
            table[2] = -sine
        if 3 in phases:
            table[3] = -cosine
        return [table[(k + self.shift) % 4] for k in orders]


class Gaussian:
    """σ(s) = exp(-s²); σ⁽ᵏ⁾ = (-1)ᵏ Hₖ(s) exp(-s²) with the Hermite polynomials Hₖ."""

    name = "gaussian"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        e = np.exp(-np.square(s))
        return [e if k == 0 else _horner(_hermite(k), s) * e for k in orders]


class Sigmoid:
    """σ(s) = 1/(1 + e⁻ˢ); σ⁽ᵏ⁾(s) = 2⁻ᵏ⁻¹ tanh⁽ᵏ⁾(s/2)."""

    name = "sigmoid"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        higher = [k for k in orders if k > 0]
        table = dict(zip(higher, Tanh().derivatives(0.5 * s, higher), strict=True)) if higher else {}
        out = []
        for k in orders:
            if k == 0:
                e = np.exp(-np.abs(s))
                out.append(np.where(s >= 0, 1.0, e) / (1.0 + e))
            else:
                out.append(0.5 ** (k + 1) * table[k])
        return out


class Softplus:
    """σ(s) = log(1 + eˢ); its derivative is the sigmoid."""

    name = "softplus"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        higher = [k - 1 for k in orders if k > 0]
        table = dict(zip(higher, Sigmoid().derivatives(s, higher), strict=True)) if higher else {}
        return [np.logaddexp(0.0, s) if k == 0 else table[k - 1] for k in orders]


class Swish:
    """σ(s) = s/(1 + e⁻ˢ); σ⁽ᵏ⁾ = s g⁽ᵏ⁾ + k g⁽ᵏ⁻¹⁾ with the sigmoid g (Leibniz)."""

    name = "swish"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        needed = sorted({j for k in orders for j in (k, k - 1) if j >= 0})
        g = dict(zip(needed, Sigmoid().derivatives(s, needed), strict=True))
        return [s * g[k] + (k * g[k - 1] if k else 0.0) for k in orders]


class Arctan:
    """σ(s) = arctan s; σ⁽ᵏ⁾ = (-1)ᵏ⁻¹ (k-1)! sin(kθ) (1+s²)^{-k/2} with θ = arccot s."""

    name = "arctan"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        theta = np.arctan2(1.0, np.abs(s))
        q = 1.0 / np.sqrt(1.0 + np.square(s))
        out = []
        for k in orders:
            if k == 0:
                out.append(np.arctan(s))
                continue
            value = (-1.0) ** (k - 1) * factorial(k - 1) * np.sin(k * theta) * q**k
            # σ' is even, so σ⁽ᵏ⁾ is odd for even k; θ from |s| avoids sin near kπ.
            out.append(value * np.sign(s) if k % 2 == 0 else value)
        return out


class InverseMultiquadric:
    r"""σ(s) = (1+s²)^{-1/2}; σ⁽ᵏ⁾ = (-1)ᵏ k! Pₖ(s q) qᵏ⁺¹, q = (1+s²)^{-1/2}, Legendre Pₖ."""

    name = "multiquadric"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        q = 1.0 / np.sqrt(1.0 + np.square(s))
        return [(-1.0) ** k * factorial(k) * _horner(_legendre(k), s * q) * q ** (k + 1) for k in orders]


@cache
def _legendre(order: int) -> tuple[float, ...]:
    """Coefficients of the Legendre polynomial, lowest power first."""
    return tuple(legendre.leg2poly([0.0] * order + [1.0]).tolist())


ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        Tanh(),
        Sine(),
        Sine("cos", shift=1),
        Gaussian(),
        Sigmoid(),
        Softplus(),
        Swish(),
        Arctan(),
        InverseMultiquadric(),
    )
}


def activation(which: str | Activation, argument: str = "activation") -> Activation:
    """Return the activation of that name, or the object itself.

    >>> activation("tanh").name
    'tanh'
    """
    if isinstance(which, str):
        if which in ACTIVATIONS:
            return ACTIVATIONS[which]
        raise ProblemError(
            argument,
            expected=f"one of {', '.join(map(repr, ACTIVATIONS))}, or an object with derivatives(s, orders)",
            got=repr(which),
            remedy="Choose one of these names.",
        )
    if isinstance(which, Activation) and not isinstance(which, type):
        return which
    raise ProblemError(
        argument,
        expected="the name of an activation or an object with name and derivatives(s, orders)",
        got=repr(which),
        remedy=f"Choose one of {', '.join(ACTIVATIONS)}.",
    )

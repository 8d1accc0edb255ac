"""Textbook problems: transient heat transfer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from validation.references.series import find_root, summed
from validation.references.torsion import cooled_rod
from validation.statements.statement import stated
from validation.statements.symbols import HALF, SQUARE, laplacian, pi, t, u_of, x, y
from validation.statements.types import Array, References

_steel = sp.Rational(12, 10**6)


_rate = _steel * pi**2 * 100


@stated(
    "evolution",
    "heat transfer",
    "Haberman style",
    tags="time, smooth, offset, units",
    exact={"u": sp.Rational(29315, 100) + 80 * sp.exp(-_rate * t) * sp.sin(10 * pi * x)},
)
def steel_rod(p: Any) -> Any:
    """Ten centimetres of steel cooling for a minute, kelvin and metres."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 0.1).during(t, 0, 60),
        [sp.Eq(u.diff(t), _steel * u.diff(x, 2))],
        [p.Dirichlet(u, 293.15), p.Initial(u, 293.15 + 80 * sp.sin(10 * pi * x))],
    )


def _cooled_slow() -> References:
    """Modes alone, many of them."""
    n = 2.0 * np.arange(2000) + 1

    def term(k: Any, a: Any, b: Any) -> Any:
        return 4 / (np.pi * k) * np.sin(k * np.pi * a) * np.exp(-((k * np.pi) ** 2) * b)

    return {"u": lambda a, b: summed(term, n, a, np.maximum(b, 1e-5))}


@stated(
    "evolution",
    "heat transfer",
    "Carslaw-Jaeger style",
    tags="time, jump, incompatible",
    numeric=lambda: {"u": cooled_rod},
    second=_cooled_slow,
    accuracy=1e-13,
    tol=1e-3,
    patch=0.01,
)
def quenched_rod(p: Any) -> Any:
    """A hot rod whose ends are cold at once."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.2),
        [sp.Eq(u.diff(t), u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, 1)],
    )


def _parabola(terms: int) -> References:
    n = 2.0 * np.arange(terms) + 1

    def term(k: Any, a: Any, b: Any) -> Any:
        return 8 / (np.pi * k) ** 3 * np.sin(k * np.pi * a) * np.exp(-((k * np.pi) ** 2) * b)

    return {"u": lambda a, b: summed(term, n, a, b)}


def _parabola_images() -> References:
    """u = x(1-x) - 2*int_0^t theta ds, since u_xx = -2*theta with theta the quenched rod."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    edges = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 36)])
    s = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in pairwise(edges)])
    w = np.concatenate([(b - a) / 2 * weights for a, b in pairwise(edges)])

    def evaluate(xs: Array, ts: Array) -> Array:
        a, b = (np.ravel(c)[:, None] for c in np.broadcast_arrays(xs, ts))
        loss = b[:, 0] * (cooled_rod(a, b * s[None, :]) @ w)
        return np.reshape(a[:, 0] * (1 - a[:, 0]) - 2 * loss, np.shape(xs))

    return {"u": evaluate}


@stated(
    "evolution",
    "heat transfer",
    "Strauss style",
    tags="time, incompatible",
    numeric=lambda: _parabola(4000),
    second=_parabola_images,
    accuracy=1e-9,
    tol=1e-6,
    patch=0.01,
)
def parabola_start(p: Any) -> Any:
    """Values fit at the corners, their rates do not."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.3),
        [sp.Eq(u.diff(t), u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, x * (1 - x))],
    )


_root = find_root(lambda s: s * mpmath.tan(s) - 1, 0.86)


_convecting = sp.exp(-(_root**2) * t) * sp.cos(_root * x)


@stated("evolution", "heat transfer", "Oezisik style", tags="time, smooth, robin", exact={"u": _convecting})
def convecting_slab(p: Any) -> Any:
    """Insulated on the left, losing heat on the right."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 2),
        [sp.Eq(u.diff(t), u.diff(x, 2))],
        [
            p.Neumann(u, 0, on=sp.Eq(x, 0)),
            p.Robin(u, 0, alpha=1, beta=1, on=sp.Eq(x, 1)),
            p.Initial(u, sp.cos(_root * x)),
        ],
    )


def _two_layers() -> tuple[sp.Float, sp.Expr]:
    """The slowest mode of a rod with conductivities 1 and 10 on its halves."""
    a = find_root(
        lambda s: s * mpmath.cot(s / 2) + mpmath.sqrt(10) * s * mpmath.cot(s / mpmath.sqrt(40)), 5.0
    )
    b = a / sp.sqrt(10)
    return a, sp.Piecewise(
        (sp.sin(a * x) / sp.sin(a / 2), x < HALF), (sp.sin(b * (1 - x)) / sp.sin(b / 2), True)
    )


_layer_rate, _layer_shape = _two_layers()


@stated(
    "evolution",
    "heat transfer",
    "Oezisik style",
    tags="time, jump, flux",
    interfaces={"x": (0.5,)},
    exact={"u": sp.exp(-(_layer_rate**2) * t) * _layer_shape},
)
def layered_rod(p: Any) -> Any:
    """Two materials cooling together."""
    u = u_of(x, t)
    k = sp.Piecewise((1, x < HALF), (10, True))
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.1),
        [sp.Eq(u.diff(t), sp.Derivative(k * u.diff(x), x))],
        [p.Dirichlet(u, 0), p.Initial(u, _layer_shape)],
    )


_warm = sp.exp(-5 * pi**2 * t) * sp.sin(pi * x) * sp.sin(2 * pi * y)


@stated("evolution", "heat transfer", "Haberman style", tags="time, 2d, smooth", exact={"u": _warm}, tol=1e-7)
def cooling_plate(p: Any) -> Any:
    """A plate with cold edges."""
    u = u_of(x, y, t)
    return p.Problem(
        p.Box(SQUARE).during(t, 0, 0.1),
        [sp.Eq(u.diff(t), laplacian(u))],
        [p.Dirichlet(u, 0), p.Initial(u, sp.sin(pi * x) * sp.sin(2 * pi * y))],
    )

"""Textbook problems: heat."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from validation.references.series import summed
from validation.references.torsion import torsion_by_time, torsion_series
from validation.statements.statement import stated
from validation.statements.symbols import HALF, SPLIT, SQUARE, laplacian, pi, r, t, u_of, x, y, z
from validation.statements.types import Array, References


@stated(
    "ode",
    "heat transfer",
    "Boyce-DiPrima style",
    tags="smooth, offset, units",
    exact={"u": sp.Float("293.15") + 75 * sp.exp(-sp.Rational(12, 10000) * t)},
)
def cooling_cup(p: Any) -> Any:
    """Newton's law of cooling, kelvin and seconds."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 3600), [sp.Eq(u.diff(t), -1.2e-3 * (u - 293.15))], [p.Initial(u, 368.15)]
    )


@stated(
    "ode",
    "heat transfer",
    "Kreyszig style",
    tags="jump",
    interfaces={"t": (1.0,)},
    exact={"u": sp.Piecewise((1 - sp.exp(-t), t < 1), ((sp.E - 1) * sp.exp(-t), True))},
)
def heater_switched(p: Any) -> Any:
    """A heater that is switched off at t = 1."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 3), [sp.Eq(u.diff(t), -u + sp.Piecewise((1, t < 1), (0, True)))], [p.Initial(u, 0)]
    )


_flux = 100 / (SPLIT + (1 - SPLIT) / 50)


@stated(
    "bvp",
    "heat transfer",
    "Incropera style",
    tags="jump, offset, units, flux",
    interfaces={"x": (0.3,)},
    exact={
        "u": sp.Rational(39315, 100)
        - sp.Piecewise((_flux * x, x < SPLIT), (_flux * (SPLIT + (x - SPLIT) / 50), True))
    },
)
def layered_wall(p: Any) -> Any:
    """Brick and steel between 393.15 K and 293.15 K."""
    u = u_of(x)
    k = sp.Piecewise((1, x < SPLIT), (50, True))
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(sp.Derivative(k * u.diff(x), x), 0)],
        [p.Dirichlet(u, 393.15, on=sp.Eq(x, 0)), p.Dirichlet(u, 293.15, on=sp.Eq(x, 1))],
    )


def _heated_layers() -> sp.Expr:
    """(k u')' = -10 with k = 1, 20, 3 on thirds of [0, 3], u = 0 at both ends: k u' = c - 10 x."""
    c, parts, start = sp.Symbol("c"), [], sp.Integer(0)
    for a, k in ((0, 1), (1, 20), (2, 3)):
        parts.append((start + (c * (x - a) - 5 * (x**2 - a**2)) / k, a + 1))
        start = parts[-1][0].subs(x, a + 1)
    value = sp.solve(start, c)[0]
    return sp.Piecewise(
        *((e.subs(c, value), x < b) for e, b in parts[:-1]), (parts[-1][0].subs(c, value), True)
    )


@stated(
    "bvp",
    "heat transfer",
    "Incropera style",
    tags="jump, flux",
    interfaces={"x": (1.0, 2.0)},
    exact={"u": _heated_layers()},
)
def heated_layers(p: Any) -> Any:
    """Three layers heated evenly, written with div and grad."""
    u = u_of(x)
    k = sp.Piecewise((1, x < 1), (20, x < 2), (3, True))
    return p.Problem(p.Interval(x, 0, 3), [sp.Eq(p.div(k * p.grad(u)), -10)], [p.Dirichlet(u, 0)])


_m, _h = sp.Integer(20), sp.Rational(1, 10)


_fin = sp.cosh(_m * (_h - x)) + sp.Rational(3, 10) * sp.sinh(_m * (_h - x))


@stated(
    "bvp",
    "heat transfer",
    "Incropera style",
    tags="smooth, offset, units, robin",
    exact={"u": sp.Rational(29315, 100) + 80 * _fin / _fin.subs(x, 0)},
)
def cooling_fin(p: Any) -> Any:
    """A fin of ten centimetres with a convecting tip: 6 (T - Ta) + dT/dn = 0."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, _h),
        [sp.Eq(u.diff(x, 2), 400 * (u - 293.15))],
        [p.Dirichlet(u, 373.15, on=sp.Eq(x, 0)), p.Robin(u, 6 * 293.15, alpha=6, beta=1, on=sp.Eq(x, _h))],
    )


@stated(
    "bvp",
    "heat transfer",
    "Carslaw-Jaeger style",
    tags="layer, smooth",
    exact={"u": (1 - r**2) / 4 - (1 - sp.Rational(1, 10000)) / 4 * sp.log(r) / sp.log(sp.Rational(1, 100))},
)
def hot_annulus(p: Any) -> Any:
    """Radial conduction around a thin wire: steep near the wire."""
    u = u_of(r)
    return p.Problem(p.Interval(r, 0.01, 1), [sp.Eq(u.diff(r, 2) + u.diff(r) / r, -1)], [p.Dirichlet(u, 0)])


def _cube(xs: Array, ys: Array, zs: Array, terms: int = 60) -> Array:
    """-Laplace u = 1 in the unit cube: the square's solution less what the two ends take away."""
    stack = np.stack(np.broadcast_arrays(*(np.asarray(c, dtype=float) for c in (xs, ys, zs))))
    order = np.argsort(-np.abs(stack - 0.5), axis=0)
    a, b, c = np.take_along_axis(stack, order, axis=0)
    shape = a.shape
    a, b, c = a.ravel(), b.ravel(), c.ravel()
    k = 2.0 * np.arange(terms) + 1
    gamma = np.pi * np.sqrt(k[:, None] ** 2 + k[None, :] ** 2)
    weight = 16 / (np.pi**2 * k[:, None] * k[None, :]) / gamma**2
    result = torsion_series(a, b, 400)
    for start in range(0, a.size, 100):
        part = slice(start, start + 100)
        ends = np.exp(-gamma * c[part, None, None]) + np.exp(-gamma * (1 - c[part, None, None]))
        ends /= 1 + np.exp(-gamma)
        left, right = (np.sin(np.pi * np.outer(q[part], k)) for q in (a, b))
        result[part] -= np.einsum("pm,pn,pmn->p", left, right, weight * ends, optimize=True)
    return result.reshape(shape)


@stated(
    "elliptic",
    "heat transfer",
    "Carslaw-Jaeger style",
    tags="3d, corner",
    numeric=lambda: {"u": _cube},
    second=lambda: torsion_by_time(3),
    accuracy=1e-8,
    tol=1e-4,
    patch=0.04,
    residual_tol=1e-4,
)
def heated_cube(p: Any) -> Any:
    """A cube heated evenly with cold faces."""
    u = u_of(x, y, z)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1), z: (0, 1)}), [sp.Eq(-laplacian(u, x, y, z), 1)], [p.Dirichlet(u, 0)]
    )


_mixed = sp.exp(2 * x) * sp.cos(2 * y)


@stated("elliptic", "heat transfer", "Haberman style", tags="2d, smooth, mixed, robin", exact={"u": _mixed})
def mixed_plate(p: Any) -> Any:
    """Given value, flux and exchange on different sides."""
    u = u_of(x, y)
    return p.Problem(
        p.Box(SQUARE),
        [laplacian(u)],
        [
            p.Dirichlet(u, sp.cos(2 * y), on=sp.Eq(x, 0)),
            p.Robin(u, 5 * sp.exp(2) * sp.cos(2 * y), alpha=3, beta=1, on=sp.Eq(x, 1)),
            p.Neumann(u, 0, on=sp.Eq(y, 0)),
            p.Neumann(u, -2 * sp.sin(2) * sp.exp(2 * x), on=sp.Eq(y, 1)),
        ],
    )


_sheet = sp.sin(pi * x) * (1 + (y / sp.Rational(1, 100)) ** 2)


@stated("elliptic", "heat transfer", "Oezisik style", tags="2d, smooth, thin box, mixed", exact={"u": _sheet})
def thin_sheet(p: Any) -> Any:
    """A sheet a hundred times as long as thick."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 0.01)}),
        [sp.Eq(laplacian(u), sp.expand(laplacian(_sheet)))],
        [
            p.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1))),
            p.Neumann(u, 0, on=sp.Eq(y, 0)),
            p.Dirichlet(u, 2 * sp.sin(pi * x), on=sp.Eq(y, 0.01)),
        ],
    )


_lower = sp.sinh(pi * y)


_upper = sp.cosh(pi / 2) / 10 * sp.sinh(pi * (y - HALF)) + sp.sinh(pi / 2) * sp.cosh(pi * (y - HALF))


_wall = sp.sin(pi * x) * sp.Piecewise((_lower, y < HALF), (_upper, True))


@stated(
    "elliptic",
    "heat transfer",
    "Incropera style",
    tags="2d, jump, flux",
    exact={"u": _wall},
    interfaces={"y": (0.5,)},
)
def layered_plate(p: Any) -> Any:
    """A plate of two materials in perfect contact."""
    u = u_of(x, y)
    k = sp.Piecewise((1, y < HALF), (10, True))
    return p.Problem(
        p.Box(SQUARE),
        [sp.Eq(p.div(k * p.grad(u)), 0)],
        [
            p.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0))),
            p.Dirichlet(u, sp.sin(pi * x) * _upper.subs(y, 1), on=sp.Eq(y, 1)),
        ],
    )


_solid = sp.sin(pi * x) * sp.cos(pi * y) * sp.exp(z)


@stated("elliptic", "heat transfer", "Evans style", tags="3d, smooth", exact={"u": _solid})
def smooth_block(p: Any) -> Any:
    """A smooth temperature in a block."""
    u = u_of(x, y, z)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1), z: (0, 1)}),
        [sp.Eq(laplacian(u, x, y, z), (1 - 2 * pi**2) * _solid)],
        [p.Dirichlet(u, _solid)],
    )


def _hot_lid(xs: Array, ys: Array) -> Array:
    """Laplace's equation with 1 on the top and 0 elsewhere: the half-strip's solution and a fast series."""
    top = 1 - np.asarray(ys, dtype=float)
    strip = 2 / np.pi * np.arctan2(np.sin(np.pi * np.asarray(xs)), np.sinh(np.pi * top))
    n = 2.0 * np.arange(12) + 1

    def term(k: Array, a: Array, b: Array) -> Array:
        rest = (np.exp(-k * np.pi * (3 - b)) - np.exp(-k * np.pi * (1 + b))) / (1 - np.exp(-2 * k * np.pi))
        found: Array = 4 / (np.pi * k) * np.sin(k * np.pi * a) * rest
        return found

    return strip + summed(term, n, xs, ys)


def _hot_lid_strips() -> References:
    """The same as an alternating sum of half-strips by reflection in y."""

    def strip(a: Array, b: Array) -> Array:
        return 2 / np.pi * np.arctan2(np.sin(np.pi * a), np.sinh(np.pi * b))

    return {
        "u": lambda a, b: np.sum(
            [strip(a, 2 * j + 1 - b) - strip(a, 2 * j + 1 + b) for j in range(12)], axis=0
        )
    }


@stated(
    "elliptic",
    "heat transfer",
    "Haberman style",
    tags="2d, jump, corner",
    numeric=lambda: {"u": _hot_lid},
    second=_hot_lid_strips,
    accuracy=1e-13,
    tol=1e-3,
)
def hot_lid(p: Any) -> Any:
    """One hot side: the boundary values jump at two corners."""
    u = u_of(x, y)
    return p.Problem(p.Box(SQUARE), [laplacian(u)], [p.Dirichlet(u, 1, on=sp.Eq(y, 1)), p.Dirichlet(u, 0)])


_kirchhoff = 2 * sp.sinh(sp.asinh(sp.Rational(3, 2) * sp.exp(x) * sp.cos(y)) / 3)


@stated(
    "elliptic",
    "heat transfer",
    "Carslaw-Jaeger style",
    tags="2d, nonlinear, flux, smooth",
    exact={"u": _kirchhoff},
)
def hot_conductor(p: Any) -> Any:
    """A conductivity 1 + u^2 that grows with the temperature."""
    u = u_of(x, y)
    return p.Problem(p.Box(SQUARE), [sp.Eq(p.div((1 + u**2) * p.grad(u)), 0)], [p.Dirichlet(u, _kirchhoff)])

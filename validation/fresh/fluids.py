"""Further problems: fluids."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from validation.references.boundary_values import boundary_value, cheb_line
from validation.statements.statement import stated
from validation.statements.symbols import R, laplacian, pi, t, u_of, v_of, w_of, x, y

_kc = (lambda q, v: (v[1], (v[0] - v[0] * v[1]) / 0.01), lambda a, b: (a[0] + 7 / 6, b[0] - 1.5))


def _kc_guess(q: Any) -> Any:
    return (
        q + 1 / 6 - 2 / 3 + 5 / 6 * np.tanh((q - 1 / 3) * 42) - 0.0,
        1 + 35 / np.cosh((q - 1 / 3) * 42) ** 2,
    )


_kc_breaks = (0, 0.15, 0.24, 0.28, 0.31, 0.333, 0.36, 0.4, 0.5, 0.7, 1)


@stated(
    "bvp",
    "fluid flow",
    "Kevorkian-Cole",
    tags="inner layer, nonlinear",
    tol=1e-6,
    numeric=boundary_value("u", *_kc, _kc_breaks, _kc_guess),
    second=boundary_value("u", *_kc, _kc_breaks, _kc_guess, 1e-10),
    accuracy=1e-9,
    patch=2e-3,
)
def shock_in_nozzle(p: Any) -> Any:
    """0.01 u'' + u u' - u = 0: a standing shock at 1/3 between two slopes."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [0.01 * u.diff(x, 2) + u * u.diff(x) - u],
        [p.Dirichlet(u, -R(7, 6), on=sp.Eq(x, 0)), p.Dirichlet(u, R(3, 2), on=sp.Eq(x, 1))],
    )


def _ring(n: Any) -> Any:
    q = 2 * np.pi * np.arange(n) / n
    k = np.fft.fftfreq(n, 1 / n)
    F = np.fft.fft(np.eye(n), axis=0)
    D = np.real(np.fft.ifft(1j * np.where(np.abs(k) == n / 2, 0, k)[:, None] * F, axis=0))
    D2 = np.real(np.fft.ifft(-(k**2)[:, None] * F, axis=0))
    a = np.linalg.solve(
        -0.05 * D2 + np.diag(1 + 0.9 * np.sin(q)) @ D + 0.3 * np.eye(n), np.exp(2 * np.cos(q))
    )
    c = np.fft.fft(a) / n
    return {"u": lambda p: np.real(np.exp(1j * np.multiply.outer(np.asarray(p, float), k)) @ c)}


def _ring_bvp() -> Any:
    return cheb_line(
        180,
        0,
        2 * np.pi,
        -0.05,
        lambda q: 1 + 0.9 * np.sin(q),
        lambda q: 0.3 + 0 * q,
        lambda q: np.exp(2 * np.cos(q)),
        lambda D: ((np.eye(len(D))[0] - np.eye(len(D))[-1], 0.0), (D[0] - D[-1], 0.0)),
    )


@stated(
    "bvp",
    "hydrology",
    "Fischer: a ring main",
    tags="periodic, variable coefficient, layer",
    tol=1e-8,
    numeric=lambda: _ring(256),
    second=_ring_bvp,
    accuracy=1e-11,
)
def ring_main(p: Any) -> Any:
    """Salt in a ring main where the water almost stands still in one place."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 2 * pi),
        [sp.Eq(-0.05 * u.diff(x, 2) + (1 + 0.9 * sp.sin(x)) * u.diff(x) + 0.3 * u, sp.exp(2 * sp.cos(x)))],
        [p.Periodic(u, x)],
    )


_Ha = 60


def _ep(e: Any) -> Any:
    return sp.exp(e)


# cosh(Ha x)/cosh(Ha) and sinh(Ha x)/cosh(Ha) without overflow
_ch = (_ep(_Ha * (x - 1)) + _ep(-_Ha * (x + 1))) / (1 + _ep(-2 * _Ha))


_sh = (_ep(_Ha * (x - 1)) - _ep(-_Ha * (x + 1))) / (1 + _ep(-2 * _Ha))


_tanh_ha = (1 - _ep(-2 * _Ha)) / (1 + _ep(-2 * _Ha))


@stated(
    "bvp",
    "magnetohydrodynamics",
    "Davidson: Hartmann flow",
    tags="layers, system",
    tol=1e-8,
    exact={"u": (1 - _ch) / (_Ha * _tanh_ha), "v": -(x - _sh / _tanh_ha) / _Ha},
)
def hartmann_channel(p: Any) -> Any:
    """Liquid metal across a magnetic field: speed and induced field, layers of 1/60 at both walls."""
    u, v = u_of(x), v_of(x)
    return p.Problem(
        p.Interval(x, -1, 1),
        [sp.Eq(u.diff(x, 2) + _Ha * v.diff(x), -1), sp.Eq(v.diff(x, 2) + _Ha * u.diff(x), 0)],
        [p.Dirichlet(u, 0), p.Dirichlet(v, 0)],
    )


@stated(
    "bvp",
    "porous media",
    "Bear: gas flow",
    tags="units, nonlinear, nonlinear condition",
    tol=1e-8,
    exact={"u": sp.sqrt(10**12 - 19 * 10**9 * x)},
)
def gas_in_sandstone(p: Any) -> Any:
    """Gas through 50 m of sandstone.

    Pascals; the pressure at the inlet and the mass flow at the outlet are given.
    """
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 50),
        [sp.Eq(p.div(u * p.grad(u)), 0)],
        [
            p.Dirichlet(u, 10**6, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u * u.diff(x), -R(19, 2) * 10**9), on=sp.Eq(x, 50)),
        ],
    )


def _peristalsis() -> Any:
    A, B = sp.symbols("A B")
    g = A * sp.sinh(y) + B * y * sp.cosh(y)
    sol = sp.solve([g.subs(y, 1), g.diff(y).subs(y, 1) - 1], [A, B])
    return g.subs(sol)


_g = _peristalsis()


# psi = g cos x: u = g' cos x, v = g sin x; p from the momentum equations
_pp = sp.sin(x) * (_g.diff(y, 3) - _g.diff(y))


@stated(
    "plane",
    "fluid flow",
    "Pozrikidis: peristalsis",
    tags="system, periodic, Stokes",
    tol=1e-8,
    exact={"u": _g.diff(y) * sp.cos(x), "v": _g * sp.sin(x), "w": _pp},
)
def peristalsis(p: Any) -> Any:
    """Stokes flow in a channel whose walls slide along themselves like cos(x); w is the pressure."""
    u, v, w = u_of(x, y), v_of(x, y), w_of(x, y)
    return p.Problem(
        p.Box({x: (0, 2 * pi), y: (-1, 1)}),
        [sp.Eq(laplacian(u), w.diff(x)), sp.Eq(laplacian(v), w.diff(y)), sp.Eq(u.diff(x) + v.diff(y), 0)],
        [
            p.Periodic(u, x),
            p.Periodic(v, x),
            p.Periodic(w, x),
            p.Dirichlet(u, sp.cos(x), on=sp.Or(sp.Eq(y, -1), sp.Eq(y, 1))),
            p.Dirichlet(v, 0, on=sp.Or(sp.Eq(y, -1), sp.Eq(y, 1))),
            p.Dirichlet(w, 0, on={x: 0, y: 0}),
        ],
    )


@stated(
    "plane",
    "capillarity",
    "Finn: liquid cap",
    tags="nonlinear, flux form",
    tol=1e-8,
    exact={"u": sp.sqrt(R(36, 25) - x**2 - y**2)},
)
def liquid_cap(p: Any) -> Any:
    """A surface of constant mean curvature: part of a sphere of radius 6/5."""
    u = u_of(x, y)
    steep = 1 / sp.sqrt(1 + u.diff(x) ** 2 + u.diff(y) ** 2)
    return p.Problem(
        p.Box({x: (-R(3, 5), R(3, 5)), y: (-R(1, 2), R(7, 10))}),
        [sp.Eq(p.div(steep * p.grad(u)), -R(5, 3))],
        [p.Dirichlet(u, sp.sqrt(R(36, 25) - x**2 - y**2))],
    )


_baren = sp.Piecewise(((1 - x**2 / (12 * t ** R(2, 3))) / t ** R(1, 3), x**2 < 12 * t ** R(2, 3)), (0, True))


@stated(
    "evolution",
    "porous media",
    "Barenblatt",
    tags="nonlinear, degenerate, moving front, kink",
    tol=1e-3,
    exact={"u": _baren},
)
def gas_cloud_in_soil(p: Any) -> Any:
    """Gas that seeps into dry soil: u_t = (u^2)_xx with a sharp edge that moves."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -6, 6).during(t, 1, 3),
        [sp.Eq(u.diff(t), (u**2).diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, sp.Max(0, 1 - x**2 / 12))],
    )


_long = R(3, 2) / sp.cosh((x - 3 * t / 2) / (2 * sp.sqrt(3))) ** 2


@stated(
    "evolution",
    "fluid flow",
    "Benjamin-Bona-Mahony",
    tags="dispersive, nonlinear, mixed derivative",
    tol=1e-6,
    exact={"u": _long},
)
def long_wave(p: Any) -> Any:
    """A solitary wave of u_t + u_x + u u_x = u_xxt."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -15, 25).during(t, 0, 6),
        [sp.Eq(u.diff(t) + u.diff(x) + u * u.diff(x), u.diff(x, 2, t))],
        [p.Dirichlet(u, _long), p.Initial(u, _long.subs(t, 0))],
    )


_E2 = sp.exp(35 * (x - R(1, 5) - R(17, 20) * t))


_E3 = sp.exp(35 * (x - R(1, 2) - R(3, 20) * t))


_merge = (R(6, 5) + _E2 / 2 - _E2 * _E3 / 5) / (1 + _E2 + _E2 * _E3)


@stated(
    "evolution",
    "traffic",
    "Whitham: confluence of shocks",
    tags="nonlinear, moving fronts",
    tol=1e-6,
    exact={"u": _merge},
)
def merging_shocks(p: Any) -> Any:
    """Two jams run into each other: Burgers' equation with viscosity 0.01."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.8),
        [sp.Eq(u.diff(t) + u * u.diff(x), u.diff(x, 2) / 100)],
        [p.Dirichlet(u, _merge), p.Initial(u, _merge.subs(t, 0))],
    )


_sz = R(1, 5) + t / 25


_swirl = R(1, 5) / _sz * sp.exp(-((x - R(4, 5) * sp.cos(t)) ** 2 + (y - R(4, 5) * sp.sin(t)) ** 2) / _sz)


@stated(
    "evolution",
    "meteorology",
    "Durran: rotating cone",
    tags="2d and time, transport",
    tol=1e-5,
    exact={"u": _swirl},
)
def swirling_smoke(p: Any) -> Any:
    """A cloud is carried around a centre and spreads."""
    u = u_of(x, y, t)
    return p.Problem(
        p.Box({x: (-2, 2), y: (-2, 2)}).during(t, 0, 1),
        [sp.Eq(u.diff(t) - y * u.diff(x) + x * u.diff(y), laplacian(u) / 100)],
        [p.Dirichlet(u, _swirl), p.Initial(u, _swirl.subs(t, 0))],
    )


_eta = sp.besselj(0, 6 * sp.sqrt(x))


@stated(
    "evolution",
    "oceanography",
    "Lamb: waves on a slope",
    tags="hyperbolic, system, variable coefficient",
    tol=1e-6,
    exact={"u": _eta * sp.cos(3 * t), "v": sp.besselj(1, 6 * sp.sqrt(x)) / sp.sqrt(x) * sp.sin(3 * t)},
)
def tsunami_on_slope(p: Any) -> Any:
    """Surface u and speed v of long waves over a bottom that slopes down like x."""
    u, v = u_of(x, t), v_of(x, t)
    speed = sp.besselj(1, 6 / sp.sqrt(2)) * sp.sqrt(2)
    return p.Problem(
        p.Interval(x, R(1, 2), 4).during(t, 0, 4),
        [u.diff(t) + (x * v).diff(x), v.diff(t) + u.diff(x)],
        [
            p.Dirichlet(u, sp.besselj(0, 12).evalf(25) * sp.cos(3 * t), on=sp.Eq(x, 4)),
            p.Dirichlet(v, speed.evalf(25) * sp.sin(3 * t), on=sp.Eq(x, R(1, 2))),
            p.Initial(u, _eta),
            p.Initial(v, 0),
        ],
    )

"""Textbook problems: fluids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from validation.references.boundary_values import boundary_value
from validation.references.initial_values import initial_value
from validation.references.semilinear import on_times, semilinear
from validation.statements.statement import stated
from validation.statements.symbols import SQUARE, laplacian, pi, t, u_of, v_of, w_of, x, y
from validation.statements.types import Array, References
from validation.textbook.earth import _outflow

_blasius = (lambda s, v: (v[1], v[2], -0.5 * v[0] * v[2]), (0, 0, 0.332057336215), 8.0)


@stated(
    "ode",
    "fluids",
    "Schlichting style",
    tags="nonlinear, third order, smooth",
    numeric=initial_value("u", *_blasius),
    second=initial_value("u", *_blasius, "DOP853"),
    accuracy=1e-12,
    patch=0.05,
)
def blasius_shot(p: Any) -> Any:
    """The boundary layer equation with the wall shear given."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 8),
        [u.diff(t, 3) + u * u.diff(t, 2) / 2],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0), p.Initial(u.diff(t, 2), 0.332057336215)],
    )


@stated("bvp", "fluids", "O'Malley style", tags="layer", exact={"u": _outflow(x, 1e-3)})
def outflow_layer(p: Any) -> Any:
    """Advection with little diffusion."""
    u = u_of(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(-1e-3 * u.diff(x, 2) + u.diff(x), 1)], [p.Dirichlet(u, 0)])


@stated(
    "bvp",
    "fluids",
    "Roos-Stynes-Tobiska style",
    tags="layer",
    exact={"u": _outflow(x, 1e-5)},
    tol=1e-7,
    accuracy=1e-11,
)
def outflow_layer_thin(p: Any) -> Any:
    """The same with a layer a hundred thousandth wide."""
    u = u_of(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(-1e-5 * u.diff(x, 2) + u.diff(x), 1)], [p.Dirichlet(u, 0)])


_plate = (
    lambda s, v: (v[1], v[2], -0.5 * v[0] * v[2]),
    lambda a, b: (a[0], a[1], b[1] - 1),
    (0, 2.5, 5, 7.5, 10),
    lambda s: (s - 1 + np.exp(-s), 1 - np.exp(-s), np.exp(-s)),
)


@stated(
    "bvp",
    "fluids",
    "Schlichting style",
    tags="nonlinear, third order",
    numeric=boundary_value("u", *_plate),
    second=boundary_value("u", *_plate, 1e-11),
    accuracy=1e-11,
    patch=0.05,
)
def blasius_plate(p: Any) -> Any:
    """The flow along a plate with the outer speed given."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 10),
        [u.diff(x, 3) + u * u.diff(x, 2) / 2],
        [
            p.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x), 0), on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x), 1), on=sp.Eq(x, 10)),
        ],
    )


_film = (
    lambda s, v: (v[1], v[2], (v[0] - 1) / v[0] ** 3),
    lambda a, b: (a[0] - 1.5, a[1], b[0] - 1),
    (0, 1.25, 2.5, 3.75, 5),
    lambda s: (1 + 0.5 * np.exp(-s * s), -s * np.exp(-s * s), -np.exp(-s * s)),
)


@stated(
    "bvp",
    "fluids",
    "Bretherton style",
    tags="nonlinear, third order",
    numeric=boundary_value("u", *_film),
    second=boundary_value("u", *_film, 1e-11),
    accuracy=1e-11,
    patch=0.05,
)
def thin_film(p: Any) -> Any:
    """The profile of a thin film drawn out of a bath: h''' = (h - 1)/h^3."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 5),
        [u**3 * u.diff(x, 3) - (u - 1)],
        [
            p.Dirichlet(u, 1.5, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x), 0), on=sp.Eq(x, 0)),
            p.Dirichlet(u, 1, on=sp.Eq(x, 5)),
        ],
    )


@stated("bvp", "fluids", "Whitham style", tags="nonlinear, layer", exact={"u": -sp.tanh(5 * x)})
def standing_shock(p: Any) -> Any:
    """The steady Burgers equation."""
    u = u_of(x)
    edge = sp.tanh(5)
    return p.Problem(
        p.Interval(x, -1, 1),
        [sp.Eq(sp.Rational(1, 10) * u.diff(x, 2), u * u.diff(x))],
        [p.Dirichlet(u, edge, on=sp.Eq(x, -1)), p.Dirichlet(u, -edge, on=sp.Eq(x, 1))],
    )


_stream = (x * (1 - x) * y * (1 - y)) ** 2 * 64


_su, _sv, _sp = _stream.diff(y), -_stream.diff(x), sp.cos(pi * x) * sp.sin(pi * y)


@stated(
    "elliptic",
    "fluids",
    "Batchelor style",
    tags="2d, system, smooth, point value",
    exact={"u": _su, "v": _sv, "w": _sp},
)
def stokes_cavity(p: Any) -> Any:
    """Slow flow in a closed box; w is the pressure, fixed at one corner."""
    u, v, w = u_of(x, y), v_of(x, y), w_of(x, y)
    return p.Problem(
        p.Box(SQUARE),
        [
            sp.Eq(-laplacian(u) + w.diff(x), sp.expand(-laplacian(_su) + _sp.diff(x))),
            sp.Eq(-laplacian(v) + w.diff(y), sp.expand(-laplacian(_sv) + _sp.diff(y))),
            sp.Eq(u.diff(x) + v.diff(y), 0),
        ],
        [p.Dirichlet(u, 0), p.Dirichlet(v, 0), p.Dirichlet(w, 0, on={x: 0, y: 0})],
    )


_re = sp.Integer(20)


_lam = _re / 2 - sp.sqrt(_re**2 / 4 + 4 * pi**2)


_kov = (
    1 - sp.exp(_lam * x) * sp.cos(2 * pi * y),
    _lam / (2 * pi) * sp.exp(_lam * x) * sp.sin(2 * pi * y),
    (1 - sp.exp(2 * _lam * x)) / 2,
)


@stated(
    "elliptic",
    "fluids",
    "Kovasznay style",
    tags="2d, system, nonlinear, point value",
    exact=dict(zip("uvw", _kov, strict=True)),
    tol=1e-6,
)
def behind_grid(p: Any) -> Any:
    """Steady Navier-Stokes flow behind a grid at Reynolds number 20."""
    u, v, w = u_of(x, y), v_of(x, y), w_of(x, y)
    return p.Problem(
        p.Box({x: (-0.5, 1), y: (-0.5, 0.5)}),
        [
            u * u.diff(x) + v * u.diff(y) + w.diff(x) - laplacian(u) / _re,
            u * v.diff(x) + v * v.diff(y) + w.diff(y) - laplacian(v) / _re,
            u.diff(x) + v.diff(y),
        ],
        [p.Dirichlet(u, _kov[0]), p.Dirichlet(v, _kov[1]), p.Dirichlet(w, 0, on={x: 0, y: 0})],
    )


def _cole_hopf(nu: float, points: int) -> References:
    """Burgers' equation from -sin(pi x) by Cole and Hopf's integrals, with the trapezoidal rule."""
    s = np.linspace(-14, 14, points)

    def evaluate(xs: Array, ts: Array) -> Array:
        a, b = (
            np.ravel(c)[:, None] for c in np.broadcast_arrays(np.asarray(xs, float), np.asarray(ts, float))
        )
        result = np.empty(len(a))
        for k in range(0, len(a), 500):
            at = a[k : k + 500] - s[None, :] * np.sqrt(4 * nu * np.maximum(b[k : k + 500], 0))
            weight = -np.cos(np.pi * at) / (2 * np.pi * nu) - s[None, :] ** 2
            weight = np.exp(weight - weight.max(axis=1, keepdims=True))
            result[k : k + 500] = -np.sum(np.sin(np.pi * at) * weight, axis=1) / np.sum(weight, axis=1)
        return np.reshape(result, np.shape(xs))

    return {"u": evaluate}


def _burgers_fourier(nu: float, modes: int, breaks: Sequence[float]) -> References:
    """The same by sine modes: u u_x is computed on a grid fine enough to avoid aliasing."""
    k = np.arange(1, modes)
    grid = np.arange(4 * modes) / (2.0 * modes) - 1
    sines = np.sin(np.pi * np.outer(grid, k))
    cosines = np.cos(np.pi * np.outer(grid, k))

    def nonlinear(c: Array) -> Array:
        found: Array = np.pi * k[:, None] * (cosines.T @ ((sines @ c) ** 2 / 2)) / (2 * modes)
        return found

    start = np.zeros(modes - 1)
    start[0] = -1.0
    solve = semilinear(-nu * (np.pi * k) ** 2, start, nonlinear, breaks)
    return {"u": on_times(solve, lambda q: np.sin(np.pi * np.outer(q, k)), slice(None))}


@stated(
    "evolution",
    "fluids",
    "Whitham style",
    tags="time, nonlinear, layer",
    numeric=lambda: _cole_hopf(0.01 / math.pi, 2400),
    second=lambda: _cole_hopf(0.01 / math.pi, 1500),
    accuracy=1e-11,
    tol=1e-6,
    patch=1e-3,
)
def burgers_shock(p: Any) -> Any:
    """A sine wave steepens to a thin front."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -1, 1).during(t, 0, 1),
        [u.diff(t) + u * u.diff(x) - sp.Rational(1, 100) / pi * u.diff(x, 2)],
        [p.Dirichlet(u, 0), p.Initial(u, -sp.sin(pi * x))],
    )


@stated(
    "evolution",
    "fluids",
    "Whitham style",
    tags="time, nonlinear",
    numeric=lambda: _cole_hopf(0.1, 1200),
    second=lambda: _burgers_fourier(0.1, 64, np.linspace(0, 1, 41).tolist()),
    accuracy=1e-12,
)
def burgers_mild(p: Any) -> Any:
    """The same with ample viscosity."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -1, 1).during(t, 0, 1),
        [u.diff(t) + u * u.diff(x) - sp.Rational(1, 10) * u.diff(x, 2)],
        [p.Dirichlet(u, 0), p.Initial(u, -sp.sin(pi * x))],
    )


_soliton = 2 * sp.sech(x - 4 * t) ** 2


@stated(
    "evolution",
    "fluids",
    "Drazin-Johnson style",
    tags="time, nonlinear, third order",
    exact={"u": _soliton},
    tol=1e-6,
)
def water_soliton(p: Any) -> Any:
    """One soliton of Korteweg and de Vries."""
    u, end = u_of(x, t), sp.Eq(x, 10)
    return p.Problem(
        p.Interval(x, -6, 10).during(t, 0, 1),
        [u.diff(t) + 6 * u * u.diff(x) + u.diff(x, 3)],
        [
            p.Dirichlet(u, _soliton, on=sp.Eq(x, -6)),
            p.Dirichlet(u, _soliton, on=end),
            p.Condition(sp.Eq(u.diff(x), _soliton.diff(x)), on=end),
            p.Initial(u, _soliton.subs(t, 0)),
        ],
    )


def _tau_function() -> sp.Expr:
    one, two = x - t, sp.Rational(8, 5) * x - sp.Rational(512, 125) * t + 4
    link = (sp.Rational(3, 5) / sp.Rational(13, 5)) ** 2
    tau_function = 1 + sp.exp(one) + sp.exp(two) + link * sp.exp(one + two)
    return 2 * (tau_function.diff(x, 2) * tau_function - tau_function.diff(x) ** 2) / tau_function**2


_pair = _tau_function()


@stated(
    "evolution",
    "fluids",
    "Drazin-Johnson style",
    tags="time, nonlinear, third order",
    exact={"u": _pair},
    tol=1e-6,
)
def two_solitons(p: Any) -> Any:
    """A fast soliton overtakes a slow one."""
    u, end = u_of(x, t), sp.Eq(x, 12)
    return p.Problem(
        p.Interval(x, -12, 12).during(t, 0, 2),
        [u.diff(t) + 6 * u * u.diff(x) + u.diff(x, 3)],
        [
            p.Dirichlet(u, _pair, on=sp.Eq(x, -12)),
            p.Dirichlet(u, _pair, on=end),
            p.Condition(sp.Eq(u.diff(x), _pair.diff(x)), on=end),
            p.Initial(u, _pair.subs(t, 0)),
        ],
    )


_ringing = sp.exp(sp.sin(2 * pi * (x - t)))


@stated(
    "evolution", "transport", "LeVeque style", tags="time, periodic, long evolution", exact={"u": _ringing}
)
def ring_transport(p: Any) -> Any:
    """A profile carried five times around a ring."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 5),
        [u.diff(t) + u.diff(x)],
        [p.Periodic(u, x), p.Initial(u, _ringing.subs(t, 0))],
    )

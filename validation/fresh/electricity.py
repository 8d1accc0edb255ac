"""Further problems: electricity."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from validation.references.boundary_values import boundary_value
from validation.references.initial_values import initial_value
from validation.references.series import find_root
from validation.statements.statement import stated
from validation.statements.symbols import laplacian, t, u_of, x, y


def _mathieu(q: Any, v: Any) -> Any:
    return (v[1], -(0.1 - np.cos(2 * q)) * v[0])


@stated(
    "ode",
    "mass spectrometry",
    "McLachlan: Mathieu",
    tags="periodic coefficient, long",
    tol=1e-8,
    numeric=initial_value("u", _mathieu, (1, 0), 80.0),
    second=initial_value("u", _mathieu, (1, 0), 80.0, "DOP853"),
    accuracy=1e-11,
)
def ion_trap(p: Any) -> Any:
    """An ion in a quadrupole trap."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 80),
        [u.diff(t, 2) + (0.1 - sp.cos(2 * t)) * u],
        [p.Initial(u, 1), p.Initial(u.diff(t), 0)],
    )


_VT, _N, _ni, _q, _eps = 0.02585, 1e22, 1e16, 1.602e-19, 1.04e-10


_built_in = _VT * math.asinh(_N / (2 * _ni))


def _junction(tol: Any = None) -> Any:
    """Half of it, in units of thermal volts and 0.1 micrometres; the potential is odd."""
    l2 = _eps * _VT / _q / 1e-14

    def rhs(q: Any, v: Any) -> Any:
        return (v[1], (2 * _ni * np.sinh(v[0]) - _N) / l2)

    def ends(a: Any, b: Any) -> Any:
        return (a[0], b[0] - _built_in / _VT)

    make = boundary_value(
        "u",
        rhs,
        ends,
        (0, 0.5, 1, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5),
        lambda q: (_built_in / _VT * np.tanh(q), _built_in / _VT / np.cosh(q) ** 2),
        tol,
    )()
    return {"u": lambda q: np.sign(q) * _VT * make["u"](np.abs(q) / 1e-7)}


@stated(
    "bvp",
    "semiconductors",
    "Sze: abrupt p-n junction",
    tags="units, layer, nonlinear, jump of source",
    tol=1e-6,
    numeric=_junction,
    second=lambda: _junction(1e-10),
    accuracy=1e-9,
    patch=5e-3,
    residual_tol=1e-4,
)
def p_n_junction(p: Any) -> Any:
    """The potential (volts) across an abrupt junction one micrometre (in metres) wide."""
    u = u_of(x)
    doping = sp.Piecewise((-_N, x < 0), (_N, True))
    return p.Problem(
        p.Interval(x, -5e-7, 5e-7),
        [sp.Eq(u.diff(x, 2), _q / _eps * (2 * _ni * sp.sinh(u / _VT) - doping))],
        [p.Dirichlet(u, -_built_in, on=sp.Eq(x, -5e-7)), p.Dirichlet(u, _built_in, on=sp.Eq(x, 5e-7))],
    )


def _motz(terms: Any = 40) -> Any:
    """u = sum d_k r^(k+1/2) cos((k+1/2) th): y = 0 is satisfied exactly; the other sides by least squares."""
    k = np.arange(terms) + 0.5
    g = -np.cos(np.pi * (np.arange(90) + 0.5) / 90)
    rows, right = [], []

    def both(X: Any, Y: Any) -> Any:
        rr, th = np.hypot(X, Y)[:, None], np.arctan2(Y, X)[:, None]
        rad = rr / 1.5
        val = rad**k * np.cos(k * th)
        ur, ut = k * rad**k / rr * np.cos(k * th), -k * rad**k / rr * np.sin(k * th)
        return val, ur * np.cos(th) - ut * np.sin(th), ur * np.sin(th) + ut * np.cos(th)

    h = (g + 1) / 2
    rows.append(both(1 + 0 * h, h)[0])
    right.append(500 + 0 * h)
    rows.append(both(-1 + 0 * h, h)[1])
    right.append(0 * h)
    rows.append(both(g, 1 + 0 * g)[2])
    right.append(0 * g)
    d = np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=1e-17)[0]

    def f(X: Any, Y: Any) -> Any:
        rr, th = np.hypot(X, Y)[..., None], np.arctan2(Y, X)[..., None]
        return ((rr / 1.5) ** k * np.cos(k * th)) @ d

    return {"u": lambda X, Y: f(*(np.asarray(q, float) for q in (X, Y)))}


def _motz_conformal() -> Any:
    """sn takes the rectangle to the half-plane.

    A second elliptic integral back to a rectangle where u is linear.
    """
    with mpmath.workdps(25):
        K = mpmath.ellipk(mpmath.mpf(1) / 2)
        a, b, c, d = mpmath.mpf(-1), mpmath.mpf(0), mpmath.mpf(1), mpmath.sqrt(2)
        # Moebius w -> s with b -> 0, c -> 1, d -> 1/m, a -> infinity: s = (w - b)(c - a)/((w - a)(c - b))

        def mob(w: Any) -> Any:
            return (w - b) * (c - a) / ((w - a) * (c - b))

        m = 1 / mob(d)
        Km = mpmath.ellipk(m)

        def one(X: Any, Y: Any) -> Any:
            with mpmath.workdps(25):
                w = mpmath.ellipfun("sn", K * mpmath.mpc(float(X), float(Y)), m=mpmath.mpf(1) / 2)
                if abs(w - a) < 1e-30:
                    return 0.0
                q = mpmath.ellipf(mpmath.asin(mpmath.sqrt(mob(w))), m) / Km  # 0 .. 1 as u rises from b to c
                return 500 * float(mpmath.re(q))

        def f(X: Any, Y: Any) -> Any:
            X, Y = np.broadcast_arrays(np.asarray(X, float), np.asarray(Y, float))
            return np.array([one(p, q) for p, q in zip(X.ravel(), Y.ravel())]).reshape(X.shape)

    return {"u": f}


@stated(
    "plane",
    "electrostatics",
    "Motz 1946",
    tags="corner, mixed, singularity",
    tol=1e-6,
    numeric=_motz,
    second=_motz_conformal,
    accuracy=1e-10,
    residual_tol=1e-5,
)
def motz(p: Any) -> Any:
    """The condition changes from value to flux in the middle of a side: u ~ sqrt(r)."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (-1, 1), y: (0, 1)}),
        [sp.Eq(laplacian(u), 0)],
        [
            p.Dirichlet(u, 0, on=sp.And(sp.Eq(y, 0), x < 0)),
            p.Dirichlet(u, 500, on=sp.Eq(x, 1)),
            p.Neumann(u, 0),
        ],
    )


BESSEL_ZERO = find_root(lambda q: mpmath.besselj(1, q), 3.83)

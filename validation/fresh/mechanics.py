"""Further problems: mechanics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.special
import sympy as sp

from validation.references.initial_values import initial_value, spectral_ivp
from validation.statements.statement import stated
from validation.statements.symbols import R, t, u_of, v_of, w_of, x


def on_grid(names: Any, f: Any) -> Any:
    """References {name: f(...)[i]} from one function of the coordinates that returns all unknowns."""
    return {
        n: (lambda *c, _i=i: np.reshape(f(*c)[_i], np.shape(np.broadcast_arrays(*c)[0])))
        for i, n in enumerate(names.split())
    }


def _hh(q: Any, v: Any) -> Any:
    return (v[2], v[3], -v[0] - 2 * v[0] * v[1], -v[1] - v[0] ** 2 + v[1] ** 2)


@stated(
    "ode",
    "astronomy",
    "Henon-Heiles 1964",
    tags="chaos, second order, system",
    unknowns="u v",
    tol=1e-8,
    numeric=initial_value("u v", _hh, (0, -0.15, 0.5, 0), 60.0),
    second=initial_value("u v", _hh, (0, -0.15, 0.5, 0), 60.0, "DOP853"),
    accuracy=1e-10,
)
def star_in_galaxy(p: Any) -> Any:
    """A star in a galactic potential, chaotic, for ten turns."""
    u, v = u_of(t), v_of(t)
    return p.Problem(
        p.Interval(t, 0, 60),
        [sp.Eq(u.diff(t, 2), -u - 2 * u * v), sp.Eq(v.diff(t, 2), -v - u**2 + v**2)],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0.5), p.Initial(v, -0.15), p.Initial(v.diff(t), 0)],
    )


_mu = 0.012277471


def _moon(q: Any, v: Any) -> Any:
    d1 = ((v[0] + _mu) ** 2 + v[1] ** 2) ** 1.5
    d2 = ((v[0] - 1 + _mu) ** 2 + v[1] ** 2) ** 1.5
    return (
        v[2],
        v[3],
        v[0] + 2 * v[3] - (1 - _mu) * (v[0] + _mu) / d1 - _mu * (v[0] - 1 + _mu) / d2,
        v[1] - 2 * v[2] - (1 - _mu) * v[1] / d1 - _mu * v[1] / d2,
    )


_orbit = (0.994, 0, 0, -2.00158510637908)


@stated(
    "ode",
    "astronomy",
    "Hairer-Norsett-Wanner: Arenstorf",
    tags="orbit, several scales, system",
    unknowns="u v",
    tol=1e-5,
    numeric=initial_value("u v", _moon, _orbit, 12.0),
    second=initial_value("u v", _moon, _orbit, 12.0, "DOP853"),
    accuracy=1e-8,
    patch=2e-3,
    residual_tol=1e-4,
)
def to_the_moon(p: Any) -> Any:
    """A satellite between earth and moon in the rotating frame, with close encounters."""
    u, v = u_of(t), v_of(t)
    d1 = ((u + _mu) ** 2 + v**2) ** R(3, 2)
    d2 = ((u - 1 + _mu) ** 2 + v**2) ** R(3, 2)
    return p.Problem(
        p.Interval(t, 0, 12),
        [
            sp.Eq(u.diff(t, 2), u + 2 * v.diff(t) - (1 - _mu) * (u + _mu) / d1 - _mu * (u - 1 + _mu) / d2),
            sp.Eq(v.diff(t, 2), v - 2 * u.diff(t) - (1 - _mu) * v / d1 - _mu * v / d2),
        ],
        [
            p.Initial(u, 0.994),
            p.Initial(u.diff(t), 0),
            p.Initial(v, 0),
            p.Initial(v.diff(t), -2.00158510637908),
        ],
    )


def _eddington() -> Any:
    a = 0.02
    start = (1 - a**2 / 6 + a**4 / 40 - 19 * a**6 / 5040, -a / 3 + a**3 / 10 - 19 * a**5 / 840)
    far = scipy.integrate.solve_ivp(
        lambda q, v: (v[1], -2 * v[1] / q - v[0] ** 3),
        (a, 6.8),
        start,
        method="DOP853",
        rtol=1e-13,
        atol=1e-15,
        dense_output=True,
    )
    return {
        "u": lambda q: np.where(
            np.asarray(q) < a,
            1 - np.asarray(q) ** 2 / 6 + np.asarray(q) ** 4 / 40,
            far.sol(np.maximum(np.asarray(q, float).ravel(), a))[0].reshape(np.shape(q)),
        )
    }


@stated(
    "ode",
    "astronomy",
    "Chandrasekhar: Lane-Emden, n = 3",
    tags="singular coefficient, nonlinear",
    tol=1e-8,
    numeric=initial_value("u", lambda q, v: (v[1], -2 * v[1] / q - v[0] ** 3), (1, 0), 6.8),
    second=_eddington,
    accuracy=1e-12,
)
def eddington_star(p: Any) -> Any:
    """Eddington's standard model of a star, almost to its surface (6.897)."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 6.8),
        [x * u.diff(x, 2) + 2 * u.diff(x) + x * u**3],
        [p.Initial(u, 1), p.Initial(u.diff(x), 0)],
    )


def _bilinear(q: Any) -> Any:
    a = np.mod(np.asarray(q, float) + np.pi / 4, 1.5 * np.pi)
    return np.where(a < np.pi / 2, np.sin(2 * a), -2 * np.sin(a - np.pi / 2))


def _bilinear_again() -> Any:
    sol = scipy.integrate.solve_ivp(
        lambda q, v: (v[1], -v[0] - 3 * max(v[0], 0)),
        (0, 20),
        (1, 0),
        method="DOP853",
        rtol=1e-12,
        atol=1e-14,
        dense_output=True,
        max_step=0.02,
    )
    return {"u": lambda q: sol.sol(np.asarray(q, float).ravel())[0].reshape(np.shape(q))}


@stated(
    "ode",
    "mechanics",
    "Nayfeh-Mook: bilinear spring",
    tags="events, nonlinear, kink",
    tol=1e-6,
    numeric=lambda: {"u": _bilinear},
    second=_bilinear_again,
    accuracy=1e-13,
    second_tol=1e-8,
)
def one_sided_stop(p: Any) -> Any:
    """A mass whose spring is four times as stiff on one side."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 20),
        [u.diff(t, 2) + u + 3 * sp.Max(u, 0)],
        [p.Initial(u, 1), p.Initial(u.diff(t), 0)],
    )


def _perihelion() -> Any:
    a = 0.03
    C = -(2 * 1.5 - 1.5**2 + 2 * a / 3 * 1.5**3)
    u1, u2, u3 = sorted(np.real(np.roots([2 * a / 3, -1, 2, C])))
    m, w = (u2 - u1) / (u3 - u1), 0.5 * math.sqrt(2 * a / 3 * (u3 - u1))
    K = scipy.special.ellipk(m)
    return {"u": lambda q: u1 + (u2 - u1) * scipy.special.ellipj(K + w * np.asarray(q, float), m)[0] ** 2}


@stated(
    "ode",
    "astronomy",
    "Hartle: the orbit of Mercury",
    tags="orbit, long, nonlinear",
    tol=1e-8,
    numeric=initial_value("u", lambda q, v: (v[1], 1 - v[0] + 0.03 * v[0] ** 2), (1.5, 0), 60.0),
    second=_perihelion,
    accuracy=1e-11,
)
def perihelion(p: Any) -> Any:
    """An orbit that turns, in general relativity; the second reference is Jacobi's sn."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 60),
        [sp.Eq(u.diff(t, 2) + u, 1 + 0.03 * u**2)],
        [p.Initial(u, 1.5), p.Initial(u.diff(t), 0)],
    )


def _rocket(q: Any, v: Any) -> Any:
    return (v[1], (3.5e7 - 24 * np.exp(-v[0] / 8500) * v[1] ** 2) / (2.8e6 - 1.3e4 * q) - 9.81)


@stated(
    "ode",
    "astronautics",
    "Curtis: vertical launch",
    tags="units, system, nonlinear",
    unknowns="u v",
    tol=1e-8,
    numeric=initial_value("u v", _rocket, (0, 0), 150.0),
    second=initial_value("u v", _rocket, (0, 0), 150.0, "DOP853"),
    accuracy=1e-12,
)
def rocket(p: Any) -> Any:
    """Height (metres) and speed of a rocket that burns 13 tons a second, with drag in thinning air."""
    u, v = u_of(t), v_of(t)
    return p.Problem(
        p.Interval(t, 0, 150),
        [
            sp.Eq(u.diff(t), v),
            sp.Eq((2.8e6 - 1.3e4 * t) * (v.diff(t) + 9.81), 3.5e7 - 24 * sp.exp(-u / 8500) * v**2),
        ],
        [p.Initial(u, 0), p.Initial(v, 0)],
    )


def _lqr() -> Any:
    solve = spectral_ivp(
        lambda q, v: (
            2 * v[1] - 2 * v[1] ** 2 + 4,
            v[0] + v[2] - 2 * v[1] * v[2],
            2 * v[1] - 2 * v[2] ** 2 + 1,
        ),
        (0, 0, 0),
        5.0,
    )
    return on_grid("u v w", lambda q: solve(5 - np.asarray(q, float)))


def _lqr_again() -> Any:
    H = np.array([[0, 1, 0, 0], [1, 0, 0, -2], [-4, 0, 0, -1], [0, -1, -1, 0]], float)

    def f(q: Any) -> Any:
        out = []
        for a in np.ravel(q):
            E = scipy.linalg.expm(H * (a - 5))
            P = E[2:, :2] @ np.linalg.inv(E[:2, :2])
            out.append((P[0, 0], P[0, 1], P[1, 1]))
        return np.array(out).T

    return on_grid("u v w", f)


@stated(
    "ode",
    "control",
    "Kwakernaak-Sivan: Riccati",
    tags="backwards, nonlinear, system",
    unknowns="u v w",
    tol=1e-8,
    numeric=_lqr,
    second=_lqr_again,
    accuracy=1e-12,
    second_tol=1e-10,
)
def best_regulator(p: Any) -> Any:
    """The Riccati equation of an inverted pendulum's regulator, from the end backwards."""
    u, v, w = u_of(t), v_of(t), w_of(t)
    end = sp.Eq(t, 5)
    return p.Problem(
        p.Interval(t, 0, 5),
        [
            sp.Eq(u.diff(t), -2 * v + 2 * v**2 - 4),
            sp.Eq(v.diff(t), -u - w + 2 * v * w),
            sp.Eq(w.diff(t), -2 * v + 2 * w**2 - 1),
        ],
        [p.Dirichlet(u, 0, on=end), p.Dirichlet(v, 0, on=end), p.Dirichlet(w, 0, on=end)],
    )

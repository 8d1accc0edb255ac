"""Textbook problems: mechanics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special
import sympy as sp

from validation.references.initial_values import initial_value
from validation.references.series import jump_defect
from validation.statements.statement import stated
from validation.statements.symbols import SPLIT, pi, t, u_of, v_of, w_of, x
from validation.statements.types import Array, References

_damped = sp.sqrt(4 - sp.Rational(1, 100))


@stated(
    "ode",
    "mechanics",
    "Boyce-DiPrima style",
    tags="smooth, oscillation",
    exact={"u": sp.exp(-t / 10) * (sp.cos(_damped * t) + sp.sin(_damped * t) / (10 * _damped))},
)
def damped_spring(p: Any) -> Any:
    """A damped spring over a dozen periods."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 40),
        [u.diff(t, 2) + sp.Rational(1, 5) * u.diff(t) + 4 * u],
        [p.Initial(u, 1), p.Initial(u.diff(t), 0)],
    )


@stated(
    "ode",
    "mechanics",
    "Boyce-DiPrima style",
    tags="smooth, oscillation, long evolution",
    exact={"u": sp.Rational(25, 18) * (sp.cos(sp.Rational(4, 5) * t) - sp.cos(t))},
)
def beats(p: Any) -> Any:
    """Forcing close to the natural frequency, several beats."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 100),
        [sp.Eq(u.diff(t, 2) + u, sp.Rational(1, 2) * sp.cos(sp.Rational(4, 5) * t))],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0)],
    )


@stated(
    "ode", "mechanics", "Arnold style", tags="oscillation, long evolution", exact={"u": sp.cos(2 * pi * t)}
)
def hundred_periods(p: Any) -> Any:
    """A harmonic oscillator over one hundred periods."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 100), [u.diff(t, 2) + 4 * pi**2 * u], [p.Initial(u, 1), p.Initial(u.diff(t), 0)]
    )


@stated(
    "ode",
    "mechanics",
    "Nayfeh style",
    tags="nonlinear, oscillation",
    numeric=initial_value("u", lambda s, v: (v[1], -v[0] - v[0] ** 3), (1, 0), 30.0),
    second=lambda: {"u": lambda s: scipy.special.ellipj(math.sqrt(2) * np.asarray(s), 0.25)[1]},
    accuracy=1e-12,
)
def duffing(p: Any) -> Any:
    """A hardening spring; the second reference is Jacobi's cn."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 30), [u.diff(t, 2) + u + u**3], [p.Initial(u, 1), p.Initial(u.diff(t), 0)]
    )


def _pendulum() -> References:
    """The pendulum by Jacobi's functions: sin(angle/2) = k sn(K + w t)."""
    k, w = math.sin(1.25), math.sqrt(9.81)
    quarter = scipy.special.ellipk(k * k)
    return {"u": lambda s: 2 * np.arcsin(k * scipy.special.ellipj(quarter + w * np.asarray(s), k * k)[0])}


@stated(
    "ode",
    "mechanics",
    "Taylor style",
    tags="nonlinear, oscillation, units",
    numeric=initial_value("u", lambda s, v: (v[1], -9.81 * np.sin(v[0])), (2.5, 0), 20.0),
    second=_pendulum,
    accuracy=1e-12,
)
def pendulum_wide(p: Any) -> Any:
    """A pendulum let go from 143 degrees."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 20),
        [sp.Eq(u.diff(t, 2), -9.81 * sp.sin(u))],
        [p.Initial(u, 2.5), p.Initial(u.diff(t), 0)],
    )


def _kepler() -> References:
    """The ellipse of eccentricity 0.6 by Kepler's equation."""
    e = 0.6

    def anomaly(s: Array) -> Array:
        mean = np.asarray(s, dtype=float)
        found: Array = mean + e * np.sin(mean)
        for _ in range(60):
            found = found - (found - e * np.sin(found) - mean) / (1 - e * np.cos(found))
        return found

    return {"u": lambda s: np.cos(anomaly(s)) - e, "v": lambda s: math.sqrt(1 - e * e) * np.sin(anomaly(s))}


_pull = (
    lambda s, v: (v[2], v[3], -v[0] / np.hypot(v[0], v[1]) ** 3, -v[1] / np.hypot(v[0], v[1]) ** 3),
    (0.4, 0, 0, 2.0),
    30.0,
)


@stated(
    "ode",
    "celestial mechanics",
    "Goldstein style",
    tags="nonlinear, system, oscillation, long evolution",
    unknowns="u v",
    numeric=_kepler,
    second=initial_value("u v", *_pull),
    accuracy=1e-12,
    patch=0.01,
)
def kepler_ellipse(p: Any) -> Any:
    """Almost five revolutions of an eccentric orbit."""
    u, v = u_of(t), v_of(t)
    cube = (u**2 + v**2) ** sp.Rational(3, 2)
    return p.Problem(
        p.Interval(t, 0, 30),
        [sp.Eq(u.diff(t, 2), -u / cube), sp.Eq(v.diff(t, 2), -v / cube)],
        [p.Initial(u, 0.4), p.Initial(u.diff(t), 0), p.Initial(v, 0), p.Initial(v.diff(t), 2)],
    )


@stated(
    "ode",
    "control",
    "Hairer-Wanner style",
    tags="stiff, layer",
    exact={"u": sp.cos(t) + sp.exp(-1000 * t) / 2},
)
def stiff_tracking(p: Any) -> Any:
    """A fast relaxation towards a slow signal, started off the signal."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 3),
        [sp.Eq(u.diff(t), -1000 * (u - sp.cos(t)) - sp.sin(t))],
        [p.Initial(u, sp.Rational(3, 2))],
    )


_drag = sp.Rational(3, 1000)


@stated(
    "ode",
    "mechanics",
    "Marion style",
    tags="nonlinear, units, smooth",
    exact={"u": sp.log(sp.cosh(sp.sqrt(_drag * sp.Rational(981, 100)) * t)) / _drag},
)
def sky_diver(p: Any) -> Any:
    """Metres fallen against quadratic drag."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 60),
        [sp.Eq(u.diff(t, 2), 9.81 - 0.003 * u.diff(t) ** 2)],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0)],
    )


def _top() -> References:
    return {
        name: (lambda s, _i=i: scipy.special.ellipj(np.asarray(s, dtype=float), 0.51)[_i])
        for i, name in enumerate("uvw")
    }


_euler = (lambda s, v: (v[1] * v[2], -v[0] * v[2], -0.51 * v[0] * v[1]), (0, 1, 1), 24.0)


@stated(
    "ode",
    "mechanics",
    "Landau-Lifshitz style",
    tags="nonlinear, system, oscillation",
    unknowns="u v w",
    numeric=_top,
    second=initial_value("u v w", *_euler),
    accuracy=1e-12,
)
def tumbling_body(p: Any) -> Any:
    """A free rigid body; its angular velocities are Jacobi's functions."""
    u, v, w = u_of(t), v_of(t), w_of(t)
    return p.Problem(
        p.Interval(t, 0, 24),
        [sp.Eq(u.diff(t), v * w), sp.Eq(v.diff(t), -u * w), sp.Eq(w.diff(t), -0.51 * u * v)],
        [p.Initial(u, 0), p.Initial(v, 1), p.Initial(w, 1)],
    )


@stated(
    "ode",
    "control",
    "Ogata style",
    tags="smooth, third order",
    exact={"u": 1 - 3 * sp.exp(-t) + 3 * sp.exp(-2 * t) - sp.exp(-3 * t)},
)
def step_response(p: Any) -> Any:
    """A third-order plant after a unit step."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 12),
        [sp.Eq(u.diff(t, 3) + 6 * u.diff(t, 2) + 11 * u.diff(t) + 6 * u, 6)],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0), p.Initial(u.diff(t, 2), 0)],
    )


_string = sp.Piecewise((sp.Rational(7, 10) * x, x < SPLIT), (SPLIT * (1 - x), True))


@stated(
    "bvp",
    "mechanics",
    "Stakgold style",
    tags="jump, point load",
    exact={"u": _string},
    interfaces={"x": (0.3,)},
    extra=lambda: jump_defect(_string, SPLIT, 1, -1.0),
)
def loaded_string(p: Any) -> Any:
    """A string with one weight on it."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1), [sp.Eq(-u.diff(x, 2), sp.DiracDelta(x - SPLIT))], [p.Dirichlet(u, 0)]
    )

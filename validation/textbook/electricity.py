"""Textbook problems: electricity."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from validation.references.boundary_values import boundary_value
from validation.references.initial_values import initial_value
from validation.statements.statement import stated
from validation.statements.symbols import SPLIT, SQUARE, laplacian, pi, t, u_of, x, y, z
from validation.statements.types import Lazy


def _van_der_pol(mu: float) -> Callable[..., Any]:
    return lambda s, v: (v[1], mu * (1 - v[0] ** 2) * v[1] - v[0])


@stated(
    "ode",
    "electronics",
    "Strogatz style",
    tags="nonlinear, oscillation",
    numeric=initial_value("u", _van_der_pol(1.0), (0.5, 0), 25.0),
    second=initial_value("u", _van_der_pol(1.0), (0.5, 0), 25.0, "DOP853"),
    accuracy=1e-11,
)
def van_der_pol(p: Any) -> Any:
    """The onset of a limit cycle."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 25),
        [u.diff(t, 2) - (1 - u**2) * u.diff(t) + u],
        [p.Initial(u, 0.5), p.Initial(u.diff(t), 0)],
    )


@stated(
    "ode",
    "electronics",
    "Hairer-Wanner style",
    tags="nonlinear, stiff, layer",
    numeric=initial_value("u", _van_der_pol(100.0), (2, 0), 200.0),
    second=initial_value("u", _van_der_pol(100.0), (2, 0), 200.0, "Radau"),
    accuracy=1e-10,
    tol=1e-5,
    patch=1e-3,
    residual_tol=1e-5,
)
def van_der_pol_stiff(p: Any) -> Any:
    """A relaxation oscillation with two sudden jumps."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 200),
        [u.diff(t, 2) - 100 * (1 - u**2) * u.diff(t) + u],
        [p.Initial(u, 2), p.Initial(u.diff(t), 0)],
    )


_ring = sp.sqrt(sp.Integer(10) ** 9 - 25 * sp.Integer(10) ** 6)


@stated(
    "ode",
    "electronics",
    "Nilsson-Riedel style",
    tags="units, oscillation",
    exact={
        "u": sp.Rational(5, 10**6)
        * (1 - sp.exp(-5000 * t) * (sp.cos(_ring * t) + 5000 / _ring * sp.sin(_ring * t)))
    },
)
def ringing_circuit(p: Any) -> Any:
    """The charge in a series RLC circuit (1 mH, 10 ohm, 1 uF) after 5 V are switched on, in SI units."""
    u = u_of(t)
    return p.Problem(
        p.Interval(t, 0, 2e-3),
        [sp.Eq(1e-3 * u.diff(t, 2) + 10 * u.diff(t) + u / 1e-6, 5)],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0)],
    )


_troesch = (
    lambda s, v: (v[1], 5 * np.sinh(5 * v[0])),
    lambda a, b: (a[0], b[0] - 1),
    (0, 0.5, 0.75, 0.88, 0.94, 0.97, 1.0),
    lambda s: (s**4, 4 * s**3),
)


@stated(
    "bvp",
    "plasma physics",
    "Troesch's problem",
    tags="nonlinear, layer",
    numeric=boundary_value("u", *_troesch),
    second=boundary_value("u", *_troesch, 1e-11),
    accuracy=1e-11,
    patch=5e-3,
)
def troesch(p: Any) -> Any:
    """A confined plasma column."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), 5 * sp.sinh(5 * u))],
        [p.Dirichlet(u, 0, on=sp.Eq(x, 0)), p.Dirichlet(u, 1, on=sp.Eq(x, 1))],
    )


_debye = (
    lambda s, v: (v[1], 100 * np.sinh(v[0])),
    lambda a, b: (a[0] - 0.1 / 0.02585, b[0]),
    (0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0),
    lambda s: (3.868 * np.exp(-12 * s), -46 * np.exp(-12 * s)),
)


def _volts(make: Lazy) -> Lazy:
    """The dimensionless potential over the unit interval, in volts over a micrometre."""
    kept = cache(make)
    return lambda: {"u": lambda s: 0.02585 * kept()["u"](np.asarray(s) * 1e6)}


@stated(
    "bvp",
    "semiconductors",
    "Sze style",
    tags="nonlinear, layer, units",
    numeric=_volts(boundary_value("u", *_debye)),
    second=_volts(boundary_value("u", *_debye, 1e-11)),
    accuracy=1e-11,
    patch=5e-3,
)
def debye_layer(p: Any) -> Any:
    """The potential (volts) over one micrometre (in metres), the Debye length being a tenth."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1e-6),
        [sp.Eq(u.diff(x, 2), 0.02585 / (1e-7) ** 2 * sp.sinh(u / 0.02585))],
        [p.Dirichlet(u, 0.1, on=sp.Eq(x, 0)), p.Dirichlet(u, 0, on=sp.Eq(x, 1e-6))],
    )


_peak = sp.exp(-200 * ((x - SPLIT) ** 2 + (y - sp.Rational(3, 5)) ** 2))


@stated("elliptic", "electrostatics", "Mitchell style", tags="2d, peak", exact={"u": _peak})
def sharp_peak(p: Any) -> Any:
    """A narrow charge distribution."""
    u = u_of(x, y)
    return p.Problem(
        p.Box(SQUARE), [sp.Eq(laplacian(u), sp.simplify(laplacian(_peak)))], [p.Dirichlet(u, _peak)]
    )


_chip = sp.Rational(2, 10**6)


_trap = sp.Rational(1, 2) * sp.sin(pi * x / _chip) * sp.sin(2 * pi * y / _chip)


@stated("elliptic", "semiconductors", "Jackson style", tags="2d, smooth, units", exact={"u": _trap})
def charge_trap(p: Any) -> Any:
    """A potential (volts) in a square of two micrometres (in metres)."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, _chip), y: (0, _chip)}),
        [sp.Eq(laplacian(u), -5 * pi**2 / _chip**2 * _trap)],
        [p.Dirichlet(u, 0)],
    )


INSULATED = sp.cos(pi * x) * sp.cos(2 * pi * y)


@stated(
    "elliptic",
    "electrostatics",
    "Strauss style",
    tags="2d, smooth, neumann, point value",
    exact={"u": INSULATED},
)
def insulated_square(p: Any) -> Any:
    """Only fluxes are given, and the value at one corner."""
    u = u_of(x, y)
    return p.Problem(
        p.Box(SQUARE),
        [sp.Eq(-laplacian(u), 5 * pi**2 * INSULATED)],
        [p.Neumann(u, 0), p.Dirichlet(u, 1, on={x: 0, y: 0})],
    )


_harmonic = sp.cos(3 * x) * sp.cos(4 * y) * sp.cosh(5 * z) / sp.cosh(5)


@stated(
    "elliptic", "electrostatics", "Jackson style", tags="3d, smooth, mixed", exact={"u": _harmonic}, tol=1e-6
)
def quadrupole_trap(p: Any) -> Any:
    """A harmonic potential with symmetry planes at x = 0, y = 0 and z = 0."""
    u = u_of(x, y, z)
    walls = [p.Neumann(u, 0, on=sp.Eq(c, 0)) for c in (x, y, z)]
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1), z: (0, 1)}),
        [laplacian(u, x, y, z)],
        [*walls, *(p.Dirichlet(u, _harmonic, on=sp.Eq(c, 1)) for c in (x, y, z))],
    )


_omega = sp.sqrt(4 * pi**2 + 2 - 1)


@stated(
    "evolution",
    "electronics",
    "Pozar style",
    tags="time, oscillation",
    exact={"u": sp.exp(-t) * (sp.cos(_omega * t) + sp.sin(_omega * t) / _omega) * sp.sin(2 * pi * x)},
)
def telegraph_line(p: Any) -> Any:
    """A lossy line: u_tt + 2 u_t + 2 u = u_xx."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 3),
        [u.diff(t, 2) + 2 * u.diff(t) + 2 * u - u.diff(x, 2)],
        [p.Dirichlet(u, 0), p.Initial(u, sp.sin(2 * pi * x)), p.Initial(u.diff(t), 0)],
    )

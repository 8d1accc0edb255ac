"""Further problems: heat."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import scipy.special
import sympy as sp

from validation.fresh.electricity import BESSEL_ZERO
from validation.references.boundary_values import boundary_value
from validation.references.series import find_root, summed
from validation.statements.statement import stated
from validation.statements.symbols import RADIUS, R, laplacian, pi, r, t, u_of, x, y

_fin = (
    lambda q, v: (v[1], 5.67e-8 * 0.9 * 4 / 0.005 / 40 * (v[0] ** 4 - 300.0**4)),
    lambda a, b: (a[0] - 900, b[1]),
    (0, 0.05, 0.1, 0.2, 0.3),
    lambda q: (400 + 500 * np.exp(-q * 15), -7500 * np.exp(-q * 15)),
)


@stated(
    "bvp",
    "heat",
    "Incropera: radiating fin",
    tags="units, nonlinear",
    tol=1e-8,
    numeric=boundary_value("u", *_fin),
    second=boundary_value("u", *_fin, 1e-11),
    accuracy=1e-9,
)
def radiating_fin(p: Any) -> Any:
    """A steel rod (5 mm, 40 W/m/K) in space: 900 K at its root, an insulated tip, radiation to 300 K."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 0.3),
        [sp.Eq(40 * u.diff(x, 2), 5.67e-8 * 0.9 * 4 / 0.005 * (u**4 - 300**4))],
        [p.Dirichlet(u, 900, on=sp.Eq(x, 0)), p.Neumann(u, 0, on=sp.Eq(x, 0.3))],
    )


_R1, _R2, _R3, _heat = R(41, 10000), R(418, 100000), R(475, 100000), 320000000


_flux = _heat * _R1**2 / 2


_t3 = 580 + _flux / _R3 / 30000


_t2 = _t3 + _flux / 15 * sp.log(_R3 / _R2)


_t1 = _t2 + _flux / R(6, 25) * sp.log(_R2 / _R1)


_pin = sp.Piecewise(
    (_t1 + _heat * (_R1**2 - r**2) / (4 * R(29, 10)), r < _R1),
    (_t2 + _flux / R(6, 25) * sp.log(_R2 / r), r < _R2),
    (_t3 + _flux / 15 * sp.log(_R3 / r), True),
)


@stated(
    "bvp",
    "nuclear engineering",
    "Todreas-Kazimi: fuel pin",
    tags="units, layers of material, Robin, singular coefficient",
    tol=1e-8,
    exact={"u": _pin},
    interfaces={"r": (float(_R1), float(_R2))},
)
def fuel_pin(p: Any) -> Any:
    """Kelvin over millimetres (in metres): fuel, a thin gas gap, cladding, coolant at 580 K."""
    u = u_of(r)
    k = sp.Piecewise((R(29, 10), r < _R1), (R(6, 25), r < _R2), (15, True))
    q = sp.Piecewise((_heat, r < _R1), (0, True))
    return p.Problem(
        p.Interval(r, 0, _R3),
        [sp.Eq(sp.Derivative(r * k * u.diff(r), r), -r * q)],
        [p.Neumann(u, 0, on=sp.Eq(r, 0)), p.Robin(u, 2000 * 580, alpha=2000, beta=1, on=sp.Eq(r, _R3))],
    )


_e1 = R(1, 50)


_ra = (1 + sp.sqrt(1 + 4 * _e1**2 * pi**2)) / (2 * _e1)  # > 0, steep


_rb = (1 - sp.sqrt(1 + 4 * _e1**2 * pi**2)) / (2 * _e1)  # < 0, slow


_duct = sp.sin(pi * y) * (sp.exp(_rb * x) - sp.exp(_rb) * sp.exp(_ra * (x - 1))) / (1 - sp.exp(_rb - _ra))


@stated("plane", "heat", "Roos-Stynes-Tobiska", tags="layer", tol=1e-8, exact={"u": _duct})
def duct_outflow(p: Any) -> Any:
    """Warm water through a duct with cold walls and a cold outlet: a layer of 1/50."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(-_e1 * laplacian(u) + u.diff(x), 0)],
        [p.Dirichlet(u, sp.sin(pi * y), on=sp.Eq(x, 0)), p.Dirichlet(u, 0)],
    )


def _sandwich() -> Any:
    """u = a(x) + b(x) cos(pi y); a linear, b of cosh and sinh in each of three layers."""
    ks, edges = (2, R(1, 20), 1), (0, R(2, 5), R(1, 2), 1)
    with mpmath.workdps(45):

        def part(wave: Any) -> Any:
            rows, right = mpmath.matrix(6, 6), mpmath.matrix(6, 1)
            fs: Any = (
                [(lambda q: mpmath.mpf(1), lambda q: mpmath.mpf(0)), (lambda q: q, lambda q: mpmath.mpf(1))]
                if not wave
                else [
                    (lambda q: mpmath.cosh(mpmath.pi * q), lambda q: mpmath.pi * mpmath.sinh(mpmath.pi * q)),
                    (lambda q: mpmath.sinh(mpmath.pi * q), lambda q: mpmath.pi * mpmath.cosh(mpmath.pi * q)),
                ]
            )
            E = [mpmath.mpf(e.p) / e.q for e in map(sp.Rational, edges)]
            K = [mpmath.mpf(e.p) / e.q for e in map(sp.Rational, ks)]
            for j, (f, d) in enumerate(fs):
                rows[0, j] = 4 * f(E[0]) - d(E[0])  # Robin at x = 0: 4 u - u' = 4 (20 + 5 cos)
                rows[1, 4 + j] = f(E[3])  # u = 0 at x = 1
                for i in (1, 2):
                    rows[2 * i, 2 * (i - 1) + j], rows[2 * i, 2 * i + j] = f(E[i]), -f(E[i])
                    rows[2 * i + 1, 2 * (i - 1) + j], rows[2 * i + 1, 2 * i + j] = (
                        K[i - 1] * d(E[i]),
                        -K[i] * d(E[i]),
                    )
            right[0] = 4 * (5 if wave else 20)
            c = mpmath.lu_solve(rows, right)
            return [sp.Float(mpmath.nstr(q, 42), 42) for q in c]

        a, b = part(False), part(True)
    pieces = [
        a[2 * i]
        + a[2 * i + 1] * x
        + (b[2 * i] * sp.cosh(pi * x) + b[2 * i + 1] * sp.sinh(pi * x)) * sp.cos(pi * y)
        for i in range(3)
    ]
    return sp.Piecewise((pieces[0], x < edges[1]), (pieces[1], x < edges[2]), (pieces[2], True))


@stated(
    "plane",
    "building physics",
    "Hens",
    tags="layers of material, Robin, mixed",
    tol=1e-8,
    exact={"u": _sandwich()},
    interfaces={"x": (0.4, 0.5)},
)
def sandwich_wall(p: Any) -> Any:
    """Concrete, foam, plaster.

    Warm air with a draught on the left, 0 degrees on the right, sealed above and below.
    """
    u = u_of(x, y)
    k = sp.Piecewise((2, x < R(2, 5)), (R(1, 20), x < R(1, 2)), (1, True))
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(p.div(k * p.grad(u)), 0)],
        [
            p.Robin(u, 4 * (20 + 5 * sp.cos(pi * y)), alpha=4, beta=1, on=sp.Eq(x, 0)),
            p.Dirichlet(u, 0, on=sp.Eq(x, 1)),
            p.Neumann(u, 0),
        ],
    )


_spot = 0.025


def _laser(X: Any, Y: Any) -> Any:
    q = ((np.asarray(X, float) - 0.3) ** 2 + (np.asarray(Y, float) - 0.6) ** 2) / (2 * _spot**2)
    small = np.where(q > 0, q, 1e-30)
    # -(ln q + E1(q)) = gamma + Ein-type series near 0
    series = np.euler_gamma - small + small**2 / 4 - small**3 / 18 + small**4 / 96
    body = np.where(small < 1e-3, series, -(np.log(small) + scipy.special.exp1(np.maximum(small, 1e-3))))
    return (body - math.log(2 * _spot**2)) / (4 * np.pi)


def _laser_again() -> Any:
    """u(rho) by a radial quadrature.

    U' = -(1 - exp(-rho^2/2s^2))/(2 pi rho), u = -ln(rho)/(2 pi) far away.
    """

    def slope(q: Any) -> Any:
        return -(1 - np.exp(-q * q / (2 * _spot**2))) / (2 * np.pi * q)

    edges = np.concatenate([[0], np.geomspace(1e-4, 0.6, 60)])
    nodes, weights = np.polynomial.legendre.leggauss(20)

    def f(X: Any, Y: Any) -> Any:
        rho = np.hypot(np.asarray(X, float) - 0.3, np.asarray(Y, float) - 0.6)
        out = np.empty(rho.shape).ravel()
        for i, a in enumerate(rho.ravel()):
            if a >= 0.6:
                out[i] = -math.log(a) / (2 * np.pi)
                continue
            cut = np.concatenate([[a], edges[edges > a]])
            mid, half = (cut[1:] + cut[:-1]) / 2, (cut[1:] - cut[:-1]) / 2
            q = mid[:, None] + half[:, None] * nodes
            out[i] = -math.log(0.6) / (2 * np.pi) - np.sum(half[:, None] * weights * slope(q))
        return out.reshape(rho.shape)

    return {"u": f}


@stated(
    "plane",
    "laser processing",
    "Carslaw-Jaeger",
    tags="narrow source",
    tol=1e-6,
    numeric=lambda: {"u": _laser},
    second=_laser_again,
    accuracy=1e-12,
    patch=2e-3,
    residual_tol=1e-4,
)
def laser_spot(p: Any) -> Any:
    """A Gaussian beam of width 1/40 on a plate, with the temperature of the free plane on its sides."""
    u = u_of(x, y)
    q = (x - 0.3) ** 2 + (y - 0.6) ** 2
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(-laplacian(u), sp.exp(-q / (2 * _spot**2)) / (2 * sp.pi * _spot**2))],
        [p.Dirichlet(u, -sp.log(q) / (4 * sp.pi))],
    )


_bi = find_root(lambda q: q * mpmath.besselj(1, q) - 2 * mpmath.besselj(0, q), 1.6)


@stated(
    "plane",
    "heat",
    "Carslaw-Jaeger: cylinder",
    tags="singular coefficient, Robin",
    tol=1e-8,
    exact={"u": sp.besselj(0, _bi * x) * sp.sinh(_bi * (2 - y)) / sp.sinh(2 * _bi)},
)
def hot_cylinder(p: Any) -> Any:
    """A cylinder in (r, z) = (x, y): its axis at x = 0, air at x = 1, heated below."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 2)}),
        [x * u.diff(x, 2) + u.diff(x) + x * u.diff(y, 2)],
        [
            p.Neumann(u, 0, on=sp.Eq(x, 0)),
            p.Robin(u, 0, alpha=2, beta=1, on=sp.Eq(x, 1)),
            p.Dirichlet(u, sp.besselj(0, _bi * x), on=sp.Eq(y, 0)),
            p.Dirichlet(u, 0, on=sp.Eq(y, 2)),
        ],
    )


def _flux_images() -> Any:
    def ierfc(q: Any) -> Any:
        return np.exp(-(q**2)) / math.sqrt(np.pi) - q * scipy.special.erfc(q)

    def f(X: Any, T: Any) -> Any:
        X, T = np.broadcast_arrays(np.asarray(X, float), np.asarray(T, float))
        root = 2 * np.sqrt(np.maximum(T, 1e-300))
        return root * sum(
            (-1) ** k * (ierfc((2 * k + X) / root) - ierfc((2 * k + 2 - X) / root)) for k in range(8)
        )

    return {"u": f}


def _flux_series() -> Any:
    lam = (np.arange(6000) + 0.5) * np.pi
    return {
        "u": lambda X, T: (
            (1 - np.asarray(X, float))
            - summed(lambda n, a, b: 2 / n**2 * np.cos(n * a) * np.exp(-(n**2) * b), lam, X, T)
        )
    }


@stated(
    "evolution",
    "heat",
    "Carslaw-Jaeger: sudden flux",
    tags="parabolic, incompatible beginning",
    tol=1e-5,
    numeric=_flux_images,
    second=_flux_series,
    accuracy=1e-12,
    second_tol=1e-4,
    residual_tol=1e-5,
)
def sudden_flux(p: Any) -> Any:
    """A cold slab into which heat flows from t = 0 on: the flux does not fit the beginning."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.5),
        [sp.Eq(u.diff(t), u.diff(x, 2))],
        [p.Neumann(u, 1, on=sp.Eq(x, 0)), p.Dirichlet(u, 0, on=sp.Eq(x, 1)), p.Initial(u, 0)],
    )


_j0 = find_root(lambda q: mpmath.besselj(0, q), 2.4)


def _disc(a: Any, b: Any) -> Any:
    return sp.besselj(0, _j0 * RADIUS) * a + sp.besselj(1, BESSEL_ZERO * RADIUS) * x / RADIUS / 2 * b


@stated(
    "evolution",
    "heat",
    "Carslaw-Jaeger: round bar",
    tags="disc and time",
    tol=1e-6,
    exact={"u": _disc(sp.exp(-(_j0**2) * t), sp.exp(-(BESSEL_ZERO**2) * t))},
)
def quenched_wire(p: Any) -> Any:
    """A round bar with a cold rim loses its heat."""
    u = u_of(x, y, t)
    # J1(k r) x/r written so that nothing is divided by zero in the middle
    start = sp.besselj(0, _j0 * RADIUS) + x * BESSEL_ZERO / 4 * (
        sp.besselj(0, BESSEL_ZERO * RADIUS) + sp.besselj(2, BESSEL_ZERO * RADIUS)
    )
    return p.Problem(
        p.Disk((x, y), (0, 0), 1).during(t, 0, 0.1),
        [sp.Eq(u.diff(t), laplacian(u))],
        [p.Dirichlet(u, 0), p.Initial(u, start)],
    )

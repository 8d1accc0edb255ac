"""Further problems: elasticity and materials."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import numpy as np
import scipy.integrate
import sympy as sp

from validation.references.boundary_values import boundary_value
from validation.references.semilinear import on_times, semilinear
from validation.statements.statement import stated
from validation.statements.symbols import R, pi, t, u_of, v_of, x, y


@cache
def _rail() -> Any:
    """Coefficients of exp(+-bx) cos, sin on both sides of the load, by 40 digits."""
    with mpmath.workdps(45):
        EI, k, P = mpmath.mpf(6000000), mpmath.mpf(20000000), mpmath.mpf(100000)
        b = mpmath.root(k / (4 * EI), 4)
        X = sp.Symbol("x")
        B = sp.Float(mpmath.nstr(b, 42), 42)
        # waves that die away from -5, from the load (both sides) and from 8
        left = [sp.exp(-B * (X + 5)) * g(B * (X + 5)) for g in (sp.cos, sp.sin)] + [
            sp.exp(B * X) * g(B * X) for g in (sp.cos, sp.sin)
        ]
        right = [sp.exp(-B * X) * g(B * X) for g in (sp.cos, sp.sin)] + [
            sp.exp(B * (X - 8)) * g(B * (X - 8)) for g in (sp.cos, sp.sin)
        ]

        def d(e: Any, n: Any, at: Any) -> Any:
            return mpmath.mpf(str(sp.N(sp.diff(e, X, n).subs(X, at) if n else e.subs(X, at), 42)))

        rows = [[d(e, n, -5) for e in left] + [0] * 4 for n in (0, 1)] + [
            [0] * 4 + [d(e, n, 8) for e in right] for n in (2, 3)
        ]
        rows += [[-d(e, n, 0) for e in left] + [d(e, n, 0) for e in right] for n in range(4)]
        c = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix([0] * 7 + [P / EI]))
        c = [sp.Float(mpmath.nstr(q, 40), 40) for q in c]
    halves = [sum(a * e for a, e in zip(c[:4], left)), sum(a * e for a, e in zip(c[4:], right))]
    return sp.Piecewise((halves[0], X < 0), (halves[1], True)), halves


def _rail_jump() -> Any:
    low, high = _rail()[1]
    gaps = [
        float(sp.N((high - low).diff(x, n).subs(x, 0), 30) if n else sp.N((high - low).subs(x, 0), 30))
        for n in range(4)
    ]
    return max(abs(gaps[0]) / 1e-3, abs(gaps[1]) / 1e-3, abs(gaps[2]) / 1e-3, abs(gaps[3] - 1 / 60) * 60)


@stated(
    "bvp",
    "elasticity",
    "Timoshenko: rail on a bed",
    tags="point load, fourth order, units",
    tol=1e-8,
    exact={"u": _rail()[0]},
    extra=_rail_jump,
)
def loaded_rail(p: Any) -> Any:
    """A rail (6 MN m2) on its bed (20 MN/m2) under a wheel of 100 kN.

    Clamped at -5 m, free at 8 m. Deflection in metres.
    """
    u = u_of(x)
    a, b = sp.Eq(x, -5), sp.Eq(x, 8)
    return p.Problem(
        p.Interval(x, -5, 8),
        [sp.Eq(6000000 * u.diff(x, 4) + 20000000 * u, 100000 * sp.DiracDelta(x))],
        [
            p.Dirichlet(u, 0, on=a),
            p.Neumann(u, 0, on=a),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=b),
            p.Condition(sp.Eq(u.diff(x, 3), 0), on=b),
        ],
    )


_mems = (
    lambda q, v: (v[1], v[2], v[3], -50 / (1 + v[0]) ** 2),
    lambda a, b: (a[0], a[1], b[0], b[1]),
    (0, 0.25, 0.5, 0.75, 1),
    lambda q: (-2 * q**2 * (1 - q) ** 2, -4 * q + 12 * q**2 - 8 * q**3, -4 + 24 * q - 24 * q**2, 24 - 48 * q),
)


def _deep(q: Any) -> Any:
    """A guess near the second, deeper bridge (0.65), which is a solution too."""
    A = 16 * 0.7
    return (
        -A * q**2 * (1 - q) ** 2,
        -A * (2 * q - 6 * q**2 + 4 * q**3),
        -A * (2 - 12 * q + 12 * q**2),
        -A * (-12 + 24 * q),
    )


@stated(
    "bvp",
    "microsystems",
    "Pelesko-Bernstein",
    tags="fourth order, nonlinear",
    tol=1e-8,
    numeric=boundary_value("u", *_mems),
    second=boundary_value("u", *_mems, 1e-11),
    accuracy=1e-9,
    further=(
        boundary_value("u", *_mems[:2], tuple(np.linspace(0, 1, 9)), _deep),
        boundary_value("u", *_mems[:2], tuple(np.linspace(0, 1, 9)), _deep, 1e-11),
        1e-8,
    ),
    residual_tol=1e-4,
)
def micro_bridge(p: Any) -> Any:
    """A clamped bridge pulled down by a voltage, before it snaps."""
    u = u_of(x)
    a, b = sp.Eq(x, 0), sp.Eq(x, 1)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 4), -50 / (1 + u) ** 2)],
        [p.Dirichlet(u, 0, on=a), p.Neumann(u, 0, on=a), p.Dirichlet(u, 0, on=b), p.Neumann(u, 0, on=b)],
    )


# Timoshenko-Goodier: end-loaded cantilever, length 2, height 1/2, plane stress, steel, 1 MN per metre of
# width downwards
_E, _nu, _P, _L, _c = 210 * 10**9, R(3, 10), 10**6, 2, R(1, 4)


_I, _G = R(2, 3) * _c**3, _E / (2 * (1 + _nu))


_cu = _P * y / (6 * _E * _I) * ((6 * _L - 3 * x) * x + (2 + _nu) * (y**2 - _c**2))


_cv = -_P / (6 * _E * _I) * (3 * _nu * y**2 * (_L - x) + (4 + 5 * _nu) * _c**2 * x + (3 * _L - x) * x**2)


def _stress(u: Any, v: Any) -> Any:
    k = _E / (1 - _nu**2)
    return k * (u.diff(x) + _nu * v.diff(y)), k * (v.diff(y) + _nu * u.diff(x)), _G * (u.diff(y) + v.diff(x))


@stated(
    "plane",
    "elasticity",
    "Timoshenko-Goodier: cantilever",
    tags="system, units, traction",
    tol=1e-8,
    exact={"u": _cu, "v": _cv},
)
def steel_bracket(p: Any) -> Any:
    """A steel cantilever in pascals and metres.

    Displacements given at the wall, tractions on the other sides.
    """
    u, v = u_of(x, y), v_of(x, y)
    sxx, syy, sxy = _stress(u, v)
    wall, tip, edges = sp.Eq(x, 0), sp.Eq(x, 2), sp.Or(sp.Eq(y, -R(1, 4)), sp.Eq(y, R(1, 4)))
    return p.Problem(
        p.Box({x: (0, 2), y: (-R(1, 4), R(1, 4))}),
        [sp.Eq(sp.expand(sxx.diff(x) + sxy.diff(y)), 0), sp.Eq(sp.expand(sxy.diff(x) + syy.diff(y)), 0)],
        [
            p.Dirichlet(u, _cu.subs(x, 0), on=wall),
            p.Dirichlet(v, _cv.subs(x, 0), on=wall),
            p.Condition(sp.Eq(sxx, 0), on=tip),
            p.Condition(sp.Eq(sxy, -_P / (2 * _I) * (_c**2 - y**2)), on=tip),
            p.Condition(sp.Eq(syy, 0), on=edges),
            p.Condition(sp.Eq(sxy, 0), on=edges),
        ],
    )


def _clamped(n: Any = 30) -> Any:
    """Galerkin with (1-X^2)^2 (1-Y^2)^2 P_i P_j on [-1, 1]^2, exact quadrature."""
    q, w = np.polynomial.legendre.leggauss(2 * n + 12)
    P = np.polynomial.polynomial.Polynomial
    base = P([1, 0, -1]) ** 2
    found = []
    for i in range(0, n, 2):  # even functions only
        L = np.polynomial.legendre.Legendre.basis(i)
        v, d, dd = L(q), L.deriv(1)(q), L.deriv(2)(q)
        bv, bd, bdd = base(q), base.deriv(1)(q), base.deriv(2)(q)
        scale = 1 / (1 + i) ** 2
        found.append((bv * v * scale, (bd * v + bv * d) * scale, (bdd * v + 2 * bd * d + bv * dd) * scale))
    f0, f1, f2 = (np.array(f) for f in zip(*found, strict=True))
    M, A1, A2 = (f0 * w) @ f0.T, (f1 * w) @ f1.T, (f2 * w) @ f2.T
    A = np.kron(A2, M) + 2 * np.kron(A1, A1) + np.kron(M, A2)
    load = f0 @ w
    c = np.linalg.solve(A, np.kron(load, load)).reshape(len(load), -1)

    def f(X: Any, Y: Any) -> Any:
        X, Y = (2 * np.asarray(e, float) - 1 for e in (X, Y))
        vx = np.array(
            [
                base(X) * np.polynomial.legendre.Legendre.basis(2 * i)(X) / (1 + 2 * i) ** 2
                for i in range(len(load))
            ]
        )
        vy = np.array(
            [
                base(Y) * np.polynomial.legendre.Legendre.basis(2 * i)(Y) / (1 + 2 * i) ** 2
                for i in range(len(load))
            ]
        )
        return (
            np.einsum("i...,ij,j...->...", vx, c, vy) / 16
        )  # Laplace^2 on the unit square is 16 times as large

    return {"u": f}


def _clamped_series(terms: Any = 160) -> Any:
    """Hencky's superposition on [-1/2, 1/2]^2.

    A clamped strip and Levy modes that satisfy the equation; slopes by Galerkin on the sides.
    """
    m = np.arange(1, 2 * terms, 2)
    a = m * np.pi  # cos(a X), zero at +-1/2

    def modes(X: Any, Y: Any) -> Any:
        """Levy modes cos(aX)(Y sinh aY / cosh(a/2) - tanh(a/2)/2 cosh aY/cosh(a/2)).

        Zero on all sides, biharmonic.
        """
        X, Y = X[..., None], Y[..., None]
        ch = (np.exp(a * (np.abs(Y) - 0.5)) + np.exp(-a * (np.abs(Y) + 0.5))) / (1 + np.exp(-a))
        sh = np.sign(Y) * (np.exp(a * (np.abs(Y) - 0.5)) - np.exp(-a * (np.abs(Y) + 0.5))) / (1 + np.exp(-a))
        return np.cos(a * X) * (Y * sh - np.tanh(a / 2) / 2 * ch)

    def navier(X: Any, Y: Any) -> Any:
        """The simply supported plate under 1, by Levy's series (particular + modes)."""
        load = 4 / a**5 * np.sin(a / 2)
        X, Y = X[..., None], Y[..., None]
        ch = (np.exp(a * (np.abs(Y) - 0.5)) + np.exp(-a * (np.abs(Y) + 0.5))) / (1 + np.exp(-a))
        sh = np.sign(Y) * (np.exp(a * (np.abs(Y) - 0.5)) - np.exp(-a * (np.abs(Y) + 0.5))) / (1 + np.exp(-a))
        th = np.tanh(a / 2)
        return np.sum(load * np.cos(a * X) * (1 - (2 + a / 2 * th) / 2 * ch + a * Y * sh / 2), axis=-1)

    # slopes at Y = 1/2 as cosine series: of navier, of modes along X (diagonal), of modes along Y (full)
    th = np.tanh(a / 2)
    # navier: d/dY at 1/2: load*( -(2 + a/2 th)/2 * a th + (a th + a^2/2)/2 ) cos
    load = 4 / a**5 * np.sin(a / 2)
    slope0 = load * (-(2 + a / 2 * th) / 2 * a * th + (a * th + a**2 / 2) / 2)
    own = th + a / 2 - th / 2 * a * th  # of mode m along X at Y = 1/2
    # mode along Y: cos(a_n Y)(X sh - th/2 ch): slope at Y=1/2: -a_n sin(a_n/2) (X sh_n - th_n/2 ch_n);
    # cosine coefficient 2*int
    q, w = np.polynomial.legendre.leggauss(1400)
    q, w = q / 2, w / 2
    ch = (np.exp(a * (np.abs(q)[:, None] - 0.5)) + np.exp(-a * (np.abs(q)[:, None] + 0.5))) / (1 + np.exp(-a))
    sh = (
        np.sign(q)[:, None]
        * (np.exp(a * (np.abs(q)[:, None] - 0.5)) - np.exp(-a * (np.abs(q)[:, None] + 0.5)))
        / (1 + np.exp(-a))
    )
    shape = q[:, None] * sh - th / 2 * ch
    cross = 2 * (np.cos(np.outer(q, a)) * w[:, None]).T @ (-a * np.sin(a / 2) * shape)
    c = np.linalg.solve(np.diag(own) + cross, -slope0)

    def f(X: Any, Y: Any) -> Any:
        X, Y = np.asarray(X, float) - 0.5, np.asarray(Y, float) - 0.5
        return navier(X, Y) + modes(X, Y) @ c + modes(Y, X) @ c

    return {"u": f}


@stated(
    "plane",
    "elasticity",
    "Timoshenko: clamped plate",
    tags="fourth order, corners",
    tol=1e-6,
    numeric=_clamped,
    second=_clamped_series,
    accuracy=1e-8,
    second_tol=1e-5,
    residual_tol=1e-3,
)
def clamped_plate(p: Any) -> Any:
    """A square plate, clamped all around, under an even load (0.00126532 in the middle)."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(u.diff(x, 4) + 2 * u.diff(x, 2, y, 2) + u.diff(y, 4), 1)],
        [p.Dirichlet(u, 0), p.Neumann(u, 0)],
    )


def _ch0(q: Any) -> Any:
    return 0.1 + 0.3 * np.cos(q) + 0.2 * np.sin(2 * q)


def _cahn(n: Any = 96) -> Any:
    q = 2 * np.pi * np.arange(n) / n
    k = np.fft.fftfreq(n, 1 / n)

    def nonlinear(m: Any) -> Any:
        uu = np.real(np.fft.ifft(m, axis=0)) * n
        return -(k**2)[:, None] * np.fft.fft(uu**3, axis=0) / n

    solve = semilinear(
        k**2 - 0.1 * k**4, np.fft.fft(_ch0(q)) / n, nonlinear, list(np.linspace(0, 2, 401)), n=10
    )
    return {"u": on_times(solve, lambda X: np.exp(1j * np.multiply.outer(X, k)), slice(0, n))}


def _cahn_again(n: Any = 64) -> Any:
    q = 2 * np.pi * np.arange(n) / n
    k = np.fft.fftfreq(n, 1 / n)
    F = np.fft.fft(np.eye(n), axis=0)
    D2, D4 = (np.real(np.fft.ifft(e[:, None] * F, axis=0)) for e in (-(k**2), k**4))
    sol = scipy.integrate.solve_ivp(
        lambda _, m: D2 @ (m**3 - m) - 0.1 * D4 @ m,
        (0, 2),
        _ch0(q),
        method="Radau",
        rtol=1e-10,
        atol=1e-12,
        dense_output=True,
        jac=lambda _, m: D2 * (3 * m**2 - 1) - 0.1 * D4,
    )

    def modes(T: Any) -> Any:
        return np.fft.fft(sol.sol(np.ravel(T)), axis=0) / n

    return {"u": on_times(modes, lambda X: np.exp(1j * np.multiply.outer(X, k)), slice(0, n))}


@stated(
    "evolution",
    "materials",
    "Cahn-Hilliard",
    tags="fourth order, nonlinear, periodic",
    tol=1e-6,
    numeric=_cahn,
    second=_cahn_again,
    accuracy=1e-10,
    second_tol=1e-8,
    residual_tol=1e-4,
)
def unmixing_alloy(p: Any) -> Any:
    """An alloy separates: u_t = (u^3 - u - u_xx/10)_xx on a ring."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 2 * pi).during(t, 0, 2),
        [sp.Eq(u.diff(t), (u**3 - u).diff(x, 2) - u.diff(x, 4) / 10)],
        [p.Periodic(u, x), p.Initial(u, R(1, 10) + R(3, 10) * sp.cos(x) + sp.sin(2 * x) / 5)],
    )

"""Further problems: waves and quantum mechanics."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import sympy as sp

from validation.references.boundary_values import boundary_value, cheb_line
from validation.references.chebyshev import chebyshev, coefficient_matrix
from validation.references.series import find_root
from validation.statements.statement import stated
from validation.statements.symbols import R, laplacian, r, t, u_of, v_of, x, y


@stated(
    "ode",
    "quantum mechanics",
    "Griffiths: hydrogen",
    tags="singular coefficient",
    tol=1e-8,
    exact={"u": (1 - 2 * r / 3 + 2 * r**2 / 27) * sp.exp(-r / 3)},
)
def hydrogen_3s(p: Any) -> Any:
    """The radial wave of hydrogen's 3s state, from the nucleus outwards."""
    u = u_of(r)
    return p.Problem(
        p.Interval(r, 0, 15),
        [r * u.diff(r, 2) + 2 * u.diff(r) + (2 - r / 9) * u],
        [p.Initial(u, 1), p.Initial(u.diff(r), -1)],
    )


_w1 = sp.sqrt(R(9, 4) + R(1, 100))


@stated(
    "ode",
    "geophysics",
    "Taylor: Foucault's pendulum",
    tags="long, oscillation, second order, system",
    tol=1e-8,
    exact={
        "u": sp.cos(t / 10) * sp.cos(_w1 * t) + sp.sin(t / 10) * sp.sin(_w1 * t) / (10 * _w1),
        "v": -sp.sin(t / 10) * sp.cos(_w1 * t) + sp.cos(t / 10) * sp.sin(_w1 * t) / (10 * _w1),
    },
)
def foucault(p: Any) -> Any:
    """A pendulum in a turning frame, 28 swings."""
    u, v = u_of(t), v_of(t)
    return p.Problem(
        p.Interval(t, 0, 120),
        [u.diff(t, 2) - v.diff(t) / 5 + R(9, 4) * u, v.diff(t, 2) + u.diff(t) / 5 + R(9, 4) * v],
        [p.Initial(u, 1), p.Initial(u.diff(t), 0), p.Initial(v, 0), p.Initial(v.diff(t), 0)],
    )


def _first_last(D: Any) -> Any:
    e = np.eye(len(D))
    return (e[0], 0.0), (e[-1], 0.0)


_well = (
    lambda q, v: (v[1], ((q**2 - 0.25) * v[0] - np.exp(-q)) / 4e-4),
    lambda a, b: (a[0], b[0]),
    tuple(np.linspace(-1, 1, 9)),
    lambda q: (0 * q + 1, 0 * q),
)


@stated(
    "bvp",
    "quantum mechanics",
    "Bender-Orszag",
    tags="turning points, oscillation, layers",
    tol=1e-6,
    numeric=lambda: cheb_line(
        320, -1, 1, -4e-4, lambda q: 0 * q, lambda q: q**2 - 0.25, lambda q: np.exp(-q), _first_last
    ),
    second=boundary_value("u", *_well, 1e-9),
    accuracy=1e-9,
    second_tol=1e-8,
    patch=5e-3,
)
def driven_well(p: Any) -> Any:
    """A driven wave in a parabolic well: it oscillates between -1/2 and 1/2 and has layers at the walls."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, -1, 1),
        [sp.Eq(-4e-4 * u.diff(x, 2) + (x**2 - 0.25) * u, sp.exp(-x))],
        [p.Dirichlet(u, 0)],
    )


_ai = sp.airyai(-sp.cbrt(400) * (y + R(175, 400)))


@stated(
    "plane",
    "acoustics",
    "Jensen: ocean acoustics",
    tags="oscillation, variable coefficient",
    tol=1e-8,
    exact={"u": sp.cos(15 * x + R(1, 3)) * _ai},
)
def ocean_sound(p: Any) -> Any:
    """Sound in water whose index of refraction changes with depth: u = cos(15 x + 1/3) Ai(...)."""
    u = u_of(x, y)
    wave = sp.cos(15 * x + R(1, 3))
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [laplacian(u) + 400 * (1 + y) * u],
        [
            p.Dirichlet(u, wave * _ai.subs(y, 0).evalf(25), on=sp.Eq(y, 0)),
            p.Dirichlet(u, wave * _ai.subs(y, 1).evalf(25), on=sp.Eq(y, 1)),
            p.Neumann(u, 15 * sp.sin(R(1, 3)) * _ai, on=sp.Eq(x, 0)),
            p.Neumann(u, -15 * sp.sin(15 + R(1, 3)) * _ai, on=sp.Eq(x, 1)),
        ],
    )


_dx, _dy = x - 1, y - 2


_rr = sp.sqrt(_dx**2 + _dy**2)


@stated(
    "shape",
    "acoustics",
    "Rayleigh: membrane",
    tags="disc, oscillation",
    tol=1e-8,
    exact={"u": sp.besselj(3, 12 * _rr) / sp.besselj(3, 12) * (_dx**3 - 3 * _dx * _dy**2) / _rr**3},
)
def rim_driven_drum(p: Any) -> Any:
    """A round membrane driven at its rim like cos(3 theta)."""
    u = u_of(x, y)
    return p.Problem(
        p.Disk((x, y), (1, 2), 1),
        [sp.Eq(laplacian(u) + 144 * u, 0)],
        [p.Dirichlet(u, _dx**3 - 3 * _dx * _dy**2)],
    )


def _pulse(q: Any) -> Any:
    return sp.exp(-25 * (q + R(3, 2)) ** 2)


_echo = sp.Piecewise((_pulse(x - t) - _pulse(-x - t) / 3, x < 0), (R(2, 3) * _pulse(x / 2 - t), True))


@stated(
    "evolution",
    "acoustics",
    "Kinsler: reflection",
    tags="hyperbolic, layers of material",
    tol=1e-5,
    exact={"u": _echo},
    interfaces={"x": (0.0,)},
)
def echo(p: Any) -> Any:
    """A pulse meets a material that is four times as stiff: a third comes back upside down."""
    u = u_of(x, t)
    k = sp.Piecewise((1, x < 0), (4, True))
    return p.Problem(
        p.Interval(x, -3, 4).during(t, 0, 2.2),
        [sp.Eq(u.diff(t, 2), sp.Derivative(k * u.diff(x), x))],
        [p.Dirichlet(u, 0), p.Initial(u, _pulse(x)), p.Initial(u.diff(t), -_pulse(x).diff(x))],
    )


def _packet(q: Any) -> Any:
    return np.exp(-((q + 5) ** 2) / 2 + 2j * q)


def _modes_in_time(lam: Any, V: Any, Vinv: Any, start: Any, basis: Any) -> Any:
    """psi = sum of V exp(-i lam t) (Vinv start), evaluated at points."""
    c = Vinv @ start

    def both(X: Any, T: Any) -> Any:
        X, T = np.broadcast_arrays(np.asarray(X, float), np.asarray(T, float))
        W = basis(X.ravel()) @ V
        return np.sum(W * np.exp(-1j * np.multiply.outer(T.ravel(), lam)) * c, axis=1).reshape(X.shape)

    return {"u": lambda X, T: both(X, T).real, "v": lambda X, T: both(X, T).imag}


def _tunnel(n: Any = 280) -> Any:
    q, w = np.polynomial.legendre.leggauss(700)
    q, w = 16 * q, 16 * w
    k = np.arange(1, n + 1) * np.pi / 32

    def B(X: Any) -> Any:
        return np.sin(np.multiply.outer(X + 16, k)) / 4

    S = B(q)
    H = np.diag(k**2 / 2) + (S * (w * 2.5 / np.cosh(q) ** 2)[:, None]).T @ S
    lam, V = np.linalg.eigh(H)
    return _modes_in_time(lam, V, V.T, S.T @ (w * _packet(q)), B)


def _tunnel_again(n: Any = 230) -> Any:
    """Chebyshev collocation; the exponential of the matrix by its eigenvectors."""
    nodes, D = chebyshev(n)
    q = 16 * nodes
    H = (-(D @ D) / 512)[1:-1, 1:-1] + np.diag(2.5 / np.cosh(q[1:-1]) ** 2)
    lam, V = np.linalg.eig(H)
    inner = coefficient_matrix(n)[:, 1:-1]
    return _modes_in_time(
        lam,
        V,
        np.linalg.inv(V),
        _packet(q[1:-1]),
        lambda X: np.polynomial.chebyshev.chebvander(X / 16, n) @ inner,
    )


@stated(
    "evolution",
    "quantum mechanics",
    "Schiff: barrier",
    tags="dispersive, system",
    unknowns="u v",
    tol=1e-6,
    numeric=_tunnel,
    second=_tunnel_again,
    accuracy=1e-11,
    second_tol=1e-8,
    residual_tol=1e-5,
)
def tunnelling(p: Any) -> Any:
    """A wave packet (u + iv) meets a barrier somewhat higher than its energy."""
    u, v = u_of(x, t), v_of(x, t)
    V = R(5, 2) / sp.cosh(x) ** 2
    bell = sp.exp(-((x + 5) ** 2) / 2)
    return p.Problem(
        p.Interval(x, -16, 16).during(t, 0, 4),
        [sp.Eq(u.diff(t), -v.diff(x, 2) / 2 + V * v), sp.Eq(v.diff(t), u.diff(x, 2) / 2 - V * u)],
        [
            p.Dirichlet(u, 0),
            p.Dirichlet(v, 0),
            p.Initial(u, bell * sp.cos(2 * x)),
            p.Initial(v, bell * sp.sin(2 * x)),
        ],
    )


_lf = find_root(lambda q: mpmath.cos(q) * mpmath.cosh(q) + 1, 1.875)


_sig = (sp.cosh(_lf) + sp.cos(_lf)) / (sp.sinh(_lf) + sp.sin(_lf))


_tine = sp.cosh(_lf * x) - sp.cos(_lf * x) - _sig * (sp.sinh(_lf * x) - sp.sin(_lf * x))


@stated(
    "evolution",
    "acoustics",
    "Rayleigh: tuning fork",
    tags="fourth order, hyperbolic",
    tol=1e-6,
    exact={"u": _tine * sp.cos(_lf**2 * t)},
)
def tuning_fork(p: Any) -> Any:
    """The lowest tone of a bar clamped at one end."""
    u = u_of(x, t)
    a, b = sp.Eq(x, 0), sp.Eq(x, 1)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 3),
        [u.diff(t, 2) + u.diff(x, 4)],
        [
            p.Dirichlet(u, 0, on=a),
            p.Neumann(u, 0, on=a),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=b),
            p.Condition(sp.Eq(u.diff(x, 3), 0), on=b),
            p.Initial(u, _tine),
            p.Initial(u.diff(t), 0),
        ],
    )

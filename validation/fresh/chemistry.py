"""Further problems: chemistry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.integrate
import scipy.special
import sympy as sp

from validation.references.initial_values import initial_value
from validation.references.plane import at_points, cheb_square
from validation.references.semilinear import on_times, semilinear
from validation.statements.statement import stated
from validation.statements.symbols import R, laplacian, pi, r, t, u_of, v_of, w_of, x, y


def _oreg(q: Any, v: Any) -> Any:
    return (
        77.27 * (v[1] + v[0] * (1 - 8.375e-6 * v[0] - v[1])),
        (v[2] - (1 + v[0]) * v[1]) / 77.27,
        0.161 * (v[0] - v[2]),
    )


@stated(
    "ode",
    "chemistry",
    "Field-Noyes: Oregonator",
    tags="stiff, several scales, system",
    unknowns="u v w",
    tol=1e-5,
    numeric=initial_value("u v w", _oreg, (1, 2, 3), 40.0),
    second=initial_value("u v w", _oreg, (1, 2, 3), 40.0, "Radau"),
    accuracy=1e-9,
    patch=2e-4,
    residual_tol=1e-3,
)
def oregonator(p: Any) -> Any:
    """The Belousov-Zhabotinsky reaction through its first outburst."""
    u, v, w = u_of(t), v_of(t), w_of(t)
    return p.Problem(
        p.Interval(t, 0, 40),
        [
            sp.Eq(u.diff(t), 77.27 * (v + u * (1 - 8.375e-6 * u - v))),
            sp.Eq(v.diff(t), (w - (1 + u) * v) / 77.27),
            sp.Eq(w.diff(t), 0.161 * (u - w)),
        ],
        [p.Initial(u, 1), p.Initial(v, 2), p.Initial(w, 3)],
    )


def _fhn(q: Any, v: Any) -> Any:
    return (v[0] - v[0] ** 3 / 3 - v[1] + 0.5, 0.08 * (v[0] + 0.7 - 0.8 * v[1]))


@stated(
    "ode",
    "biology",
    "Keener-Sneyd: FitzHugh-Nagumo",
    tags="relaxation, long, system",
    unknowns="u v",
    tol=1e-6,
    numeric=initial_value("u v", _fhn, (-1, -0.5), 200.0),
    second=initial_value("u v", _fhn, (-1, -0.5), 200.0, "DOP853"),
    accuracy=1e-11,
    patch=5e-3,
)
def firing_nerve(p: Any) -> Any:
    """A nerve that fires again and again."""
    u, v = u_of(t), v_of(t)
    return p.Problem(
        p.Interval(t, 0, 200),
        [sp.Eq(u.diff(t), u - u**3 / 3 - v + 0.5), sp.Eq(v.diff(t), 0.08 * (u + 0.7 - 0.8 * v))],
        [p.Initial(u, -1), p.Initial(v, -0.5)],
    )


def _gelfand_fem(start: Any = 0.0) -> Any:
    """Finite elements of order 9 on a mesh that is a thousand times as fine in the corners."""
    import ngsolve as ng
    from netgen.geom2d import SplineGeometry

    geo = SplineGeometry()
    corners = [geo.AppendPoint(*q, maxh=1e-4) for q in ((0, 0), (1, 0), (1, 1), (0, 1))]
    for i in range(4):
        geo.Append(["line", corners[i], corners[(i + 1) % 4]], bc="b")
    mesh = ng.Mesh(geo.GenerateMesh(maxh=0.2, grading=0.5))
    V = ng.H1(mesh, order=9, dirichlet=".*")
    u, v = V.TnT()
    a = ng.BilinearForm(V)
    a += (ng.grad(u) * ng.grad(v) - 5 * ng.exp(u) * v) * ng.dx(bonus_intorder=6)
    g = ng.GridFunction(V)
    g.Set(start * ng.sin(math.pi * ng.x) * ng.sin(math.pi * ng.y))
    res, d = g.vec.CreateVector(), g.vec.CreateVector()
    for _ in range(12):
        a.AssembleLinearization(g.vec)
        a.Apply(g.vec, res)
        d.data = a.mat.Inverse(V.FreeDofs()) * res
        g.vec.data -= d
        if d.Norm() < 1e-12:
            break
    inside = at_points(mesh, g)
    return {"u": lambda X, Y: inside(np.clip(X, 1e-12, 1 - 1e-12), np.clip(Y, 1e-12, 1 - 1e-12))}


@stated(
    "plane",
    "combustion",
    "Frank-Kamenetskii",
    tags="nonlinear, corners",
    tol=1e-6,
    numeric=_gelfand_fem,
    second=lambda: cheb_square(48, lambda q: 5 * np.exp(q), lambda q: 5 * np.exp(q)),
    accuracy=1e-9,
    second_tol=3e-7,
    residual_tol=1e-3,
    further=(
        lambda: _gelfand_fem(3.0),
        lambda: cheb_square(48, lambda q: 5 * np.exp(q), lambda q: 5 * np.exp(q), 3.0),
        3e-6,
    ),
)
def hot_spot(p: Any) -> Any:
    """Self-heating in a square bar, below ignition (6.81).

    Laplace(u) + 5 exp(u) = 0, cold sides; the cooler solution.
    """
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}), [sp.Eq(laplacian(u) + 5 * sp.exp(u), 0)], [p.Dirichlet(u, 0)]
    )


def _cooled(q: Any, a: Any) -> Any:
    """The unit interval at 1 with ends suddenly at 0, after the time a (arrays that broadcast)."""
    n = np.arange(-2, 3)
    root = 2 * np.sqrt(a)
    # images: H = sum_k erf-box of the odd 2-periodic extension of 1
    early = sum(
        0.5
        * (
            scipy.special.erf((q - 2 * k) / root)
            - scipy.special.erf((q - 2 * k - 1) / root)
            - scipy.special.erf((q - 2 * k + 1) / root)
            + scipy.special.erf((q - 2 * k) / root)
        )
        for k in n
    )
    m = np.arange(1, 40, 2)
    late = sum(4 / (np.pi * k) * np.sin(k * np.pi * q) * np.exp(-((k * np.pi) ** 2) * a) for k in m)
    return np.where(a < 0.1, early, late)


def _all_layers(eps: Any = 1e-3) -> Any:
    """u = integral of exp(-s) H(x, eps s) H(y, eps s) ds over s > 0, by Gauss-Legendre in ln s."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    edges = np.linspace(math.log(1e-14), math.log(45), 37)
    mid, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    q = np.exp((mid[:, None] + half[:, None] * nodes).ravel())
    w = (half[:, None] * weights).ravel() * q * np.exp(-q)

    def f(X: Any, Y: Any) -> Any:
        X, Y = np.broadcast_arrays(np.asarray(X, float), np.asarray(Y, float))
        out = np.empty(X.size)
        for i in range(0, X.size, 200):
            a, b = X.ravel()[i : i + 200, None], Y.ravel()[i : i + 200, None]
            out[i : i + 200] = (_cooled(a, eps * q) * _cooled(b, eps * q)) @ w
        return out.reshape(X.shape)

    return {"u": f}


def _all_layers_series(eps: Any = 1e-3, terms: Any = 5000) -> Any:
    """u = g(x) - sum of modes sin(n pi x) that die away from y = 0 and y = 1.

    X and y swapped where that converges better.
    """
    n = np.arange(1, 2 * terms, 2)
    mu = np.sqrt((n * np.pi) ** 2 + 1 / eps)
    b = 4 / (n * np.pi) / (eps * mu**2)

    def g(q: Any) -> Any:
        return 1 - (np.exp(-q / math.sqrt(eps)) + np.exp(-(1 - q) / math.sqrt(eps))) / (
            1 + math.exp(-1 / math.sqrt(eps))
        )

    def f(X: Any, Y: Any) -> Any:
        X, Y = np.broadcast_arrays(np.asarray(X, float), np.asarray(Y, float))
        out = []
        for a, c in zip(X.ravel(), Y.ravel()):
            if min(c, 1 - c) < min(a, 1 - a):
                a, c = c, a
            c = min(c, 1 - c)
            out.append(
                g(a)
                - np.sum(
                    b * np.sin(n * np.pi * a) * (np.exp(-mu * c) + np.exp(-mu * (1 - c))) / (1 + np.exp(-mu))
                )
            )
        return np.array(out).reshape(X.shape)

    return {"u": f}


@stated(
    "plane",
    "chemistry",
    "Aris: thin catalyst",
    tags="layers on all sides, corners",
    tol=1e-6,
    numeric=_all_layers,
    second=_all_layers_series,
    accuracy=1e-9,
    second_tol=2e-7,
    patch=4e-3,
    residual_tol=1e-4,
)
def four_layers(p: Any) -> Any:
    """Weak diffusion against reaction: layers of 0.03 along all four sides."""
    u = u_of(x, y)
    return p.Problem(p.Box({x: (0, 1), y: (0, 1)}), [sp.Eq(-laplacian(u) / 1000 + u, 1)], [p.Dirichlet(u, 0)])


_zeld = 1 / (1 + sp.exp(((x - R(1, 4)) * 50 - 50 * t / sp.sqrt(2)) / sp.sqrt(2)))


@stated("evolution", "combustion", "Zeldovich", tags="nonlinear, moving front", tol=1e-6, exact={"u": _zeld})
def thin_flame(p: Any) -> Any:
    """A flame one thirtieth thick runs across the interval."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.6),
        [sp.Eq(u.diff(t), u.diff(x, 2) / 50 + 50 * u**2 * (1 - u))],
        [p.Dirichlet(u, _zeld), p.Initial(u, _zeld.subs(t, 0))],
    )


def _gs_start(q: Any) -> Any:
    b = np.exp(8 * (np.cos(2 * np.pi * (q - 0.5)) - 1))
    return 1 - b / 2, b / 4 * (1 + 0.3 * np.sin(2 * np.pi * q))


_F, _kk, _Du, _Dv, _spots_end = 0.04, 0.06, 2e-4, 1e-4, 100.0


def _gray_scott(n: Any = 192) -> Any:
    q = np.arange(n) / n
    k = 2 * np.pi * np.fft.fftfreq(n, 1 / n)
    rates = np.concatenate([-_Du * k**2 - _F, -_Dv * k**2 - _F - _kk])
    a, b = _gs_start(q)
    start = np.concatenate([np.fft.fft(a), np.fft.fft(b)]) / n

    def nonlinear(m: Any) -> Any:
        uu, vv = (np.real(np.fft.ifft(h, axis=0)) * n for h in (m[:n], m[n:]))
        w = np.fft.fft(uu * vv**2, axis=0) / n
        out = np.concatenate([-w, w])
        out[0] += _F
        return out

    solve = semilinear(rates, start, nonlinear, list(np.linspace(0, _spots_end, 201)))

    def basis(X: Any) -> Any:
        return np.exp(1j * np.multiply.outer(X, k))

    return {"u": on_times(solve, basis, slice(0, n)), "v": on_times(solve, basis, slice(n, 2 * n))}


def _gray_scott_again(n: Any = 128) -> Any:
    q = np.arange(n) / n
    k = 2 * np.pi * np.fft.rfftfreq(n, 1 / n)

    def rhs(_: Any, m: Any) -> Any:
        uu, vv = m[:n], m[n:]
        w = uu * vv**2

        def d(e: Any) -> Any:
            return np.fft.irfft(-(k**2) * np.fft.rfft(e), n)

        return np.concatenate([_Du * d(uu) - w + _F * (1 - uu), _Dv * d(vv) + w - (_F + _kk) * vv])

    sol = scipy.integrate.solve_ivp(
        rhs,
        (0, _spots_end),
        np.concatenate(_gs_start(q)),
        method="DOP853",
        rtol=1e-12,
        atol=1e-14,
        dense_output=True,
        max_step=0.4,
    )
    kk = 2 * np.pi * np.fft.fftfreq(n, 1 / n)

    def basis(X: Any) -> Any:
        return np.exp(1j * np.multiply.outer(X, kk))

    def modes(T: Any) -> Any:
        return np.vstack([np.fft.fft(h, axis=0) / n for h in np.split(sol.sol(np.ravel(T)), 2)])

    return {"u": on_times(modes, basis, slice(0, n)), "v": on_times(modes, basis, slice(n, 2 * n))}


@stated(
    "evolution",
    "chemistry",
    "Gray-Scott",
    tags="system, reaction-diffusion, periodic, nonlinear",
    unknowns="u v",
    tol=1e-5,
    numeric=_gray_scott,
    second=_gray_scott_again,
    accuracy=1e-9,
    residual_tol=1e-5,
)
def gray_scott(p: Any) -> Any:
    """A spot of an autocatalyst on a ring divides."""
    u, v = u_of(x, t), v_of(x, t)
    b = sp.exp(8 * (sp.cos(2 * pi * (x - R(1, 2))) - 1))
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 100),
        [
            sp.Eq(u.diff(t), 2e-4 * u.diff(x, 2) - u * v**2 + 0.04 * (1 - u)),
            sp.Eq(v.diff(t), 1e-4 * v.diff(x, 2) + u * v**2 - 0.1 * v),
        ],
        [
            p.Periodic(u, x),
            p.Periodic(v, x),
            p.Initial(u, 1 - b / 2),
            p.Initial(v, b / 4 * (1 + 0.3 * sp.sin(2 * pi * x))),
        ],
    )


_kap, _the, _vol = R(3, 10), R(1, 20), R(1, 10)


_h = sp.sqrt(_kap**2 + 2 * _vol**2)


_den = (_h + _kap) * (sp.exp(_h * t) - 1) + 2 * _h


_bond = (2 * _h * sp.exp((_h + _kap) * t / 2) / _den) ** (2 * _kap * _the / _vol**2) * sp.exp(
    -2 * (sp.exp(_h * t) - 1) / _den * r
)


@stated(
    "evolution",
    "finance",
    "Cox-Ingersoll-Ross",
    tags="parabolic, variable coefficient",
    tol=1e-8,
    exact={"u": _bond},
)
def bond_on_short_rate(p: Any) -> Any:
    """A bond by the square-root model of interest, in the short rate r and the time t that is left."""
    u = u_of(r, t)
    return p.Problem(
        p.Interval(r, 0.01, 0.25).during(t, 0, 10),
        [sp.Eq(u.diff(t), _vol**2 / 2 * r * u.diff(r, 2) + _kap * (_the - r) * u.diff(r) - r * u)],
        [p.Dirichlet(u, _bond), p.Initial(u, 1)],
    )

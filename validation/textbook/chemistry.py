"""Textbook problems: chemistry."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import sympy as sp

from validation.references.boundary_values import boundary_value
from validation.references.initial_values import initial_value
from validation.references.semilinear import on_times, semilinear
from validation.references.series import find_root
from validation.statements.statement import stated
from validation.statements.symbols import HALF, SQUARE, laplacian, pi, t, u_of, v_of, w_of, x, y
from validation.statements.types import Lazy, References

_robertson = (
    lambda s, v: (
        -0.04 * v[0] + 1e4 * v[1] * v[2],
        0.04 * v[0] - 1e4 * v[1] * v[2] - 3e7 * v[1] ** 2,
        3e7 * v[1] ** 2,
    ),
    (1, 0, 0),
    40.0,
)


@stated(
    "ode",
    "chemistry",
    "Hairer-Wanner style",
    tags="nonlinear, system, stiff, layer, different sizes",
    unknowns="u v w",
    numeric=initial_value("u v w", *_robertson),
    second=initial_value("u v w", *_robertson, "Radau"),
    accuracy=1e-11,
    tol=1e-6,
    patch=1e-3,
)
def robertson(p: Any) -> Any:
    """Robertson's autocatalysis, the middle species being five orders smaller."""
    u, v, w = u_of(t), v_of(t), w_of(t)
    return p.Problem(
        p.Interval(t, 0, 40),
        [
            sp.Eq(u.diff(t), -0.04 * u + 1e4 * v * w),
            sp.Eq(v.diff(t), 0.04 * u - 1e4 * v * w - 3e7 * v**2),
            sp.Eq(w.diff(t), 3e7 * v**2),
        ],
        [p.Initial(u, 1), p.Initial(v, 0), p.Initial(w, 0)],
    )


@stated("ode", "combustion", "Boyce-DiPrima style", tags="nonlinear, near blow-up", exact={"u": 1 / (1 - t)})
def almost_blow_up(p: Any) -> Any:
    """The solution grows to one hundred just before it would explode."""
    u = u_of(t)
    return p.Problem(p.Interval(t, 0, 0.99), [sp.Eq(u.diff(t), u**2)], [p.Initial(u, 1)])


_enzyme = (lambda s, v: (-v[0] + (v[0] + 0.6) * v[1], (v[0] - (v[0] + 1.0) * v[1]) / 0.01), (1, 0), 4.0)


@stated(
    "ode",
    "chemistry",
    "Murray style",
    tags="nonlinear, system, stiff, layer",
    unknowns="u v",
    numeric=initial_value("u v", *_enzyme),
    second=initial_value("u v", *_enzyme, "DOP853"),
    accuracy=1e-11,
    patch=2e-3,
)
def enzyme(p: Any) -> Any:
    """Substrate and complex with a fast first phase."""
    u, v = u_of(t), v_of(t)
    return p.Problem(
        p.Interval(t, 0, 4),
        [sp.Eq(u.diff(t), -u + (u + 0.6) * v), sp.Eq(0.01 * v.diff(t), u - (u + 1) * v)],
        [p.Initial(u, 1), p.Initial(v, 0)],
    )


_brusselator = (lambda s, v: (1 + v[0] ** 2 * v[1] - 4 * v[0], 3 * v[0] - v[0] ** 2 * v[1]), (1.5, 3), 30.0)


@stated(
    "ode",
    "chemistry",
    "Hairer-Norsett-Wanner style",
    tags="nonlinear, system, oscillation",
    unknowns="u v",
    numeric=initial_value("u v", *_brusselator),
    second=initial_value("u v", *_brusselator, "DOP853"),
    accuracy=1e-11,
    patch=5e-3,
)
def brusselator(p: Any) -> Any:
    """A chemical clock."""
    u, v = u_of(t), v_of(t)
    return p.Problem(
        p.Interval(t, 0, 30),
        [sp.Eq(u.diff(t), 1 + u**2 * v - 4 * u), sp.Eq(v.diff(t), 3 * u - u**2 * v)],
        [p.Initial(u, 1.5), p.Initial(v, 3)],
    )


_ra, _rb, _rc = sp.Integer(2), sp.Rational(1, 10), sp.Rational(1, 1000)


_first = 1000 * sp.exp(-_ra * t)


_next = 1000 * _ra / (_rb - _ra) * (sp.exp(-_ra * t) - sp.exp(-_rb * t))


_last = (
    1000
    * _ra
    * _rb
    * (
        sp.exp(-_ra * t) / ((_rb - _ra) * (_rc - _ra))
        + sp.exp(-_rb * t) / ((_ra - _rb) * (_rc - _rb))
        + sp.exp(-_rc * t) / ((_ra - _rc) * (_rb - _rc))
    )
)


@stated(
    "ode",
    "nuclear physics",
    "Krane style",
    tags="system, stiff, different sizes",
    exact={"u": _first, "v": _next, "w": _last},
)
def decay_chain(p: Any) -> Any:
    """Three isotopes with half-lives three orders apart."""
    u, v, w = u_of(t), v_of(t), w_of(t)
    return p.Problem(
        p.Interval(t, 0, 100),
        [u.diff(t) + 2 * u, v.diff(t) - 2 * u + 0.1 * v, w.diff(t) - 0.1 * v + 0.001 * w],
        [p.Initial(u, 1000), p.Initial(v, 0), p.Initial(w, 0)],
    )


_thin = sp.sqrt(sp.Integer(10) ** 5)


@stated(
    "bvp",
    "chemistry",
    "Bender-Orszag style",
    tags="layer",
    exact={
        "u": 1
        + x
        - (sp.exp(-_thin * x) * (1 - 2 * sp.exp(-_thin)) + sp.exp(-_thin * (1 - x)) * (2 - sp.exp(-_thin)))
        / (1 - sp.exp(-2 * _thin))
    },
)
def twin_layers(p: Any) -> Any:
    """Reaction against weak diffusion, a layer at either end."""
    u = u_of(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(-1e-5 * u.diff(x, 2) + u, 1 + x)], [p.Dirichlet(u, 0)])


def _bratu(lam: float, start: float) -> sp.Expr:
    """Bratu's solution by its root theta = sqrt(2 lam) cosh(theta/4), the one near the start."""
    theta = find_root(lambda s: s - mpmath.sqrt(2 * lam) * mpmath.cosh(s / 4), start)
    return -2 * sp.log(sp.cosh((x - sp.Rational(1, 2)) * theta / 2) / sp.cosh(theta / 4))


@stated(
    "bvp",
    "combustion",
    "Ascher-Petzold style",
    tags="nonlinear, smooth, two solutions",
    exact={"u": _bratu(1.0, 1.5)},
    also=({"u": _bratu(1.0, 11.0)},),
)
def bratu(p: Any) -> Any:
    """Thermal ignition; the second, hot solution is accepted too."""
    u = u_of(x)
    return p.Problem(p.Interval(x, 0, 1), [u.diff(x, 2) + sp.exp(u)], [p.Dirichlet(u, 0)])


_offset = (
    lambda s, v: (v[1], np.sinh(v[0])),
    lambda a, b: (a[0], b[0] - 2),
    (0, 0.5, 1.0),
    lambda s: (2 * s, 2 + 0 * s),
)


def _lifted(make: Lazy, offset: float) -> Lazy:
    """The same references with a constant added."""
    return lambda: {n: (lambda *c, _f=f: _f(*c) + offset) for n, f in make().items()}


@stated(
    "bvp",
    "chemistry",
    "Fogler style",
    tags="nonlinear, offset, units",
    numeric=_lifted(boundary_value("u", *_offset), 300),
    second=_lifted(boundary_value("u", *_offset, 1e-10), 300),
    accuracy=1e-14,
    tol=1e-10,
    patch=0.08,
    residual_tol=1e-5,
)
def warm_offset(p: Any) -> Any:
    """Small differences on top of 300 kelvin decide everything."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), sp.sinh(u - 300))],
        [p.Dirichlet(u, 300, on=sp.Eq(x, 0)), p.Dirichlet(u, 302, on=sp.Eq(x, 1))],
    )


_pellet = (
    lambda s, v: (v[1], 100 * v[0] ** 2),
    lambda a, b: (a[1], b[0] - 1),
    (0, 0.4, 0.7, 0.9, 1.0),
    lambda s: (0.02 + 0.98 * np.exp(-8 * (1 - s)), 8 * np.exp(-8 * (1 - s))),
)


@stated(
    "bvp",
    "chemistry",
    "Aris style",
    tags="nonlinear, layer",
    numeric=boundary_value("u", *_pellet),
    second=boundary_value("u", *_pellet, 1e-11),
    accuracy=1e-11,
)
def catalyst_pellet(p: Any) -> Any:
    """A second-order reaction with Thiele modulus ten."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), 100 * u**2)],
        [p.Neumann(u, 0, on=sp.Eq(x, 0)), p.Dirichlet(u, 1, on=sp.Eq(x, 1))],
    )


_ions = 4 * sp.atanh(sp.exp(-(sp.Rational(3, 5) * x + sp.Rational(4, 5) * y) * 2 - HALF))


@stated("elliptic", "chemistry", "Israelachvili style", tags="2d, nonlinear", exact={"u": _ions})
def ion_cloud(p: Any) -> Any:
    """The Poisson-Boltzmann equation near a charged oblique wall."""
    u = u_of(x, y)
    return p.Problem(p.Box(SQUARE), [sp.Eq(laplacian(u), 4 * sp.sinh(u))], [p.Dirichlet(u, _ions)])


def _flames(modes: int, windows: int) -> References:
    """Kuramoto and Sivashinsky's equation on [0, 8 pi] by Fourier modes."""
    k = np.arange(-modes, modes + 1)
    q, m = k / 4, 4 * modes
    grid = 8 * np.pi * np.arange(m) / m
    shapes = np.exp(1j * np.outer(grid, q))
    back = shapes.conj().T / m

    def nonlinear(c: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = -0.5j * q[:, None] * (back @ np.real(shapes @ c) ** 2)
        return found

    start = back @ (np.cos(grid / 4) * (1 + np.sin(grid / 4)))
    solve = semilinear((q**2 - q**4).astype(complex), start, nonlinear, np.linspace(0, 8, windows).tolist())
    return {"u": on_times(solve, lambda s: np.exp(1j * np.outer(s, q)), slice(None))}


@stated(
    "evolution",
    "combustion",
    "Kuramoto-Sivashinsky, short",
    tags="time, nonlinear, periodic, fourth order",
    numeric=lambda: _flames(48, 81),
    second=lambda: _flames(36, 121),
    accuracy=1e-11,
    tol=1e-6,
    patch=0.03,
    residual_tol=1e-5,
)
def wrinkled_flame(p: Any) -> Any:
    """A flame front begins to wrinkle."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 8 * pi).during(t, 0, 8),
        [u.diff(t) + u * u.diff(x) + u.diff(x, 2) + u.diff(x, 4)],
        [p.Periodic(u, x), p.Initial(u, sp.cos(x / 4) * (1 + sp.sin(x / 4)))],
    )

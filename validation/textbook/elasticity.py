"""Textbook problems: elasticity and materials."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import sympy as sp

from validation.references.chebyshev import chebyshev, coefficient_matrix
from validation.references.semilinear import on_times, semilinear
from validation.references.series import jump_defect, summed
from validation.references.torsion import torsion_by_time, torsion_series
from validation.statements.statement import stated
from validation.statements.symbols import SQUARE, laplacian, pi, t, u_of, v_of, x, y
from validation.statements.types import Array, References

_l, _at = sp.Integer(1), sp.Rational(1, 3)


_beam = sp.Piecewise(
    ((1 - _at) * x * (1 - (1 - _at) ** 2 - x**2) / 6, x < _at),
    (_at * (1 - x) * (1 - _at**2 - (1 - x) ** 2) / 6, True),
)


@stated(
    "bvp",
    "elasticity",
    "Timoshenko style",
    tags="jump, point load, fourth order",
    exact={"u": _beam},
    interfaces={"x": (1 / 3,)},
    extra=lambda: jump_defect(_beam, _at, 3, 1.0),
)
def loaded_beam(p: Any) -> Any:
    """A simply supported beam with a weight at a third."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 4), sp.DiracDelta(x - _at))],
        [
            p.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, 0)),
            p.Dirichlet(u, 0, on=sp.Eq(x, 1)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, 1)),
        ],
    )


_stiffness = sp.Integer(1750000)


@stated(
    "bvp",
    "elasticity",
    "Gere style",
    tags="smooth, fourth order, units",
    exact={"u": sp.Integer(5000) * x**2 * (x**2 - 12 * x + 54) / (24 * _stiffness)},
)
def cantilever(p: Any) -> Any:
    """Three metres of steel under 5 kN/m, deflection in metres."""
    u, end = u_of(x), sp.Eq(x, 3)
    return p.Problem(
        p.Interval(x, 0, 3),
        [sp.Eq(_stiffness * u.diff(x, 4), 5000)],
        [
            p.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            p.Neumann(u, 0, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=end),
            p.Condition(sp.Eq(u.diff(x, 3), 0), on=end),
        ],
    )


_alpha = sp.Rational(12, 10**6)


_heat = 293 + 100 * x + 25 * x * (1 - x)


@stated(
    "bvp",
    "elasticity",
    "Boley-Weiner style",
    tags="system, different sizes, offset, units",
    exact={
        "u": _heat,
        "v": sp.expand(_alpha * (sp.integrate(_heat, (x, 0, x)) - x * sp.integrate(_heat, (x, 0, 1)))),
    },
)
def heated_bar(p: Any) -> Any:
    """Temperature (kelvin) and displacement (metres) of a clamped bar."""
    u, v = u_of(x), v_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), -50), sp.Eq(v.diff(x, 2), 1.2e-5 * u.diff(x))],
        [p.Dirichlet(u, 293, on=sp.Eq(x, 0)), p.Dirichlet(u, 393, on=sp.Eq(x, 1)), p.Dirichlet(v, 0)],
    )


@stated(
    "bvp", "materials", "Cahn style", tags="nonlinear, layer", exact={"u": sp.tanh(x * 5 / (2 * sp.sqrt(2)))}
)
def phase_wall(p: Any) -> Any:
    """The wall between two phases."""
    u = u_of(x)
    edge = sp.tanh(5 / (2 * sp.sqrt(2)))
    return p.Problem(
        p.Interval(x, -1, 1),
        [sp.Eq(sp.Rational(4, 25) * u.diff(x, 2), u**3 - u)],
        [p.Dirichlet(u, -edge, on=sp.Eq(x, -1)), p.Dirichlet(u, edge, on=sp.Eq(x, 1))],
    )


@stated(
    "elliptic",
    "elasticity",
    "Timoshenko-Goodier style",
    tags="2d, corner",
    numeric=lambda: {"u": torsion_series},
    second=lambda: torsion_by_time(2),
    accuracy=1e-10,
    tol=1e-6,
)
def torsion(p: Any) -> Any:
    """Prandtl's stress function of a square bar."""
    u = u_of(x, y)
    return p.Problem(p.Box(SQUARE), [sp.Eq(-laplacian(u), 1)], [p.Dirichlet(u, 0)])


_crack = sp.sqrt((sp.sqrt(x**2 + y**2) + x) / 2)


def _crack_tip(xs: Array, ys: Array) -> Array:
    """r^(1/2) cos(theta/2), without cancellation."""
    return np.sqrt(np.hypot(xs, ys)) * np.cos(np.arctan2(ys, xs) / 2)


@stated(
    "elliptic",
    "fracture",
    "Motz style",
    tags="2d, corner, mixed",
    numeric=lambda: {"u": _crack_tip},
    tol=1e-5,
    second=lambda: {"u": lambda a, b: np.real(np.sqrt(np.asarray(a) + 1j * np.asarray(b)))},
    accuracy=1e-15,
)
def crack_tip(p: Any) -> Any:
    """Along y = 0 the condition changes from value to flux: the square root at the tip."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (-1, 1), y: (0, 1)}),
        [laplacian(u)],
        [
            p.Dirichlet(u, 0, on=sp.And(sp.Eq(y, 0), x < 0)),
            p.Neumann(u, 0, on=sp.And(sp.Eq(y, 0), x > 0)),
            p.Dirichlet(u, _crack, on=sp.Eq(x, -1)),
            p.Dirichlet(u, _crack, on=sp.Eq(x, 1)),
            p.Dirichlet(u, _crack, on=sp.Eq(y, 1)),
        ],
    )


_bend = (sp.Rational(1, 1000) * sp.sin(pi * x) * sp.exp(y), sp.Rational(1, 1000) * x**2 * sp.cos(y))


def _navier(u: Any, v: Any) -> tuple[sp.Expr, sp.Expr]:
    """Navier's operator with the Lame constants 3 and 1."""
    spread = u.diff(x) + v.diff(y)
    return laplacian(u) + 4 * spread.diff(x), laplacian(v) + 4 * spread.diff(y)


@stated(
    "elliptic",
    "elasticity",
    "Sadd style",
    tags="2d, system, smooth, units",
    exact={"u": _bend[0], "v": _bend[1]},
)
def strained_block(p: Any) -> Any:
    """Displacements (metres) of a block, a millimetre large."""
    u, v = u_of(x, y), v_of(x, y)
    return p.Problem(
        p.Box(SQUARE),
        [sp.Eq(a, sp.expand(b)) for a, b in zip(_navier(u, v), _navier(*_bend), strict=True)],
        [p.Dirichlet(u, _bend[0]), p.Dirichlet(v, _bend[1])],
    )


def _floor(terms: int) -> References:
    """Navier's series of a simply supported square plate with unit load and stiffness."""
    k = 2.0 * np.arange(terms) + 1
    weights = 16 / (np.pi**6 * k[:, None] * k[None, :] * (k[:, None] ** 2 + k[None, :] ** 2) ** 2)

    def evaluate(xs: Array, ys: Array) -> Array:
        flat = [np.ravel(c) for c in np.broadcast_arrays(xs, ys)]
        left, right = (np.sin(np.pi * np.outer(c, k)) for c in flat)
        return np.reshape(np.sum((left @ weights) * right, axis=1), np.shape(xs))

    return {"u": evaluate}


def _floor_levy() -> References:
    """Levy's single series of the same plate."""

    def evaluate(xs: Array, ys: Array) -> Array:
        n = 2.0 * np.arange(150) + 1

        def term(k: Array, a: Array, b: Array) -> Array:
            half, s = k * np.pi / 2, np.abs(b - 0.5) * k * np.pi
            grow = (np.exp(s - half) + np.exp(-s - half)) / (1 + np.exp(-2 * half))
            slope = (np.exp(s - half) - np.exp(-s - half)) / (1 + np.exp(-2 * half))
            inside = 1 - (half * np.tanh(half) + 2) / 2 * grow + s / 2 * slope
            found: Array = 4 / (np.pi * k) ** 5 * np.sin(k * np.pi * a) * inside
            return found

        return summed(term, n, xs, ys)

    return {"u": evaluate}


@stated(
    "elliptic",
    "elasticity",
    "Timoshenko style",
    tags="2d, fourth order, corner",
    numeric=lambda: _floor(600),
    second=_floor_levy,
    accuracy=1e-10,
    tol=1e-6,
    patch=0.1,
    residual_tol=2e-3,
)
def floor_plate(p: Any) -> Any:
    """A simply supported plate under an even load."""
    u = u_of(x, y)
    bi = u.diff(x, 4) + 2 * u.diff(x, 2, y, 2) + u.diff(y, 4)
    return p.Problem(
        p.Box(SQUARE),
        [sp.Eq(bi, 1)],
        [
            p.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0), sp.Eq(y, 1))),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1))),
            p.Condition(sp.Eq(u.diff(y, 2), 0), on=sp.Or(sp.Eq(y, 0), sp.Eq(y, 1))),
        ],
    )


_front = (1 + sp.tanh((x - 3 * t / sp.sqrt(2)) / (-2 * sp.sqrt(2)))) / 2


@stated("evolution", "materials", "Cahn style", tags="time, nonlinear", exact={"u": _front})
def moving_phase_front(p: Any) -> Any:
    """A stable phase invades an unstable one."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -8, 12).during(t, 0, 3),
        [sp.Eq(u.diff(t), u.diff(x, 2) + u - u**3)],
        [p.Dirichlet(u, _front), p.Initial(u, _front.subs(t, 0))],
    )


def _metastable(n: int, windows: int) -> References:
    """u_t = u_xx/100 + u - u^3 with u(+-1) = +-1.

    The deviation from x on Chebyshev points, in eigenvectors.
    """
    nodes, matrix = chebyshev(n)
    second = (matrix @ matrix)[1:-1, 1:-1] / 100
    inner = nodes[1:-1]
    rates, shapes = np.linalg.eig(second)
    inverse = np.linalg.inv(shapes)
    start = 0.53 * inner + 0.47 * np.sin(-1.5 * np.pi * inner) - inner

    def nonlinear(c: npt.NDArray[Any]) -> npt.NDArray[Any]:
        v = np.real(shapes @ c) + inner[:, None]
        found: npt.NDArray[Any] = inverse @ (v - v**3)
        return found

    breaks = np.concatenate([[0.0], np.geomspace(1e-6, 0.1, 12), np.linspace(0.1, 4, windows)[1:]])
    solve = semilinear(rates, inverse @ start, nonlinear, breaks.tolist())
    series = coefficient_matrix(n)[:, 1:-1] @ shapes

    def basis(q: Array) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = np.polynomial.chebyshev.chebvander(q, n) @ series
        return found

    deviation = on_times(solve, basis, slice(None))
    return {"u": lambda a, b: deviation(a, b) + np.asarray(a)}


@stated(
    "evolution",
    "materials",
    "Trefethen style",
    tags="time, nonlinear, incompatible, layer",
    numeric=lambda: _metastable(120, 40),
    second=lambda: _metastable(90, 60),
    accuracy=1e-7,
    tol=1e-5,
    patch=5e-3,
)
def metastable_phases(p: Any) -> Any:
    """Two walls of a mixture slowly form."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, -1, 1).during(t, 0, 4),
        [sp.Eq(u.diff(t), sp.Rational(1, 100) * u.diff(x, 2) + u - u**3)],
        [
            p.Dirichlet(u, -1, on=sp.Eq(x, -1)),
            p.Dirichlet(u, 1, on=sp.Eq(x, 1)),
            p.Initial(u, 0.53 * x - 0.47 * sp.sin(1.5 * pi * x)),
        ],
    )


_swing = sp.sin(pi * x) * sp.cos(pi**2 * t) + sp.sin(2 * pi * x) * sp.cos(4 * pi**2 * t) / 4


@stated(
    "evolution",
    "elasticity",
    "Meirovitch style",
    tags="time, fourth order, oscillation",
    exact={"u": _swing},
    tol=1e-6,
)
def swinging_beam(p: Any) -> Any:
    """Two modes of a simply supported beam."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 1),
        [u.diff(t, 2) + u.diff(x, 4)],
        [
            p.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, 0)),
            p.Dirichlet(u, 0, on=sp.Eq(x, 1)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, 1)),
            p.Initial(u, _swing.subs(t, 0)),
            p.Initial(u.diff(t), 0),
        ],
    )

"""Textbook problems: geophysics, meteorology and the environment."""

from __future__ import annotations

from typing import Any

import sympy as sp

from validation.references.initial_values import initial_value
from validation.statements.statement import stated
from validation.statements.symbols import SQUARE, laplacian, t, u_of, v_of, w_of, x, y

_lorenz = (
    lambda s, v: (10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]),
    (1, 1, 1),
    12.0,
)


@stated(
    "ode",
    "meteorology",
    "Strogatz style",
    tags="nonlinear, system, chaotic",
    unknowns="u v w",
    numeric=initial_value("u v w", *_lorenz),
    second=initial_value("u v w", *_lorenz, "DOP853"),
    accuracy=1e-11,
    tol=1e-6,
    patch=0.005,
)
def lorenz(p: Any) -> Any:
    """Lorenz' convection over a moderate time."""
    u, v, w = u_of(t), v_of(t), w_of(t)
    return p.Problem(
        p.Interval(t, 0, 12),
        [
            sp.Eq(u.diff(t), 10 * (v - u)),
            sp.Eq(v.diff(t), u * (28 - w) - v),
            sp.Eq(w.diff(t), u * v - sp.Rational(8, 3) * w),
        ],
        [p.Initial(u, 1), p.Initial(v, 1), p.Initial(w, 1)],
    )


def _outflow(s: sp.Symbol, eps: float) -> sp.Expr:
    """-eps u'' + u' = 1, u(0) = u(1) = 0."""
    e = sp.nsimplify(eps)
    return s - (sp.exp((s - 1) / e) - sp.exp(-1 / e)) / (1 - sp.exp(-1 / e))


_decay = sp.cos(x) * sp.exp(-y * sp.sqrt(1000))


@stated(
    "elliptic", "geophysics", "Haberman style", tags="2d, layer, anisotropic", exact={"u": _decay}, tol=1e-7
)
def anisotropic_ground(p: Any) -> Any:
    """Conduction a thousand times stronger along x than along y."""
    u = u_of(x, y)
    return p.Problem(
        p.Box(SQUARE), [u.diff(x, 2) + sp.Rational(1, 1000) * u.diff(y, 2)], [p.Dirichlet(u, _decay)]
    )


_wind = _outflow(x, 0.05) * _outflow(y, 0.05)


@stated(
    "elliptic", "environment", "Roos-Stynes-Tobiska style", tags="2d, layer", exact={"u": _wind}, tol=1e-6
)
def smoke_in_wind(p: Any) -> Any:
    """Advection and diffusion with layers at two sides."""
    u = u_of(x, y)
    flow = -sp.Rational(1, 20) * laplacian(u) + u.diff(x) + u.diff(y)
    return p.Problem(
        p.Box(SQUARE), [sp.Eq(flow, sp.simplify(_outflow(x, 0.05) + _outflow(y, 0.05)))], [p.Dirichlet(u, 0)]
    )


_width = 400 + 4 * t


_plume = 20 / sp.sqrt(_width) * sp.exp(-((x - 300 - t / 2) ** 2) / _width)


@stated("evolution", "environment", "Fischer style", tags="time, units, peak", exact={"u": _plume}, tol=1e-6)
def river_spill(p: Any) -> Any:
    """A spill carried down a river: metres, seconds, milligrams per litre."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1200).during(t, 0, 900),
        [sp.Eq(u.diff(t) + u.diff(x) / 2, u.diff(x, 2))],
        [p.Dirichlet(u, _plume), p.Initial(u, _plume.subs(t, 0))],
    )

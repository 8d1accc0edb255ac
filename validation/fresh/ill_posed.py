"""Further problems that have no solution, or more than one."""

from __future__ import annotations

import math
from typing import Any

import sympy as sp

from validation.statements.statement import stated
from validation.statements.symbols import R, laplacian, pi, t, u_of, v_of, w_of, x, y


def _net_outflow() -> Any:
    """The flux through the boundary of u = x, v = 0 is 1, that of any field without divergence is 0."""
    return abs(float(sp.integrate(1, (y, 0, 1))) - 1)


@stated(
    "ill-posed",
    "fluid flow",
    "divergence theorem",
    tags="contradictory, system",
    expected="not converged",
    extra=_net_outflow,
    tol=1e-6,
)
def squeezed_water(p: Any) -> Any:
    """Incompressible fluid that is to leave through one side and to enter nowhere: no solution."""
    u, v, w = u_of(x, y), v_of(x, y), w_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(laplacian(u), w.diff(x)), sp.Eq(laplacian(v), w.diff(y)), sp.Eq(u.diff(x) + v.diff(y), 0)],
        [p.Dirichlet(u, x), p.Dirichlet(v, 0), p.Dirichlet(w, 0, on={x: 0, y: 0})],
    )


@stated(
    "ill-posed",
    "elasticity",
    "Gere: beam",
    tags="under-determined",
    expected="not converged",
    tol=1e-6,
    extra=lambda: abs(float((x * (1 - x)).diff(x, 4))) + abs(float((x * (1 - x)).subs(x, 1))),
)
def ends_unsaid(p: Any) -> Any:
    """A beam whose ends are held in place, and nothing is said of slopes or moments.

    X(1 - x) may be added.
    """
    u = u_of(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(u.diff(x, 4), 1)], [p.Dirichlet(u, 0)])


@stated(
    "ill-posed",
    "acoustics",
    "Fredholm",
    tags="resonance",
    expected="not converged",
    tol=1e-6,
    extra=lambda: abs(
        float(sp.integrate(sp.integrate((sp.sin(pi * x) * sp.sin(2 * pi * y)) ** 2, (x, 0, 1)), (y, 0, 1)))
        - 0.25
    ),
)
def drum_at_resonance(p: Any) -> Any:
    """A square drum driven with its own tone (2, 1): the force is not orthogonal to the mode, no solution."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(laplacian(u) + 5 * pi**2 * u, sp.sin(pi * x) * sp.sin(2 * pi * y))],
        [p.Dirichlet(u, 0)],
    )


def _kaplan() -> Any:
    """With a(t) = (pi/2) int u sin(pi x).

    A' >= a^2 - pi^2 a, a(0) = 20 pi/4, so that u is infinite before ln(a/(a - pi^2))/pi^2 = 0.1.
    """
    a0 = 20 * math.pi / 2 / 2
    return 0.0 if a0 > math.pi**2 and math.log(a0 / (a0 - math.pi**2)) / math.pi**2 < 0.3 else 1.0


@stated(
    "ill-posed",
    "combustion",
    "Kaplan 1963",
    tags="blow-up, evolution",
    expected="not converged",
    extra=_kaplan,
    tol=1e-6,
)
def thermal_runaway(p: Any) -> Any:
    """u_t = u_xx + u^2 from 20 sin(pi x) explodes before t = 0.11; asked for is t = 0.3."""
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.3),
        [sp.Eq(u.diff(t), u.diff(x, 2) + u**2)],
        [p.Dirichlet(u, 0), p.Initial(u, 20 * sp.sin(pi * x))],
    )


@stated(
    "ill-posed",
    "heat",
    "Hadamard",
    tags="no condition on a side",
    expected="not converged",
    tol=1e-6,
    extra=lambda: float(sp.Abs(laplacian(sp.sin(pi * y) * sp.sinh(pi * x)).subs({x: 0.3, y: 0.4}))),
)
def open_side(p: Any) -> Any:
    """Laplace's equation on a square with nothing said on one side: sin(pi y) sinh(pi x) may be added."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(laplacian(u), 0)],
        [
            p.Dirichlet(u, sp.sin(pi * y), on=sp.Eq(x, 0)),
            p.Dirichlet(u, 0, on=sp.Eq(y, 0)),
            p.Dirichlet(u, 0, on=sp.Eq(y, 1)),
        ],
    )


@stated(
    "ill-posed",
    "heat",
    "Hadamard",
    tags="wrong sign",
    expected="not converged",
    tol=1e-6,
    extra=lambda: 0.0 if math.log(8 / (101 * math.pi) ** 3) + (101 * math.pi) ** 2 * 0.02 > 200 else 1.0,
)
def heat_backwards(p: Any) -> Any:
    """u_t = -u_xx from x(1 - x).

    Its modes 8/(n pi)^3 grow like exp(n^2 pi^2 t), so that there is no solution at any t > 0.
    """
    u = u_of(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.1),
        [sp.Eq(u.diff(t), -u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, x * (1 - x))],
    )


@stated("ill-posed", "electrostatics", "wrong data", tags="wrong data", expected="not converged", tol=1e-6)
def root_of_negative(p: Any) -> Any:
    """Boundary values sqrt(y - 1/2), which are not real on half of the side."""
    u = u_of(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(laplacian(u), 0)],
        [p.Dirichlet(u, sp.sqrt(y - R(1, 2)), on=sp.Eq(x, 0)), p.Dirichlet(u, 0)],
    )

"""Textbook problems that have no solution, or more than one."""

from __future__ import annotations

from typing import Any

import sympy as sp

from validation.statements.statement import stated
from validation.statements.symbols import SQUARE, laplacian, pi, t, u_of, x, y
from validation.textbook.electricity import INSULATED


@stated(
    "ill-posed", "heat transfer", "Fredholm's alternative", tags="contradictory", expected="not converged"
)
def sealed_and_heated(p: Any) -> Any:
    """Heat comes in and cannot leave: no steady state."""
    u = u_of(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(-u.diff(x, 2), 1)], [p.Neumann(u, 0)])


@stated("ill-posed", "mechanics", "first lesson", tags="contradictory", expected="not converged")
def two_truths(p: Any) -> Any:
    """A constant that should be 0 on the left and 1 on the right."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [u.diff(x)],
        [p.Dirichlet(u, 0, on=sp.Eq(x, 0)), p.Dirichlet(u, 1, on=sp.Eq(x, 1))],
    )


@stated("ill-posed", "mechanics", "first lesson", tags="under-determined", expected="not converged")
def speed_forgotten(p: Any) -> Any:
    """A second-order equation with the place but not the speed at the beginning."""
    u = u_of(t)
    return p.Problem(p.Interval(t, 0, 5), [u.diff(t, 2) + u], [p.Initial(u, 1)])


@stated(
    "ill-posed",
    "electrostatics",
    "Fredholm's alternative",
    tags="under-determined, 2d",
    expected="not converged",
)
def floating_potential(p: Any) -> Any:
    """Only fluxes are given: any constant may be added."""
    u = u_of(x, y)
    return p.Problem(p.Box(SQUARE), [sp.Eq(-laplacian(u), 5 * pi**2 * INSULATED)], [p.Neumann(u, 0)])


@stated(
    "ill-posed", "combustion", "Ascher-Petzold style", tags="no solution, nonlinear", expected="not converged"
)
def explosion(p: Any) -> Any:
    """Bratu's equation beyond its fold (3.5138...)."""
    u = u_of(x)
    return p.Problem(p.Interval(x, 0, 1), [u.diff(x, 2) + 4 * sp.exp(u)], [p.Dirichlet(u, 0)])


@stated("ill-posed", "combustion", "Boyce-DiPrima style", tags="blow-up, nonlinear", expected="not converged")
def blow_up_inside(p: Any) -> Any:
    """The solution ends at t = 1, the interval at 1.2."""
    u = u_of(t)
    return p.Problem(p.Interval(t, 0, 1.2), [sp.Eq(u.diff(t), u**2)], [p.Initial(u, 1)])


@stated("ill-posed", "acoustics", "Fredholm's alternative", tags="no solution", expected="not converged")
def driven_at_resonance(p: Any) -> Any:
    """A string driven in exactly its own tone."""
    u = u_of(x)
    return p.Problem(
        p.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2) + pi**2 * u, sp.sin(pi * x))], [p.Dirichlet(u, 0)]
    )

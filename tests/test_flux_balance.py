"""∫ f = ∮ n·F: a problem whose boundary flux does not balance its sources has no solution."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import pibls
from pibls.analysis.flux_balance import flux_imbalance
from pibls.problem.forms.compilation import compile_problem

x, y, z = sp.symbols("x y z")
u, v, p = (sp.Function(name)(x, y) for name in "uvp")
DISC = pibls.Disk((x, y), center=(0, 0), radius=1)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
RING = DISC - pibls.Disk((x, y), center=(0.1, 0), radius=0.4)
L_SHAPE = pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
PIN = pibls.Dirichlet(u, 0, on={x: 0.5, y: 0.5})
MEAN = pibls.Condition(sp.Eq(pibls.integral(u), 0))
PEAK = sp.exp(-2000 * ((x - 0.4) ** 2 + (y - 0.3) ** 2))


def laplace(f: Any) -> Any:
    return f.diff(x, 2) + f.diff(y, 2)


def problem(domain: Any, source: Any, flux: Any, *more: Any, k: Any = 1) -> pibls.Problem:
    return pibls.Problem(
        domain, [sp.Eq(pibls.div(k * pibls.grad(u)), source)], [pibls.Neumann(u, flux), *more]
    )


def stokes(across: Any, along: Any) -> pibls.Problem:
    equations = [sp.Eq(laplace(u), p.diff(x)), sp.Eq(laplace(v), p.diff(y)), u.diff(x) + v.diff(y)]
    pressure = pibls.Dirichlet(p, 0, on={x: 0, y: 0})
    return pibls.Problem(DISC, equations, [pibls.Dirichlet(u, across), pibls.Dirichlet(v, along), pressure])


def cube(flux: float) -> pibls.Problem:
    w = sp.Function("w")(x, y, z)
    box = pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)})
    return pibls.Problem(box, [laplace(w) + w.diff(z, 2) - 1], [pibls.Neumann(w, flux)])


def periodic_problem(source: Any) -> pibls.Problem:
    sides = [pibls.Periodic(u, x), pibls.Neumann(u, 0)]
    return pibls.Problem(SQUARE, [sp.Eq(laplace(u), source)], sides)


CONTRADICTORY = {
    "disc": (problem(DISC, 0, 1, PIN), 0.0, 2 * sp.pi),
    "mean": (problem(DISC, 3, 1, MEAN), 3 * sp.pi, 2 * sp.pi),
    "square": (problem(SQUARE, 1, 0, PIN), 1.0, 0.0),
    "ring": (problem(RING, -1, 0, pibls.Dirichlet(u, 0, on={x: 1, y: 0})), -0.84 * sp.pi, 0.0),
    "L": (problem(L_SHAPE, -1, 0), -3.0, 0.0),
    "variable coefficient": (problem(DISC, 1, 1 - x / 2, PIN, k=2 + x), sp.pi, 3.5 * sp.pi),
    "sides": (problem(SQUARE, 0, 0, pibls.Neumann(u, 1, on=sp.Eq(x, 0)), PIN), 0.0, 1.0),
    "inflow": (stokes(x, y), 0.0, 2 * sp.pi),
    "cube": (cube(1 / 3), 1.0, 2.0),
    "periodic": (periodic_problem(1), 1.0, 0.0),
    "rounded to 1e-3": (problem(DISC, 2, 1.001, PIN), 2 * sp.pi, 2.002 * sp.pi),
}
CONSISTENT = {
    "disc": problem(DISC, 2, 1, PIN),
    "peak": problem(DISC, laplace(PEAK), x * PEAK.diff(x) + y * PEAK.diff(y), PIN),
    "jump": problem(DISC, sp.Piecewise((1.0, x + y > 0), (-1.0, True)), 0, PIN),
    "rounding": problem(SQUARE, 0, sp.sin(sp.pi * x) * sp.sin(sp.pi * y), PIN),
    "rounded to 1e-5": problem(DISC, 2, 1.00001, PIN),
    "values on a side": problem(SQUARE, 1, 0, pibls.Dirichlet(u, 0, on=sp.Eq(x, 0))),
    "a reaction": pibls.Problem(DISC, [sp.Eq(laplace(u) - u, 1)], [pibls.Neumann(u, 0)]),
    "convection": pibls.Problem(DISC, [sp.Eq(laplace(u) - u.diff(x), 1)], [pibls.Neumann(u, 0), PIN]),
    "exchange": pibls.Problem(DISC, [sp.Eq(laplace(u), 1)], [pibls.Robin(u, 0, 1, 1)]),
    "outflow": stokes(x, -y),
    "cube": cube(1 / 6),
    "periodic": periodic_problem(sp.cos(2 * sp.pi * x)),
    "an inclusion": problem(DISC, 0, x, PIN, k=sp.Piecewise((2, x**2 + y**2 < 0.25), (1, True))),
}


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_flux_imbalance_is_detected(name: str) -> None:
    statement, sources, boundary_flux = CONTRADICTORY[name]
    imbalance = flux_imbalance(compile_problem(statement), statement.domain)
    assert imbalance is not None
    assert imbalance.sources == pytest.approx(float(sources), abs=1e-6)
    assert imbalance.boundary_flux == pytest.approx(float(boundary_flux), abs=1e-6)


@pytest.mark.parametrize("name", CONSISTENT)
def test_balanced_and_unconstrained_problems_are_accepted(name: str) -> None:
    assert flux_imbalance(compile_problem(CONSISTENT[name]), CONSISTENT[name].domain) is None


@pytest.mark.parametrize("name", ["disc", "mean", "inflow"])
def test_imbalance_is_reported_before_solving(name: str) -> None:
    """With a value at a point the solution did not grow, and the imbalance was not reported."""
    statement, sources, boundary_flux = CONTRADICTORY[name]
    message = f"add up to {float(sources):.6g} over .* a flux of {float(boundary_flux):.6g}"
    with pytest.warns(pibls.ConvergenceWarning, match=message):
        solution = pibls.solve(statement)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert not solution.error.checked

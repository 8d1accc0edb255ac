"""Twenty problems that take longer than a few seconds and have no reference, to test time limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import sympy as sp

import pibls
from validation.entry import Entry, References

x, y, z, t = sp.symbols("x y z t")
U, V, W, P = (sp.Function(n) for n in "uvwp")
SQUARE, CUBE = pibls.Box({x: (0, 1), y: (0, 1)}), pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)})
ProblemAndTolerance = tuple[pibls.Problem, float]
"""A problem and its tolerance."""


def laplacian(e: Any, *coordinates: Any) -> Any:
    return sum(e.diff(c, 2) for c in coordinates)


def manufactured(domain: Any, u: Any, left: Callable[[Any], Any], exact: Any) -> pibls.Problem:
    return pibls.Problem(domain, [sp.Eq(left(u), left(exact))], [pibls.Dirichlet(u, exact)])


def cube() -> ProblemAndTolerance:
    u = U(x, y, z)
    return pibls.Problem(CUBE, [sp.Eq(laplacian(u, x, y, z), -1)], [pibls.Dirichlet(u, 0)]), 1e-12


def peak_in_cube() -> ProblemAndTolerance:
    exact = sp.exp(-400 * ((x - 0.4) ** 2 + (y - 0.55) ** 2 + (z - 0.5) ** 2))
    return manufactured(CUBE, U(x, y, z), lambda w: laplacian(w, x, y, z), exact), 1e-9


def slanted_front() -> ProblemAndTolerance:
    exact = sp.tanh(60 * (x - 2 * y + sp.Rational(1, 3)))
    return manufactured(SQUARE, U(x, y), lambda w: laplacian(w, x, y), exact), 1e-12


def helmholtz() -> ProblemAndTolerance:
    exact = sp.cos(300 * (sp.Rational(4, 5) * x + sp.Rational(3, 5) * y))
    return manufactured(SQUARE, U(x, y), lambda w: laplacian(w, x, y) + 300**2 * w, exact), 1e-10


def convection() -> ProblemAndTolerance:
    u = U(x, y)
    equation = sp.Eq(-laplacian(u, x, y) / 2000 + (y + 1) * u.diff(x) - x * u.diff(y), 1)
    return pibls.Problem(SQUARE, [equation], [pibls.Dirichlet(u, 0)]), 1e-10


def nonlinear_flux() -> ProblemAndTolerance:
    u = U(x, y)
    flux = pibls.div((1 + 50 * u**2) * pibls.grad(u))
    return pibls.Problem(SQUARE, [sp.Eq(flux, -20 * sp.exp(5 * x))], [pibls.Dirichlet(u, 0)]), 1e-12


def bratu() -> ProblemAndTolerance:
    u = U(x, y)
    equation = sp.Eq(laplacian(u, x, y) + 7 * sp.exp(u), 0)
    return pibls.Problem(SQUARE, [equation], [pibls.Dirichlet(u, 0)]), 1e-10


def cavity() -> ProblemAndTolerance:
    u, v, p = U(x, y), V(x, y), P(x, y)
    equations = [
        sp.Eq(u * u.diff(x) + v * u.diff(y), -p.diff(x) + laplacian(u, x, y) / 1000),
        sp.Eq(u * v.diff(x) + v * v.diff(y), -p.diff(y) + laplacian(v, x, y) / 1000),
        sp.Eq(u.diff(x) + v.diff(y), 0),
    ]
    lid = [pibls.Dirichlet(u, 1, on=sp.Eq(y, 1)), pibls.Dirichlet(u, 0), pibls.Dirichlet(v, 0)]
    return pibls.Problem(SQUARE, equations, [*lid, pibls.Dirichlet(p, 0, on={x: 0.5, y: 0})]), 1e-6


def many_discs() -> ProblemAndTolerance:
    u = U(x, y)
    domain: Any = pibls.Box({x: (0, 4), y: (0, 3)})
    for i in range(12):
        domain = domain - pibls.Disk((x, y), (0.5 + i % 4 + 0.07 * (i % 3), 0.5 + i // 4), 0.2 + 0.01 * i)
    return pibls.Problem(domain, [sp.Eq(laplacian(u, x, y), -1)], [pibls.Dirichlet(u, 0)]), 1e-11


def inclusions() -> ProblemAndTolerance:
    u = U(x, y)
    discs = [pibls.Disk((x, y), (0.3, 0.35), 0.15), pibls.Disk((x, y), (0.65, 0.6), 0.2)]
    k = sp.Piecewise((400, discs[0].inside), (sp.Rational(1, 50), discs[1].inside), (1, True))
    return pibls.Problem(SQUARE, [sp.Eq(pibls.div(k * pibls.grad(u)), -1)], [pibls.Dirichlet(u, 0)]), 1e-11


def ball_with_hole() -> ProblemAndTolerance:
    u = U(x, y, z)
    hole = pibls.Ball((x, y, z), (0.3, 0.1, 0), 0.35)
    domain = pibls.Ball((x, y, z), (0, 0, 0), 1) - hole
    equation = sp.Eq(-laplacian(u, x, y, z) + 9 * u, sp.exp(x + y * z))
    return pibls.Problem(domain, [equation], [pibls.Dirichlet(u, 0), pibls.Robin(u, 1, 1, 2, on=hole)]), 1e-10


def elastic_bracket() -> ProblemAndTolerance:
    u, v = U(x, y), V(x, y)
    a, b, c = u.diff(x), v.diff(y), (u.diff(y) + v.diff(x)) / 2
    xx, yy, xy = 3 * a + b, a + 3 * b, 2 * c
    shape = pibls.Polygon((x, y), [(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)])
    domain = shape - pibls.Disk((x, y), (0.5, 0.5), 0.2)
    left = [xx.diff(x) + xy.diff(y), xy.diff(x) + yy.diff(y) - 1]
    clamped = [pibls.Dirichlet(f, 0, on=sp.Eq(y, 3)) for f in (u, v)]
    free = [pibls.Neumann(f, 0) for f in (u, v)]
    return pibls.Problem(domain, [sp.Eq(e, 0) for e in left], [*clamped, *free]), 1e-10


def gray_scott() -> ProblemAndTolerance:
    u, v = U(x, y, t), V(x, y, t)
    rate, spot = u * v**2, sp.exp(-100 * ((x - 0.5) ** 2 + (y - 0.5) ** 2))
    equations = [
        sp.Eq(u.diff(t), laplacian(u, x, y) * 2e-5 - rate + 0.04 * (1 - u)),
        sp.Eq(v.diff(t), laplacian(v, x, y) * 1e-5 + rate - 0.1 * v),
    ]
    initial = [pibls.Initial(u, 1 - spot / 2), pibls.Initial(v, spot / 4)]
    conditions = [pibls.Neumann(u, 0), pibls.Neumann(v, 0), *initial]
    return pibls.Problem(SQUARE.during(t, 0, 200), equations, conditions), 1e-8


def kuramoto_sivashinsky() -> ProblemAndTolerance:
    u = U(x, t)
    line = pibls.Interval(x, 0, 32 * sp.pi).during(t, 0, 100)
    equation = sp.Eq(u.diff(t) + u * u.diff(x) + u.diff(x, 2) + u.diff(x, 4), 0)
    start = sp.cos(x / 16) * (1 + sp.sin(x / 16))
    return pibls.Problem(line, [equation], [pibls.Periodic(u, x), pibls.Initial(u, start)]), 1e-9


def burgers() -> ProblemAndTolerance:
    u = U(x, t)
    line = pibls.Interval(x, -1, 1).during(t, 0, 2)
    equation = sp.Eq(u.diff(t) + u * u.diff(x), u.diff(x, 2) / 2000)
    return pibls.Problem(
        line, [equation], [pibls.Dirichlet(u, 0), pibls.Initial(u, -sp.sin(sp.pi * x))]
    ), 1e-10


def heat_beside_holes() -> ProblemAndTolerance:
    u = U(x, y, t)
    hole = pibls.Disk((x, y), (0.2, 0), 0.3) | pibls.Disk((x, y), (-0.5, 0.2), 0.15)
    domain = (pibls.Disk((x, y), (0, 0), 1) - hole).during(t, 0, 1)
    equation = sp.Eq(u.diff(t), laplacian(u, x, y) + sp.sin(5 * t) * x)
    return pibls.Problem(domain, [equation], [pibls.Initial(u, 0), pibls.Dirichlet(u, 0)]), 1e-10


def wave_in_l_shape() -> ProblemAndTolerance:
    u = U(x, y, t)
    room = pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]).during(t, 0, 3)
    start = sp.exp(-20 * ((x - 0.5) ** 2 + (y - 1.5) ** 2))
    conditions = [pibls.Initial(u, start), pibls.Initial(u.diff(t), 0), pibls.Neumann(u, 0)]
    return pibls.Problem(room, [sp.Eq(u.diff(t, 2), laplacian(u, x, y))], conditions), 1e-8


def lorenz() -> ProblemAndTolerance:
    a, b, c = U(t), V(t), W(t)
    equations = [a.diff(t) - 10 * (b - a), b.diff(t) - a * (28 - c) + b, c.diff(t) - a * b + 8 * c / 3]
    conditions = [pibls.Initial(a, 1), pibls.Initial(b, 1), pibls.Initial(c, 20)]
    return pibls.Problem(pibls.Interval(t, 0, 2000), equations, conditions), 1e-12


def van_der_pol() -> ProblemAndTolerance:
    a = U(t)
    equation = a.diff(t, 2) - 1000 * (1 - a**2) * a.diff(t) + a
    conditions = [pibls.Initial(a, 2), pibls.Initial(a.diff(t), 0)]
    return pibls.Problem(pibls.Interval(t, 0, 40000), [equation], conditions), 1e-12


def outer_planets() -> ProblemAndTolerance:
    """Six bodies on circular orbits around a heavy one, each attracted by all others."""
    n = 6
    q = [(sp.Function(f"x{i}")(t), sp.Function(f"y{i}")(t)) for i in range(n)]
    equations, conditions = [], []
    for i, (a, b) in enumerate(q):
        radius, angle = 1 + sp.Rational(i, 2), sp.Rational(7 * i, 5)
        pulls = [(a / (a**2 + b**2) ** sp.Rational(3, 2), b / (a**2 + b**2) ** sp.Rational(3, 2))]
        for j, (c, d) in enumerate(q):
            if j != i:
                r3 = ((a - c) ** 2 + (b - d) ** 2) ** sp.Rational(3, 2)
                pulls.append(((a - c) / r3 / 1000, (b - d) / r3 / 1000))
        equations += [a.diff(t, 2) + sum(f for f, _ in pulls), b.diff(t, 2) + sum(g for _, g in pulls)]
        speed = float(radius) ** -0.5
        cos, sin = float(sp.cos(angle)), float(sp.sin(angle))
        conditions += [pibls.Initial(a, float(radius) * cos), pibls.Initial(b, float(radius) * sin)]
        conditions += [pibls.Initial(a.diff(t), -speed * sin), pibls.Initial(b.diff(t), speed * cos)]
    return pibls.Problem(pibls.Interval(t, 0, 2000), equations, conditions), 1e-12


PROBLEMS: dict[str, Callable[[], ProblemAndTolerance]] = {
    "cube": cube,
    "peak in a cube": peak_in_cube,
    "slanted front": slanted_front,
    "Helmholtz": helmholtz,
    "convection": convection,
    "nonlinear flux": nonlinear_flux,
    "Bratu": bratu,
    "cavity": cavity,
    "many discs": many_discs,
    "inclusions": inclusions,
    "ball with a hole": ball_with_hole,
    "elastic bracket": elastic_bracket,
    "Gray-Scott": gray_scott,
    "Kuramoto-Sivashinsky": kuramoto_sivashinsky,
    "Burgers": burgers,
    "heat beside holes": heat_beside_holes,
    "wave in a room": wave_in_l_shape,
    "Lorenz": lorenz,
    "Van der Pol": van_der_pol,
    "outer planets": outer_planets,
}


def _problem(make: Callable[[], tuple[pibls.Problem, float]]) -> pibls.Problem:
    return make()[0]


def _no_references() -> References:
    return {}


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for name, make in PROBLEMS.items():
        yield Entry(
            name=name,
            set="time_limits",
            build=partial(_problem, make),
            references=_no_references,
            tol=make()[1],
        )

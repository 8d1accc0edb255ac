"""Operator pencils at corners: exponents from the literature, singular functions, reference solutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.analysis.corners.pencil import Pencil, PencilCondition, Sector
from pibls.analysis.corners.symbol import symbol_of
from pibls.analysis.corners.system_corners import corner_bases
from pibls.basis import PolarBasis, PowersBasis

XX, YY, XY, X, Y, ONE = (2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0)
LAPLACE: Any = [{(0, XX): 1.0, (0, YY): 1.0}]
STOKES: Any = [
    {(0, XX): -1.0, (0, YY): -1.0, (2, X): 1.0},
    {(1, XX): -1.0, (1, YY): -1.0, (2, Y): 1.0},
    {(0, X): 1.0, (1, Y): 1.0},
]
PLATE: Any = [{(0, (4, 0)): 1.0, (0, (2, 2)): 2.0, (0, (0, 4)): 1.0}]
MU, LAM = 1.0, 1.5
ELASTIC: Any = [
    {(0, XX): LAM + 2 * MU, (0, YY): MU, (1, XY): LAM + MU},
    {(1, YY): LAM + 2 * MU, (1, XX): MU, (0, XY): LAM + MU},
]


def values(angle: float, n: int) -> list[PencilCondition]:
    return [PencilCondition(angle, ((0, k, ONE, 1.0),)) for k in range(n)]


def clamped(angle: float) -> list[PencilCondition]:
    n = -math.sin(angle), math.cos(angle)
    return [*values(angle, 1), PencilCondition(angle, ((0, 0, X, n[0]), (0, 0, Y, n[1])))]


def free(angle: float) -> list[PencilCondition]:
    n, m = -math.sin(angle), math.cos(angle)
    first = ((0, 0, X, (LAM + 2 * MU) * n), (0, 1, Y, LAM * n), (0, 0, Y, MU * m), (0, 1, X, MU * m))
    second = ((0, 0, Y, MU * n), (0, 1, X, MU * n), (0, 1, Y, (LAM + 2 * MU) * m), (0, 0, X, LAM * m))
    return [PencilCondition(angle, first), PencilCondition(angle, second)]


def pencil(rows: Any, on: Any, angle: float, start: float = 0.3) -> Pencil:
    symbol = symbol_of(rows, len(rows))
    assert symbol is not None
    pencil_of_corner = Pencil((Sector(start, start + angle, symbol),), (*on(start), *on(start + angle)))
    assert pencil_of_corner.is_square
    return pencil_of_corner


@pytest.mark.parametrize(
    ("rows", "on", "angle", "expected"),
    [
        (LAPLACE, lambda a: values(a, 1), 1.5 * math.pi, [2 / 3, 4 / 3, 2.0, 8 / 3]),
        (STOKES, lambda a: values(a, 2), 0.5 * math.pi, [1.0, 2.7395933563 + 1.1190245350j]),  # Moffatt
        (STOKES, lambda a: values(a, 2), 1.5 * math.pi, [0.5444837368, 0.9085291898, 1.0]),  # Dauge
        (ELASTIC, free, 1.5 * math.pi, [0.5444837368, 0.9085291898, 1.0]),  # Williams
        (ELASTIC, free, 2.0 * math.pi, [0.5, 1.0, 1.5, 2.0]),
        (PLATE, clamped, 0.5 * math.pi, [2.0, 3.7395933563 + 1.1190245350j]),
        (PLATE, clamped, 1.5 * math.pi, [1.5444837368, 1.9085291898, 2.0]),
    ],
)
def test_exponents_match_the_literature(rows: Any, on: Any, angle: float, expected: list[complex]) -> None:
    found = pencil(rows, on, angle).exponents(abs(expected[-1]) + 0.3)
    assert len(found) >= len(expected)
    for (alpha, _), known in zip(found, expected, strict=False):
        assert alpha == pytest.approx(known, abs=1e-8)


def test_crack_has_two_functions_per_exponent() -> None:
    pencil_of_corner = pencil(ELASTIC, free, 2.0 * math.pi, -math.pi)
    exponents = pencil_of_corner.exponents(2.6)
    assert all(count == 2 for _, count in exponents)
    halves = [p for p in pencil_of_corner.powers(2.6, exponents) if abs(p.degree - 0.5) < 1e-9]
    assert len(halves) == 2


@pytest.mark.parametrize(
    ("rows", "angle"), [(STOKES, 1.5 * math.pi), (STOKES, 0.5 * math.pi), (ELASTIC, 2.0)]
)
def test_functions_solve_the_equations_and_meet_the_conditions(rows: Any, angle: float) -> None:
    pencil_of_corner = pencil(rows, lambda a: values(a, 2), angle)
    powers = pencil_of_corner.powers(6.0, pencil_of_corner.exponents(6.0))
    bases = corner_bases((0.2, -0.1), pencil_of_corner, powers, 1.7)
    theta = 0.3 + angle * np.linspace(0.05, 0.95, 9)
    at = np.array([0.2, -0.1]) + 0.6 * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    for row in rows:
        terms = [c * bases[0, k].jets(at, [beta])[0] for (k, beta), c in row.items()]
        assert np.abs(sum(terms)).max() < 1e-9 * max(np.abs(t).max() for t in terms)
    is_integer = np.array([abs(p.degree - round(p.degree.real)) < 1e-9 for p in powers])
    for side in (0.3, 0.3 + angle):
        points = np.array([0.2, -0.1]) + 0.6 * np.array([[math.cos(side), math.sin(side)]])
        for k in (0, 1):
            assert np.abs(bases[0, k].jets(points, [ONE])[0][:, ~is_integer]).max() < 1e-9


def test_derivatives_of_polar_and_power_bases() -> None:
    rng = np.random.default_rng(0)
    polar = PolarBasis(
        np.array([0.1, 0.2]),
        np.array([0.4, 1.3, 1.1]),
        np.array([[a, log, j] for a in (1.0, 0.54) for log in (0.0, 1.0) for j in (0.0, 1.0, 3.0)]),
    )
    powers = PowersBasis(
        np.array([0.1, 0.2]),
        np.array([[0.4, 1.3, 0.0, 1.0], [0.2, 1.3, 0.3, 1.4]]),
        np.array([[0, 0.5, 0.3, 0, 0], [0, 0.5, 0.3, 1, 0], [1, 1.0, 0, 1, 1], [1, -1, 0, 2, 0]]),
        rng.normal(size=(2, 4, 3)),
    )
    theta = rng.uniform(-0.5, 1.3, 12)
    at = np.array([0.1, 0.2]) + rng.uniform(0.2, 0.5, (12, 1)) * np.stack([np.cos(theta), np.sin(theta)], 1)
    step = 1e-4
    for basis in (polar, powers):
        for alpha in ((1, 0), (0, 1), (1, 1), (0, 2), (3, 1), (2, 2)):
            axis = 0 if alpha[0] else 1
            lower = tuple(n - (i == axis) for i, n in enumerate(alpha))
            e = step * np.eye(2)[axis]
            a, b, c, d = (basis.jets(at + s * e, [lower])[0] for s in (-2, -1, 1, 2))
            exact = basis.jets(at, [alpha])[0]
            assert np.abs((a - 8 * b + 8 * c - d) / (12 * step) - exact).max() < 1e-8 * np.abs(exact).max()


x, y = sp.symbols("x y")
u, v, p, w = (sp.Function(name)(x, y) for name in "uvpw")


def laplacian(f: Any) -> Any:
    return f.diff(x, 2) + f.diff(y, 2)


def test_clamped_plate() -> None:
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    equation = sp.Eq(sp.expand(laplacian(laplacian(w))), 1)
    conditions = [pibls.Dirichlet(w, 0), pibls.Neumann(w, 0)]
    solution = pibls.solve(pibls.Problem(square, [equation], conditions), tol=1e-7)
    assert solution.converged
    assert float(solution(0.5, 0.5)) == pytest.approx(0.00126531908, abs=2e-10)


def test_stokes_lid_driven_cavity(tmp_path: Any) -> None:
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    equations = [-laplacian(u) + p.diff(x), -laplacian(v) + p.diff(y), u.diff(x) + v.diff(y)]
    conditions = [
        pibls.Dirichlet(u, 1, on=sp.Eq(y, 1)),
        pibls.Dirichlet(u, 0),
        pibls.Dirichlet(v, 0),
        pibls.Dirichlet(p, 0, on={x: 0.5, y: 0}),
    ]
    solution = pibls.solve(pibls.Problem(square, equations, conditions), tol=1e-6)
    assert solution.converged
    # Reference: a run with twice as many singular functions and random features.
    assert float(solution[u](0.5, 0.5)) == pytest.approx(-0.205191712837, abs=2e-7)
    path = tmp_path / "cavity.pibls"
    solution.save(path)
    loaded = pibls.load(path)
    assert float(loaded[p](0.3, 0.4)) == float(solution[p](0.3, 0.4))


def test_navier_stokes_lid_driven_cavity() -> None:
    """Cells with the singular functions of both corners, and an integral condition over all cells."""
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    inertia = [u * f.diff(x) + v * f.diff(y) for f in (u, v)]
    equations = [
        inertia[0] - laplacian(u) / 100 + p.diff(x),
        inertia[1] - laplacian(v) / 100 + p.diff(y),
        u.diff(x) + v.diff(y),
    ]
    conditions = [
        pibls.Dirichlet(u, 1, on=sp.Eq(y, 1)),
        pibls.Dirichlet(u, 0),
        pibls.Dirichlet(v, 0),
        pibls.Condition(sp.Eq(pibls.integral(p), 0)),
    ]
    solution = pibls.solve(pibls.Problem(square, equations, conditions), tol=1e-2)
    assert solution.converged
    # NGSolve, order 9, graded towards the corners: -0.209148; literature: -0.2091491.
    error = abs(float(solution[u](0.5, 0.5)) + 0.209149)
    assert error < 2e-4
    assert error < solution[u].error.max < 1e-2
    assert abs(float(solution.integral(p))) < 1e-4


def test_oblique_interface_meets_the_boundary() -> None:
    square = pibls.Box({x: (-1, 1), y: (-1, 1)})
    k = sp.Piecewise((400, x + 2 * y < sp.Rational(1, 5)), (1, True))
    problem = pibls.Problem(square, [sp.Eq(-pibls.div(k * pibls.grad(u)), 1)], [pibls.Dirichlet(u, 0)])
    solution = pibls.solve(problem, tol=1e-5)
    assert solution.converged
    # NGSolve, order 8, graded to the six corners.
    assert float(solution(0.3, 0.2)) == pytest.approx(0.0723684802, abs=1e-8)


def test_exponent_where_three_materials_meet() -> None:
    from pibls.analysis.corners.junctions import junctions_of
    from pibls.problem.forms.compilation import compile_problem
    from pibls.problem.interfaces.decomposition import subdomain_decomposition

    one, two = x - y - sp.Rational(1, 10), x + 2 * y
    k = sp.Piecewise((1, sp.And(one > 0, two > 0)), (10, sp.And(one > 0, two <= 0)), (100, True))
    square = pibls.Box({x: (-1, 1), y: (-1, 1)})
    problem = pibls.Problem(square, [sp.Eq(-pibls.div(k * pibls.grad(u)), 1)], [pibls.Dirichlet(u, 0)])
    materials = subdomain_decomposition(problem)
    assert materials is not None
    found = junctions_of(compile_problem(problem), square, materials)
    (inside,) = [j for j in found if len(j.subdomains) == 3]
    assert inside.point == pytest.approx((1 / 15, -1 / 30), abs=1e-12)
    # α from the transfer matrices of u = a cos αθ + b sin αθ in the sectors.
    assert inside.pencil.exponents(1.0)[0][0] == pytest.approx(_smallest_exponent(inside), abs=1e-9)


def _smallest_exponent(junction: Any) -> float:
    """Return the smallest α at which the transfer matrix around the point has the eigenvalue 1."""
    from scipy.optimize import brentq

    sectors = junction.pencil.sectors
    conductivity = {}
    for number, sector in enumerate(sectors):
        t = sector.middle
        point = (1 / 15 + 1e-3 * math.cos(t), -1 / 30 + 1e-3 * math.sin(t))
        one, two = point[0] - point[1] - 0.1, point[0] + 2 * point[1]
        conductivity[number] = 100.0 if one <= 0 else (1.0 if two > 0 else 10.0)

    def defect(alpha: float) -> float:
        transfer = np.eye(2)
        for number, sector in enumerate(sectors):
            k, w = conductivity[number], alpha * (sector.stop - sector.start)
            sector_matrix = np.array([[math.cos(w), math.sin(w) / k], [-k * math.sin(w), math.cos(w)]])
            transfer = sector_matrix @ transfer
        return float(2.0 - np.trace(transfer))

    grid = np.linspace(0.05, 1.0, 400)
    values = [defect(a) for a in grid]
    start = next(i for i in range(len(grid) - 1) if values[i] * values[i + 1] < 0)
    return float(brentq(defect, grid[start], grid[start + 1], xtol=1e-13))


@pytest.mark.parametrize(
    ("lid", "jumps"), [(1, True), (16 * x**2 * (1 - x) ** 2, False), (sp.sin(sp.pi * x), False)]
)
def test_only_a_discontinuous_lid_velocity_is_incompatible(lid: Any, jumps: bool) -> None:
    from pibls.analysis.corners.system_corners import system_corners
    from pibls.problem.forms.compilation import compile_problem

    square = pibls.Box({x: (0, 1), y: (0, 1)})
    equations = [-laplacian(u) + p.diff(x), -laplacian(v) + p.diff(y), u.diff(x) + v.diff(y)]
    conditions = [pibls.Dirichlet(u, lid, on=sp.Eq(y, 1)), pibls.Dirichlet(u, 0), pibls.Dirichlet(v, 0)]
    problem = pibls.Problem(square, equations, [*conditions, pibls.Dirichlet(p, 0, on={x: 0.5, y: 0})])
    found = system_corners(compile_problem(problem), square)
    assert len(found) == 4
    assert sum(corner.has_incompatible_data for corner in found) == 2 * jumps

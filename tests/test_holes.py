"""Singular functions centred in holes: derivatives, detection of holes, and solutions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.analysis.holes.enrichment import HoleEnrichment, holes_of
from pibls.assembly.hybridized.face_traces import FaceSpec, Trace, couple_faces
from pibls.basis import Annular
from pibls.geometry.cell_clipping import clipped_bounds
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import CellSpace, CellTree

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x, y), sp.Function("v")(x, y)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
SPECS = [
    Annular((0.1, 0.2), 0.4, 5),
    Annular((0.1, 0.2), 0.4, 4, 1),
    Annular((0.1, 0.2), 0.4, 3, 2),
    Annular((0.1, 0.2), 0.4, 4, rate=3.0),
    Annular((0.1, 0.2), 0.4, 4, rate=-3.0),
]


def laplacian(e: Any) -> Any:
    return e.diff(x, 2) + e.diff(y, 2)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_derivatives_agree_with_finite_differences(spec: Annular) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 1.5, (30, 2))
    basis = spec.draw(np.zeros((2, 2)), rng)
    assert basis.jets(X, [(0, 0)])[0].shape == (30, spec.size)
    for alpha in [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 2), (3, 1)]:
        for axis in (0, 1):
            if not alpha[axis]:
                continue
            below = tuple(a - (i == axis) for i, a in enumerate(alpha))
            step = 1e-5 * np.eye(2)[axis]
            ahead, behind = (basis.jets(X + s * step, [below])[0] for s in (1, -1))
            found = basis.jets(X, [alpha])[0]
            scale = np.maximum(np.abs(found).max(axis=0), 1e-12)
            assert np.all(np.abs((ahead - behind) / 2e-5 - found) < 1e-6 * scale + 1e-9)


@pytest.mark.parametrize("spec", [s for s in SPECS if not s.depth], ids=str)
def test_functions_solve_their_equation(spec: Annular) -> None:
    X = np.random.default_rng(1).uniform(0.5, 1.5, (30, 2))
    basis = spec.draw(np.zeros((2, 2)), np.random.default_rng(0))
    value, xx, yy = basis.jets(X, [(0, 0), (2, 0), (0, 2)])
    assert np.all(np.abs(xx + yy - spec.rate * abs(spec.rate) * value) < 1e-12 * np.abs(xx).max(axis=0))


def enrichment_of(domain: Any, equation: Any = None) -> HoleEnrichment:
    equation = laplacian(u) if equation is None else equation
    problem = pibls.Problem(domain, [sp.Eq(equation, 0)], [pibls.Dirichlet(u, 0)])
    return holes_of(compile_problem(problem), domain)


def test_holes_of_differences_polygons_and_level_sets() -> None:
    disc = pibls.Disk((x, y), (0.3, 0.4), 0.1)
    (hole,) = enrichment_of(SQUARE - disc).holes
    assert np.allclose(hole.centres, [(0.3, 0.4, 0.1)], atol=1e-6)
    corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
    two = pibls.Polygon(
        (x, y), corners, holes=[[(0.2, 0.2), (0.4, 0.2), (0.4, 0.4)], [(0.6, 0.6), (0.8, 0.6), (0.7, 0.8)]]
    )
    assert len(enrichment_of(two).holes) == 2
    ring = pibls.Implicit((x**2 + y**2 - 1) * (x**2 + y**2 - sp.Rational(1, 5)), {x: (-2, 2), y: (-2, 2)})
    assert len(enrichment_of(ring).holes) == 1
    assert not enrichment_of(SQUARE)
    assert not enrichment_of(SQUARE - pibls.Disk((x, y), (0, 0), 0.3))  # a notch is no hole


def test_elongated_hole_has_several_centres() -> None:
    slot = pibls.Ellipse((x, y), (0.5, 0.5), (0.3, 0.08), 0.4)
    (hole,) = enrichment_of(SQUARE - slot).holes
    assert 3 < len(hole.centres) <= 12
    assert np.all(slot.contains(np.array(hole.centres)[:, :2]))


def test_close_discs_have_slower_decay_than_isolated_ones() -> None:
    """Two discs of radius r, 0.02 r apart, have images at a distance of √(0.02) r from their circles."""
    discs = [pibls.Disk((x, y), (a, 0.3), 0.1) for a in (0.3, 0.502)] + [pibls.Disk((x, y), (0.5, 0.75), 0.1)]
    enrichment = enrichment_of(SQUARE - discs[0] - discs[1] - discs[2])
    close, _, isolated = (hole.decays[0] for hole in enrichment.holes)
    assert 0.84 < close < 0.89
    assert isolated < 0.4


@pytest.mark.parametrize("seed", [0, 1])
def test_laplace_with_elongated_holes(seed: int) -> None:
    """An ellipse of 4 : 1; by the maximum principle the error is largest on the boundary."""
    slots = [pibls.Ellipse((x, y), (0.35, 0.35), (0.24, 0.06), 0.4), pibls.Disk((x, y), (0.7, 0.75), 0.12)]
    conditions = [pibls.Dirichlet(u, 1, on=slot) for slot in slots]
    domain = SQUARE - slots[0] - slots[1]
    problem = pibls.Problem(domain, [sp.Eq(laplacian(u), 0)], [pibls.Dirichlet(u, 0), *conditions])
    solution = pibls.solve(problem, tol=1e-5, seed=seed)
    boundary = domain.boundary(5000, np.random.default_rng(0))
    expected = np.array([any(owner is slot for slot in slots) for owner in boundary.owners], dtype=float)
    assert solution.converged
    assert np.abs(solution(*boundary.points.T) - expected).max() <= solution.error.max


def test_image_centres_are_outside_the_domain() -> None:
    domain = SQUARE - pibls.Disk((x, y), (0.15, 0.2), 0.1)
    images = enrichment_of(domain).images
    centres = {(round(i.centre[0], 6), round(i.centre[1], 6)) for i in images}
    assert centres == {(-0.15, 0.2), (0.15, -0.2), (-0.15, -0.2)}


def test_functions_match_the_equation() -> None:
    domain = SQUARE - pibls.Disk((x, y), (0.5, 0.5), 0.2)
    assert enrichment_of(domain, laplacian(u) - 9 * u).kind.rate == 3.0
    assert enrichment_of(domain, laplacian(u) + 4 * u).kind.rate == -2.0
    assert enrichment_of(domain, laplacian(u)).kind.depth == 0
    assert enrichment_of(domain, laplacian(laplacian(u))).kind.depth == 1
    assert not enrichment_of(domain, laplacian(u) + u.diff(x) - x * u)  # solved by cells


@pytest.mark.parametrize("seed", [0, 1])
def test_laplace_between_eccentric_circles(seed: int, tmp_path: Path) -> None:
    """Between eccentric circles the solution of Δu = 0 is the logarithm of a ratio of distances."""
    inner = pibls.Disk((x, y), (0.4, 0), 0.3)
    domain = pibls.Disk((x, y), (0, 0), 1) - inner
    # Both circles are level lines of |z - a|/|z - 1/a|.
    a = float(sp.nsolve((0.7 - x) / (1 / x - 0.7) - (x - 0.1) / (1 / x - 0.1), x, 0.45))
    exact = sp.log((x - a) ** 2 + y**2) - sp.log((x - 1 / a) ** 2 + y**2)
    level = float(exact.subs({x: 0.7, y: 0}))
    outer = float(exact.subs({x: 1, y: 0}))
    problem = pibls.Problem(
        domain, [sp.Eq(laplacian(u), 0)], [pibls.Dirichlet(u, level, on=inner), pibls.Dirichlet(u, outer)]
    )
    solution = pibls.solve(problem, seed=seed)
    X = domain.interior(500, np.random.default_rng(3))
    error = np.abs(solution(*X.T) - sp.lambdify((x, y), exact)(*X.T)).max()
    assert solution.converged
    assert error <= solution.error.max < 1e-9
    solution.save(tmp_path / "rings.pibls")
    assert np.array_equal(pibls.load(tmp_path / "rings.pibls")(*X.T), solution(*X.T))


def test_kirsch_plate_with_a_hole() -> None:
    """A traction-free hole in a plate under tension: stress concentration factor 3."""
    hole = pibls.Disk((x, y), (0, 0), 1)
    domain = pibls.Box({x: (-3, 3), y: (-3, 3)}) - hole
    nu = sp.Rational(3, 10)

    def stress(a: Any, b: Any) -> tuple[Any, Any, Any]:
        c = 1 / (1 - nu**2)
        shear = (a.diff(y) + b.diff(x)) / (2 * (1 + nu))
        return c * (a.diff(x) + nu * b.diff(y)), c * (b.diff(y) + nu * a.diff(x)), shear

    sxx, syy, sxy = stress(u, v)
    r2 = x**2 + y**2
    c2, c4 = (x**2 - y**2) / r2, ((x**2 - y**2) ** 2 - 4 * x**2 * y**2) / r2**2
    s2, s4 = 2 * x * y / r2, 4 * x * y * (x**2 - y**2) / r2**2
    # Kirsch's stresses in Cartesian components.
    txx = 1 - (sp.Rational(3, 2) * c2 + c4) / r2 + sp.Rational(3, 2) * c4 / r2**2
    tyy = -(c2 / 2 - c4) / r2 - sp.Rational(3, 2) * c4 / r2**2
    txy = -(s2 / 2 + s4) / r2 + sp.Rational(3, 2) * s4 / r2**2
    right, top = sp.Or(sp.Eq(x, 3), sp.Eq(x, -3)), sp.Or(sp.Eq(y, 3), sp.Eq(y, -3))
    problem = pibls.Problem(
        domain,
        [sp.Eq(sxx.diff(x) + sxy.diff(y), 0), sp.Eq(sxy.diff(x) + syy.diff(y), 0)],
        [
            pibls.Condition(sp.Eq(sxx * x + sxy * y, 0), on=hole),
            pibls.Condition(sp.Eq(sxy * x + syy * y, 0), on=hole),
            pibls.Condition(sp.Eq(sxx, txx), on=right),
            pibls.Condition(sp.Eq(sxy, txy), on=right),
            pibls.Condition(sp.Eq(syy, tyy), on=top),
            pibls.Condition(sp.Eq(sxy, txy), on=top),
            pibls.Dirichlet(u, 0, on={x: 0, y: 1}),
            pibls.Dirichlet(v, 0, on={x: 1, y: 0}),
            pibls.Dirichlet(v, 0, on={x: -1, y: 0}),
        ],
    )
    solution = pibls.solve(problem)
    assert solution.converged
    assert abs(float(solution.evaluate(sxx, 0.0, 1.0)) - 3.0) < 1e-6


def test_unknowns_of_very_different_size() -> None:
    """Sizes 1e-6 and 1e5, coupled by factors of 1e10: each error is small relative to its own size."""
    domain = pibls.Disk((x, y), (0, 0), 1) - pibls.Disk((x, y), (0, 0.3), 0.25)
    exact = {u: 1e-6 * sp.sin(x + y), v: 1e5 * (2 + x * y + sp.cos(y))}

    def operators(a: Any, b: Any) -> list[Any]:
        return [laplacian(a) - 1e-11 * b, laplacian(b) - b + 1e10 * a.diff(x)]

    equations = [
        sp.Eq(one, other) for one, other in zip(operators(u, v), operators(*exact.values()), strict=True)
    ]
    problem = pibls.Problem(domain, equations, [pibls.Dirichlet(w, e) for w, e in exact.items()])
    solution = pibls.solve(problem, time_limit=60)
    X = domain.interior(300, np.random.default_rng(0))
    assert solution.converged
    for w, e in exact.items():
        values = sp.lambdify((x, y), e)(*X.T)
        assert np.abs(solution[w](*X.T) - values).max() < 1e-9 * np.abs(values).max()


def test_enrichment_points_are_on_the_hole_and_in_the_domain() -> None:
    domain = SQUARE - pibls.Disk((x, y), (0.3, 0.4), 0.1)
    enrichment = enrichment_of(domain)
    circle = enrichment.holes[0].boundary_points(30)
    assert np.allclose(np.hypot(circle.points[:, 0] - 0.3, circle.points[:, 1] - 0.4), 0.1)
    inner = enrichment.domain_points(16.0, domain)
    assert len(inner) > 20
    assert np.all(domain.contains(inner))
    sizes = [sum(f.size for f in enrichment.functions(efolds)) for efolds in (4.0, 8.0, 16.0)]
    assert all(a < b for a, b in pairwise(sizes))


def test_clipped_bounds_of_a_cut_cell() -> None:
    domain = SQUARE - pibls.Disk((x, y), (0.5, 0.5), 0.3)
    cell = np.array([[0.5, 0.75], [0.5, 0.75]])  # its upper right corner is outside of the disc
    assert np.allclose(clipped_bounds(domain, cell), [[0.5 + np.sqrt(0.3**2 - 0.25**2), 0.75]] * 2, atol=1e-4)
    assert np.array_equal(
        clipped_bounds(domain, np.array([[0.0, 0.1], [0.0, 0.1]])), [[0.0, 0.1], [0.0, 0.1]]
    )
    assert np.array_equal(clipped_bounds(SQUARE, cell), cell)


def test_shared_face_divided_by_a_hole() -> None:
    """Each part of a face divided by a hole has its own points and polynomials."""
    domain = SQUARE - pibls.Disk((x, y), (0.5, 0.5), 0.2)
    (face,) = CellTree.grid(np.array([[0.0, 1.0], [0.0, 1.0]]), (2, 1)).shared_faces()
    (found,) = couple_faces([FaceSpec(face, (Trace(0, 0), Trace(0, 1)), (64, 64), 1.0)], domain.contains)
    low = found.points[:, 1] < 0.5
    assert np.isclose(found.points[low, 1].max(), 0.3, atol=1e-5)
    assert np.isclose(found.points[~low, 1].min(), 0.7, atol=1e-5)
    half = found.polynomials.shape[1] // 2
    assert not found.polynomials[low, half:].any()
    assert not found.polynomials[~low, :half].any()


def test_advection_through_a_narrow_gap() -> None:
    """No singular function solves this equation: cells clipped to the domain are used."""
    hole = pibls.Disk((x, y), (0.45, 0), 0.5)
    domain = pibls.Disk((x, y), (0, 0), 1) - hole
    exact = sp.log((x - sp.Rational(2, 5)) ** 2 + y**2) / (1 + y / 3)
    equation = -laplacian(u) + 2 * u.diff(x) + y * u
    problem = pibls.Problem(
        domain,
        [sp.Eq(equation, equation.subs(u, exact).doit())],
        [pibls.Dirichlet(u, exact)],
    )
    solution = pibls.solve(problem, tol=1e-6)
    X = domain.interior(500, np.random.default_rng(3))
    error = np.abs(solution(*X.T) - sp.lambdify((x, y), exact)(*X.T)).max()
    assert solution.converged
    assert error <= solution.error.max


def test_real_and_imaginary_parts_share_bessel_functions() -> None:
    """H₀(kϱ) around a hole with absorbing sides: coupled by conditions, equal equations."""
    k, hole = 4, pibls.Disk((x, y), center=(0, 0), radius=0.3)
    box = pibls.Box({x: (-1, 1), y: (-1, 1)})
    r, s = sp.Function("r")(x, y), sp.Function("s")(x, y)
    argument = k * sp.sqrt((x - sp.Rational(1, 10)) ** 2 + y**2)
    real, imaginary = sp.besselj(0, argument), sp.bessely(0, argument)
    conditions: list[Any] = [pibls.Dirichlet(r, real, on=hole), pibls.Dirichlet(s, imaginary, on=hole)]
    for c, side in ((x, -1), (x, 1), (y, -1), (y, 1)):
        first, second = side * real.diff(c) + k * imaginary, side * imaginary.diff(c) - k * real
        conditions += [
            pibls.Condition(sp.Eq(pibls.dn(r) + k * s, first), on=sp.Eq(c, side)),
            pibls.Condition(sp.Eq(pibls.dn(s) - k * r, second), on=sp.Eq(c, side)),
        ]
    equations = [w.diff(x, 2) + w.diff(y, 2) + k**2 * w for w in (r, s)]
    problem = pibls.Problem(box - hole, equations, conditions)
    assert holes_of(compile_problem(problem), problem.domain).kind.rate == -k
    solution = pibls.solve(problem, tol=1e-4)
    X = problem.domain.interior(300, np.random.default_rng(2)).T
    expected = sp.lambdify((x, y), imaginary, ["scipy", "numpy"])(*X)
    assert np.abs(solution[s](*X) - expected).max() <= solution[s].error.max < 1e-4
    assert not isinstance(solution.space, CellSpace)
    # Different equations have no common singular functions.
    other = pibls.Problem(box - hole, [equations[0], equations[1] - s], conditions)
    assert not holes_of(compile_problem(other), other.domain)

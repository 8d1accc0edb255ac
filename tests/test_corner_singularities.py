"""Corner singularities u ~ r^α: detection of corners, singular functions, user-defined enrichment."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import special

import pibls
from pibls.analysis.corners.scalar_corners import corners_of
from pibls.basis import Singular, Tip
from pibls.errors import ProblemError
from pibls.problem.forms.compilation import compile_problem

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
BOX = pibls.Box({x: (0, 1), y: (0, 1)})
L = pibls.Polygon((x, y), [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)])
L_OF_BOXES = pibls.Box({x: (-1, 1), y: (-1, 1)}) - pibls.Box({x: (0, 2), y: (-2, 0)})


def laplacian(w: Any) -> Any:
    return w.diff(x, 2) + w.diff(y, 2)


def two_thirds(a: Any, b: Any) -> Any:
    return (a**2 + b**2) ** (1 / 3) * np.sin(2 / 3 * (np.arctan2(b, a) % (2 * np.pi)))


def root(a: Any, b: Any) -> Any:
    """√r cos(θ/2) around (1/2, 0): zero on y = 0, x < 1/2, and without flux on y = 0, x > 1/2."""
    return np.hypot(a - 0.5, b) ** 0.5 * np.cos(0.5 * np.arctan2(b, a - 0.5))


@pytest.mark.parametrize("mu", [1j, complex(0.3, 0.8)])
@pytest.mark.parametrize("end", [None, (-0.5, -0.2)])
def test_derivatives_of_singular_functions(end: Any, mu: complex) -> None:
    """Derivatives equal difference quotients; the functions without ζ̄ solve the equation."""
    terms = ((2 / 3, 0, 0, 0.3), (2.0, 0, 1, 1.0), (0.0, 0, 1, 0.0), (1.5, 2, 0, 0.0), (3.3, 1, 1, 0.2))
    rng = np.random.default_rng(0)
    basis = Singular(Tip((0.1, 0.2), 0.7, 2.0, end, mu), terms).draw(np.zeros((2, 2)), rng)
    X, h = rng.random((7, 2)) + 0.15, 1e-5
    for alpha in [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (2, 0), (2, 1)]:
        for axis in (0, 1):
            step = h * np.eye(2)[axis]
            higher = (alpha[0] + (axis == 0), alpha[1] + (axis == 1))
            slope = (basis.jets(X + step, [alpha])[0] - basis.jets(X - step, [alpha])[0]) / (2 * h)
            assert np.allclose(basis.jets(X, [higher])[0], slope, rtol=1e-5, atol=1e-5)
    xx, xy, yy = basis.jets(X, [(2, 0), (1, 1), (0, 2)])
    left = abs(mu) ** 2 * xx - 2 * mu.real * xy + yy
    assert np.abs(left[:, :3]).max() <= (0.0 if mu == 1j else 1e-13 * np.abs(xx).max())
    at_corner = basis.jets(np.array([[0.1, 0.2]]), [(0, 0), (1, 0)])
    assert np.abs(at_corner[0][0, [0, 1, 3, 4]]).max() < 1e-60
    assert np.isfinite(at_corner[1]).all()


def corner_exponents(problem: Any) -> dict[tuple[float, float], tuple[float, Any]]:
    corners = corners_of(compile_problem(problem), problem.domain)
    return {
        (round(c.point[0], 12) + 0.0, round(c.point[1], 12) + 0.0): (
            round(np.degrees(c.angle), 6),
            c.first_power(0),
        )
        for c in corners
    }


def test_corners_are_detected() -> None:
    poisson = [sp.Eq(laplacian(u), -1)]
    for shape in (L, L_OF_BOXES):
        corners = corner_exponents(pibls.Problem(shape, poisson, [pibls.Dirichlet(u, 0)]))
        assert corners[0.0, 0.0] == (270.0, pytest.approx(2 / 3))
        assert corners[-1.0, 1.0] == (90.0, None)
        assert len(corners) == 6
    mixed = [pibls.Dirichlet(u, 0), pibls.Neumann(u, 0, on=sp.And(sp.Eq(y, 0), x > sp.Rational(3, 10)))]
    corners = corner_exponents(pibls.Problem(BOX, poisson, mixed))
    assert corners[0.3, 0.0] == (180.0, pytest.approx(0.5))
    assert corners[1.0, 0.0] == (90.0, None)
    assert (
        corner_exponents(pibls.Problem(pibls.Disk((x, y), (0, 0), 1), poisson, [pibls.Dirichlet(u, 0)])) == {}
    )
    halves = [pibls.Dirichlet(u, 0), pibls.Neumann(u, 0, on=x > 0)]
    assert set(corner_exponents(pibls.Problem(pibls.Disk((x, y), (0, 0), 1), poisson, halves))) == {
        (0.0, 1.0),
        (0.0, -1.0),
    }
    triangle = pibls.Polygon((x, y), [(0, 0), (2, 0), (0, 1)])
    angles = [
        angle
        for angle, _ in corner_exponents(pibls.Problem(triangle, poisson, [pibls.Dirichlet(u, 0)])).values()
    ]
    assert sum(angles) == pytest.approx(180)


def test_no_corners_where_exponents_are_unknown() -> None:
    """Variable leading coefficients, fourth order and oblique derivatives: nothing is added."""
    conditions = [pibls.Dirichlet(u, 0)]
    anisotropic = pibls.Problem(L, [sp.Eq(u.diff(x, 2) + (3 + x) * u.diff(y, 2), 1)], conditions)
    fourth = pibls.Problem(
        L, [sp.Eq(laplacian(laplacian(u)), 1)], [pibls.Dirichlet(u, 0, on=L), pibls.Neumann(u, 0, on=L)]
    )
    oblique = pibls.Problem(L, [sp.Eq(laplacian(u), 1)], [pibls.Condition(u.diff(x) + u - 1, on=L)])
    assert corner_exponents(anisotropic) == corner_exponents(fourth) == corner_exponents(oblique) == {}


@pytest.mark.parametrize(("mixed", "across"), [(0, 3), (1, 2), (-1, sp.Rational(1, 2))])
def test_reentrant_corner_with_constant_coefficients(mixed: int, across: Any) -> None:
    """u_xx + b u_xy + d u_yy = 0 at a re-entrant corner: Im z^α, z = x + μy, is zero on both sides."""
    b, d = float(mixed), float(across)
    mu = complex(-b, np.sqrt(4 * d - b * b)) / (2 * d)
    # The L is left of the ray y = 0, x > 0, and ends at x = 0, y < 0.
    angle = (np.angle(-mu) - 0.0) % (2 * np.pi)
    alpha = np.pi / angle

    def exact(X: Any, Y: Any) -> Any:
        z = np.asarray(X + mu * Y)
        return np.abs(z) ** alpha * np.sin(alpha * (np.angle(z) % (2 * np.pi)))

    problem = pibls.Problem(
        L,
        [u.diff(x, 2) + mixed * u.diff(x, y) + across * u.diff(y, 2)],
        [pibls.Dirichlet(u, exact)],
    )
    (corner,) = [c for c in corners_of(compile_problem(problem), L) if np.hypot(*c.point) < 1e-9]
    assert corner.first_power(0) == pytest.approx(alpha)
    solution = pibls.solve(problem, tol=1e-8)
    X = L.interior(500, np.random.default_rng(0))
    assert solution.converged
    assert np.abs(solution(*X.T) - exact(*X.T)).max() < solution.error.max


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["re-entrant", "difference of boxes", "mixed side", "mixed corner"])
def test_known_singular_solutions(name: str, seed: int) -> None:
    """With default settings the error is below 1e-10 and below its estimate."""
    exact = root if name.startswith("mixed") else two_thirds
    if name == "mixed corner":  # √r cos(θ/2) adapted to a corner of 135°
        domain: Any = pibls.Polygon((x, y), [(0.5, 0), (1, 0), (1, 1), (0, 1), (0, 0.5)])
        angle = 0.75 * np.pi
        power = 0.5 * np.pi / angle

        def exact(a: Any, b: Any) -> Any:  # zero on the oblique side, without flux on y = 0
            return np.hypot(a - 0.5, b) ** power * np.cos(power * np.arctan2(b, a - 0.5))
    else:
        domain = {"re-entrant": L, "difference of boxes": L_OF_BOXES, "mixed side": BOX}[name]
    conditions: list[Any] = [pibls.Dirichlet(u, exact)]
    if name.startswith("mixed"):
        conditions.append(pibls.Neumann(u, 0, on=sp.And(sp.Eq(y, 0), x > 0.5)))
    solution = pibls.solve(pibls.Problem(domain, [sp.Eq(laplacian(u), 0)], conditions), seed=seed)
    X = domain.interior(1000, np.random.default_rng(seed)).T
    true = np.abs(solution(*X) - exact(*X)).max()
    assert true <= 1e-10
    assert true <= solution.error.max
    assert solution.converged


@pytest.mark.parametrize("seed", range(3))
def test_poisson_on_the_square(seed: int) -> None:
    """-Δu = 1, u = 0: logarithms in the corners; u(1/2, 1/2) from its series."""
    problem = pibls.Problem(BOX, [sp.Eq(laplacian(u), -1)], [pibls.Dirichlet(u, 0)])
    solution = pibls.solve(problem, seed=seed)
    k = np.arange(1, 60, 2)
    series = 0.125 - np.sum(4 / (np.pi * k) ** 3 * np.sin(0.5 * np.pi * k) / np.cosh(0.5 * np.pi * k))
    assert abs(solution(0.5, 0.5) - series) <= solution.error.max <= 1e-10


def error_bound(solution: Any, source: float) -> float:
    """|u - u*| ≤ max_∂Ω |u| + ½ max |Δu + source|, by the maximum principle, the barrier being 1 - |x|²/2."""
    domain, rng = solution.problem.domain, np.random.default_rng(7)
    X, s = domain.interior(20_000, rng), 10.0 ** -np.arange(1, 9)
    near = np.concatenate([np.column_stack([c * s, d * s]) for c, d in ((1, 1), (-1, 1), (-1, -1), (0.1, 1))])
    inside = np.concatenate([X, near[domain.contains(near)]])
    boundary = np.concatenate([domain.boundary(10_000, rng).points, np.column_stack([s, 0 * s])])
    residual = np.abs(solution.evaluate(laplacian(u), *inside.T) + source).max()
    return float(np.abs(solution(*boundary.T)).max() + 0.5 * residual)


@pytest.mark.parametrize("seed", range(3))
def test_poisson_on_the_l_shape(seed: int) -> None:
    """-Δu = 1, u = 0: the error is bounded by the maximum principle."""
    problem = pibls.Problem(L, [sp.Eq(laplacian(u), -1)], [pibls.Dirichlet(u, 0)])
    solution = pibls.solve(problem, seed=seed)
    assert error_bound(solution, 1.0) < 1e-9
    assert solution.error.max < 1e-10
    assert solution.converged
    total = solution.integral(u)
    energy = solution.integral(
        u.diff(x) ** 2 + u.diff(y) ** 2
    )  # ∫ |∇u|² = ∫ u; the integrand is infinite at the corner
    assert abs(total - energy) <= total.error + energy.error
    assert total.error < 1e-6


def test_helmholtz_equation_at_a_corner() -> None:
    """Δu + 4u = 0 with the solution J_{2/3}(2r) sin(2θ/3)."""
    from scipy.special import jv

    def bessel(a: Any, b: Any) -> Any:
        return jv(2 / 3, 2 * np.hypot(a, b)) * np.sin(2 / 3 * (np.arctan2(b, a) % (2 * np.pi)))

    problem = pibls.Problem(L, [sp.Eq(laplacian(u) + 4 * u, 0)], [pibls.Dirichlet(u, bessel)])
    solution = pibls.solve(problem, tol=1e-8)
    X = L.interior(1000, np.random.default_rng(0)).T
    true = np.abs(solution(*X) - bessel(*X)).max()
    assert true <= min(solution.error.max, 1e-8)


def test_user_defined_enrichment() -> None:
    """√r sin(θ/2) is given as enrichment where no condition reveals the singularity."""
    r = sp.sqrt(x**2 + y**2)
    crack = sp.sqrt((r - x) / 2)
    domain = pibls.Box({x: (-1, 1), y: (0, 1)})
    exact = sp.lambdify((x, y), crack + sp.cos(x) * sp.cosh(y))
    problem = pibls.Problem(domain, [sp.Eq(laplacian(u), 0)], [pibls.Dirichlet(u, exact)])
    solution = pibls.solve(problem, enrich=[crack])
    X = domain.interior(1000, np.random.default_rng(0)).T
    true = np.abs(solution(*X) - exact(*X)).max()
    assert true <= solution.error.max <= 1e-9
    assert solution.converged


@pytest.mark.filterwarnings("ignore::pibls.errors.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_wrong_enrichment_is_detected(seed: int) -> None:
    """r^0.6 in place of r^(1/2): both compared solutions contain it, but the estimate must stay valid."""
    r, angle = sp.sqrt(x**2 + y**2), sp.atan2(y, x)
    domain = pibls.Polygon((x, y), [(-1, 0), (1, 0), (0.8, 1), (-1, 1)])
    exact = sp.lambdify((x, y), r ** sp.Rational(1, 2) * sp.sin(angle / 2))
    problem = pibls.Problem(domain, [sp.Eq(laplacian(u), 0)], [pibls.Dirichlet(u, exact)])
    wrong = r ** sp.Rational(3, 5) * sp.sin(3 * angle / 5)
    solution = pibls.solve(problem, enrich=[wrong], seed=seed, max_nodes=600)
    X = domain.interior(2000, np.random.default_rng(0)).T
    assert not solution.converged
    assert solution.error.max >= np.abs(solution(*X) - exact(*X)).max() > 1e-6


@pytest.mark.parametrize(
    ("enrich", "message"),
    [
        ("sqrt(x)", "a list of SymPy expressions"),
        ([], "a list of SymPy expressions"),
        ([u], "a list of SymPy expressions"),
        ([sp.Symbol("k") * x], "the free symbol k"),
        ([sp.Integer(3)], "the constant 3"),
        ([sp.log(-1 - x)], "not finite"),
    ],
)
def test_invalid_enrichment_is_rejected(enrich: Any, message: str) -> None:
    problem = pibls.Problem(BOX, [sp.Eq(laplacian(u), 0)], [pibls.Dirichlet(u, 0)])
    with pytest.raises(ProblemError, match=message):
        pibls.solve(problem, enrich=enrich)


def test_solution_with_singular_functions_is_saved(tmp_path: Any) -> None:
    solution = pibls.solve(pibls.Problem(L, [sp.Eq(laplacian(u), 0)], [pibls.Dirichlet(u, two_thirds)]))
    solution.save(tmp_path / "corner.pibls")
    loaded = pibls.load(tmp_path / "corner.pibls")
    X = L.interior(100, np.random.default_rng(0)).T
    assert np.array_equal(loaded(*X), solution(*X))
    assert loaded.error == solution.error


def test_discontinuous_boundary_values_and_robin_condition() -> None:
    """u = 1 on one side of a square: u(1/2, 1/2) = 1/4. Robin condition on the L-shape: two seeds agree."""
    lid = pibls.Problem(
        BOX, [sp.Eq(laplacian(u), 0)], [pibls.Dirichlet(u, 0), pibls.Dirichlet(u, 1, on=sp.Eq(y, 1))]
    )
    solution = pibls.solve(lid)
    assert abs(solution(0.5, 0.5) - 0.25) <= solution.error.max <= 1e-10
    robin = pibls.Problem(L, [sp.Eq(laplacian(u), -1)], [pibls.Robin(u, 1, 1, 1)])
    one, two = (pibls.solve(robin, seed=seed) for seed in (0, 1))
    X = L.interior(500, np.random.default_rng(0)).T
    assert np.abs(one(*X) - two(*X)).max() <= one.error.max + two.error.max <= 1e-8


def test_discontinuous_boundary_values_on_a_circle() -> None:
    """u = 1 on the upper half of a circle, 0 on the lower; one jump is where the parameter starts."""
    u = sp.Function("u")(x, y)
    problem = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), 0)],
        [pibls.Dirichlet(u, 1, on=y > 0), pibls.Dirichlet(u, 0, on=y < 0)],
    )
    solution = pibls.solve(problem)
    assert solution.converged
    X = np.random.default_rng(3).uniform(-0.7, 0.7, (200, 2))
    X = np.concatenate([X, [[0.999, 0.0], [0.999, 0.01], [-0.9999, 1e-5]]])
    exact = 0.5 + np.arctan2(2 * X[:, 1], 1 - (X**2).sum(axis=1)) / np.pi
    assert np.abs(solution(*X.T) - exact).max() <= solution.error.max < 1e-9


@pytest.mark.parametrize("rate", [-20.0, 7.0])
@pytest.mark.parametrize("growth", [(0.0, 0.0), (1.0, -0.5)])
def test_corner_functions_solve_the_equation_with_lower_order_terms(
    rate: float, growth: tuple[float, float]
) -> None:
    # e^{g·x} J_p(κr) sin(pθ + δ), its derivative with respect to p, and the same with I_p.
    tip = Tip((0.1, 0.2), 0.3, 1.5, None, 1j, rate, growth)
    terms = ((2 / 3, 0, 0, 0.4), (5 / 3, 0, 0, 1.0), (0.0, 0, 1, 1.2), (2.0, 0, 1, 0.7), (47.3, 0, 0, 0.0))
    rng = np.random.default_rng(0)
    basis = Singular(tip, terms).draw(np.empty((0, 2)), rng)
    r, t = rng.uniform(0.02, 1.5, 40), 0.3 + rng.uniform(-2.0, 2.0, 40)
    X = np.array(tip.point) + np.stack([r * np.cos(t), r * np.sin(t)], axis=1)
    u, ux, uy, uxx, uyy = basis.jets(X, [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)])
    g = np.array(growth)
    left = uxx + uyy - 2.0 * (g[0] * ux + g[1] * uy) + (g @ g - np.sign(rate) * rate**2) * u
    assert np.all(np.abs(left).max(axis=0) < 1e-12 * np.abs(uxx).max(axis=0))
    h = 1e-6
    slope = (basis.jets(X + [h, 0.0], [(0, 0)])[0] - basis.jets(X - [h, 0.0], [(0, 0)])[0]) / (2.0 * h)
    assert np.all(np.abs(slope - ux).max(axis=0) < 1e-5 * np.abs(ux).max(axis=0))
    k, radial = abs(rate), special.jv if rate < 0 else special.iv
    for column in (0, 4):
        p, delta = terms[column][0], terms[column][3]
        size = np.exp((X - tip.point) @ g) * special.gamma(p + 1) * (2 / (k * tip.length)) ** p
        exact = size * radial(p, k * r) * np.cos(p * (t - tip.middle) - delta)
        np.testing.assert_allclose(u[:, column], exact, rtol=1e-11, atol=1e-13 * np.abs(exact).max())


@pytest.mark.parametrize(
    ("wavenumber", "velocity"), [(20.0, (0.0, 0.0)), (10.0, (3.0, 1.0)), (0.0, (3.0, -2.0))]
)
def test_helmholtz_and_advection_at_a_corner(
    wavenumber: float, velocity: tuple[float, float], tmp_path: Path
) -> None:
    # Δu + b·∇u + k²u = 0 in an L-shape, u = e^{-b·x/2} Z_{2/3}(κr) sin(2θ/3).
    left = wavenumber**2 - (velocity[0] ** 2 + velocity[1] ** 2) / 4.0
    radial, kappa = special.jv if left > 0 else special.iv, math.sqrt(abs(left))

    def exact(X: Any, Y: Any) -> Any:
        theta = np.arctan2(Y, X) % (2.0 * np.pi)
        theta = np.where(theta > 2.0 * np.pi - 1e-9, 0.0, theta)
        size = np.exp(-0.5 * (velocity[0] * X + velocity[1] * Y)) * radial(2 / 3, kappa * np.hypot(X, Y))
        return size * np.sin(2.0 * theta / 3.0)

    equation = (
        u.diff(x, 2) + u.diff(y, 2) + velocity[0] * u.diff(x) + velocity[1] * u.diff(y) + wavenumber**2 * u
    )
    problem = pibls.Problem(L, [sp.Eq(equation, 0)], [pibls.Dirichlet(u, exact)])
    solution = pibls.solve(problem)
    assert solution.converged
    X = L.interior(500, np.random.default_rng(1))
    error = np.abs(solution(*X.T) - exact(*X.T)).max()
    assert error <= solution.error.max + 1e-13
    solution.save(tmp_path / "corner.pibls")
    np.testing.assert_array_equal(pibls.load(tmp_path / "corner.pibls")(*X.T), solution(*X.T))

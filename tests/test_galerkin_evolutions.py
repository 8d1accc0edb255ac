"""Evolutions on general plane domains: Galerkin in space, collocation in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq
from scipy.special import jn_zeros, jv

import pibls
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import unknowns_at
from pibls.assembly.evolutions.galerkin_projection import GalerkinProjection
from pibls.basis import SpaceTimeBasis, TotalDegreeBasis
from pibls.geometry.integrals.gauss import ball_rule_3d
from pibls.problem.forms.compilation import compile_problem
from pibls.time.integrator import Integrator
from pibls.time.shape.operator import GalerkinOperator
from pibls.time.shape.windows import GalerkinWindows
from pibls.time.trajectory import Tolerances

x, y, t = sp.symbols("x y t")
u = sp.Function("u")(x, y, t)
LAPLACE = u.diff(x, 2) + u.diff(y, 2)
L_SHAPE = pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])


def _max_error(solution: Any, domain: Any, exact: Any) -> float:
    X = np.asarray(domain.interior(500, np.random.default_rng(3)))
    return float(np.abs(solution(*X.T) - exact(*X.T)).max())


def test_wave_equation_on_an_l_shape() -> None:
    domain = L_SHAPE.during(t, 0, 1)
    start = sp.cos(sp.pi * x) * sp.cos(sp.pi * y)
    problem = pibls.Problem(
        domain,
        [sp.Eq(u.diff(t, 2), LAPLACE)],
        [pibls.Neumann(u, 0), pibls.Initial(u, start), pibls.Initial(u.diff(t), 0)],
    )
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.converged
    exact = sp.lambdify((x, y, t), start * sp.cos(sp.sqrt(2) * sp.pi * t), "numpy")
    assert _max_error(solution, domain, exact) <= solution.error.max <= 1e-6


def test_wave_equation_with_a_corner_singularity() -> None:
    """The solution is J_{2/3}(kr) sin(2θ/3) cos(kt) in three quarters of a disk."""
    shape = pibls.Disk((x, y), (0, 0), 1) - pibls.Polygon((x, y), [(0, 0), (0, -2), (2, -2), (2, 0)])
    domain = shape.during(t, 0, 1)
    k = brentq(lambda q: jv(2 / 3, q), 3.0, 4.2)

    def exact(X: Any, Y: Any, T: Any) -> Any:
        angle = np.mod(np.arctan2(Y, X), 2 * np.pi)
        return jv(2 / 3, k * np.hypot(X, Y)) * np.sin(2 * angle / 3) * np.cos(k * T)

    problem = pibls.Problem(
        domain,
        [sp.Eq(u.diff(t, 2), LAPLACE)],
        [
            pibls.Dirichlet(u, 0),
            pibls.Initial(u, lambda X, Y, T: exact(X, Y, 0.0)),
            pibls.Initial(u.diff(t), 0),
        ],
    )
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.converged
    assert _max_error(solution, domain, exact) <= solution.error.max <= 1e-6


def test_robin_condition_that_depends_on_time() -> None:
    exact = sp.exp(-t) * sp.cos(x + y) + 3 * x * sp.sin(6 * t)
    domain = pibls.Disk((x, y), (0, 0), 1).during(t, 0, 2)
    source = exact.diff(t) - exact.diff(x, 2) - exact.diff(y, 2)
    flux = exact.diff(x) * x + exact.diff(y) * y
    problem = pibls.Problem(
        domain,
        [sp.Eq(u.diff(t), LAPLACE + source)],
        [pibls.Robin(u, (1 + t) * exact + flux, 1 + t, 1), pibls.Initial(u, exact.subs(t, 0))],
    )
    operator = GalerkinOperator.of(ValidationContext.of(compile_problem(problem), domain, 0, 1e-6))
    assert operator is not None
    tolerances = Tolerances(1e-7, 1e-5)
    windows = GalerkinWindows(tolerances, operator, 8)
    trajectory = Integrator(windows, operator.evolution, tolerances).run()
    assert trajectory.stopped is None
    space, w = trajectory.function()
    X = np.asarray(domain.interior(300, np.random.default_rng(3)))
    found = unknowns_at(space, w, X, 1)[0]
    assert np.abs(found - sp.lambdify((x, y, t), exact, "numpy")(*X.T)).max() < 1e-6


def test_heat_equation_around_a_hole_is_saved_and_loaded(tmp_path: Path) -> None:
    hole = pibls.Disk((x, y), (0.2, 0.1), 0.3)
    domain = (pibls.Disk((x, y), (0, 0), 1) - hole).during(t, 0, 3)
    exact = sp.log((x - 0.2) ** 2 + (y - 0.1) ** 2) * sp.cos(4 * t) + sp.exp(-t) * sp.sin(2 * x)
    source = exact.diff(t) - exact.diff(x, 2) - exact.diff(y, 2)
    problem = pibls.Problem(
        domain,
        [sp.Eq(u.diff(t), LAPLACE + source)],
        [pibls.Dirichlet(u, exact), pibls.Initial(u, exact.subs(t, 0))],
    )
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.converged
    assert _max_error(solution, domain, sp.lambdify((x, y, t), exact, "numpy")) <= solution.error.max
    solution.save(tmp_path / "ring.pibls")
    loaded = pibls.load(tmp_path / "ring.pibls")
    assert loaded(0.7, 0.1, 1.5) == solution(0.7, 0.1, 1.5)


def test_incompatible_boundary_data_give_an_initial_layer() -> None:
    domain = pibls.Disk((x, y), (0, 0), 1).during(t, 0, 1)
    problem = pibls.Problem(domain, [sp.Eq(u.diff(t), LAPLACE)], [pibls.Dirichlet(u, 0), pibls.Initial(u, 1)])
    operator = GalerkinOperator.of(ValidationContext.of(compile_problem(problem), domain, 0, 1e-4))
    assert operator is not None
    tolerances = Tolerances(1e-5, 1e-3)
    windows = GalerkinWindows(tolerances, operator, 8)
    integrator = Integrator(windows, operator.evolution, tolerances)
    trajectory = integrator.run()

    def exact(X: Any, Y: Any, T: Any) -> Any:
        k = jn_zeros(0, 60)[:, None]
        return (2.0 / (k * jv(1, k)) * jv(0, k * np.hypot(X, Y)) * np.exp(-(k**2) * T)).sum(axis=0)

    assert trajectory.stopped is None
    assert 0 < integrator.layers[0.0] < 0.03
    X = np.asarray(domain.interior(400, np.random.default_rng(3)))
    X[:, 2] = 0.03 + 0.97 * X[:, 2]
    assert np.abs(unknowns_at(*trajectory.function(), X, 1)[0] - exact(*X.T)).max() < 1e-5


def test_galerkin_functions_are_orthonormal_and_reproduce_eigenvalues_of_a_disk() -> None:
    problem = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1).during(t, 0, 1),
        [sp.Eq(u.diff(t), LAPLACE)],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, 0)],
    )
    operator = GalerkinOperator.of(ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-6))
    assert operator is not None
    galerkin = operator.space(16)
    gram = (galerkin.values * galerkin.weights[:, None]).T @ galerkin.values
    assert np.abs(gram - np.eye(galerkin.functions)).max() < 1e-9
    group = galerkin.system.statements[0]
    laplace = sum(group.sites[0].tables(alpha)[0] for alpha in ((2, 0), (0, 2)))
    boundary = galerkin.system.statements[1].sites[0].tables((0, 0))[0]
    weights = galerkin.boundary_weights
    rows = GalerkinProjection.of(
        galerkin.values * galerkin.weights[:, None], (0,), boundary, weights, (slice(0, len(boundary)),), 1e-2
    )
    stiffness = (
        rows.unconstrained
        @ ((galerkin.values * galerkin.weights[:, None]).T @ laplace)
        @ rows.unconstrained.T
    )
    eigenvalues = np.sort(-np.linalg.eigvals(stiffness).real)
    assert (
        np.abs(
            eigenvalues[[0, 1, 2, 5]]
            / [*jn_zeros(0, 1) ** 2, *2 * [jn_zeros(1, 1)[0] ** 2], jn_zeros(0, 2)[1] ** 2]
            - 1
        ).max()
        < 1e-9
    )


@pytest.mark.parametrize("alpha", [(1, 0, 0), (0, 2, 0), (1, 0, 1), (0, 0, 2)])
def test_derivatives_of_space_time_functions(alpha: tuple[int, ...]) -> None:
    space = TotalDegreeBasis(4, np.array([0.5, 0.0]), np.array([0.5, 1.0]))
    basis = SpaceTimeBasis(space, 3, np.array([1.0]), np.array([0.25]))
    X = np.random.default_rng(0).random((5, 3))
    w = np.random.default_rng(1).random(basis.size)
    h, axis = 1e-5, int(np.flatnonzero(alpha)[0])
    lower = tuple(a - (i == axis) for i, a in enumerate(alpha))
    step = h * np.eye(3)[axis]
    slope = (
        basis.linear_combinations(X + step, [(lower, w)]) - basis.linear_combinations(X - step, [(lower, w)])
    )[0] / (2 * h)
    assert np.allclose(basis.jets(X, [alpha])[0] @ w, slope, rtol=1e-6, atol=1e-4)
    assert np.allclose(basis.jets(X, [alpha])[0] @ w, basis.linear_combinations(X, [(alpha, w)])[0])


def test_ball_quadrature_is_exact() -> None:
    rule = ball_rule_3d(np.zeros(3), 2.0, 6)
    assert np.isclose(rule.weights.sum(), 32 * np.pi / 3, rtol=1e-13)
    found = rule.weights @ (rule.points[:, 0] ** 4 * rule.points[:, 2] ** 2)
    assert np.isclose(found, 4 * np.pi / 35 * 2.0**9 / 9, rtol=1e-12)


def test_periodic_problem_has_no_galerkin_operator() -> None:
    periodic = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 1),
        [sp.Eq(u.diff(t), LAPLACE)],
        [pibls.Periodic(u, x), pibls.Periodic(u, y), pibls.Initial(u, sp.cos(2 * sp.pi * x))],
    )
    assert (
        GalerkinOperator.of(ValidationContext.of(compile_problem(periodic), periodic.domain, 0, 1e-6)) is None
    )


def test_initial_rate_incompatible_with_the_boundary() -> None:
    # u_t = Δu + 1 in a disk from 0: u = (1 - r² - v)/4, where v_t = Δv and v = 1 - r² at t = 0.
    problem = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1).during(t, 0, sp.Rational(1, 5)),
        [sp.Eq(u.diff(t), LAPLACE + 1)],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, 0)],
    )
    solution = pibls.solve(problem, tol=1e-4)
    assert solution.converged, solution.message
    valid_from = solution.notes.get("promised", 0.0)
    assert valid_from < 0.02
    rng = np.random.default_rng(1)
    r, angle, times = np.sqrt(rng.random(300)), rng.uniform(0, 7, 300), rng.uniform(valid_from, 0.2, 300)
    v = np.zeros(300)
    for k in jn_zeros(0, 200):
        v += 8 / (k**3 * jv(1, k)) * jv(0, k * r) * np.exp(-k * k * times)
    exact = (1 - r**2 - v) / 4
    error = np.abs(solution(r * np.cos(angle), r * np.sin(angle), times) - exact).max()
    assert error <= solution.error.max

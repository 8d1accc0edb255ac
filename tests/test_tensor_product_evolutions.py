"""Evolution problems on boxes, solved by separable (tensor-product) inverses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.special import erf

import pibls
from pibls.adaptive.evolutions.strategy import concentrate_at_corners
from pibls.adaptive.validation.context import ValidationContext
from pibls.analysis.well_posedness import short_wave_growth
from pibls.assembly.evolutions.fourier_inverse import FourierInverse
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem
from pibls.assembly.evolutions.separable_inverse import SeparableInverse
from pibls.problem import PartialDerivative
from pibls.problem.conditions import BaseCondition
from pibls.problem.forms.compilation import compile_problem
from pibls.time.box.initial_state import InitialData, change_resolution
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.refinement import Refinement
from pibls.time.box.resolution import Resolution
from pibls.time.box.solver import CollocationSolver
from pibls.time.radau_stages import radau_stages

x, y, z, t = sp.symbols("x y z t")
u, v, w = (sp.Function(name)(x, y, t) for name in "uvw")
BOX = pibls.Box({x: (0, 1), y: (-1, 1)})
SQUARE = BOX.during(t, 0, 1)
SMOOTH = sp.exp(-t) * sp.cos(2 * x + y) + sp.exp(-8 * (x - sp.Rational(1, 2)) ** 2 - y**2) * sp.sin(3 * t)
LOW, HIGH = sp.Eq(x, 0), sp.Eq(x, 1)


def laplacian(f: sp.Expr) -> sp.Expr:
    return f.diff(x, 2) + f.diff(y, 2)


def manufactured(
    lhs: sp.Expr, conditions: Sequence[BaseCondition], exact: sp.Expr = SMOOTH, domain: Any = SQUARE
) -> pibls.Problem:
    """Return the problem whose equation and initial data are satisfied by ``exact``."""
    f = next(iter(lhs.atoms(sp.core.function.AppliedUndef)))
    initial = [pibls.Initial(f, exact.subs(t, 0))]
    if any(d.args[0] == f and (t, 2) in d.args for d in lhs.atoms(sp.Derivative)):
        initial.append(pibls.Initial(f.diff(t), exact.diff(t).subs(t, 0)))
    source = lhs.subs(f, exact).doit()
    return pibls.Problem(domain, [sp.Eq(lhs, source)], [*conditions, *initial])


PROBLEMS = {
    "values": manufactured(u.diff(t) - laplacian(u), [pibls.Dirichlet(u, SMOOTH)]),
    "fluxes": manufactured(
        u.diff(t) - laplacian(u) / 5,
        [
            pibls.Neumann(u, SMOOTH.diff(x), on=HIGH),
            pibls.Dirichlet(u, SMOOTH, on=sp.Or(LOW, sp.Eq(y, -1), sp.Eq(y, 1))),
        ],
    ),
    "first order": manufactured(
        u.diff(t) + 2 * u.diff(x) + (1 + x) * u.diff(y),
        [pibls.Dirichlet(u, SMOOTH, on=sp.Or(LOW, sp.Eq(y, -1)))],
    ),
    "variable coefficients": manufactured(
        u.diff(t) - (1 + t) * ((1 + x * y / 2) * u.diff(x)).diff(x) - u.diff(y, 2) + y * u.diff(x),
        [pibls.Dirichlet(u, SMOOTH)],
    ),
    "wave": manufactured(u.diff(t, 2) - (1 + x) * laplacian(u), [pibls.Dirichlet(u, SMOOTH)]),
}


def collocation_of(problem: pibls.Problem) -> CollocationOperator:
    collocation = CollocationOperator.of(
        ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-6)
    )
    assert collocation is not None
    return collocation


def semidiscrete_system(
    problem: pibls.Problem, sizes: tuple[int, int]
) -> tuple[CollocationOperator, SemidiscreteSystem]:
    collocation = collocation_of(problem)
    first = Refinement(collocation).initial(12, True)
    return collocation, collocation.system(Resolution(first.tree, sizes, first.periodic))


def separable_inverse(system: SemidiscreteSystem) -> tuple[SeparableInverse, Any]:
    """Return the separable inverse at the first λ of a window, and the matrix."""
    stages = radau_stages(3)
    operator = system.at(0.1 * stages.nodes).mean_jacobian([np.zeros((*system.coefficient_shape, 3))] * 2)
    assert system.layout is not None
    inverse = SeparableInverse.of(system, system.layout, operator.weights, stages.eigenvalues[:1] / 0.1)
    assert inverse is not None
    return inverse, operator.matrices().at(stages.eigenvalues[0] / 0.1)


def check_inverse(system: SemidiscreteSystem) -> None:
    inverse, A = separable_inverse(system)
    assert inverse.is_exact
    rng = np.random.default_rng(1)
    b = rng.standard_normal((len(A), 1)) + 1j * rng.standard_normal((len(A), 1))
    c = inverse.solve(b)
    assert np.abs(A @ c - b).max() < 1e-10 * np.abs(A).max(axis=1).max() * np.abs(c).max()


@pytest.mark.parametrize("name", ["values", "fluxes"])
def test_separable_inverse_equals_inverse_of_full_matrix(name: str) -> None:
    _, system = semidiscrete_system(PROBLEMS[name], (9, 11))
    check_inverse(system)


@pytest.mark.parametrize("name", PROBLEMS)
def test_manufactured_solution(name: str) -> None:
    solution = pibls.solve(PROBLEMS[name], tol=1e-6)
    X = np.random.default_rng(2).random((300, 3)) * [1, 2, 1] + [0, -1, 0]
    error = np.abs(solution(*X.T) - sp.lambdify((x, y, t), SMOOTH)(*X.T)).max()
    assert solution.converged
    assert error <= solution.error.max <= 1e-6


def test_rotating_narrow_gaussian() -> None:
    """1,900 functions without tensor products were too few."""
    width, s = sp.Rational(1, 30), sp.Rational(1, 3)
    distance_squared = (x - s * sp.cos(t)) ** 2 + (y - s * sp.sin(t)) ** 2
    exact = width / (width + t / 100) * sp.exp(-distance_squared / (width + t / 100))
    lhs = u.diff(t) - y * u.diff(x) + x * u.diff(y) - laplacian(u) / 400
    box = pibls.Box({x: (-1, 1), y: (-1, 1)}).during(t, 0, sp.Rational(1, 10))
    problem = manufactured(lhs, [pibls.Dirichlet(u, exact)], exact, box)
    solution = pibls.solve(problem, tol=1e-4)
    X = np.random.default_rng(2).random((300, 3)) * [2, 2, 0.1] + [-1, -1, 0]
    assert np.abs(solution(*X.T) - sp.lambdify((x, y, t), exact)(*X.T)).max() <= solution.error.max <= 1e-4


def test_condition_on_part_of_a_side_is_not_separable() -> None:
    part = sp.And(sp.Eq(x, 1), y < 0)
    rest = sp.Or(LOW, sp.Eq(y, -1), sp.Eq(y, 1), sp.And(sp.Eq(x, 1), y >= 0))
    problem = manufactured(
        u.diff(t) - laplacian(u),
        [pibls.Neumann(u, SMOOTH.diff(x), on=part), pibls.Dirichlet(u, SMOOTH, on=rest)],
    )
    collocation = collocation_of(problem)
    assert collocation.face_conditions is None


def coupled_problem(
    equations: list[sp.Eq], conditions: Sequence[BaseCondition], domain: Any = SQUARE
) -> pibls.Problem:
    """Return a problem of coupled unknowns with zero initial data."""
    unknowns = {f for e in equations for f in e.atoms(sp.core.function.AppliedUndef)}
    return pibls.Problem(
        domain, equations, [*conditions, *(pibls.Initial(f, 0) for f in sorted(unknowns, key=str))]
    )


ALONG_X, ALONG_Y = sp.Or(LOW, HIGH), sp.Or(sp.Eq(y, -1), sp.Eq(y, 1))
COUPLED = {
    "Maxwell": coupled_problem(
        [
            sp.Eq(u.diff(t), v.diff(x) - w.diff(y)),
            sp.Eq(v.diff(t), 2 * u.diff(x) - v),
            sp.Eq(w.diff(t), -2 * u.diff(y)),
        ],
        [pibls.Dirichlet(u, 0)],
    ),
    "acoustics": coupled_problem(
        [
            sp.Eq(w.diff(t), -u.diff(x) - v.diff(y)),
            sp.Eq(u.diff(t), -w.diff(x)),
            sp.Eq(v.diff(t), -3 * w.diff(y)),
        ],
        [pibls.Dirichlet(u, 0, on=ALONG_X), pibls.Dirichlet(v, 0, on=ALONG_Y)],
    ),
    "acoustics in a channel": coupled_problem(
        [
            sp.Eq(w.diff(t), -u.diff(x) - v.diff(y)),
            sp.Eq(u.diff(t), -w.diff(x)),
            sp.Eq(v.diff(t), -w.diff(y)),
        ],
        [pibls.Periodic(f, x) for f in (u, v, w)] + [pibls.Dirichlet(v, 0, on=ALONG_Y)],
    ),
    "Schroedinger with a potential": coupled_problem(
        [
            sp.Eq(u.diff(t), -laplacian(v) + (x**2 + y) * v),
            sp.Eq(v.diff(t), laplacian(u) - (x**2 + y) * u),
        ],
        [pibls.Dirichlet(u, 0), pibls.Dirichlet(v, 0)],
    ),
    "cross-diffusion": coupled_problem(
        [
            sp.Eq(u.diff(t), 2 * laplacian(u) + laplacian(v) - v),
            sp.Eq(v.diff(t), laplacian(v) + laplacian(u) / 2),
        ],
        [pibls.Neumann(u, 0), pibls.Neumann(v, 0)],
    ),
}


@pytest.mark.parametrize("name", COUPLED)
def test_coupled_unknowns_have_exact_separable_inverse(name: str) -> None:
    _, system = semidiscrete_system(COUPLED[name], (9, 11))
    check_inverse(system)


def test_inexact_inverse_converges_in_two_steps() -> None:
    problem = coupled_problem(
        [sp.Eq(u.diff(t), v), sp.Eq(v.diff(t), laplacian(u))],
        [pibls.Dirichlet(u, 0)],
    )
    _, system = semidiscrete_system(problem, (9, 11))
    inverse, A = separable_inverse(system)
    assert not inverse.is_exact
    deviation = np.array([inverse.solve(A[:, [j]])[:, 0] for j in range(A.shape[1])]).T - np.eye(A.shape[1])
    assert np.abs(deviation).max() > 1e-3
    assert np.abs(deviation @ deviation).max() < 1e-8 * np.abs(deviation).max() ** 2  # two steps are enough


def test_pressure_with_dirichlet_velocity_is_not_separable() -> None:
    problem = pibls.Problem(
        SQUARE,
        [
            sp.Eq(u.diff(t), laplacian(u) - w.diff(x)),
            sp.Eq(v.diff(t), laplacian(v) - w.diff(y)),
            sp.Eq(u.diff(x) + v.diff(y), 0),
        ],
        [pibls.Dirichlet(f, 0) for f in (u, v)] + [pibls.Initial(f, 0) for f in (u, v)],
    )
    assert collocation_of(problem).face_conditions is None


def test_periodic_pressure_is_fixed_by_a_point_value() -> None:
    periodic = [pibls.Periodic(f, c) for f in (u, v, w) for c in (x, y)]
    equations = [
        sp.Eq(u.diff(t) + w.diff(x), laplacian(u) / 9),
        sp.Eq(v.diff(t) + w.diff(y), laplacian(v) / 9),
        sp.Eq(u.diff(x) + v.diff(y), 0),
    ]
    initial = [pibls.Initial(f, 0) for f in (u, v)]
    problem = pibls.Problem(
        SQUARE, equations, [*periodic, *initial, pibls.Dirichlet(w, 2, on={x: 0.3, y: 0.1})]
    )
    collocation, system = semidiscrete_system(problem, (9, 11))
    assert collocation.is_separable
    assert system.fourier_modes is not None
    stages = radau_stages(3)
    at_times = system.at(0.1 * stages.nodes)
    operator = at_times.mean_jacobian([np.zeros((*system.coefficient_shape, 3))] * 2)
    inverse = FourierInverse.of(system, system.fourier_modes, operator.weights, stages.eigenvalues[:1] / 0.1)
    A = operator.matrices().at(stages.eigenvalues[0] / 0.1)
    c = np.random.default_rng(1).standard_normal((A.shape[1], 1)) + 0j
    assert np.abs(inverse.solve(A @ c) - c).max() < 1e-10


def test_maxwell_in_a_box() -> None:
    """A dense matrix takes 24 s."""
    omega = sp.pi * sp.sqrt(5)
    e = sp.sin(sp.pi * x) * sp.sin(2 * sp.pi * y) * sp.cos(omega * t)
    h, g = sp.integrate(-e.diff(y), (t, 0, t)), sp.integrate(e.diff(x), (t, 0, t))
    box = pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 2)
    problem = pibls.Problem(
        box,
        [
            sp.Eq(u.diff(t), w.diff(x) - v.diff(y)),
            sp.Eq(v.diff(t), -u.diff(y)),
            sp.Eq(w.diff(t), u.diff(x)),
        ],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, e.subs(t, 0)), pibls.Initial(v, 0), pibls.Initial(w, 0)],
    )
    solution = pibls.solve(problem, tol=1e-6)
    X = np.random.default_rng(2).random((300, 3)) * [1, 1, 2]
    assert solution.converged
    for f, exact in ((u, e), (v, h), (w, g)):
        error = np.abs(solution[f](*X.T) - sp.lambdify((x, y, t), exact)(*X.T)).max()
        assert error <= solution[f].error.max <= 1e-6


def test_three_space_dimensions() -> None:
    w = sp.Function("w")(x, y, z, t)
    exact = sp.exp(-t) * sp.sin(2 * x + y - z)
    lhs = w.diff(t) - w.diff(x, 2) - w.diff(y, 2) - w.diff(z, 2) / 2 + w**2
    cube = pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)}).during(t, 0, 1)
    solution = pibls.solve(manufactured(lhs, [pibls.Dirichlet(w, exact)], exact, cube), tol=1e-5)
    X = np.random.default_rng(2).random((300, 4))
    error = np.abs(solution(*X.T) - sp.lambdify((x, y, z, t), exact)(*X.T)).max()
    assert error <= solution.error.max <= 1e-5


def test_solutions_in_a_cube_are_compared_near_the_sides() -> None:
    """With few comparison points, none close to a side, the estimate was 3e-11 for an error of 8e-11."""
    w, variance = sp.Function("w")(x, y, z, t), 5 * t + 1
    exact = variance ** sp.Rational(-3, 2) * sp.exp(-5 * (x**2 + y**2 + z**2) / (2 * variance))
    lhs = w.diff(t) - (w.diff(x, 2) + w.diff(y, 2) + w.diff(z, 2)) / 2
    cube = pibls.Box({x: (-1, 1), y: (-1, 1), z: (-1, 1)}).during(t, 0, sp.Rational(1, 5))
    solution = pibls.solve(manufactured(lhs, [pibls.Dirichlet(w, exact)], exact, cube), tol=1e-5)
    X = np.random.default_rng(5).uniform([-1, -1, -1, 0], [1, 1, 1, 0.2], (4000, 4))
    X[:2000, :3] *= 0.1
    error = np.abs(solution(*X.T) - sp.lambdify((x, y, z, t), exact)(*X.T)).max()
    assert error <= solution.error.max <= 1e-5


def test_geostrophic_modes_do_not_grow() -> None:
    """A zero root has a real part of 1e-17 by rounding; rotating shallow water is not unstable."""
    problem = coupled_problem(
        [
            sp.Eq(w.diff(t), -u.diff(x) - v.diff(y)),
            sp.Eq(u.diff(t), 2 * v - w.diff(x)),
            sp.Eq(v.diff(t), -2 * u - w.diff(y)),
        ],
        [pibls.Periodic(f, x) for f in (u, v, w)] + [pibls.Dirichlet(v, 0, on=ALONG_Y)],
    )
    assert short_wave_growth(compile_problem(problem), problem.domain) is None


FROM_REST = pibls.Problem(
    pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, sp.Rational(1, 50)),
    [sp.Eq(u.diff(t), laplacian(u) + 1)],
    [pibls.Dirichlet(u, 0), pibls.Initial(u, 0)],
)


def heated_solution(X: Any, T: float) -> Any:
    """∫₀ᵀ g(x, s) g(y, s) ds, where g solves the heat equation from 1 with zero boundary values."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    k = np.arange(-3, 4)
    out = np.zeros(len(X))
    for m in range(40):  # geometrically graded towards s = 0
        low, high = T * 2.0 ** -(m + 1), T * 2.0**-m
        s = 0.5 * (low + high) + 0.5 * (high - low) * nodes
        root = 2.0 * np.sqrt(s)[:, None]
        g = [
            0.5
            * (
                2.0 * erf((p[:, None, None] - 2 * k) / root)
                - erf((p[:, None, None] - 2 * k - 1) / root)
                - erf((p[:, None, None] - 2 * k + 1) / root)
            ).sum(axis=2)
            for p in X.T
        ]
        out += (g[0] * g[1]) @ (0.5 * (high - low) * weights)
    return out


def test_heated_square_from_rest() -> None:
    """The solution has r² log r in the corners: one polynomial along each side reaches 1e-2 only."""
    solution = pibls.solve(FROM_REST, tol=1e-3, time_limit=60)
    assert solution.converged
    assert "promised" not in solution.notes
    distances = 10.0 ** -np.linspace(0.3, 5.0, 12)
    X = np.stack(np.meshgrid(distances, distances), -1).reshape(-1, 2)
    for T in (1e-4, 0.02):
        error = np.abs(solution(*X.T, np.full(len(X), T)) - heated_solution(X, T)).max()
        assert error <= solution.error.max <= 2e-5


@pytest.mark.parametrize("name", ["fluxes", "wave"])
def test_divided_axes_have_separable_inverse(name: str) -> None:
    collocation = collocation_of(PROBLEMS[name])
    first = Refinement(collocation, divide_axes=True).initial(12, True)
    graded = Refinement(collocation, divide_axes=True).refine_layers(first, np.ones((1, 2)))
    assert [len(e) for e in graded.edges] == [4, 4]
    assert len(Refinement(collocation, divide_axes=True).refine_layers(graded, np.ones((3, 2))).edges[0]) == 7
    system = collocation.system(graded)
    inverse, A = separable_inverse(system)
    c = np.random.default_rng(1).standard_normal((A.shape[1], 1)) + 0j
    if inverse.is_exact:
        assert np.abs(inverse.solve(A @ c) - c).max() < 1e-7 * np.abs(c).max()
    # The coefficients are preserved by another division, and as a window.
    known = InitialData(collocation).at(graded)
    other = change_resolution(collocation, known, Refinement.companion(graded))
    restored = change_resolution(collocation, other, graded)
    assert np.abs(restored.rates - known.rates).max() < 1e-6
    solver = CollocationSolver(collocation, radau_stages(3), 1e-8)
    U = np.repeat(known.rates[0][..., None], 3, axis=-1)
    window = solver.window(solver.previous_window(known, U, 0.0, 0.5))
    X = np.random.default_rng(2).random((50, 3)) * [1, 2, 0.5] - [0, 1, 0]
    exact = sp.lambdify((x, y), SMOOTH.subs(t, 0))(X[:, 0], X[:, 1])
    assert (
        np.abs(window.space.values((X,), (PartialDerivative(0, (0, 0, 0)),), window.w)[0] - exact).max()
        < 1e-7
    )


def test_intervals_at_the_boundary_are_merged_again() -> None:
    collocation = collocation_of(PROBLEMS["values"])
    grading = Refinement(collocation, divide_axes=True)
    graded = grading.refine_layers(grading.initial(12, True), np.ones((1, 2)))
    small, large = np.full((3, 2), 1e-12), np.full((3, 2), 1e-7)
    assert [len(e) for e in grading.coarsen_intervals(graded, small, 1e-8).edges] == [2, 2]
    assert grading.coarsen_intervals(graded, large, 1e-8).edges == graded.edges


def test_comparison_points_are_concentrated_at_corners() -> None:
    U = np.random.default_rng(3).random((400, 3))
    unit_cube = np.array([[0.0, 1.0]] * 3)
    V = concentrate_at_corners(U[:9], U, np.array([[0.0, 0.1], [0.9, 1.0], [0.0, 1.0]]), unit_cube, 2)
    assert V[:, 0].min() < 1e-3
    assert V[:, 1].max() > 1 - 1e-3
    assert 0.2 < (V[:, 0] > 0.5).mean() < 0.4
    assert np.array_equal(V[:, 2], U[:, 2])
    assert np.array_equal(concentrate_at_corners(U, U[:9], np.array([[0.1, 0.2]] * 3), unit_cube, 2), U)

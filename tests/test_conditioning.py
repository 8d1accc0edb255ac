"""Conditioning of problems: rounding errors near a resonance, and problems with missing conditions."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.linalg.ridge_qr import RidgeQRFactorization

x, y = sp.symbols("x y")
u = sp.Function("u")(x)


def near_resonance(detuning: float) -> tuple[pibls.Problem, np.ndarray]:
    """u'' + k² u = x (1 - x) with k² = π² (1 + detuning), and its solution at 101 points."""
    square = sp.Float(float(np.pi**2 * (1 + detuning)), 60)
    k = sp.sqrt(square)
    mode = 1 - sp.cos(k * x) - (1 - sp.cos(k)) / sp.sin(k) * sp.sin(k * x)
    exact = x * (1 - x) / square + 2 / square**2 * mode
    values = [float(exact.subs(x, sp.Rational(i, 100)).evalf(30)) for i in range(101)]
    equation = sp.Eq(u.diff(x, 2) + square * u, x * (1 - x))
    return pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(u, 0)]), np.array(values)


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("detuning", [1e-3, 1e-5, 1e-6])
def test_rounding_near_a_resonance_is_in_the_estimate(detuning: float) -> None:
    """Two solutions agreed to 0.06 of their common error."""
    problem, exact = near_resonance(detuning)
    for seed in range(4):
        solution = pibls.solve(problem, seed=seed)
        error = np.abs(solution(np.linspace(0, 1, 101)) - exact).max()
        assert 1.5 * error < solution.error.max < 1e-8 * np.abs(exact).max()


def test_rounding_near_a_resonance_of_the_square_is_in_the_estimate() -> None:
    v = sp.Function("u")(x, y)
    mode, square = sp.sin(sp.pi * x) * sp.sin(sp.pi * y), float(2 * np.pi**2 * (1 + 1e-5))
    exact = 100 * mode + x * y
    offset = sp.N(sp.Float(square, 50) - 2 * sp.pi**2, 30)
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(v.diff(x, 2) + v.diff(y, 2) + square * v, 100 * offset * mode + sp.Float(square, 50) * x * y)],
        [pibls.Dirichlet(v, x * y)],
    )
    X = np.random.default_rng(0).uniform(size=(2, 400))
    for seed in range(2):
        solution = pibls.solve(problem, seed=seed, tol=1e-8)
        error = np.abs(solution(*X) - sp.lambdify((x, y), exact)(*X)).max()
        assert solution.converged
        assert 1.5 * error < solution.error.max


def test_moderately_conditioned_problem_has_a_rounding_bound() -> None:
    """Without the bound the estimates are 4e-14 and 6e-14."""
    problem, _ = near_resonance(1e-2)
    assert all(1.2e-13 < pibls.solve(problem, seed=seed).error.max < 1e-11 for seed in (0, 2))


def test_rounding_bound_is_not_computed_for_well_conditioned_problems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("influence was computed")

    monkeypatch.setattr(RidgeQRFactorization, "influence", fail)
    solution = pibls.solve(pibls.cases["TC-6"].problem)
    assert solution.error.max < 1e-13


def test_influence_is_the_derivative_of_the_solution() -> None:
    rng = np.random.default_rng(1)
    A, a, changes = rng.normal(size=(12, 4)), rng.normal(size=(2, 4)), rng.uniform(1, 2, 12)
    A = np.concatenate([A, A[-1:], A[-1:]])  # equal rows are factored once
    changes = np.concatenate([changes, changes[-1:], changes[-1:]])
    scale = rng.uniform(1, 2, 12)[[*range(12), 11, 11]]
    factors = pibls.RidgeQR().factor_scaled(np.asfortranarray(A), scale, 1e-17)
    expected = a @ np.linalg.pinv(A / scale[:, None]) / scale
    np.testing.assert_allclose(factors.influence(a, changes), np.abs(expected) @ changes, rtol=1e-12)  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize(
    "given",
    [
        {"end": [pibls.Dirichlet(u, 0, on=sp.Eq(x, 1))]},
        {"start": [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0))]},
    ],
    ids=["end", "start"],
)
def test_eigenvalue_problem_with_a_missing_condition_is_undetermined(
    given: dict[str, list[pibls.Dirichlet]],
) -> None:
    """Newton's method moved along the family of solutions; it ended with ROUNDING_LIMIT after 10 s."""
    E = sp.Function("E")(x)
    (conditions,) = given.values()
    slope = pibls.Condition(u.diff(x) - 1, on=sp.Eq(x, 0))
    equations = [u.diff(x, 2) + E * u, E.diff(x)]
    for seed in range(3):
        problem = pibls.Problem(pibls.Interval(x, 0, 1), equations, [slope, *conditions])
        solution = pibls.solve(problem, seed=seed)
        assert solution.status is pibls.Status.UNDETERMINED
        assert solution.nodes <= 128


def test_eigenvalue_problem_with_all_conditions_converges() -> None:
    E = sp.Function("E")(x)
    ends = [pibls.Dirichlet(u, 0, on=sp.Eq(x, end)) for end in (0, 1)]
    slope = pibls.Condition(u.diff(x) - 1, on=sp.Eq(x, 0))
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + E * u, E.diff(x)], [*ends, slope])
    solution = pibls.solve(problem)
    assert solution.converged
    assert abs(solution[E](0.5) - np.pi**2) < 1e-10


w = sp.Function("w")(x)
v = sp.Function("v")(x, y)
LINE, SQUARE = pibls.Interval(x, 0, 1), pibls.Box({x: (0, 1), y: (0, 1)})
K = 20 * sp.pi
WITH_EIGENFUNCTION: dict[str, Any] = {
    "fixed": (LINE, [u.diff(x, 2) + K**2 * u - sp.sin(2 * sp.pi * x)], [pibls.Dirichlet(u, 0)]),
    "free": (LINE, [u.diff(x, 2) + K**2 * u - sp.cos(2 * sp.pi * x)], [pibls.Neumann(u, 0)]),
    "ring": (LINE, [u.diff(x, 2) + K**2 * u - sp.cos(2 * sp.pi * x)], [pibls.Periodic(u, x)]),
    "beam": (
        LINE,
        [u.diff(x, 4) - K**4 * u - sp.sin(2 * sp.pi * x)],
        [pibls.Dirichlet(u, 0), pibls.Condition(u.diff(x, 2))],
    ),
    "system": (
        LINE,
        [u.diff(x) - K * w, w.diff(x) + K * u - sp.cos(2 * sp.pi * x)],
        [pibls.Dirichlet(u, 0)],
    ),
    "square": (
        SQUARE,
        [v.diff(x, 2) + v.diff(y, 2) + 50 * sp.pi**2 * v - sp.sin(sp.pi * x) * sp.sin(sp.pi * y)],
        [pibls.Dirichlet(v, 0)],
    ),
}


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("name", WITH_EIGENFUNCTION)
def test_short_wave_eigenfunctions_make_the_problem_undetermined(name: str) -> None:
    """sin(20πx) may be added to the solution; with 32 functions this was not seen: `converged` was true."""
    solution = pibls.solve(pibls.Problem(*WITH_EIGENFUNCTION[name]))
    assert solution.status is pibls.Status.UNDETERMINED


@pytest.mark.parametrize(("k", "nodes"), [(64.0, 64), (500.0, 256), (1e5, 32)])
def test_short_waves_are_resolved_where_that_is_cheap(k: float, nodes: int) -> None:
    constant = pibls.Problem(LINE, [u.diff(x, 2) + k**2 * (u - 1)], [pibls.Dirichlet(u, 1)])
    solution = pibls.solve(constant)
    assert solution.converged
    assert solution.nodes == nodes


def beam(order: int, first: int = 0) -> pibls.Problem:
    """u⁽ᵐ⁾ = x u' + …: half of the derivatives, from order ``first`` on, at x = 0, the others at x = 1."""
    exact = sp.exp(x) * sp.sin(2 * x)
    prescribed = [(k + first, 0) for k in range(order // 2)] + [(k, 1) for k in range(order // 2, order)]
    conditions = [
        pibls.Condition(sp.Eq(u.diff(x, k), exact.diff(x, k).subs(x, at)), on=sp.Eq(x, at))
        for k, at in prescribed
    ]
    source = exact.diff(x, order) - x * exact.diff(x)
    return pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, order) - x * u.diff(x), source)], conditions
    )


@pytest.mark.parametrize("order", [4, 5, 6, 8])
def test_beams_with_free_ends_of_high_order(order: int) -> None:
    """A row scaled to unit length has weight R⁻ᵐ in u: beams with a free end were UNDETERMINED."""
    points = np.linspace(0, 1, 101)
    for seed in (0, 1):
        solution = pibls.solve(beam(order), seed=seed, tol=1e-6)
        assert solution.converged
        assert np.abs(solution(points) - np.exp(points) * np.sin(2 * points)).max() < 2e-11


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("order", [4, 6, 8])
def test_beam_without_a_support_is_undetermined(order: int) -> None:
    assert pibls.solve(beam(order, first=1), tol=1e-6).status is pibls.Status.UNDETERMINED

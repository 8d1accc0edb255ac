"""Ordinary differential equations: Radau tables, solutions, error estimates and singular starts."""

from __future__ import annotations

import itertools
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from benchmarks import evolutions
from numpy.polynomial import legendre

import pibls
from pibls.adaptive.budget import Budget
from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
from pibls.adaptive.validation.context import ValidationContext
from pibls.basis import Chebyshev
from pibls.basis.polynomials.radau import Radau
from pibls.problem.forms.compilation import compile_problem
from pibls.time.discretizations import WithoutSpace
from pibls.time.integrator import Integrator
from pibls.time.ode.setup import ode_setup
from pibls.time.trajectory import TIME_LIMIT_REACHED, Tolerances

t, x = sp.symbols("t x")
u, v, w = (sp.Function(name)(t) for name in "uvw")
IMPULSE = sp.DiracDelta(t - 1)


def solve_without_warning(problem: pibls.Problem, **options: Any) -> pibls.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, **options)


def initial_value_problem(stop: float, equations: list[Any], *start: Any, **options: Any) -> pibls.Problem:
    conditions = [pibls.Initial(e, value) for e, value in start]
    return pibls.Problem(pibls.Interval(t, 0, stop), equations, conditions, **options)


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [4, 24, 32])
def test_radau_points(s: int) -> None:
    points = Radau.of(s, 1).points
    values = legendre.legval(points, np.eye(s + 1)[s - 1] - np.eye(s + 1)[s])
    assert np.abs(values).max() < 1e-13
    assert points[-1] == 1.0
    assert np.all(np.diff(points) > 0)


def test_radau_integrals_and_derivatives() -> None:
    r = Radau.of(24, 2)
    xi, eta = r.grid, -9 * np.cos(3 * r.points)
    np.testing.assert_allclose(r.integrals[1] @ eta, -3 * np.sin(3 * xi) - 3 * np.sin(3), atol=1e-13)
    z = np.concatenate([[np.cos(3), 3 * np.sin(3)], eta])
    expected = [np.cos(3 * xi), -3 * np.sin(3 * xi), -9 * np.cos(3 * xi)]
    np.testing.assert_allclose((z @ r.derivative_tables[2]).reshape(3, -1), expected, atol=1e-13)
    T = np.polynomial.chebyshev.chebval(xi, z @ r.coefficients[2])
    np.testing.assert_allclose(T, np.cos(3 * xi), atol=1e-13)


def test_radau_quadrature_is_exact_for_degree_2s_minus_2() -> None:
    r = Radau.of(4, 1)
    for degree in range(7):
        exact = (1 - (-1) ** (degree + 1)) / (degree + 1)
        assert r.integrals[1][3] @ r.points**degree == pytest.approx(exact, abs=1e-14)
    assert r.integrals[1][3] @ r.points**7 != pytest.approx(0.0, abs=1e-6)


def test_chebyshev_basis_needs_one_coordinate() -> None:
    with pytest.raises(pibls.ProblemError, match=r"Chebyshev.*one coordinate.*2 coordinates.*Waves"):
        Chebyshev(8).draw(np.array([[0.0, 1.0], [0.0, 1.0]]), np.random.default_rng(0))


# --- solutions ------------------------------------------------------------------------------------

PROBLEMS: dict[str, tuple[pibls.Problem, dict[Any, Any]]] = {
    "system of both orders": (
        initial_value_problem(10, [u.diff(t, 2) + v, v.diff(t) - u.diff(t)], (u, 1), (u.diff(t), 0), (v, 1)),
        {u: np.cos, v: np.cos},
    ),
    "algebraic unknown": (
        initial_value_problem(5, [u.diff(t) + v, v - u**2], (u, 1)),
        {u: lambda s: 1 / (1 + s), v: lambda s: 1 / (1 + s) ** 2},
    ),
    "stiff": (
        initial_value_problem(2, [u.diff(t) + 1e6 * (u - sp.cos(t)) + sp.sin(t)], (u, 0)),
        {u: lambda s: np.cos(s) - np.exp(-1e6 * s)},
    ),
    "singular at its start": (
        initial_value_problem(10, [u.diff(t, 2) + 2 / t * u.diff(t) + u**5], (u, 1), (u.diff(t), 0)),
        {u: lambda s: 1 / np.sqrt(1 + s**2 / 3)},
    ),
    "zero unknown": (
        initial_value_problem(5, [u.diff(t) + u, v.diff(t) - v * u], (u, 1), (v, 0)),
        {u: lambda s: np.exp(-s), v: np.zeros_like},
    ),
    "switch": (
        initial_value_problem(3, [u.diff(t) + u - sp.Heaviside(t - 1)], (u, 0)),
        {u: lambda s: np.where(s > 1, 1 - np.exp(1 - s), 0)},
    ),
    "impulse": (
        initial_value_problem(3, [u.diff(t, 2) + u - IMPULSE], (u, 1), (u.diff(t), 0)),
        {u: lambda s: np.cos(s) + np.where(s > 1, np.sin(s - 1), 0)},
    ),
    "impulse of one of two": (
        initial_value_problem(3, [u.diff(t) - v - 2 * IMPULSE, v.diff(t) + u], (u, 1), (v, 0)),
        {u: lambda s: np.cos(s) + np.where(s > 1, 2 * np.cos(s - 1), 0),
         v: lambda s: -np.sin(s) - np.where(s > 1, 2 * np.sin(s - 1), 0)},
    ),
    "impulse, backwards": (
        pibls.Problem(pibls.Interval(t, 0, 2), [u.diff(t) - IMPULSE],
                      [pibls.Dirichlet(u, 1, on=sp.Eq(t, 2))]),
        {u: lambda s: np.where(s > 1, 1.0, 0.0)},
    ),
    "pulse between sample points": (
        initial_value_problem(10, [u.diff(t) - sp.exp(-(10**6) * (t - sp.Rational(7, 2)) ** 2)], (u, 0)),
        {u: lambda s: np.sqrt(np.pi) / 1e3 * (s > 3.5)},
    ),
    "in kelvin": (
        initial_value_problem(50, [u.diff(t) + (u - 293.15) / 10], (u, 373.15)),
        {u: lambda s: 293.15 + 80 * np.exp(-s / 10)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_errors_are_below_estimates(name: str) -> None:
    problem, exact = PROBLEMS[name]
    solution = solve_without_warning(problem)
    assert solution.converged
    assert solution.windows
    s = np.linspace(0, float(problem.domain.bounds[0][1]), 500)
    for unknown, function in exact.items():
        error = np.abs(solution[unknown](s) - function(s)).max()
        assert error <= max(solution[unknown].error.max, 1e-300)
        assert error <= 1e-9 * max(np.abs(function(s)).max(), 1e-3)


def test_impulse_in_a_partial_differential_equation() -> None:
    """Time windows of PDEs do not support impulses: cells are used."""
    f = sp.Function("f")(x, t)
    source = sp.DiracDelta(t - sp.Rational(1, 2)) * sp.sin(sp.pi * x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [f.diff(t) - f.diff(x, 2) - source],
        [pibls.Dirichlet(f, 0), pibls.Initial(f, sp.sin(sp.pi * x))],
    )
    solution = solve_without_warning(problem, tol=1e-3)
    s = np.linspace(0, 1, 21)
    exact = np.exp(-(np.pi**2) * s) + np.where(s > 0.5, np.exp(-(np.pi**2) * (s - 0.5)), 0)
    assert np.abs(solution(0.5, s) - exact)[s != 0.5].max() < 1e-2


@pytest.mark.parametrize("e", [0.3, 0.7])
def test_kepler_orbit_closes_after_one_period(e: float) -> None:
    r = (u**2 + v**2) ** sp.Rational(3, 2)
    rate = np.sqrt((1 + e) / (1 - e))
    start = ((u, 1 - e), (v, 0), (u.diff(t), 0), (v.diff(t), rate))
    solution = solve_without_warning(
        initial_value_problem(2 * np.pi, [u.diff(t, 2) + u / r, v.diff(t, 2) + v / r], *start)
    )
    assert solution.converged
    end = np.array([solution[u](2 * np.pi), solution[v](2 * np.pi)])
    assert np.abs(end - [1 - e, 0]).max() <= solution.error.max + 1e-14


def test_time_at_which_accuracy_is_lost_is_reported() -> None:
    """u' = 10 (u - sin t) + cos t, u = sin t: errors grow by e^10 per unit of time."""
    solution = solve_without_warning(
        initial_value_problem(6, [u.diff(t) - 10 * (u - sp.sin(t)) - sp.cos(t)], (u, 0))
    )
    assert not solution.converged
    lost = solution.notes["lost"]
    assert lost is not None
    assert 3 < lost < 4.5
    s = np.linspace(0, 6, 100)
    assert np.abs(solution(s) - np.sin(s)).max() <= solution.error.max
    times, errors = solution.error.over_time()
    assert errors[times < 1].max() < 1e-4
    assert "No digit is correct" in solution.explanation


def test_solution_over_many_windows(tmp_path: Path) -> None:
    """cos 30t over 200 periods: values in any order, events, derivatives, and a file."""
    solution = solve_without_warning(
        initial_value_problem(40, [u.diff(t, 2) + 900 * u], (u, 1), (u.diff(t), 0)), tol=1e-8
    )
    assert len(solution.windows) > 60
    s = np.random.default_rng(0).uniform(0, 40, 300)
    assert np.abs(solution(s) - np.cos(30 * s)).max() <= solution.error.max < 1e-8
    assert np.abs(solution.evaluate(u.diff(t), s) + 30 * np.sin(30 * s)).max() < 1e-6
    zeros = solution.when(u, t)
    np.testing.assert_allclose(zeros, (np.arange(len(zeros)) + 0.5) * np.pi / 30, atol=1e-9)
    loaded = pibls.load(solution.save(tmp_path / "oscillator.pibls"))
    np.testing.assert_array_equal(loaded(s), solution(s))
    assert loaded.windows == solution.windows


def test_parameters_change_the_solution() -> None:
    k = sp.Symbol("k")
    problem = initial_value_problem(3, [u.diff(t) + k * u**2], (u, 1), parameters={k: 1.0})
    assert abs(solve_without_warning(problem)(3.0) - 1 / 4) < 1e-12
    assert abs(solve_without_warning(problem.at(k=2.0))(3.0) - 1 / 7) < 1e-12


@pytest.mark.parametrize(
    "problem",
    [
        pibls.Problem(pibls.Interval(t, 0, 1), [u.diff(t, 2) + u], [pibls.Dirichlet(u, 0)]),
        pibls.Problem(pibls.Interval(t, 0, 1), [u.diff(t) + u], [pibls.Initial(u**2, 4)]),
        pibls.Problem(pibls.Interval(t, 0, 1), [u.diff(t) + u], [pibls.Initial(u.diff(t), 4)]),
    ],
    ids=[
        "no initial value problem",
        "nonlinear initial condition",
        "initial condition for the highest derivative",
    ],
)
def test_problems_without_ode_setup(problem: pibls.Problem) -> None:
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    assert ode_setup(context.compiled, context.evolution) is None


# --- stored results -------------------------------------------------------------------------------


def test_documented_table_agrees_with_stored_comparison() -> None:
    """Every run has an error below 1e-8 and its estimate; the documented table is that of the data."""
    stored = json.loads(evolutions.STORED.read_text())
    assert {e.name for e in evolutions.ORDINARY} <= stored.keys()
    for found in stored.values():
        assert all(row["held"] and row["error"] <= 1e-8 for row in found["ours"])
    guide = Path(evolutions.__file__).parents[1] / "docs" / "guide" / "time.md"
    assert evolutions.table() in guide.read_text()


@pytest.mark.parametrize(("wave", "period"), [(sp.cos(t), sp.pi), (sp.sin(2 * t + 1), sp.pi / 2)], ids=str)
def test_oscillator_with_switches_at_irrational_times(wave: sp.Expr, period: sp.Expr) -> None:
    """x'' + (1.5 + 0.8 sign(w(t))) x = 0: cosines between the irrational zeros of w."""
    problem = initial_value_problem(
        30, [u.diff(t, 2) + (1.5 + 0.8 * sp.sign(wave)) * u], (u, 1), (u.diff(t), 0.5)
    )
    solution = pibls.solve(problem)
    assert solution.converged
    assert solution.residuals["equation"].max < 1e-9
    switches = np.arange(float(sp.pi / 2 if wave == sp.cos(t) else (sp.pi - 1) / 2), 30.0, float(period))
    y, edges = np.array([1.0, 0.5]), [0.0, *switches, 30.0]
    for a, b in itertools.pairwise(edges):
        w = np.sqrt(1.5 + 0.8 * float(sp.sign(wave.subs(t, 0.5 * (a + b)))))
        c, s = np.cos(w * (b - a)), np.sin(w * (b - a))
        y = np.array([[c, s / w], [-w * s, c]]) @ y
        assert abs(solution(b) - y[0]) <= solution.error.max + 1e-13


@pytest.mark.parametrize("reason", [TIME_LIMIT_REACHED, "a window could not be solved there"])
def test_incomplete_solution_does_not_replace_a_complete_one(
    monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """Whether the time limit was reached or a window failed: the earlier solution reaches the end."""
    problem = initial_value_problem(20, [u.diff(t, 2) + sp.sin(u)], (u, 1), (u.diff(t), 0))
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-13)
    strategy = TimeWindowStrategy(
        context,
        Budget(0.0, None, 4000),
        discretization=WithoutSpace(),
        tolerances=Tolerances(1e-6, 1e-6),
    )
    assert strategy.applies
    strategy.advance()
    complete, error = strategy.best, strategy.error
    assert strategy.status is None
    assert error.checked
    run = Integrator.run

    def truncated_run(integrator: Integrator[Any, Any]) -> Any:
        trajectory = run(integrator)
        return replace(trajectory, windows=trajectory.windows[:4], stopped=reason)

    monkeypatch.setattr(Integrator, "run", truncated_run)
    strategy.advance()
    assert strategy.best is complete
    assert strategy.error is error
    assert "stopped" not in strategy.notes
    assert strategy.status is (
        pibls.Status.TIME_LIMIT if reason == TIME_LIMIT_REACHED else pibls.Status.ROUNDING_LIMIT
    )


# --- a start at which the equation is singular ----------------------------------------------------


@pytest.mark.parametrize(
    ("equation", "start"),
    [
        (t * u.diff(t) - u, (0,)),
        (u.diff(t) - u / t, (0,)),
        (t * u.diff(t) - sp.Rational(6, 5) * u - u**2, (0,)),
        (t**2 * u.diff(t, 2) - 2 * t * u.diff(t) + 2 * u - 2, (1, 0)),  # 1 + c t²
        (t**2 * u.diff(t, 2) + t * u.diff(t) + (t**2 - 4) * u, (0, 0)),  # c J₂(t)
    ],
)
def test_nonunique_solutions_at_a_singular_start_are_undetermined(
    equation: Any, start: tuple[int, ...]
) -> None:
    solution = solve_without_warning(
        initial_value_problem(1, [equation], *((u.diff(t, j), value) for j, value in enumerate(start)))
    )
    assert solution.status is pibls.Status.UNDETERMINED


@pytest.mark.parametrize(
    ("equation", "start", "exact"),
    [
        (t**2 * u.diff(t, 2) + t * u.diff(t) + (t**2 - 1) * u, (0, 0.5), sp.besselj(1, t)),
        (t * u.diff(t) + u - sp.cos(t), (1,), sp.sin(t) / t),
        (u.diff(t, 2) + 2 * u.diff(t) / t + u**5, (1, 0), (1 + t**2 / 3) ** sp.Rational(-1, 2)),
        (t * u.diff(t, 2) - u, (0, 1), sp.sqrt(t) * sp.besseli(1, 2 * sp.sqrt(t))),
    ],
)
def test_unique_solutions_at_a_singular_start(equation: Any, start: tuple[float, ...], exact: Any) -> None:
    solution = solve_without_warning(
        initial_value_problem(3, [equation], *((u.diff(t, j), value) for j, value in enumerate(start)))
    )
    assert solution.converged
    for at in (0.5, 3.0):
        assert abs(solution(at) - float(exact.subs(t, at))) <= solution.error.max < 1e-9


# --- chaos ----------------------------------------------------------------------------------------


def test_chaotic_trajectory_is_estimated_until_accuracy_is_lost() -> None:
    """Hénon-Heiles system: after two solutions diverge, the linearized difference is unbounded."""
    equations = [u.diff(t, 2) + u + 2 * u * v, v.diff(t, 2) + v + u**2 - v**2]
    start = (u, 0.5), (u.diff(t), 0), (v, 0), (v.diff(t), 0.24)
    solution = solve_without_warning(initial_value_problem(400, equations, *start), tol=1e-6, time_limit=20)
    assert solution.status is pibls.Status.ROUNDING_LIMIT
    assert solution.windows[-1][1] == 400
    lost = solution.notes["lost"]
    assert lost is not None
    assert 250 < lost < 350
    times, errors = solution.error.over_time()
    assert times[-1] == 400
    assert np.interp(150, times, errors) < 1e-6
    # After the divergence the error may be as large as the solution, or larger.
    assert errors[-1] == solution.error.max
    assert 2 * np.abs(solution["u"](times)).max() <= solution["u"].error.max < 100
    assert solution.error.l2 == solution.error.max
    # The energy is accurate: the estimated error is a phase error.
    energy = (u.diff(t) ** 2 + v.diff(t) ** 2 + u**2 + v**2) / 2 + u**2 * v - v**3 / 3
    assert abs(solution.evaluate(energy, 400.0) - 0.5 * (0.24**2 + 0.25)) < 1e-6

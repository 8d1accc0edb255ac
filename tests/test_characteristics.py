"""Propagating discontinuities of linear hyperbolic equations: subdomains between characteristics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.geometry.subdomains.tiling import Tiling
from pibls.problem.interfaces.characteristics import characteristics_of
from pibls.problem.interfaces.decomposition import subdomain_decomposition

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)
LEFT, RIGHT = sp.Eq(x, 0), sp.Eq(x, 1)
STRING = u.diff(t, 2) - u.diff(x, 2)
VELOCITY_PULSE = sp.Piecewise((1, sp.Abs(x - 0.5) < 0.1), (0, True))
INFLOW_PULSE = sp.Piecewise((1, (t > 0.5) & (t < 1)), (0, True))
HAT, AT_REST = pibls.Initial(u, sp.Min(x, 1 - x)), pibls.Initial(u.diff(t), 0)
Exact = Callable[[Any, Any], Any]


def problem_on(length: Any, stop: Any, equations: Any, *conditions: Any) -> pibls.Problem:
    return pibls.Problem(pibls.Interval(x, 0, length).during(t, 0, stop), equations, conditions)


def string_problem(stop: Any, start: Any, rate: Any = 0) -> pibls.Problem:
    return problem_on(
        1, stop, [STRING], pibls.Dirichlet(u, 0), pibls.Initial(u, start), pibls.Initial(u.diff(t), rate)
    )


def reflected(f: Any, sign: float = -1.0) -> Any:
    """Return the extension of f from (0, 1) to an odd or even function of period 2."""

    def g(z: Any) -> Any:
        z = np.mod(z, 2.0)
        return np.where(z <= 1.0, f(np.minimum(z, 1.0)), sign * f(np.minimum(2.0 - z, 1.0)))

    return g


def dalembert(f: Any, sign: float = -1.0) -> Exact:
    g = reflected(f, sign)
    return lambda X, T: 0.5 * (g(X - T) + g(X + T))


def struck_solution(X: Any, T: Any) -> Any:
    """The solution for an initial velocity of 1 between 0.4 and 0.6."""
    g = reflected(lambda z: np.clip(z, 0.4, 0.6) - 0.4, 1.0)
    return 0.5 * (g(X + T) - g(X - T))


def step(z: Any) -> Any:
    return np.where(z > 0, 1.0, 0.0)


PIPE = [u.diff(t) + sp.Float(2.2e9) * v.diff(x), 1000 * v.diff(t) + u.diff(x)]
SPEED = float(np.sqrt(2.2e6))
CABLE = [sp.Float(250e-9) * v.diff(t) + u.diff(x), sp.Float(1e-10) * u.diff(t) + v.diff(x)]
PROBLEMS: dict[str, tuple[pibls.Problem, Exact]] = {
    "plucked string": (
        string_problem(1, sp.Min(x, (1 - x) / 3)), dalembert(lambda z: np.minimum(z, (1 - z) / 3)),
    ),
    "string with incompatible curvature": (string_problem(1, x * (1 - x)), dalembert(lambda z: z * (1 - z))),
    "struck string": (string_problem(sp.Rational(1, 3), 0, VELOCITY_PULSE), struck_solution),
    "free ends": (
        problem_on(1, 1, [STRING], pibls.Neumann(u, 0), pibls.Initial(u, x), pibls.Initial(u.diff(t), 0)),
        dalembert(lambda z: z, 1.0),
    ),
    "moved end": (
        problem_on(1, 2, [STRING], pibls.Dirichlet(u, sp.sin(t), on=LEFT), pibls.Dirichlet(u, 0, on=RIGHT),
           pibls.Initial(u, 0), pibls.Initial(u.diff(t), 0)),
        lambda X, T: step(T - X) * np.sin(T - X) - step(T - 2 + X) * np.sin(T - 2 + X),
    ),
    "advected step": (
        problem_on(1, 1, [u.diff(t) + u.diff(x) / 2],
           pibls.Dirichlet(u, 0, on=LEFT), pibls.Initial(u, sp.Heaviside(0.5 - x))),
        lambda X, T: step(X - T / 2) * step(0.5 - X + T / 2),
    ),
    "inflow pulse": (
        problem_on(1, 2, [u.diff(t) + u.diff(x) + u / 5],
           pibls.Dirichlet(u, INFLOW_PULSE, on=LEFT), pibls.Initial(u, 0)),
        lambda X, T: step(T - X - 0.5) * step(1 + X - T) * np.exp(-X / 5),
    ),
    "water hammer": (
        problem_on(1000, 1, PIPE, pibls.Dirichlet(u, 0, on=LEFT), pibls.Dirichlet(v, 0, on=sp.Eq(x, 1000)),
           pibls.Initial(u, 0), pibls.Initial(v, 2)),
        lambda X, T: 2000 * SPEED * (step(T - (1000 - X) / SPEED) - step(T - (1000 + X) / SPEED)),
    ),
    "cable in SI units": (
        problem_on(1, sp.Rational(8, 10**9), CABLE, pibls.Dirichlet(u, 1, on=LEFT),
           pibls.Condition(u - 100 * v, on=RIGHT), pibls.Initial(u, 0), pibls.Initial(v, 0)),
        lambda X, T: step(T - 5e-9 * X) + step(T - 5e-9 * (2 - X)) / 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(PROBLEMS))
@pytest.mark.parametrize("seed", [0, 1])
def test_propagating_discontinuities_are_resolved(name: str, seed: int) -> None:
    problem, exact = PROBLEMS[name]
    solution = pibls.solve(problem, seed=seed)
    low, high = np.array(problem.domain.bounds, dtype=float).T
    X, T = np.random.default_rng(3).uniform(low, high, (4000, 2)).T
    error = np.abs(solution[u](X, T) - exact(X, T)).max()
    assert solution.converged
    assert error <= max(solution[u].error.max, 1e-13 * np.abs(exact(X, T)).max())
    assert solution[u].error.max <= 1e-10 * np.abs(exact(X, T)).max()


def test_number_of_continuity_conditions_across_a_characteristic() -> None:
    """All but one characteristic variable of a first-order system; u of a second-order equation."""
    for name, rows in (("plucked string", 1), ("advected step", 0), ("water hammer", 1)):
        found = characteristics_of(PROBLEMS[name][0])
        assert found is not None
        assert {len(statements) for _, _, statements in found.between} == {rows}


@pytest.mark.parametrize(
    "problem",
    [
        string_problem(2, sp.sin(sp.pi * x)),
        string_problem(2, sp.exp(-100 * (x - sp.Rational(1, 2)) ** 2)),
        problem_on(
            1, 1, [u.diff(t) - u.diff(x)], pibls.Periodic(u, x), pibls.Initial(u, sp.cos(2 * sp.pi * x))
        ),
        problem_on(1, 1, [u.diff(t) - u.diff(x, 2)], pibls.Dirichlet(u, 0), HAT),
        problem_on(1, 1, [u.diff(t, 2) + u.diff(x, 2)], pibls.Dirichlet(u, 0), HAT, AT_REST),
        problem_on(1, 1, [u.diff(t, 2) - (1 + x) * u.diff(x, 2)], pibls.Dirichlet(u, 0), HAT, AT_REST),
        string_problem(1, sp.Heaviside(x - sp.Rational(1, 2))),
        string_problem(40, sp.Min(x, 1 - x)),
    ],
    ids=[
        "smooth",
        "nearly compatible",
        "periodic",
        "heat",
        "elliptic",
        "curved characteristics",
        "discontinuous u",
        "long",
    ],
)
def test_problems_without_decomposition(problem: pibls.Problem) -> None:
    assert subdomain_decomposition(problem) is None


def test_incompatibility_of_low_derivatives_is_detected() -> None:
    """sin(t)ᵐ at the end of a string at rest: the m-th time derivative is incompatible; m ≤ 3 matters."""
    at_rest = pibls.Initial(u, 0), pibls.Initial(u.diff(t), 0)
    for m, divided in ((1, True), (2, True), (3, True), (4, False)):
        ends = pibls.Dirichlet(u, sp.sin(t) ** m, on=LEFT), pibls.Dirichlet(u, 0, on=RIGHT)
        found = characteristics_of(problem_on(1, sp.Rational(1, 2), [STRING], *ends, *at_rest))
        assert (found is not None) == divided
        assert found is None or len(found.tiling) == 2  # data are compatible at the other corner


def test_equal_branches_make_no_kink() -> None:
    """| |x - 1/2| - 1/10 | has three kinks; a Piecewise with equal branches has none."""
    three_kinks = string_problem(sp.Rational(1, 20), sp.Abs(sp.Abs(x - 0.5) - 0.1) - 0.4)
    found = characteristics_of(three_kinks)
    assert found is not None
    assert len(found.tiling.cut_lines) == 6
    equal_branches = sp.Piecewise(
        (x * (1 - x) ** 3, sp.Abs(x - 0.5) < 0.1), (x * (1 - x) ** 3, True), evaluate=False
    )
    smooth = characteristics_of(string_problem(sp.Rational(1, 20), equal_branches))
    assert smooth is None or len(smooth.tiling.cut_lines) == 2  # from the corners


def test_tiling_by_cut_lines() -> None:
    domain = pibls.Interval(x, 0, 1e3).during(t, 0, 1e-6)
    lines = [((0.25, 0.0), (1.0, 0.75)), ((0.25, 0.0), (0.0, 0.25)), ((0.0, 0.25), (0.75, 1.0)),
             ((1.0, 0.75), (0.75, 1.0)), ((0.25, 0.0), (1.0, 0.75))]  # fmt: skip
    tiling = Tiling.of(domain, lines)
    assert (len(tiling.cut_lines), len(tiling)) == (4, 5)
    areas = [_area(tile.corners) for tile in tiling.tiles]
    assert sum(areas) == pytest.approx(1.0)
    U = np.random.default_rng(0).random((20000, 2))
    shares = np.bincount(tiling.locate(U * [1e3, 1e-6]), minlength=5) / len(U)
    np.testing.assert_allclose(shares, areas, atol=0.02)
    pairs = [pair for _, pair, _ in tiling.interfaces()]
    assert len(pairs) == len(set(pairs)) == 4
    points_near_line = np.array([[500.0, 0.25e-6], [500.0, 0.26e-6]])
    assert tiling.is_on_interface(points_near_line).tolist() == [True, False]


def _area(corners: Any) -> float:
    (a, b), (c, d) = corners.T, np.roll(corners, -1, axis=0).T
    return 0.5 * abs(float((a * d - b * c).sum()))


def test_discontinuous_displacement_is_solved_without_decomposition() -> None:
    """u itself is discontinuous in a second-order equation."""
    jump = string_problem(sp.Rational(1, 4), VELOCITY_PULSE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(jump, tol=1e-3)
    assert not solution.converged


def test_nearly_compatible_data_are_solved_in_time_windows() -> None:
    """exp(-100 (x - 1/2)²) has a slope of 1e-9 at a free end; subdomains did not resolve it in 13 s."""
    start = pibls.Initial(u, sp.exp(-100 * (x - sp.Rational(1, 2)) ** 2))
    free = problem_on(1, sp.Rational(3, 2), [STRING], pibls.Neumann(u, 0), start, AT_REST)
    assert subdomain_decomposition(free) is not None
    solution = pibls.solve(free, tol=1e-6)
    X, T = np.random.default_rng(0).uniform((0, 0), (1, 1.5), (1000, 2)).T
    error = np.abs(solution(X, T) - dalembert(lambda z: np.exp(-100 * (z - 0.5) ** 2), 1.0)(X, T)).max()
    assert solution.converged
    assert solution.windows
    assert error <= solution.error.max <= 1e-6


def test_decomposed_solution_is_saved_loaded_and_differentiated(tmp_path: Path) -> None:
    k = sp.Symbol("k")
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, sp.Rational(1, 2)),
        [STRING + k * u],
        [pibls.Dirichlet(u, 0), HAT, AT_REST],
        parameters={k: 2.0},
    )
    solution = pibls.solve(problem)
    loaded = pibls.load(solution.save(tmp_path / "string.pibls"))
    assert loaded(0.31, 0.42) == solution(0.31, 0.42)
    above, below = (pibls.solve(problem.at(k=2.0 + h))(0.31, 0.42) for h in (1e-4, -1e-4))
    assert solution.sensitivity(k)(0.31, 0.42) == pytest.approx((above - below) / 2e-4, abs=1e-8)
    assert solution.evaluate(u.diff(x), 0.1, 0.2) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(("stop", "subdomains", "each"), [(1, 5, 128), (3, 11, 92), (5, 17, 72)])
def test_initial_functions_per_subdomain_decrease_with_their_number(
    stop: int, subdomains: int, each: int
) -> None:
    problem = string_problem(stop, sp.Min(x, (1 - x) / 3))
    found = subdomain_decomposition(problem)
    assert found is not None
    assert len(found) == subdomains
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.history[0].nodes == subdomains * each

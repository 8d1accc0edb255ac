"""Parameter sweeps: the solutions of single solves, at a fraction of the cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from tests.call_counts import count_calls

x, y, k, c = sp.symbols("x y k c")
u = sp.Function("u")(x)
v = sp.Function("v")(x, y)
LINE, SQUARE = pibls.Interval(x, 0, 1), pibls.Box({x: (0, 1), y: (0, 1)})
WAVE = sp.sin(k * x) * sp.exp(y)
PROBLEMS: dict[str, tuple[pibls.Problem, Any]] = {
    "operator": (
        pibls.Problem(
            SQUARE,
            [v.diff(x, 2) + v.diff(y, 2) + k * v - (1 - k**2 + k) * WAVE],
            [pibls.Dirichlet(v, WAVE)],
            parameters={k: 1.0},
        ),
        WAVE,
    ),
    "nonlinear": (
        pibls.Problem(
            LINE,
            [u.diff(x, 2) - sp.exp(k * u) + k**2 * sp.sin(k * x) + sp.exp(k * sp.sin(k * x))],
            [pibls.Dirichlet(u, sp.sin(k * x))],
            parameters={k: 1.0},
        ),
        sp.sin(k * x),
    ),
    "right-hand side": (
        pibls.Problem(
            SQUARE,
            [v.diff(x, 2) + v.diff(y, 2) - (1 - k**2) * WAVE],
            [pibls.Dirichlet(v, WAVE)],
            parameters={k: 1.0},
        ),
        WAVE,
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_solution_is_that_at_its_value(name: str) -> None:
    problem, exact = PROBLEMS[name]
    values = np.linspace(1.0, 3.0, 25)
    solutions = pibls.sweep(problem, {k: values})
    X = problem.domain.interior(100, np.random.default_rng(3))
    for value, solution in zip(values, solutions, strict=True):
        assert solution.problem.parameters[k] == value
        assert solution.converged
        true = sp.lambdify(problem.coordinates, exact.subs(k, value))(*X.T)
        error = float(np.abs(solution(*X.T) - true).max())
        assert error <= solution.error.max
        assert error <= 3e-10 * float(np.abs(true).max())


@pytest.mark.parametrize(("name", "share"), [("operator", 0.3), ("right-hand side", 0.06)])
def test_cost_of_a_sweep(name: str, share: float) -> None:
    """Cost in function calls; benchmarks/sweeps.py measures the time (0.2 and 0.04)."""
    problem, _ = PROBLEMS[name]
    values = np.linspace(1.0, 3.0, 100)
    pibls.sweep(problem, {k: values[:2]})  # imports and compilation are not counted
    separate = 10 * count_calls(lambda: [pibls.solve(problem.at(k=value)) for value in values[::10]])
    assert count_calls(lambda: pibls.sweep(problem, {k: values})) <= share * separate


def test_several_parameters_give_all_combinations() -> None:
    problem = pibls.Problem(LINE, [u.diff(x) + k * u], [pibls.Initial(u, c)], parameters={k: 1.0, c: 1.0})
    solutions = pibls.sweep(problem, {"k": [1.0, 2.0], c: [1.0, 3.0]}, tol=1e-8)
    assert [tuple(s.problem.parameters.values()) for s in solutions] == [(1, 1), (1, 3), (2, 1), (2, 3)]
    assert solutions[3](1.0) == pytest.approx(3 * np.exp(-2), rel=1e-7)
    single = pibls.sweep(problem, [{k: 2.0, c: 3.0}], tol=1e-8)
    assert single[0](1.0) == pytest.approx(3 * np.exp(-2), rel=1e-7)


def test_difficult_value_gets_more_nodes() -> None:
    """Wavenumbers from 3 to 120: the number of nodes for the first value is too small for the last."""
    exact = sp.sin((123 - k) * x)  # the larger value, which is solved first, is easier
    problem = pibls.Problem(
        LINE, [u.diff(x, 2) + (123 - k) ** 2 * exact], [pibls.Dirichlet(u, exact)], parameters={k: 3.0}
    )
    many, few = pibls.sweep(problem, {k: [3.0, 120.0]}, tol=1e-8)
    assert many.nodes > few.nodes
    X = np.linspace(0, 1, 50)
    np.testing.assert_allclose(many(X), np.sin(120 * X), atol=1e-7)


def test_given_settings_are_kept() -> None:
    problem, _ = PROBLEMS["nonlinear"]
    solutions = pibls.sweep(problem, {k: [1.0, 1.5]}, basis=pibls.Waves(40, 6.0))
    assert [s.nodes for s in solutions] == [40, 40]


@pytest.mark.parametrize("values", [5.0, [1.0, 2.0], {k: 1.0}])
def test_values_must_be_lists(values: Any) -> None:
    with pytest.raises(pibls.ProblemError, match=r"sweep\(values\): expected a mapping of parameters"):
        pibls.sweep(PROBLEMS["nonlinear"][0], values)


def test_unknown_parameter_is_rejected() -> None:
    with pytest.raises(pibls.ProblemError, match=r"sweep\(m\): expected a parameter of the problem \(k\)"):
        pibls.sweep(PROBLEMS["nonlinear"][0], {"m": [1.0]})


@pytest.mark.parametrize("values", [[0.0, 1.0], [1.0, 2.0, 3.0, 4.0, 0.0, 5.0, 6.0, 7.0]])
def test_undetermined_problem_in_a_sweep_is_reported(values: list[float]) -> None:
    underdetermined = pibls.Problem(
        LINE, [u.diff(x, 2) - k * u + c], [pibls.Neumann(u, 0)], parameters={k: 1.0, c: 0.0}
    )
    with pytest.warns(pibls.ConvergenceWarning):
        found = pibls.sweep(underdetermined, {k: values})
    undetermined = [s.status is pibls.Status.UNDETERMINED for s in found]
    assert undetermined == [value == 0.0 for value in values]

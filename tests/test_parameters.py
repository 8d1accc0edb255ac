"""Problem parameters, N[u; k] = f(k): symbols with values, in Python and in problem files."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.io import parse_problem, problem_text
from pibls.problem.forms.compilation import CompiledProblem, compile_problem
from tests.call_counts import count_calls

x, t, k, c = sp.symbols("x t k c")
u = sp.Function("u")(x)
LINE = pibls.Interval(x, 0, 1)


def decay() -> pibls.Problem:
    return pibls.Problem(LINE, [u.diff(x) + k * u], [pibls.Initial(u, c)], parameters={k: 2.0, c: 1})


def test_parameters_are_an_immutable_mapping() -> None:
    problem = decay()
    assert dict(problem.parameters) == {k: 2.0, c: 1.0}
    assert dict(problem.at(k=3).at({c: 5}).parameters) == {k: 3.0, c: 5.0}
    assert problem.at(k=3) == problem.at({k: 3.0}) != problem
    assert problem.at(k=2) == problem
    with pytest.raises(TypeError):
        problem.parameters[k] = 1.0  # type: ignore[index]


@pytest.mark.parametrize("value", [0.0, 1.0, 3.5])
def test_solution_uses_the_parameter_values(value: float) -> None:
    solution = pibls.solve(decay().at(k=value, c=2))
    X = np.linspace(0, 1, 7)
    np.testing.assert_allclose(solution(X), 2 * np.exp(-value * X), rtol=1e-9)
    np.testing.assert_allclose(solution.evaluate(k * u + c, X), value * solution(X) + 2, rtol=1e-12)


def test_at_does_not_repeat_symbolic_work() -> None:
    problem = decay()
    first = compile_problem(problem)
    others: list[CompiledProblem] = []
    effort = count_calls(lambda: others.extend(compile_problem(problem.at(k=float(i))) for i in range(200)))
    assert effort < 200 * 0.05 * count_calls(lambda: compile_problem(decay()))
    assert all(o.residuals[0].coefficient_function is first.residuals[0].coefficient_function for o in others)
    assert problem.at(k=7).statements is problem.statements


def test_parameter_in_coefficients_powers_sources_and_conditions() -> None:
    """k in a coefficient, a power, a source, a boundary value and a Robin coefficient."""
    exact = sp.exp(-k * x)
    problem = pibls.Problem(
        LINE,
        [u.diff(x, 2) + u**k - (k**2 * exact + exact**k)],
        [
            pibls.Dirichlet(u, exact, on=sp.Eq(x, 0)),
            pibls.Robin(u, (1 - k**2) * exact, 1, k, on=sp.Eq(x, 1)),
        ],
        parameters={k: 3.0},
    )
    assert not problem.is_linear
    for value in (1.5, 3.0):
        solution = pibls.solve(problem.at(k=value), tol=1e-8)
        X = np.linspace(0, 1, 5)
        np.testing.assert_allclose(solution(X), np.exp(-value * X), rtol=1e-6)


def test_power_is_differentiable_at_zero() -> None:
    problem = pibls.Problem(LINE, [u.diff(x) + u**k - 1], [pibls.Initial(u, 0)], parameters={k: 2.0})
    residual = compile_problem(problem).residuals[0]
    zero = np.zeros((1, 1))
    assert residual.partials(zero, zero, np.empty((0, 1)), zero) == 0.0


def test_linearity_with_parameters() -> None:
    conditions = [pibls.Dirichlet(u, 0)]
    for equation, linear in ((u.diff(x, 2) + k * u, True), (u.diff(x, 2) + u**k, False)):
        assert pibls.Problem(LINE, [equation], conditions, {k: 1.0}).is_linear is linear


FILE = """
equations = ["u_xx = -s*sin(w*x) + m"]
[domain]
x = [0, "L"]
[parameters]
L = 2
s = 1.5
w = "pi/L"
m = "mean"
mean = 0.25
[[conditions]]
dirichlet = "u"
value = "s"
"""


def test_a_file_gives_a_problem_with_parameters() -> None:
    text = FILE.replace('m = "mean"\nmean = 0.25', 'mean = 0.25\nm = "2*mean"')
    file = parse_problem(text)
    s, mean = sp.symbols("s mean")
    # L determines the domain and w depends on it; m depends on mean.
    assert dict(file.problem.parameters) == {s: 1.5, mean: 0.25}
    assert file.problem.equations[0].rhs == 2 * mean - s * sp.sin(sp.pi * x / 2)
    assert {n: float(v) for n, v in file.parameters.items()} == pytest.approx(
        {"L": 2, "s": 1.5, "w": np.pi / 2, "mean": 0.25, "m": 0.5}
    )
    assert file.problem.at(mean=1) == parse_problem(text, parameters={"mean": 1}).problem


def test_parameter_is_substituted_where_a_number_is_required() -> None:
    text = """
equations = ["u_xx = k*mod(x, w)"]
domain.x = [0, 1]
parameters = { k = 2, w = 0.5 }
conditions = [{ dirichlet = "u", value = "k" }]
"""
    assert not parse_problem(text).problem.parameters
    text = """
equations = ["u_xx = k*p"]
domain.x = [0, 1]
parameters = { k = 2, p = 0.5, q = 3 }
conditions = [{ dirichlet = "u", value = "k", on = "x = 0" }, { dirichlet = "u", value = 0, on = "x = p*2" }]
"""
    assert dict(parse_problem(text).problem.parameters) == {k: 2.0}


def test_parameters_round_trip_through_problem_text() -> None:
    problem = decay()
    text = problem_text(problem)
    assert "[parameters]\nk = 2\nc = 1\n" in text
    assert parse_problem(text).problem == problem


def test_saved_solution_keeps_parameters(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "decay.pibls"
    solution = pibls.solve(decay(), tol=1e-6)
    solution.save(path)
    found = pibls.load(path)
    assert found.problem == solution.problem
    assert found.evaluate(k * u, 0.5) == solution.evaluate(k * u, 0.5)

"""Continuation in the highest derivatives, for nonlinear problems in which Newton's method stalls."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp
from validation.sets.layers import interior_shock, kink, kink_references, shock_references

import pibls
from pibls.adaptive.initial_guess.scaled_derivatives import with_scaled_highest_derivatives
from pibls.nonlinear.continuation import follow
from pibls.problem.forms.compilation import compile_problem

x = sp.Symbol("x")
u = sp.Function("u")(x)


@pytest.mark.parametrize("epsilon", [5e-3, 1e-3])
def test_interior_shock(epsilon: float) -> None:
    problem, references = interior_shock(epsilon), shock_references(epsilon)
    solution = pibls.solve(problem, tol=1e-6)
    X = np.linspace(0, 1, 4001)
    error = np.abs(solution(X) - references["u"](X)).max()
    assert solution.converged
    assert error <= solution.error.max + 3e-9
    assert error <= 2e-6


def test_kink_of_a_hamilton_jacobi_equation() -> None:
    solution = pibls.solve(kink(1e-3), tol=1e-6)
    X = np.linspace(-1, 1, 2001)
    assert solution.converged
    assert np.abs(solution(X) - kink_references(1e-3)["u"](X)).max() <= solution.error.max


def test_no_solution_stays_without_solution() -> None:
    """u'' + 5 eᵘ = 0 is beyond its fold: the continuation ends at M = 5/3.51."""
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + 5 * sp.exp(u)], [pibls.Dirichlet(u, 0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        assert pibls.solve(problem).status is pibls.Status.NO_SOLUTION


@pytest.mark.parametrize(
    "equation",
    [
        lambda m: 0.1 * m * u.diff(x, 2) + u * u.diff(x) - sp.sin(x),
        lambda m: u * m * u.diff(x, 2) + u.diff(x) ** 2 + x * u,
        lambda m: sp.exp(m * u.diff(x, 3)) + x * m * u.diff(x, 3) - u,
    ],
    ids=["linear", "quasilinear", "nonlinear"],
)
def test_scaled_highest_derivatives(equation: Any) -> None:
    def compiled(m: float) -> Any:
        ends = [pibls.Dirichlet(u, 0), pibls.Neumann(u, 1, on={x: 0})]
        return compile_problem(pibls.Problem(pibls.Interval(x, 0, 1), [equation(m)], ends))

    def evaluated(problem: Any) -> Any:
        X, normals, none = np.linspace(0.1, 0.9, 5)[:, None], np.zeros((5, 1)), np.empty((0, 5))
        out = []
        for r in problem.residuals:
            values = {j: np.cos(np.arange(5) + sum(j.alpha)) for j in r.derivatives}
            v = np.array([values[j] for j in r.nonlinear]).reshape(-1, 5)
            slopes = [*r.coefficients(X), *r.partials(X, normals, none, v)]
            total = r.rest(X, normals, none, v)
            total = total + sum(a * values[j] for a, j in zip(r.coefficients(X), r.linear, strict=True))
            out += [total, *slopes]
        return np.array(out)

    scaled = with_scaled_highest_derivatives(compiled(1.0), 3.0)
    assert evaluated(scaled) == pytest.approx(evaluated(compiled(3.0)))


def test_steps_become_longer_while_they_succeed() -> None:
    def solve(s: float, before: list[float]) -> list[float]:
        return [*before, s]

    start: list[float] = []
    assert follow(solve, start) == (1.0, [0.125, 0.375, 0.875, 1.0])


def test_continuation_ends_at_a_fold() -> None:
    def solve(s: float, _: float) -> float | None:
        return s if s < 0.6 else None

    reached, last = follow(solve, 0.0)
    assert 0.6 - 1 / 64 < reached == last < 0.6

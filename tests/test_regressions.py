"""Mistakes that were made once."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import pibls

x, y, t = sp.symbols("x y t")


@pytest.mark.parametrize("seed", range(3))
def test_fourth_power_on_the_boundary_needs_a_damped_first_step(seed: int) -> None:
    """Heat conduction with radiation: an undamped first step diverges."""
    exact = sp.exp(-t) * sp.cos(x) + 1
    u = sp.Function("u")(x, t)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(u.diff(t) - u.diff(x, 2), exact.diff(t) - exact.diff(x, 2))],
        [
            pibls.Dirichlet(u, exact, on=sp.Eq(x, 0)),
            pibls.Condition(
                sp.Eq(u.diff(x) + u**4 / 8, (exact.diff(x) + exact**4 / 8).subs(x, 1)), on=sp.Eq(x, 1)
            ),
            pibls.Initial(u, exact.subs(t, 0)),
        ],
    )
    for basis in (None, pibls.Features(300, scale=4.0)):
        solution = pibls.solve(problem, seed=seed, basis=basis)
        X = problem.domain.interior(500, np.random.default_rng(1))
        exact_values = np.exp(-X[:, 1]) * np.cos(X[:, 0]) + 1
        assert np.abs(solution(*X.T) - exact_values).max() < 1e-8


@pytest.mark.parametrize("value", [sp.Integer(2), 3 * x + 1])
def test_equations_whose_terms_all_vanish_are_solved(value: sp.Expr) -> None:
    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2)], [pibls.Dirichlet(u, value)])
    assert pibls.solve(problem).converged
    assert pibls.solve(problem, basis=pibls.Features(60, scale=6.0)).converged


def test_absolute_value_of_an_undeclared_symbol() -> None:
    """|x|.diff(x) holds re(x) and im(x) unless x is declared real."""
    u = sp.Function("u")(x)
    source = (sp.Abs(x - sp.Rational(1, 2)) ** sp.Rational(9, 2)).diff(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x), source)], [pibls.Initial(u, 0)])
    solution = pibls.solve(problem, tol=1e-5)
    assert solution(1.0) == pytest.approx(0.0, abs=1e-4)

"""The Bratu problem -Δu = λeᵘ below and beyond its fold, where it has no solution."""

from __future__ import annotations

import math
import warnings

import pytest
import sympy as sp
from scipy.optimize import brentq

import pibls

x = sp.Symbol("x")


def bratu(factor: float) -> pibls.Problem:
    """The fold of u'' + λeᵘ = 0 with u(0) = u(1) = 0 is at λ = 3.5138."""
    u = sp.Function("u")(x)
    return pibls.Problem(
        pibls.Interval(x, 0, 1), [u.diff(x, 2) + factor * sp.exp(u)], [pibls.Dirichlet(u, 0)]
    )


@pytest.mark.parametrize("factor", [3.6, 4.0])
def test_no_solution_beyond_the_fold(factor: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(bratu(factor), time_limit=120.0)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert solution.error.max == float("inf")


@pytest.mark.parametrize("factor", [3.5, 3.51])
def test_just_below_the_fold(factor: float) -> None:
    solution = pibls.solve(bratu(factor))
    assert solution.converged
    # u = 2 ln(cosh θ / cosh(θ(1 - 2x))), θ = √(λ/8) cosh θ, with two roots.
    roots = [
        brentq(lambda t: t - math.sqrt(factor / 8) * math.cosh(t), *ends)
        for ends in ((0.5, 1.1996786402577337), (1.1996786402577337, 2.0))
    ]
    assert min(abs(solution(0.5) - 2 * math.log(math.cosh(t))) for t in roots) <= 1e-7


def test_solvable_problem_with_a_local_minimum_is_not_called_unsolvable() -> None:
    """(u u')' = -1 with u(0) = 1, u(1) = 1/100 has the solution u² = 1 + c x - x².

    Newton's method ends at one local minimum in random features of three widths, but not in polynomials.
    """
    u = sp.Function("u")(x)
    ends = [pibls.Dirichlet(u, v, on=sp.Eq(x, at)) for v, at in ((1, 0), (sp.Rational(1, 100), 1))]
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [(u * u.diff(x)).diff(x) + 1], ends)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem)
    assert solution.status is not pibls.Status.NO_SOLUTION
    assert not solution.converged or abs(solution(0.5) - math.sqrt(0.75 + 0.5e-4)) < 1e-8

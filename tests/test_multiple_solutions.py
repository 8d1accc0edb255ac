"""Nonlinear problems with more than one solution."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import pibls

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x), sp.Function("v")(t)
LINE = pibls.Interval(x, 0, 1)


@pytest.mark.parametrize("seed", [0, 1])
def test_both_solutions_of_bratu(seed: int) -> None:
    """u'' + λ e^u = 0: e^(u/2) = cosh(θ/2)… with θ = √(2λ) cosh(θ/4), two roots for λ = 2."""
    roots = [
        brentq(lambda a: a - 2.0 * np.cosh(a / 4), *ends, xtol=1e-15, rtol=1e-15)
        for ends in ((1, 4), (5, 12))
    ]
    middle = sorted(2 * np.log(np.cosh(a / 4)) for a in roots)
    first = pibls.solve(
        pibls.Problem(LINE, [u.diff(x, 2) + 2 * sp.exp(u)], [pibls.Dirichlet(u, 0)]), tol=1e-8, seed=seed
    )
    assert len(first.others) == 1
    found = sorted((float(s(0.5)), s.error.max) for s in (first, *first.others))
    for (value, error), exact in zip(found, middle, strict=True):
        assert abs(value - exact) <= error


def test_symmetric_buckled_solutions() -> None:
    """u'' + 20 sin u = 0 with zero ends: a strut buckles to either side, or stays straight."""
    problem = pibls.Problem(LINE, [u.diff(x, 2) + 20 * sp.sin(u)], [pibls.Dirichlet(u, 0)])
    first = pibls.solve(problem, tol=1e-8, guess=lambda x: np.sin(np.pi * x))
    middles = [float(s(0.5)) for s in (first, *first.others)]
    assert min(abs(m + middles[0]) for m in middles[1:]) < 1e-6


@pytest.mark.parametrize("sign", [1, -1])
def test_guess_leads_to_the_nearby_solution(sign: int) -> None:
    """u'' + 40u = u³: ±6.03 at x = 1/2; a full Newton step from 4 sin πx ends near the other solution."""
    problem = pibls.Problem(LINE, [u.diff(x, 2) + 40 * u - u**3], [pibls.Dirichlet(u, 0)])
    found = pibls.solve(problem, tol=1e-8, guess=4 * sign * sp.sin(sp.pi * x))
    assert sign * found(0.5) == pytest.approx(6.0273040444, abs=1e-6)


def test_guess_selects_the_eigenvalue() -> None:
    """Radius of a star: the first zero 6.8968 of the Lane-Emden function; the second is 36."""
    size = sp.Function("R")(x)
    star = x * u.diff(x, 2) + 2 * u.diff(x) + x * size**2 * u**3
    start = [pibls.Dirichlet(u, 1, on=sp.Eq(x, 0)), pibls.Neumann(u, 0, on=sp.Eq(x, 0))]
    problem = pibls.Problem(LINE, [star, size.diff(x)], [*start, pibls.Dirichlet(u, 0, on=sp.Eq(x, 1))])
    found = pibls.solve(problem, tol=1e-8, guess={u: 1 - x**2, size: 6})
    assert found["R"](0.5) == pytest.approx(6.896848619376960, rel=1e-8)


def test_guess_with_nan_values_is_rejected() -> None:
    problem = pibls.Problem(LINE, [u.diff(x, 2) + sp.exp(u)], [pibls.Dirichlet(u, 0)])
    with pytest.raises(pibls.ProblemError, match="guess: expected finite values inside the domain"):
        pibls.solve(problem, guess=sp.sqrt(x - sp.Rational(1, 2)))


def test_problems_with_a_unique_solution() -> None:
    assert pibls.solve(pibls.Problem(LINE, [u.diff(x, 2) + u - 1], [pibls.Dirichlet(u, 0)])).others == ()
    growth = pibls.Problem(pibls.Interval(t, 0, 1), [v.diff(t) - v * (1 - v)], [pibls.Initial(v, 0.1)])
    assert pibls.solve(growth).others == ()
    unique = pibls.Problem(LINE, [u.diff(x, 2) - u**3 + 1], [pibls.Dirichlet(u, 0)])
    assert pibls.solve(unique, tol=1e-8).others == ()


def test_second_solution_of_liouville_equation() -> None:
    """Liouville's equation: the textbook solution is the upper of two."""
    y = sp.Symbol("y")
    v, exact = sp.Function("u")(x, y), sp.log(8 / (1 + x**2 + y**2) ** 2)
    square = pibls.Box({x: (-1, 1), y: (-1, 1)})
    problem = pibls.Problem(square, [v.diff(x, 2) + v.diff(y, 2) + sp.exp(v)], [pibls.Dirichlet(v, exact)])
    first = pibls.solve(problem, tol=1e-4)
    assert first.converged
    assert len(first.others) == 1
    both = sorted(float(s(0, 0)) for s in (first, *first.others))
    np.testing.assert_allclose(both, [1.771117409, np.log(8)], atol=1e-3)


def test_buckled_solutions_are_found_from_the_straight_one() -> None:
    """u'' + 20 sin u = 0 from u = 0: multiples of zero find no other solution, a half sine does."""
    problem = pibls.Problem(LINE, [u.diff(x, 2) + 20 * sp.sin(u)], [pibls.Dirichlet(u, 0)])
    straight = pibls.solve(problem, tol=1e-6)
    assert abs(straight(0.5)) < 1e-6
    assert any(abs(s(0.5)) > 1 for s in straight.others)

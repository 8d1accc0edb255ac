"""Regression tests for problems that failed in earlier versions."""

from __future__ import annotations

from typing import Any

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
def test_solution_for_which_all_terms_vanish(value: sp.Expr) -> None:
    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2)], [pibls.Dirichlet(u, value)])
    assert pibls.solve(problem).converged
    assert pibls.solve(problem, basis=pibls.Features(60, scale=6.0)).converged


def test_absolute_value_of_an_undeclared_symbol() -> None:
    """|x|.diff(x) contains re(x) and im(x) unless x is declared real."""
    u = sp.Function("u")(x)
    source = (sp.Abs(x - sp.Rational(1, 2)) ** sp.Rational(9, 2)).diff(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x), source)], [pibls.Initial(u, 0)])
    solution = pibls.solve(problem, tol=1e-5)
    assert solution(1.0) == pytest.approx(0.0, abs=1e-4)


def test_residuals_of_equations_without_linear_terms_are_scaled_by_their_terms() -> None:
    """At a solution the sum of the terms is zero; relative to that sum every residual was large."""
    u, v = sp.Function("u")(x, y), sp.Function("v")(x)
    ux, uy = u.diff(x), u.diff(y)
    square = pibls.Box({x: (-0.5, 0.5), y: (-0.5, 0.5)})
    surface = (1 + uy**2) * u.diff(x, 2) - 2 * ux * uy * u.diff(x, y) + (1 + ux**2) * u.diff(y, 2)
    scherk = sp.log(sp.cos(y) / sp.cos(x))
    bump = sp.exp((x**2 + y**2) / 2)
    ampere = (1 + x**2 + y**2) * sp.exp(x**2 + y**2)
    flow = sp.sin(2 * x) + x
    flux = ((1 + flow**2) * flow.diff(x)).diff(x) - flow
    problems = [
        (pibls.Problem(square, [surface], [pibls.Dirichlet(u, scherk)]), u, scherk),
        (
            pibls.Problem(
                square,
                [sp.Eq(u.diff(x, 2) * u.diff(y, 2) - u.diff(x, y) ** 2, ampere)],
                [pibls.Dirichlet(u, bump)],
            ),
            u,
            bump,
        ),
        (
            pibls.Problem(
                pibls.Interval(x, 0, 1),
                [sp.Eq(((1 + v**2) * v.diff(x)).diff(x) - v, flux)],
                [
                    pibls.Dirichlet(v, 0, on=sp.Eq(x, 0)),
                    pibls.Neumann(v, flow.diff(x).subs(x, 1), on=sp.Eq(x, 1)),
                ],
            ),
            v,
            flow,
        ),
    ]
    for problem, unknown, exact in problems:
        solution = pibls.solve(problem, tol=1e-8)
        X = problem.domain.interior(500, np.random.default_rng(1))
        true = sp.lambdify(problem.coordinates, exact)(*X.T)
        error = np.abs(solution[unknown](*X.T) - true).max()
        assert solution.converged
        assert error <= solution.error.max <= 1e-8 * np.abs(true).max() * 1.5


@pytest.mark.parametrize("seed", range(2))
def test_lotka_volterra_cycle(seed: int) -> None:
    """Lotka-Volterra equations over 1.5 periods: no initial guess for all times at once converges."""
    prey, predator = sp.Function("a")(t), sp.Function("b")(t)
    problem = pibls.Problem(
        pibls.Interval(t, 0, 10),
        [sp.Eq(prey.diff(t), prey - prey * predator), sp.Eq(predator.diff(t), prey * predator - predator)],
        [pibls.Initial(prey, 2), pibls.Initial(predator, 1)],
    )
    solution = pibls.solve(problem, tol=1e-6, seed=seed)
    times = np.linspace(0, 10, 200)
    a, b = solution[prey](times), solution[predator](times)
    assert solution.converged
    assert np.ptp(a - np.log(a) + b - np.log(b)) < 1e-6  # the invariant of the cycle
    assert a.max() - a.min() > 1


def test_initial_guess_where_constants_have_no_linearization() -> None:
    """At a constant the linearization of u'² vanishes, and u''/u' and log u' have none."""
    u, v = sp.Function("u")(x), sp.Function("v")(x)
    line, left = pibls.Interval(x, 0, 1), sp.Eq(x, 0)
    curve = x + x**2 / 2
    problems: list[tuple[list[Any], list[Any], Any]] = [
        ([sp.Eq(u.diff(x) ** 2, (1 + x) ** 2)], [pibls.Dirichlet(u, 0, on=left)], curve),
        ([sp.Eq(u.diff(x, 2) / u.diff(x), 1 / (1 + x))], [pibls.Dirichlet(u, curve)], curve),
        ([sp.Eq(sp.log(u.diff(x)) + u, x + sp.exp(x))], [pibls.Dirichlet(u, 1, on=left)], sp.exp(x)),
        ([sp.Eq((u.diff(x) ** 3).diff(x), 6 * (2 * x + 1) ** 2)], [pibls.Dirichlet(u, x**2 + x)], x**2 + x),
        (
            [u.diff(x, 2) + v**2 * u, v.diff(x)],
            [
                pibls.Dirichlet(u, sp.sin(2 * x), on=line),
                pibls.Condition(sp.Eq(u.diff(x), 2), on=left),
            ],
            sp.sin(2 * x),
        ),
    ]
    X = np.linspace(0, 1, 101)
    for equations, conditions, exact in problems:
        solution = pibls.solve(pibls.Problem(line, equations, conditions), tol=1e-8)
        assert solution.converged
        assert np.abs(solution[u](X) - sp.lambdify(x, exact)(X)).max() < 1e-7


def test_corners_of_a_plate_with_a_free_side() -> None:
    """Supported, clamped and free sides: an integer exponent was hit exactly, and LAPACK failed.

    Lévy's series gives w(1/2, 1) = 0.01123594.
    """
    w = sp.Function("w")(x, y)
    sides, foot, edge = sp.Or(sp.Eq(x, 0), sp.Eq(x, 1)), sp.Eq(y, 0), sp.Eq(y, 1)
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(w.diff(x, 4) + 2 * w.diff(x, 2, y, 2) + w.diff(y, 4), 1)],
        [
            pibls.Dirichlet(w, 0, on=sides),
            pibls.Condition(sp.Eq(w.diff(x, 2), 0), on=sides),
            pibls.Dirichlet(w, 0, on=foot),
            pibls.Condition(sp.Eq(w.diff(y), 0), on=foot),
            pibls.Condition(sp.Eq(w.diff(y, 2) + 0.3 * w.diff(x, 2), 0), on=edge),
            pibls.Condition(sp.Eq(w.diff(y, 3) + 1.7 * w.diff(y, 1, x, 2), 0), on=edge),
        ],
    )
    solution = pibls.solve(problem, tol=1e-4)
    assert solution.converged
    assert abs(solution(0.5, 1.0) - 0.01123594) < max(3e-4 * 0.01123594, solution.error.max)


@pytest.mark.parametrize(("order", "exact"), [(6, (1 - x) * sp.exp(x)), (8, x * (1 - x) * sp.exp(x))])
def test_high_order_derivatives_with_few_random_features(order: int, exact: sp.Expr) -> None:
    """The rounding error of high derivatives grows with the number of features: the smallest is best."""
    u = sp.Function("u")(x)
    equation = u.diff(x, order) - u - (exact.diff(x, order) - exact)
    ends = [pibls.Condition(sp.Eq(u.diff(x, k), exact.diff(x, k))) for k in range(2, order, 2)]
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(u, exact), *ends])
    solution = pibls.solve(problem, time_limit=20)
    X = np.linspace(0, 1, 41)
    assert solution.converged
    assert np.abs(solution(X) - sp.lambdify(x, exact)(X)).max() <= solution.error.max < 1e-10


def test_equation_without_derivatives_keeps_its_conditions() -> None:
    """All conditions were dropped as redundant initial conditions."""
    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u**2 - x - 1], [pibls.Dirichlet(u, 1, on=sp.Eq(x, 0))])
    solution = pibls.solve(problem, guess=1.0)
    assert solution.converged
    assert abs(solution(0.5) - 1.5**0.5) <= solution.error.max

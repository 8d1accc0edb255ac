"""Linearity is detected, also for linear equations written in a nonlinear form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.arrays import Array

x, y = sp.symbols("x y")
u = sp.Function("u")(x)
v = sp.Function("v")(x)
D = sp.Derivative
half = sp.Rational(1, 2)
line = pibls.Interval(x, 0, 1)
square = pibls.Box({x: (0, 1), y: (0, 1)})


def conductivity(x: Array) -> Array:
    return np.asarray(1.0 + x**2)


k = pibls.known(conductivity, x)

LINEAR: dict[str, Any] = {
    "plain": u,
    "zero": u * 0,
    "coefficient": sp.exp(x) * u,
    "number as a float": 0.3 * u,
    "power 1.0": u**1.0,
    "product rule": sp.diff(x * u, x),
    "product rule, unevaluated": D(x * u, x),
    "product rule, twice": D(x * D(x**2 * u, x), x),
    "radial Laplacian": D(x * u.diff(x), x) / x,
    "squares that cancel": (u + 1) ** 2 - u**2,
    "squares of a derivative that cancel": (u.diff(x) + 1) ** 2 - u.diff(x) ** 2,
    "cubes that cancel": (u + 1) ** 3 - u**3 - 3 * u**2,
    "decimals that cancel": (u + 0.5) ** 2 - u**2,
    "unevaluated sum": sp.Add(u**2, -(u**2), u, evaluate=False),
    "unevaluated quotient": sp.Mul(u, u, sp.Pow(u, -1), evaluate=False),
    "quotient": u**2 / u,
    "quotient of derivatives": D(u**2, x) / (2 * u),
    "polynomial division": (u**2 - 1) / (u - 1),
    "partial fractions": u / (u + 1) + 1 / (u + 1),
    "reciprocal twice": 1 / (1 / u),
    "common factor": (u.diff(x, 2) + u) * (u - x) / (u.diff(x, 2) + u),
    "Pythagoras": sp.sin(u) ** 2 + sp.cos(u) ** 2 + u,
    "Pythagoras, hyperbolic": sp.cosh(u) ** 2 - sp.sinh(u) ** 2 + u,
    "Pythagoras as a coefficient": (sp.sin(u) ** 2 + sp.cos(u) ** 2) * u.diff(x),
    "double angle": 2 * sp.cos(u) ** 2 - 1 - sp.cos(2 * u) + u,
    "double angle in decimals": 2 * sp.cos(0.3 * u) ** 2 - 1 - sp.cos(0.6 * u) + u,
    "tangent": sp.tan(u) * sp.cos(u) - sp.sin(u) + u,
    "addition theorem": sp.sin(u + x) - sp.sin(u) * sp.cos(x) - sp.cos(u) * sp.sin(x) + u,
    "exponentials of the hyperbolic sine": sp.exp(u) - sp.exp(-u) - 2 * sp.sinh(u) + u,
    "log of exp": sp.log(sp.exp(u)),
    "log of a product": sp.log(sp.exp(u) * sp.exp(2 * x)),
    "exp times exp": sp.exp(u) * sp.exp(-u) * u,
    "root squared": (sp.sqrt(u) + 1) ** 2 - 2 * sp.sqrt(u),
    "root in the coordinate": sp.sqrt(1 - sp.sin(x) ** 2) * u,
    "switch in the coordinate": sp.Piecewise((u, x < half), (2 * u.diff(x), True)),
    "kinks in the coordinate": sp.Abs(x - half) * u
    + sp.Max(x, half) * u.diff(x)
    + sp.Heaviside(x - half) * u,
    "Python coefficient": k * u + k * u.diff(x),
    "Python coefficient, disguised": (k + u) ** 2 - u**2 - k**2,
    "fast decay": sp.exp(-1000 * x) * u,
    "tiny coefficient": sp.Float("1e-30") * u,
}

NONLINEAR: dict[str, Any] = {
    "square": u**2,
    "square as a float": u**2.0,
    "fractional power": u**1.5,
    "root": sp.sqrt(u),
    "sine": sp.sin(u),
    "exponential": sp.exp(u),
    "exponential of a derivative": sp.exp(u.diff(x)),
    "logarithm": sp.log(u),
    "power of the coordinate": x**u,
    "to the power of the coordinate": u**x,
    "advection": u * u.diff(x),
    "conservation form": D(u**2, x),
    "quasilinear": D((1 + u) * u.diff(x), x),
    "log derivative": D(sp.log(u), x),
    "quotient": u.diff(x) / (1 + u),
    "squares that nearly cancel": (u + 1) ** 2 - sp.Rational(999, 1000) * u**2,
    "half of Pythagoras": sp.sin(u) ** 2,
    "double angle, wrong sign": 2 * sp.cos(u) ** 2 - 1 + sp.cos(2 * u) + u,
    "root of a square": sp.sqrt(u**2),
    "root of a shifted square": sp.sqrt(u**2 + 2 * u + 1),
    "root of a square with its kink far away": sp.sqrt(u**2 - 600 * u + 90000),
    "absolute value": sp.Abs(u),
    "absolute value of a derivative": sp.Abs(u.diff(x)) + u,
    "maximum": sp.Max(u, 0),
    "minimum with its kink far away": sp.Min(u, 500),
    "switch in the unknown": sp.Piecewise((u, u < 0), (2 * u, True)),
    "switch in the unknown, far away": sp.Piecewise((u, u < 500), (2 * u, True)),
    "jump in the unknown": sp.Piecewise((1, u > 0), (2, True)),
    "nonlinear beyond some x": sp.Piecewise((u, x < 5), (u**2, True)),
    "nonlinear where a switch is on": sp.Heaviside(x - 5) * u**2,
    "nonlinear where a ramp is positive": sp.Max(0, x - 5) * u**3,
    "nonlinear in a thin layer": sp.exp(-1000 * x) * u**2 + u,
    "inverse function on one branch": sp.asin(sp.sin(u)),
    "inverse cosine hyperbolic": sp.acosh(sp.cosh(u)),
    "arctangent": sp.atan(u),
    "tiny coefficient": sp.Rational(1, 10**6) * u**3,
    "Boltzmann's constant": sp.Float("1.38e-23") * u**2,
    "tiny and huge coefficients": 10**30 * u + u**2,
    "Python coefficient": k * u**2,
    "Python coefficient to a power": k**u,
}


def problem_with(expression: Any) -> pibls.Problem:
    return pibls.Problem(line, [sp.Eq(u.diff(x, 2) + expression, sp.cos(x))], [pibls.Dirichlet(u, 1)])


@pytest.mark.parametrize("name", LINEAR)
def test_linear(name: str) -> None:
    assert problem_with(LINEAR[name]).is_linear


@pytest.mark.parametrize("name", NONLINEAR)
def test_nonlinear(name: str) -> None:
    assert not problem_with(NONLINEAR[name]).is_linear


@pytest.mark.parametrize(
    ("coupling", "linear"),
    [
        (u + v, True),
        (u * v, False),
        ((u + v) ** 2 - (u - v) ** 2 - 4 * u * v, True),
        ((u + v) ** 2 - u**2 - v**2, False),
        (u * v / v, True),
        (u * v.diff(x) + v * u.diff(x) - D(u * v, x), True),
        (sp.sin(u + v) - sp.sin(u) * sp.cos(v) - sp.cos(u) * sp.sin(v), True),
        (sp.sin(u + v) - sp.sin(u) * sp.cos(v), False),
        (sp.Max(u, v), False),
        (sp.exp(u) * sp.exp(v) / sp.exp(u + v), True),
    ],
    ids=str,
)
def test_linearity_of_systems(coupling: Any, linear: bool) -> None:
    problem = pibls.Problem(
        line,
        [u.diff(x, 2) + coupling - 1, v.diff(x, 2) - u],
        [pibls.Dirichlet(u, 0), pibls.Dirichlet(v, 0)],
    )
    assert problem.is_linear is linear
    forms = [statement.form for statement in problem.statements]
    assert [form.is_linear for form in forms] == [linear, True, True, True]


@pytest.mark.parametrize(
    ("condition", "linear"),
    [
        (pibls.Condition(u + u.diff(x) - 1), True),
        (pibls.Condition(pibls.dn(u) + x * u), True),
        (pibls.Condition(u * pibls.dn(u) / u), True),
        (pibls.Condition(pibls.dn(u**2)), False),
        (pibls.Condition(pibls.dn(u) + u**4), False),
        (pibls.Condition(u * u.diff(x) - 1, on=sp.Eq(x, 1)), False),
        (pibls.Condition(sp.Eq(u**2, 2), on={x: 1}), False),
        (pibls.Initial(u**2, 1), False),
        (pibls.Robin(u, 1, x, 2), True),
        (pibls.Neumann(u, lambda x: x**2), True),
    ],
    ids=lambda value: getattr(value, "label", str(value)),
)
def test_linearity_depends_on_conditions(condition: Any, linear: bool) -> None:
    """The equation is linear; the problem is only if its conditions are."""
    conditions = [condition, pibls.Dirichlet(u, 0, on=sp.Eq(x, 0))]
    problem = pibls.Problem(line, [u.diff(x, 2) - 1], conditions)
    assert problem.statements[0].form.is_linear
    assert problem.is_linear is linear


def test_linearity_in_two_dimensions() -> None:
    w = sp.Function("w")(x, y)
    product = sp.diff(x * y * w, x, y) - x * y * w.diff(x, y)
    for term, linear in ((product, True), (w.diff(x) * w.diff(y), False), (w.diff(x) ** 2 / w.diff(x), True)):
        equation = w.diff(x, 2) + w.diff(y, 2) + term
        assert pibls.Problem(square, [equation], [pibls.Dirichlet(w, 0)]).is_linear is linear


@pytest.mark.parametrize("term", [sp.floor(u), sp.Mod(u, 2), sp.sign(u), sp.Heaviside(u)], ids=str)
def test_terms_without_a_derivative_are_rejected(term: Any) -> None:
    with pytest.raises(pibls.ProblemError, match="terms that can be differentiated by the unknowns"):
        problem_with(term)


def test_parts_of_a_form() -> None:
    """r = u'' + x u + sin u' - 3: two derivatives with coefficients, one in the rest."""
    form = problem_with(x * u + sp.sin(u.diff(x)) - 3 + sp.cos(x)).statements[0].form
    (coordinate,) = form.variables.coordinates
    assert {derivative.alpha: a for derivative, a in form.linear} == {(2,): 1, (0,): coordinate}
    ((derivative, symbol),) = form.nonlinear
    assert derivative.alpha == (1,)
    assert form.rest == sp.sin(symbol) - 3


EXACT = sp.sin(3 * x) + x + 2

Operator = Callable[[Any], Any]

SOLVED: dict[str, tuple[Operator, bool]] = {
    "squares that cancel": (lambda f: f.diff(x, 2) - (f + 1) ** 2 + f**2, True),
    "polynomial division": (lambda f: f.diff(x, 2) + (f**2 - 1) / (f - 1), True),
    "quotient, singular at zero": (lambda f: f.diff(x, 2) + (f**2 + x * f) / f, True),
    "double angle": (lambda f: f.diff(x, 2) + 2 * sp.cos(f) ** 2 - sp.cos(2 * f) - f, True),
    "unevaluated product rule": (lambda f: D((1 + x) * D(f, x), x) - D(x * f, x) / 2, True),
    "Python coefficient": (lambda f: f.diff(x, 2) - (k + f) ** 2 + f**2 + k**2, True),
    "absolute value": (lambda f: f.diff(x, 2) + sp.Abs(f - half * 5), False),
    "maximum": (lambda f: f.diff(x, 2) - sp.Max(f, half * 5), False),
    "nonlinear beyond some x": (lambda f: f.diff(x, 2) - sp.Piecewise((f, x < half), (f**2, True)), False),
}


@pytest.mark.parametrize("name", SOLVED)
def test_solution_agrees_with_the_exact_one(name: str) -> None:
    """A wrong classification would drop or freeze a term, with an error of the size of the solution."""
    operator, linear = SOLVED[name]
    problem = pibls.Problem(line, [operator(u) - operator(EXACT).doit()], [pibls.Dirichlet(u, EXACT)])
    assert problem.is_linear is linear
    solution = pibls.solve(problem)
    at = np.linspace(0.0, 1.0, 101)
    assert np.abs(solution(at) - sp.lambdify(x, EXACT)(at)).max() < 1e-9

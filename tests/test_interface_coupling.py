"""(k u')' + a T = f with T one of u, u', w, w': across an interface k u' alone is the flux.

The references are exact in each layer: matrix exponentials on a line and, times sin(πy), on a box;
manufactured solutions with piecewise sources around a disc and in evolutions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Box, Dirichlet, Disk, Initial, Interval, Problem, div, grad
from pibls.arrays import Array
from tests.layered_solutions import LayeredSolution

x, y, t = sp.symbols("x y t")
TERMS = ("u", "u'", "w", "w'")
JUMPING_COEFFICIENTS = ("k", "a", "both")
SPELLINGS = ("derivative", "div")
INTERFACE = sp.Rational(2, 5)
COMBINATIONS = [
    (term, jumping, spelling) for term in TERMS for jumping in JUMPING_COEFFICIENTS for spelling in SPELLINGS
]
ROUNDING = 2e-12  # relative to max|u|: rounding of references and solutions


def _values(jumping: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """k and a on the two sides."""
    return (2, 5) if jumping != "a" else (2, 2), (3, -4) if jumping != "k" else (3, 3)


def _step(pair: tuple[Any, Any], inside: Any) -> Any:
    return sp.Piecewise((pair[0], inside), (pair[1], True)) if pair[0] != pair[1] else sp.sympify(pair[0])


def _flux(k: Any, u: Any, spelling: str, space: tuple[Any, ...] = (x,)) -> Any:
    if spelling == "div":
        return div(k * grad(u))
    return sp.Add(*(sp.Derivative(k * u.diff(c), c) for c in space))


def _term(term: str, u: Any, w: Any) -> Any:
    of = u if term[0] == "u" else w
    return of.diff(x) if term.endswith("'") else of


def _system(k: float, a: float, term: str, wave: float = 0.0) -> tuple[Array, Array]:
    """The state (u, k u', w, w') of (k u')' + a T - u = -1 and w'' - u/2 = -2, less k wave² u and wave² w."""
    A = np.zeros((4, 4))
    A[0, 1], A[1, 0], A[2, 3], A[3, 0] = 1 / k, 1 + k * wave**2, 1.0, 0.5
    A[3, 2] = wave**2
    row = {"u": (0, 1.0), "u'": (1, 1 / k), "w": (2, 1.0), "w'": (3, 1.0)}[term]
    A[1, row[0]] -= a * row[1]
    return A, np.array([0.0, -1.0, 0.0, -2.0])


def _reference(ks: tuple[int, int], values: tuple[int, int], term: str, wave: float = 0.0) -> LayeredSolution:
    ends = float(INTERFACE), 1.0
    layers = [(end, *_system(k, a, term, wave)) for end, k, a in zip(ends, ks, values, strict=True)]
    return LayeredSolution.solve(layers, {0: 0.0, 2: 0.0}, {0: 0.0, 2: 0.0})


def check(solution: Any, exact: dict[Any, Array], at: tuple[Array, ...], tol: float) -> None:
    """Assert that the errors are below the tolerance and below the estimates."""
    assert solution.converged, solution.message
    for unknown, values in exact.items():
        size = float(np.abs(values).max())
        error = float(np.abs(solution[unknown](*at) - values).max())
        assert error <= tol * size, (unknown, error)
        assert error <= solution[unknown].error.max + ROUNDING * size, (unknown, error)


def check_on_a_line(term: str, jumping: str, spelling: str) -> None:
    ks, values = _values(jumping)
    u, w = sp.Function("u")(x), sp.Function("w")(x)
    k, a = (_step(pair, x < INTERFACE) for pair in (ks, values))
    equations = [
        sp.Eq(_flux(k, u, spelling) + a * _term(term, u, w) - u, -1),
        sp.Eq(w.diff(x, 2) - u / 2, -2),
    ]
    solution = pibls.solve(Problem(Interval(x, 0, 1), equations, [Dirichlet(u, 0), Dirichlet(w, 0)]))
    X = np.linspace(0, 1, 41)
    exact = _reference(ks, values, term)(X)
    check(solution, {u: exact[0], w: exact[2]}, (X,), 1e-10)
    below, above = (float(solution.evaluate(u.diff(x), float(INTERFACE) + e)) for e in (-1e-13, 1e-13))
    assert ks[0] * below == pytest.approx(ks[1] * above, abs=1e-8)


def check_on_a_box(term: str, jumping: str, spelling: str) -> None:
    """All functions are sin(πy) times a function of x, so that the reference is that of a line."""
    ks, values = _values(jumping)
    u, w, across = sp.Function("u")(x, y), sp.Function("w")(x, y), sp.sin(sp.pi * y)
    k, a = (_step(pair, x < INTERFACE) for pair in (ks, values))
    equations = [
        sp.Eq(_flux(k, u, spelling, (x, y)) + a * _term(term, u, w) - u, -across),
        sp.Eq(w.diff(x, 2) + w.diff(y, 2) - u / 2, -2 * across),
    ]
    square = Box({x: (0, 1), y: (0, 1)})
    solution = pibls.solve(Problem(square, equations, [Dirichlet(u, 0), Dirichlet(w, 0)]), tol=1e-7)
    X, Y = np.random.default_rng(3).random((2, 60))
    exact = _reference(ks, values, term, np.pi)(X) * np.sin(np.pi * Y)
    check(solution, {u: exact[0], w: exact[2]}, (X, Y), 1e-7)


def check_around_a_disc(term: str, jumping: str, spelling: str) -> None:
    """k u_r is continuous on the circle; w is smooth across it."""
    ks, values = _values(jumping)
    u, w = sp.Function("u")(x, y), sp.Function("w")(x, y)
    core = Disk((x, y), (0, 0), sp.Rational(1, 2))
    k, a = (_step(pair, core.inside) for pair in (ks, values))
    square = x**2 + y**2 - sp.Rational(1, 4)  # zero on the circle
    parts = [1 + sp.sin(square * (1 + x / 2)) / each for each in ks]
    smooth = sp.sin(x + 2 * y)
    sources = [
        each * (p.diff(x, 2) + p.diff(y, 2)) + b * _term(term, p, smooth) - p
        for each, b, p in zip(ks, values, parts, strict=True)
    ]
    equations = [
        sp.Eq(
            _flux(k, u, spelling, (x, y)) + a * _term(term, u, w) - u,
            _step((sources[0], sources[1]), core.inside),
        ),
        sp.Eq(w.diff(x, 2) + w.diff(y, 2), smooth.diff(x, 2) + smooth.diff(y, 2)),
    ]
    conditions = [Dirichlet(u, parts[1]), Dirichlet(w, smooth)]
    solution = pibls.solve(Problem(Disk((x, y), (0, 0), 1), equations, conditions), tol=1e-6)
    X, Y = np.random.default_rng(3).uniform(-0.7, 0.7, (2, 200))
    inside = X**2 + Y**2 < 0.25
    below, above = (sp.lambdify((x, y), p, "numpy")(X, Y) for p in parts)
    check(solution, {u: np.where(inside, below, above), w: np.sin(X + 2 * Y)}, (X, Y), 1e-6)


def check_evolution(term: str, jumping: str, spelling: str) -> None:
    """u = e^(-t) U(x) with k U' continuous, w = e^(-t) W(x) smooth."""
    ks, values = _values(jumping)
    u, w = sp.Function("u")(x, t), sp.Function("w")(x, t)
    k, a = (_step(pair, x < INTERFACE) for pair in (ks, values))
    decay, smooth = sp.exp(-t), sp.cos(2 * x)
    parts = [1 + sp.sin(2 * (x - INTERFACE)) / each + (x - INTERFACE) ** 2 * (1 + each) for each in ks]
    sources = [
        decay * (-p - each * p.diff(x, 2) - b * _term(term, p, smooth))
        for each, b, p in zip(ks, values, parts, strict=True)
    ]
    equations = [
        sp.Eq(
            u.diff(t),
            _flux(k, u, spelling) + a * _term(term, u, w) + _step((sources[0], sources[1]), x < INTERFACE),
        ),
        sp.Eq(w.diff(t), w.diff(x, 2) + decay * (-smooth - smooth.diff(x, 2))),
    ]
    conditions = [
        Initial(u, _step((parts[0], parts[1]), x < INTERFACE)),
        Initial(w, smooth),
        Dirichlet(u, decay * parts[0].subs(x, 0), on=sp.Eq(x, 0)),
        Dirichlet(u, decay * parts[1].subs(x, 1), on=sp.Eq(x, 1)),
        Dirichlet(w, decay * smooth),
    ]
    solution = pibls.solve(Problem(Interval(x, 0, 1).during(t, 0, 1), equations, conditions), tol=1e-8)
    X, T = np.random.default_rng(3).random((2, 100))
    below, above = (sp.lambdify(x, p, "numpy")(X) for p in parts)
    exact = np.exp(-T) * np.where(float(INTERFACE) > X, below, above)
    check(solution, {u: exact, w: np.exp(-T) * np.cos(2 * X)}, (X, T), 1e-8)


GEOMETRIES = {"box": check_on_a_box, "disc": check_around_a_disc, "evolution": check_evolution}
EXAMPLES = [("w'", "both", "div"), ("w'", "a", "derivative")]


@pytest.mark.parametrize(("term", "jumping", "spelling"), COMBINATIONS)
def test_line(term: str, jumping: str, spelling: str) -> None:
    check_on_a_line(term, jumping, spelling)


@pytest.mark.parametrize(
    ("where", "term", "jumping", "spelling"),
    [("box", *EXAMPLES[0]), ("disc", *EXAMPLES[1]), ("evolution", *EXAMPLES[0]), ("evolution", *EXAMPLES[1])],
)
def test_other_geometries(where: str, term: str, jumping: str, spelling: str) -> None:
    GEOMETRIES[where](term, jumping, spelling)


@pytest.mark.parametrize("where", GEOMETRIES)
@pytest.mark.parametrize(("term", "jumping", "spelling"), COMBINATIONS)
def test_all_combinations_in_other_geometries(where: str, term: str, jumping: str, spelling: str) -> None:
    GEOMETRIES[where](term, jumping, spelling)


def test_constant_flux_and_jumping_coefficient() -> None:
    """(2u')' + a w' with a = 1 | 6: u' jumped by -0.47/2."""
    u, w = sp.Function("u")(x), sp.Function("w")(x)
    a = sp.Piecewise((1, x < sp.Rational(1, 4)), (6, True))
    equations = [sp.Eq(sp.Derivative(2 * u.diff(x), x) + a * w.diff(x) - u, -1), sp.Eq(w.diff(x, 2), -1)]
    solution = pibls.solve(Problem(Interval(x, 0, 1), equations, [Dirichlet(u, 0), Dirichlet(w, 0)]))
    layers = []
    for end, value in ((0.25, 1.0), (1.0, 6.0)):
        A = np.zeros((4, 4))
        A[0, 1], A[1, 0], A[1, 3], A[2, 3] = 0.5, 1.0, -value, 1.0
        layers.append((end, A, np.array([0.0, -1.0, 0.0, -1.0])))
    X = np.linspace(0, 1, 41)
    exact = LayeredSolution.solve(layers, {0: 0.0, 2: 0.0}, {0: 0.0, 2: 0.0})(X)
    check(solution, {u: exact[0], w: exact[2]}, (X,), 1e-10)


def test_flux_contains_only_terms_under_the_outer_derivative() -> None:
    u, w = sp.Function("u")(x), sp.Function("w")(x)
    k, a = (_step(pair, x < INTERFACE) for pair in ((1, 3), (2, 7)))
    ends = [Dirichlet(u, 0), Dirichlet(w, 0)]
    for flux in (sp.Derivative(k * u.diff(x), x), div(k * grad(u))):
        problem = Problem(Interval(x, 0, 1), [flux + a * w.diff(x) - u + 1, w.diff(x, 2) + 1], ends)
        (flux_form,) = problem.statements[0].form.fluxes
        assert [(j.unknown, j.alpha) for j in flux_form.form.derivatives] == [(0, (1,))]
    both = sp.Derivative(k * u.diff(x) + a * w.diff(x), x)
    problem = Problem(Interval(x, 0, 1), [both - u + 1, w.diff(x, 2) + 1], ends)
    (flux_form,) = problem.statements[0].form.fluxes
    assert {(j.unknown, j.alpha) for j in flux_form.form.derivatives} == {(0, (1,)), (1, (1,))}

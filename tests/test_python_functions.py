"""Python functions are called with float arrays, at points of the closed domain only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.problem.forms.data_functions import project_into_domain

x, y, t = sp.symbols("x y t")
v, w, p = sp.Function("v")(x), sp.Function("w")(x, y), sp.Function("p")(x, t)
q = sp.Function("q")(x, y, t)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
DISK = pibls.Disk((x, y), (0, 0), 1)
PLATE = SQUARE - pibls.Disk((x, y), (0.5, 0.5), 0.2)
CORNER = pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
ROUNDING = 4 * np.finfo(float).eps

Distance = Callable[..., Any]


def outside_square(a: Any, b: Any) -> Any:
    return np.max([-a, a - 1, -b, b - 1], axis=0)


DOMAINS: dict[str, tuple[Any, Distance]] = {
    "box": (SQUARE, outside_square),
    "disk": (DISK, lambda a, b: np.hypot(a, b) - 1),
    "csg": (PLATE, lambda a, b: np.maximum(outside_square(a, b), 0.2 - np.hypot(a - 0.5, b - 0.5))),
    "polygon": (CORNER, lambda a, b: np.max([-a, a - 2, -b, b - 2, np.minimum(a - 1, b - 1)], axis=0)),
}
"""Domains with the distance of a point from them, at most zero inside and on the boundary."""


def guarded(outside: Distance, f: Callable[..., Any], *, timed: bool = False) -> Callable[..., Any]:
    """Return f with assertions that it is called with float arrays at points of the closed domain."""

    def checked(*columns: Any) -> Any:
        assert all(type(c) is np.ndarray and c.dtype == np.float64 and c.ndim == 1 for c in columns)
        space = columns[:-1] if timed else columns
        assert np.all(outside(*space) <= ROUNDING), np.max(outside(*space))
        assert not timed or np.all((columns[-1] >= 0) & (columns[-1] <= 1))
        return f(*columns)

    return checked


def outside_unit_interval(a: Any) -> Any:
    return np.maximum(-a, a - 1)


def solve_silently(problem: pibls.Problem, **more: Any) -> pibls.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, **{"tol": 1e-4, **more})
    assert solution.summary()
    assert solution._repr_html_()
    return solution


def test_functions_on_an_interval() -> None:
    source, factor = guarded(outside_unit_interval, np.exp), guarded(outside_unit_interval, lambda a: 1 + a)
    equation = sp.Eq(v.diff(x, 2) - pibls.known(factor, x) * v, pibls.known(source, x))
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [equation], [pibls.Robin(v, guarded(outside_unit_interval, np.cos), 1, 1)]
    )
    solution = solve_silently(problem)
    assert solution.converged
    assert np.isfinite(float(solution.integral(pibls.known(source, x) * v)))


def test_functions_in_an_initial_value_problem_with_a_guess() -> None:
    rate = guarded(outside_unit_interval, lambda a: 1 + a**2)
    equation = sp.Eq(v.diff(x), -pibls.known(rate, x) * v**2)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [equation], [pibls.Initial(v, guarded(outside_unit_interval, np.cos))]
    )
    solution = solve_silently(problem, guess=guarded(outside_unit_interval, np.cos))
    assert solution.converged
    assert abs(float(solution(1.0)) - 1 / (1 + 4 / 3)) < 1e-4


def test_functions_in_a_nonlinear_problem_with_a_guess() -> None:
    equation = sp.Eq(v.diff(x, 2), sp.exp(v) * pibls.known(guarded(outside_unit_interval, np.cos), x))
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(v, 0)])
    assert solve_silently(problem, guess=guarded(outside_unit_interval, lambda a: a * (1 - a))).converged


def test_functions_in_periodic_problems() -> None:
    wave = guarded(outside_unit_interval, lambda a: np.sin(2 * np.pi * a))
    steady = [sp.Eq(v.diff(x, 2) - v, pibls.known(wave, x))]
    assert solve_silently(pibls.Problem(pibls.Interval(x, 0, 1), steady, [pibls.Periodic(v, x)])).converged
    timed = guarded(outside_unit_interval, lambda a, s: np.sin(2 * np.pi * a) * s, timed=True)
    initial = guarded(outside_unit_interval, lambda a, s: np.cos(2 * np.pi * a), timed=True)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(p.diff(t), p.diff(x, 2) / 100 + pibls.known(timed, x, t))],
        [pibls.Periodic(p, x), pibls.Initial(p, initial)],
    )
    assert solve_silently(problem).converged


@pytest.mark.parametrize("condition", [pibls.Dirichlet, pibls.Neumann, "robin"])
def test_functions_in_an_evolution_on_an_interval(condition: Any) -> None:
    def given(f: Callable[..., Any]) -> Callable[..., Any]:
        return guarded(outside_unit_interval, f, timed=True)

    value = given(lambda a, s: s * (1 - 2 * a))
    side = pibls.Robin(p, value, 1, 1) if condition == "robin" else condition(p, value)
    equation = sp.Eq(
        p.diff(t),
        pibls.known(given(lambda a, s: 0.1 + 0.1 * a), x, t) * p.diff(x, 2)
        + pibls.known(given(lambda a, s: a * s), x, t),
    )
    conditions = [side, pibls.Initial(p, given(lambda a, s: np.sin(np.pi * a) ** 2))]
    solve_silently(pibls.Problem(pibls.Interval(x, 0, 1).during(t, 0, 1), [equation], conditions))


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("kind", ["robin", "factors"])
def test_functions_on_plane_domains(name: str, kind: str) -> None:
    domain, outside = DOMAINS[name]
    source = pibls.known(guarded(outside, lambda a, b: 1 + a**2), x, y)
    laplacian = w.diff(x, 2) + w.diff(y, 2)
    if kind == "factors":
        laplacian = pibls.known(guarded(outside, lambda a, b: 2 + a * b), x, y) * laplacian - source * w
    edge = guarded(outside, lambda a, b: np.cos(a) + b)
    condition = pibls.Robin(w, edge, 1, 1) if kind == "robin" else pibls.Dirichlet(w, edge)
    solve_silently(pibls.Problem(domain, [sp.Eq(laplacian, -source)], [condition]), tol=1e-2, time_limit=1)


@pytest.mark.parametrize("name", DOMAINS)
def test_functions_in_evolutions_on_plane_domains(name: str) -> None:
    domain, outside = DOMAINS[name]

    def given(f: Callable[..., Any]) -> Callable[..., Any]:
        return guarded(outside, f, timed=True)

    source = pibls.known(given(lambda a, b, s: np.exp(-s) * (1 + a * b)), x, y, t)
    equation = sp.Eq(q.diff(t), q.diff(x, 2) + q.diff(y, 2) + source)
    edge, initial = given(lambda a, b, s: np.cos(a) * np.exp(-s)), given(lambda a, b, s: np.cos(a))
    conditions = [pibls.Dirichlet(q, edge), pibls.Initial(q, initial)]
    solve_silently(pibls.Problem(domain.during(t, 0, 1), [equation], conditions), tol=1e-2, time_limit=1)


def test_functions_in_problems_with_interfaces() -> None:
    inside = sp.Piecewise((1, (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.04), (5, True))
    for k in (sp.Piecewise((1, x < 0.5), (5, True)), inside):
        source = pibls.known(guarded(outside_square, lambda a, b: 1 + a**2), x, y)
        problem = pibls.Problem(
            SQUARE, [sp.Eq(pibls.div(k * pibls.grad(w)), -source)], [pibls.Dirichlet(w, 0)]
        )
        solve_silently(problem, tol=1e-2, time_limit=1)


def test_exception_of_the_function_is_reported() -> None:
    def table(a: Any) -> Any:
        if np.any(a > 0.5):
            raise ValueError("one of the requested xi is out of bounds in dimension 0")
        return a

    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(v.diff(x, 2), pibls.known(table, x))], [pibls.Dirichlet(v, 0)]
    )
    with pytest.raises(
        pibls.ProblemError,
        match=r"table.*an exception that this function raised: ValueError: one of the requested xi",
    ) as caught:
        pibls.solve(problem)
    assert isinstance(caught.value.__cause__, ValueError)


def test_sympy_never_evaluates_functions() -> None:
    def gamma(a: Any) -> Any:
        raise AssertionError("called")

    applied = pibls.known(gamma, x)
    assert applied.subs(x, 2.5).evalf() == applied.subs(x, 2.5)
    assert not applied.subs(x, 2.5).is_Float
    assert pibls.known(gamma, x) == applied


@pytest.mark.parametrize("name", ["disk", "csg", "polygon"])
def test_points_outside_are_projected_to_the_boundary(name: str) -> None:
    domain, outside = DOMAINS[name]
    X = np.random.default_rng(0).uniform(-1.0, 2.5, (500, 2))
    projected = project_into_domain(domain, X)
    assert np.all(outside(*projected.T) <= ROUNDING)
    inside = np.asarray(domain.contains(X))
    assert np.array_equal(projected[inside], X[inside])
    edge = domain.boundary(200, np.random.default_rng(1)).points
    assert np.abs(project_into_domain(domain, edge) - edge).max() < 1e-15


@pytest.mark.parametrize(
    ("breaks", "text"),
    [
        ([1.0], r"known\(breaks\).*mapping"),
        ({y: [1.0]}, r"known\(breaks\).*coordinates that the function depends on \(x\)"),
        ({x: ["a"]}, r"known\(breaks\)\[x\].*finite numbers"),
        ({x: [np.nan]}, r"known\(breaks\)\[x\].*finite numbers"),
    ],
)
def test_invalid_breaks_are_rejected(breaks: Any, text: str) -> None:
    with pytest.raises(pibls.ProblemError, match=text):
        pibls.known(np.sin, x, breaks=breaks)


def test_breaks_are_planes_of_the_problem() -> None:
    def heater(s: Any) -> Any:
        return np.where((s > 0.2) & (s < 0.7), 1.0, 0.0)

    breaks = {x: [0.2, 0.7, 1.0, 5.0]}
    equation = sp.Eq(v.diff(x), pibls.known(heater, x, breaks=breaks) - v)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Initial(v, 0)])
    assert [(b.axis, b.level) for b in problem.breaks.planes] == [(0, 0.2), (0, 0.7)]
    solution = pibls.solve(problem)
    assert solution.converged
    assert abs(float(solution(1.0)) - (np.exp(-0.3) - np.exp(-0.8))) < 1e-12

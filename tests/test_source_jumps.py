"""Jumps [∂ₙ^(m-1) u] due to a source on a plane: exact solutions for many forms of the equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Box, Condition, Dirichlet, Initial, Interval, Neumann, Problem, div, grad

x, y, t = sp.symbols("x y t")
POSITION = sp.Rational(2, 5)
DELTA = sp.DiracDelta(x - POSITION)
KINK = sp.Abs(x - POSITION) / 2  # its derivative jumps by 1
BELOW, ABOVE = -(x - POSITION) / 2, (x - POSITION) / 2
JUMPING = sp.Piecewise((1, x < POSITION), (7, True))


def _sides(operator: Callable[[Any], Any], smooth: Any) -> Any:
    """Return an operator applied to smooth + |x - a|/2 on both sides of the plane."""
    low, high = (sp.expand(operator(smooth + part)).doit() for part in (BELOW, ABOVE))
    return sp.Piecewise((low, x < POSITION), (high, True))


EXPANDED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "drift": (lambda u: u.diff(x, 2) + 3 * u.diff(x), 1),
    "drift that vanishes at the plane": (lambda u: u.diff(x, 2) + (x - POSITION) * u.diff(x), 1),
    "factor": (lambda u: -2 * u.diff(x, 2) + u, -2),
    "conductivity, expanded": (lambda u: ((1 + x) * u.diff(x)).diff(x), 1 + POSITION),
    "squared derivative": (lambda u: u.diff(x, 2) + u.diff(x) ** 2, 1),
}
WITH_FLUX: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    # the equation as written, the same off the plane, and the jump of the flux
    "flux": (lambda u: div(2 * grad(u)), lambda u: 2 * u.diff(x, 2), 2),
    "negative flux": (lambda u: -div(2 * grad(u)) + u, lambda u: -2 * u.diff(x, 2) + u, -2),
    "multiple of a flux": (lambda u: -3 * div((1 + x) * grad(u)),
                             lambda u: -3 * ((1 + x) * u.diff(x)).diff(x), -3 * (1 + POSITION)),
    "variable factor": (lambda u: sp.exp(x) * div((1 + x) * grad(u)) + u.diff(x),
                             lambda u: sp.exp(x) * ((1 + x) * u.diff(x)).diff(x) + u.diff(x),
                             sp.exp(POSITION) * (1 + POSITION)),
    "unevaluated derivative": (lambda u: -sp.Derivative(5 * u.diff(x), x) - u,
                                  lambda u: -5 * u.diff(x, 2) - u, -5),
    "flux and expanded term": (lambda u: u.diff(x, 2) + div(2 * grad(u)), lambda u: 3 * u.diff(x, 2), 3),
}  # fmt: skip


def _check_solution(problem: Problem, exact: dict[Any, Any], tol: float = 1e-9) -> None:
    solution = pibls.solve(problem, tol=tol)
    assert solution.converged, solution.message
    low, high = np.array([[float(v) for v in pair] for pair in problem.domain.bounds]).T
    X = low + (high - low) * np.random.default_rng(5).random((200, len(low)))
    for unknown, e in exact.items():
        true = np.array([float(e.subs(dict(zip(problem.coordinates, p, strict=True)))) for p in X])
        error = np.abs(solution[unknown](*X.T) - true).max()
        assert error <= max(3 * tol * np.abs(true).max(), solution[unknown].error.max), unknown


@pytest.mark.parametrize("name", [*EXPANDED, *WITH_FLUX])
def test_derivative_jumps_at_the_source(name: str) -> None:
    u = sp.Function("u")(x)
    smooth = sp.sin(2 * x)
    if name in EXPANDED:
        operator, jump = EXPANDED[name]
        expanded = operator
    else:
        operator, expanded, jump = WITH_FLUX[name]
    equation = sp.Eq(operator(u), _sides(expanded, smooth) + jump * DELTA)
    exact = smooth + KINK
    ends = [Dirichlet(u, exact.subs(x, end), on=sp.Eq(x, end)) for end in (0, 1)]
    _check_solution(Problem(Interval(x, 0, 1), [equation], ends), {u: exact})


@pytest.mark.parametrize(
    "form", ["plain", "with tension", "unevaluated stiffness", "negative stiffness", "unevaluated tension"]
)
def test_third_derivative_jumps_at_a_load_on_a_beam(form: str) -> None:
    w = sp.Function("w")(x)
    smooth = sp.cos(2 * x)
    kink = sp.Abs(x - POSITION) ** 3 / 12  # its third derivative jumps by 1
    parts = [smooth + sign * (x - POSITION) ** 3 / 12 for sign in (-1, 1)]
    forms: dict[str, tuple[Any, Callable[[Any], Any], int]] = {
        "plain": (w.diff(x, 4) + w, lambda e: e.diff(x, 4) + e, 1),
        "with tension": (w.diff(x, 4) - 4 * w.diff(x, 2), lambda e: e.diff(x, 4) - 4 * e.diff(x, 2), 1),
        "unevaluated stiffness": (sp.Derivative(2 * w.diff(x, 2), (x, 2)), lambda e: 2 * e.diff(x, 4), 2),
        "negative stiffness": (-sp.Derivative(2 * w.diff(x, 2), (x, 2)), lambda e: -2 * e.diff(x, 4), -2),
        "unevaluated tension": (
            w.diff(x, 4) - sp.Derivative((1 + x) * w.diff(x), x),
            lambda e: e.diff(x, 4) - ((1 + x) * e.diff(x)).diff(x),
            1,
        ),
    }
    left, expanded, jump = forms[form]
    low, high = (expanded(e) for e in parts)
    exact = smooth + kink
    equation = sp.Eq(left, sp.Piecewise((low, x < POSITION), (high, True)) + jump * DELTA)
    ends = [
        c
        for end, e in zip((0, 1), parts, strict=True)
        for c in (
            Dirichlet(w, e.subs(x, end), on=sp.Eq(x, end)),
            Condition(sp.Eq(w.diff(x), e.diff(x).subs(x, end)), on=sp.Eq(x, end)),
        )
    ]
    _check_solution(Problem(Interval(x, 0, 1), [equation], ends), {w: exact})


def test_coupled_equations_share_the_jump() -> None:
    u, v = (sp.Function(name)(x) for name in "uv")
    exact = {u: sp.sin(x) + 2 * KINK, v: sp.cos(x) - 3 * KINK}
    parts = [{u: sp.sin(x) + 2 * k, v: sp.cos(x) - 3 * k} for k in (BELOW, ABOVE)]
    operators: tuple[Callable[[Any, Any], Any], ...] = (
        lambda a, b: 2 * a.diff(x, 2) + b.diff(x, 2) + b.diff(x),
        lambda a, b: a.diff(x, 2) - b.diff(x, 2) + a,
    )
    equations = []
    for operator, strength in zip(operators, (2 * 2 - 3, 2 + 3), strict=True):
        low, high = (operator(p[u], p[v]) for p in parts)
        equations.append(
            sp.Eq(operator(u, v), sp.Piecewise((low, x < POSITION), (high, True)) + strength * DELTA)
        )
    ends = [
        Dirichlet(k, p[k].subs(x, end), on=sp.Eq(x, end))
        for k in (u, v)
        for end, p in zip((0, 1), parts, strict=True)
    ]
    _check_solution(Problem(Interval(x, 0, 1), equations, ends), exact)


@pytest.mark.parametrize("source", [False, True])
def test_jumps_of_two_fluxes_of_the_same_unknowns(source: bool) -> None:
    # 2u' + kv' and u' + 3v' jump by the sources; k jumps from 1 to 7, and u' = v' = 1 below the plane.
    u, v = (sp.Function(name)(x) for name in "uv")
    M = sp.Matrix([[2, 7], [1, 3]])
    slopes = M.solve(sp.Matrix([2 + 1, 1 + 3]) + (sp.Matrix([5, -2]) if source else sp.zeros(2, 1)))
    equations = [div(2 * grad(u) + JUMPING * grad(v)), div(grad(u) + 3 * grad(v))]
    if source:
        equations = [equations[0] - 5 * DELTA, equations[1] + 2 * DELTA]
    exact = {
        k: sp.Piecewise((x - POSITION, x < POSITION), (s * (x - POSITION), True))
        for k, s in zip((u, v), slopes, strict=True)
    }
    ends = [Dirichlet(k, exact[k].subs(x, end), on=sp.Eq(x, end)) for k in (u, v) for end in (0, 1)]
    _check_solution(Problem(Interval(x, 0, 1), equations, ends), exact)


def test_advection_across_a_source_plane() -> None:
    u = sp.Function("u")(x, y)
    exact = sp.sin(y) * (1 + KINK)
    parts = [sp.sin(y) * (1 + k) for k in (BELOW, ABOVE)]
    low, high = (e.diff(x, 2) + e.diff(y, 2) + 2 * e.diff(x) for e in parts)
    source = sp.Piecewise((low, x < POSITION), (high, True)) + sp.sin(y) * DELTA
    problem = Problem(
        Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2) + 2 * u.diff(x), source)],
        [
            Dirichlet(u, parts[0], on=sp.Eq(x, 0)),
            Dirichlet(u, parts[1], on=sp.Eq(x, 1)),
            Dirichlet(u, 0, on=sp.Eq(y, 0)),
            Neumann(u, sp.cos(1) * (1 + KINK), on=sp.Eq(y, 1)),
        ],
    )
    _check_solution(problem, {u: exact}, tol=1e-8)


@pytest.mark.parametrize("as_flux", [False, True])
def test_advection_across_a_source_in_an_evolution(as_flux: bool) -> None:
    w = sp.Function("w")(x, t)
    exact = sp.exp(-t) * (1 + KINK)
    parts = [sp.exp(-t) * (1 + k) for k in (BELOW, ABOVE)]
    left = w.diff(t) + w.diff(x) - (div(2 * grad(w)) if as_flux else 2 * w.diff(x, 2))
    low, high = (e.diff(t) + e.diff(x) - 2 * e.diff(x, 2) for e in parts)
    problem = Problem(
        Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(left, sp.Piecewise((low, x < POSITION), (high, True)) - 2 * sp.exp(-t) * DELTA)],
        [
            Initial(w, exact.subs(t, 0)),
            Dirichlet(w, parts[0].subs(x, 0), on=sp.Eq(x, 0)),
            Dirichlet(w, parts[1].subs(x, 1), on=sp.Eq(x, 1)),
        ],
    )
    _check_solution(problem, {w: exact}, tol=1e-8)


def test_ambiguous_source_is_rejected() -> None:
    w = sp.Function("w")(x, t)
    equation = sp.Eq(w.diff(t) - w.diff(x, 2, t) - w.diff(x, 2), DELTA)
    problem = Problem(Interval(x, 0, 1).during(t, 0, 1), [equation], [Initial(w, 0), Dirichlet(w, 0)])
    with pytest.raises(pibls.ProblemError, match="DiracDelta"):
        pibls.solve(problem, time_limit=20)


def test_flux_multiplied_by_the_solution_is_rejected() -> None:
    u = sp.Function("u")(x)
    with pytest.raises(pibls.ProblemError, match="in front of a flux"):
        Problem(Interval(x, 0, 1), [sp.Eq((1 + u) * div(2 * grad(u)), DELTA)], [Dirichlet(u, 0)])

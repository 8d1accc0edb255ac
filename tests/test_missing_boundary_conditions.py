"""Evolutions on an interval with fewer boundary conditions than they need are UNDETERMINED."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import pibls
from pibls.analysis.boundary_condition_count import has_missing_boundary_conditions
from pibls.problem.forms.compilation import compile_problem

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)
LEFT, RIGHT = sp.Eq(x, -5), sp.Eq(x, 5)
SPACE_TIME = pibls.Interval(x, -5, 5).during(t, 0, sp.Rational(1, 2))
SOLITON = 2 / sp.cosh(x - 4 * t) ** 2
KDV = u.diff(t) + 6 * u * u.diff(x) + u.diff(x, 3)
BEAM = u.diff(t, 2) + u.diff(x, 4)


def slope(unknown: Any, value: Any, on: Any) -> pibls.Condition:
    return pibls.Condition(sp.Eq(unknown.diff(x), value), on=on)


def kdv(*conditions: Any) -> pibls.Problem:
    return pibls.Problem(SPACE_TIME, [KDV], [*conditions, pibls.Initial(u, SOLITON.subs(t, 0))])


WELL_POSED = {
    "KdV, u and u_x at the right": kdv(
        pibls.Dirichlet(u, SOLITON, on=LEFT),
        pibls.Dirichlet(u, SOLITON, on=RIGHT),
        slope(u, SOLITON.diff(x), RIGHT),
    ),
    "heat": pibls.Problem(
        SPACE_TIME, [u.diff(t) - u.diff(x, 2)], [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.exp(-(x**2)))]
    ),
    "advection, outflow at the right": pibls.Problem(
        SPACE_TIME,
        [u.diff(t) + u.diff(x)],
        [pibls.Dirichlet(u, 0, on=LEFT), pibls.Initial(u, sp.exp(-(x**2)))],
    ),
    "first-order wave system": pibls.Problem(
        SPACE_TIME,
        [u.diff(t) - v.diff(x), v.diff(t) - u.diff(x)],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.exp(-(x**2))), pibls.Initial(v, 0)],
    ),
    "KdV on a ring": kdv(pibls.Periodic(u, x)),
}
MISSING = {
    "KdV, one condition at each end": kdv(
        pibls.Dirichlet(u, SOLITON, on=LEFT), slope(u, SOLITON.diff(x), RIGHT)
    ),
    "beam, one condition at the right": pibls.Problem(
        SPACE_TIME,
        [BEAM],
        [
            pibls.Condition(sp.Eq(u.diff(x, 2), 0), on=LEFT),
            pibls.Dirichlet(u, 0, on=LEFT),
            pibls.Dirichlet(u, 0, on=RIGHT),
            pibls.Initial(u, sp.exp(-(x**2))),
            pibls.Initial(u.diff(t), 0),
        ],
    ),
}


@pytest.mark.parametrize("name", WELL_POSED)
def test_well_posed_evolutions_lack_nothing(name: str) -> None:
    problem = WELL_POSED[name]
    assert not has_missing_boundary_conditions(compile_problem(problem), problem.domain)


@pytest.mark.parametrize("name", MISSING)
def test_missing_conditions_are_found(name: str) -> None:
    problem = MISSING[name]
    assert has_missing_boundary_conditions(compile_problem(problem), problem.domain)


def test_kdv_with_two_of_three_conditions_is_undetermined() -> None:
    """It ended at max_nodes after 110 s with an estimate of a quarter of the error."""
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(MISSING["KdV, one condition at each end"], tol=1e-4)
    assert solution.status is pibls.Status.UNDETERMINED
    assert not solution.error.checked

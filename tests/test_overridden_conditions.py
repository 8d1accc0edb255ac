"""Conditions without ``on`` that another condition overrides on a part of the boundary."""

from __future__ import annotations

import pytest
import sympy as sp

import pibls
from pibls import Box, Condition, Dirichlet, Problem
from pibls.analysis.coverage import overridden_conditions
from pibls.status import Status

x, y, t = sp.symbols("x y t")
u, v = (sp.Function(name)(x, y) for name in "uv")


def _laplace(w: sp.Expr) -> sp.Expr:
    return w.diff(x, 2) + w.diff(y, 2)


@pytest.mark.parametrize("seed", [0, 1])
def test_missing_condition_is_undetermined_where_data_are_zero_up_to_rounding(seed: int) -> None:
    # u = sin(πx) sinh(y) is 1e-16 at x = 1: its residual is rounding and has no relative meaning.
    exact = sp.sin(sp.pi * x) * sp.sinh(sp.pi * y)
    top = sp.Eq(y, 1)
    problem = Problem(
        Box({x: (0, 1), y: (0, 1)}),
        [_laplace(u), _laplace(v) - u],
        [
            Dirichlet(u, exact),
            Dirichlet(v, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0))),
            Condition(sp.Eq(v.diff(y) + u, exact), on=top),
        ],
    )
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, seed=seed)
    assert solution.status is Status.UNDETERMINED
    assert "Dirichlet(u) does not apply on Eq(y, 1), where Condition(" in solution.message


def test_initial_condition_overrides_no_boundary_condition() -> None:
    w = sp.Function("w")(x, t)
    problem = Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [w.diff(t) - w.diff(x, 2)],
        [Dirichlet(w, 0, on=sp.Eq(x, 1)), pibls.Initial(w, sp.sin(x))],
    )
    assert overridden_conditions(problem) == ()

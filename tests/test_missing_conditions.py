"""Missing boundary, inflow and initial conditions: detection and messages."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import pibls
from pibls.analysis.coverage import uncovered_boundary
from pibls.analysis.missing_conditions import lacks_boundary_condition
from pibls.analysis.well_posedness import has_missing_inflow_conditions
from pibls.problem.conditions import BaseCondition
from pibls.problem.forms.compilation import compile_problem

x, y, z, t = sp.symbols("x y z t")
U = sp.Function("u")
SQUARE = pibls.Box({x: (0, 1), y: (0, 2)})


def laplace(*conditions: BaseCondition) -> pibls.Problem:
    u = U(x, y)
    return pibls.Problem(SQUARE, [u.diff(x, 2) + u.diff(y, 2)], list(conditions))


def heat(*conditions: BaseCondition) -> pibls.Problem:
    u = U(x, t)
    rod = pibls.Interval(x, 0, 1).during(t, 0, 1)
    return pibls.Problem(rod, [u.diff(t) - u.diff(x, 2)], list(conditions))


@pytest.mark.parametrize(
    ("problem", "parts"),
    [
        (laplace(pibls.Dirichlet(U(x, y), 0)), ()),
        (laplace(pibls.Dirichlet(U(x, y), 0, on=y < 2)), ("y = 2",)),
        (laplace(pibls.Dirichlet(U(x, y), 0, on=sp.And(sp.Eq(x, 0), y < 1))),
         ("part of x = 0", "x = 1", "y = 0", "y = 2")),
        (laplace(pibls.Periodic(U(x, y), x), pibls.Neumann(U(x, y), 0)), ()),
        (heat(pibls.Dirichlet(U(x, t), 0), pibls.Initial(U(x, t), 1)), ()),
        (heat(pibls.Dirichlet(U(x, t), 0)), ("t = 0",)),
        (heat(pibls.Dirichlet(U(x, t), 0, on=sp.Eq(x, 0)), pibls.Initial(U(x, t), 1)), ("x = 1",)),
    ],
)  # fmt: skip
def test_uncovered_boundary(problem: pibls.Problem, parts: tuple[str, ...]) -> None:
    assert uncovered_boundary(problem) == parts


def test_initial_value_problem_needs_no_final_condition() -> None:
    u = U(t)
    assert (
        uncovered_boundary(pibls.Problem(pibls.Interval(t, 0, 1), [u.diff(t) + u], [pibls.Initial(u, 1)]))
        == ()
    )


def test_undetermined_problem_reports_uncovered_side() -> None:
    with pytest.warns(
        pibls.ConvergenceWarning, match=r"under-determined.* No condition is given where y = 2\."
    ):
        solution = pibls.solve(laplace(pibls.Dirichlet(U(x, y), x, on=y < 2)))
    assert "No condition is given where y = 2." in solution.summary()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_source_with_uncovered_side_is_undetermined(seed: int) -> None:
    """-Δu = 1 with u = 0 on three sides: the minimiser grows to 1e9, with a residual of a tenth of f."""
    u = U(x, y)
    source = sp.Eq(u.diff(x, 2) + u.diff(y, 2), -1)
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    problem = pibls.Problem(square, [source], [pibls.Dirichlet(u, 0, on=y < 1)])
    with pytest.warns(
        pibls.ConvergenceWarning, match=r"under-determined.* No condition is given where y = 1\."
    ):
        assert pibls.solve(problem, seed=seed).status is pibls.Status.UNDETERMINED


W = sp.Function("u")(x, y, t)
SQUARE_IN_TIME = pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 1)
RATE, ADVECTION = W.diff(t), W.diff(x) + W.diff(y)
HEAT = RATE - W.diff(x, 2) - W.diff(y, 2)
INITIAL = pibls.Initial(W, x + y)
AT_X, AT_Y = (pibls.Dirichlet(W, x + y - 2 * t, on=sp.Eq(c, 0)) for c in (x, y))


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize(
    ("equation", "conditions", "complete"),
    [
        (RATE + ADVECTION, [INITIAL], False),
        (RATE + ADVECTION, [INITIAL, AT_X], False),
        (RATE + ADVECTION, [INITIAL, AT_X, AT_Y], True),
        (RATE - (2 * x - 1) * W.diff(x), [INITIAL], False),
        (RATE + (2 * x - 1) * W.diff(x), [INITIAL], True),
        (HEAT, [INITIAL, AT_X, AT_Y], False),
        (HEAT, [INITIAL, pibls.Dirichlet(W, x + y)], True),
    ],
)
def test_inflow_side_needs_a_condition(equation: Any, conditions: Any, complete: bool) -> None:
    """x + y satisfies all conditions and had status `converged`, but is not unique."""
    solution = pibls.solve(pibls.Problem(SQUARE_IN_TIME, [equation], conditions), tol=1e-6)
    assert solution.status is (pibls.Status.TOLERANCE if complete else pibls.Status.UNDETERMINED)


def test_no_condition_is_needed_where_a_coefficient_vanishes() -> None:
    u = sp.Function("u")(x, t)
    line = pibls.Interval(x, 0, 1).during(t, 0, 1)
    initial, end = pibls.Initial(u, 1 - x), pibls.Dirichlet(u, 0, on=sp.Eq(x, 1))
    for equation, complete in (
        (u.diff(t) - x * u.diff(x, 2) - u.diff(x), True),
        (u.diff(t) - u.diff(x, 2) - 2 / x * u.diff(x), True),
        (u.diff(t) - u.diff(x, 2) - u.diff(x), False),
    ):
        problem = pibls.Problem(line, [equation], [initial, end])
        assert has_missing_inflow_conditions(compile_problem(problem), line) != complete


@pytest.mark.parametrize("source", [sp.sin(x), 0])
def test_missing_initial_velocity_is_undetermined(source: sp.Expr) -> None:
    # With the source sin(x) and u = 0 at x = 1 the minimiser is unbounded; this is not NO_SOLUTION.
    t = sp.Symbol("t")
    w = sp.Function("w")(x, t)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [w.diff(t, 2) - w.diff(x, 2) - source],
        [pibls.Dirichlet(w, 0), pibls.Initial(w, 0 if source else x * (1 - x))],
    )
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, time_limit=20)
    assert solution.status is pibls.Status.UNDETERMINED
    assert "The initial value of Derivative(w(x, t), t) is not given" in solution.message


CUBE = pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)})


def _lacks_condition(equation: Any, *conditions: Any) -> bool:
    return lacks_boundary_condition(compile_problem(pibls.Problem(SQUARE, [equation], conditions)), SQUARE)


def test_elliptic_equation_needs_one_condition_on_each_side() -> None:
    u, dirichlet, neumann = U(x, y), pibls.Dirichlet, pibls.Neumann
    laplacian = u.diff(x, 2) + u.diff(y, 2)
    bottom, rest = sp.Eq(y, 0), sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 2))
    assert not _lacks_condition(laplacian, dirichlet(u, 0))
    assert _lacks_condition(laplacian, dirichlet(u, 0, on=x < 0.5))
    assert not _lacks_condition(
        laplacian, dirichlet(u, 0, on=bottom), neumann(u, 0, on=bottom)
    )  # Cauchy problem
    assert not _lacks_condition(laplacian, dirichlet(u, 0, on=SQUARE), neumann(u, 0, on=bottom))
    assert not _lacks_condition(laplacian, pibls.Periodic(u, x), dirichlet(u, 0))
    assert _lacks_condition(laplacian, pibls.Periodic(u, x), dirichlet(u, 0, on=bottom))
    assert not _lacks_condition(u.diff(x, 2) + 2 * u.diff(x, y) + u.diff(y), dirichlet(u, 0, on=rest))
    # No condition is needed where a coefficient vanishes or is infinite.
    assert not _lacks_condition(u.diff(x, 2) + y * u.diff(y, 2) + u.diff(y), dirichlet(u, 0, on=rest))
    assert not _lacks_condition(laplacian + u.diff(y) / y, dirichlet(u, 0, on=rest))
    assert not _lacks_condition(
        laplacian + 9 * u, dirichlet(u, 0, on=rest), dirichlet(u, 1, on={x: 0.5, y: 0.5})
    )


def test_cube_with_uncovered_face_is_undetermined() -> None:
    # Without this check the solve reached a limit of 20 s and reported singular corners.
    w = U(x, y, z)
    sides = sp.Or(*(sp.Eq(c, end) for c, end in ((x, 0), (x, 1), (y, 0), (y, 1), (z, 0))))
    equation = sp.Eq(w.diff(x, 2) + w.diff(y, 2) + w.diff(z, 2), -1)
    with pytest.warns(pibls.ConvergenceWarning, match=r"No condition is given where z = 1\."):
        solution = pibls.solve(pibls.Problem(CUBE, [equation], [pibls.Dirichlet(w, 0, on=sides)]))
    assert solution.status is pibls.Status.UNDETERMINED

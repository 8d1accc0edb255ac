"""Which parts of the boundary carry no condition, and who says so."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import pibls
from pibls.adaptive.evolutions.well_posedness import has_missing_inflow_conditions
from pibls.analysis.coverage import uncovered_boundary
from pibls.analysis.missing_conditions import lacks_boundary_condition
from pibls.problem.forms.compilation import compile_problem

x, y, z, t = sp.symbols("x y z t")
U = sp.Function("u")
SQUARE = pibls.Box({x: (0, 1), y: (0, 2)})


def laplace(*conditions: object) -> pibls.Problem:
    u = U(x, y)
    return pibls.Problem(SQUARE, [u.diff(x, 2) + u.diff(y, 2)], list(conditions))


def heat(*conditions: object) -> pibls.Problem:
    u = U(x, t)
    rod = pibls.Interval(x, 0, 1).during(t, 0, 1)
    return pibls.Problem(rod, [u.diff(t) - u.diff(x, 2)], list(conditions))


@pytest.mark.parametrize(
    ("problem", "places"),
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
def test_places_without_a_condition(problem: pibls.Problem, places: tuple[str, ...]) -> None:
    assert uncovered_boundary(problem) == places


def test_nothing_is_asked_at_the_end_of_an_initial_value_problem() -> None:
    u = U(t)
    assert (
        uncovered_boundary(pibls.Problem(pibls.Interval(t, 0, 1), [u.diff(t) + u], [pibls.Initial(u, 1)]))
        == ()
    )


def test_an_undetermined_problem_says_where_to_look() -> None:
    with pytest.warns(
        pibls.ConvergenceWarning, match=r"under-determined.* No condition is given where y = 2\."
    ):
        solution = pibls.solve(laplace(pibls.Dirichlet(U(x, y), x, on=y < 2)))
    assert "No condition is given where y = 2." in solution.summary()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_source_beside_a_bare_side_contradicts_nothing(seed: int) -> None:
    """-Δu = 1 with u = 0 on three sides: what is found grows to 1e9, and leaves a tenth of the source."""
    u = U(x, y)
    source = sp.Eq(u.diff(x, 2) + u.diff(y, 2), -1)
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    problem = pibls.Problem(square, [source], [pibls.Dirichlet(u, 0, on=y < 1)])
    with pytest.warns(
        pibls.ConvergenceWarning, match=r"under-determined.* No condition is given where y = 1\."
    ):
        assert pibls.solve(problem, seed=seed).status is pibls.Status.UNDETERMINED


STEADY = sp.Function("u")(x, y, t)
FLAT = pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 1)
RATE, CARRIED = STEADY.diff(t), STEADY.diff(x) + STEADY.diff(y)
HEAT = RATE - STEADY.diff(x, 2) - STEADY.diff(y, 2)
BEGUN = pibls.Initial(STEADY, x + y)
AT_X, AT_Y = (pibls.Dirichlet(STEADY, x + y - 2 * t, on=sp.Eq(c, 0)) for c in (x, y))


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize(
    ("equation", "conditions", "told"),
    [
        (RATE + CARRIED, [BEGUN], False),
        (RATE + CARRIED, [BEGUN, AT_X], False),
        (RATE + CARRIED, [BEGUN, AT_X, AT_Y], True),
        (RATE - (2 * x - 1) * STEADY.diff(x), [BEGUN], False),
        (RATE + (2 * x - 1) * STEADY.diff(x), [BEGUN], True),
        (HEAT, [BEGUN, AT_X, AT_Y], False),
        (HEAT, [BEGUN, pibls.Dirichlet(STEADY, x + y)], True),
    ],
)
def test_a_side_where_something_flows_in_needs_a_value(equation: Any, conditions: Any, told: bool) -> None:
    """x + y satisfies all that is told, and was `converged`; others do too."""
    solution = pibls.solve(pibls.Problem(FLAT, [equation], conditions), tol=1e-6)
    assert solution.status is (pibls.Status.TOLERANCE if told else pibls.Status.UNDETERMINED)


def test_where_a_coefficient_vanishes_nothing_is_needed() -> None:
    u = sp.Function("u")(x, t)
    line = pibls.Interval(x, 0, 1).during(t, 0, 1)
    begun, end = pibls.Initial(u, 1 - x), pibls.Dirichlet(u, 0, on=sp.Eq(x, 1))
    for equation, told in (
        (u.diff(t) - x * u.diff(x, 2) - u.diff(x), True),
        (u.diff(t) - u.diff(x, 2) - 2 / x * u.diff(x), True),
        (u.diff(t) - u.diff(x, 2) - u.diff(x), False),
    ):
        problem = pibls.Problem(line, [equation], [begun, end])
        assert has_missing_inflow_conditions(compile_problem(problem), line) != told


@pytest.mark.parametrize("source", [sp.sin(x), 0])
def test_a_rate_that_is_not_given_is_no_contradiction(source: sp.Expr) -> None:
    # With sin(x) beside u = 0 at x = 1 what comes closest runs away, and it was called NO_SOLUTION.
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


def _bare(equation: Any, *conditions: Any) -> bool:
    return lacks_boundary_condition(compile_problem(pibls.Problem(SQUARE, [equation], conditions)), SQUARE)


def test_an_elliptic_equation_takes_one_condition_at_each_point_of_a_wall() -> None:
    u, given, flux = U(x, y), pibls.Dirichlet, pibls.Neumann
    flat = u.diff(x, 2) + u.diff(y, 2)
    ground, rest = sp.Eq(y, 0), sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 2))
    assert not _bare(flat, given(u, 0))
    assert _bare(flat, given(u, 0, on=x < 0.5))
    assert not _bare(flat, given(u, 0, on=ground), flux(u, 0, on=ground))  # Cauchy's
    assert not _bare(flat, given(u, 0, on=SQUARE), flux(u, 0, on=ground))
    assert not _bare(flat, pibls.Periodic(u, x), given(u, 0))
    assert _bare(flat, pibls.Periodic(u, x), given(u, 0, on=ground))
    assert not _bare(u.diff(x, 2) + 2 * u.diff(x, y) + u.diff(y), given(u, 0, on=rest))
    # What vanishes or is infinite at a wall asks for nothing there.
    assert not _bare(u.diff(x, 2) + y * u.diff(y, 2) + u.diff(y), given(u, 0, on=rest))
    assert not _bare(flat + u.diff(y) / y, given(u, 0, on=rest))
    assert not _bare(flat + 9 * u, given(u, 0, on=rest), given(u, 1, on={x: 0.5, y: 0.5}))


def test_a_cube_without_a_lid_is_undetermined() -> None:
    # It took 20 s to a time limit, and its corners were blamed.
    w = U(x, y, z)
    sides = sp.Or(*(sp.Eq(c, end) for c, end in ((x, 0), (x, 1), (y, 0), (y, 1), (z, 0))))
    equation = sp.Eq(w.diff(x, 2) + w.diff(y, 2) + w.diff(z, 2), -1)
    with pytest.warns(pibls.ConvergenceWarning, match=r"No condition is given where z = 1\."):
        solution = pibls.solve(pibls.Problem(CUBE, [equation], [pibls.Dirichlet(w, 0, on=sides)]))
    assert solution.status is pibls.Status.UNDETERMINED

"""Which parts of the boundary carry no condition, and who says so."""

from __future__ import annotations

import pytest
import sympy as sp

import pibls
from pibls.diagnose.coverage import uncovered

x, y, t = sp.symbols("x y t")
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
    assert uncovered(problem) == places


def test_nothing_is_asked_at_the_end_of_an_initial_value_problem() -> None:
    u = U(t)
    assert uncovered(pibls.Problem(pibls.Interval(t, 0, 1), [u.diff(t) + u], [pibls.Initial(u, 1)])) == ()


def test_an_undetermined_problem_says_where_to_look() -> None:
    with pytest.warns(pibls.ConvergenceWarning, match=r"under-determined.* No condition holds where y = 2\."):
        solution = pibls.solve(laplace(pibls.Dirichlet(U(x, y), x, on=y < 2)))
    assert "No condition holds where y = 2." in solution.summary()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_source_beside_a_bare_side_contradicts_nothing(seed: int) -> None:
    """-Δu = 1 with u = 0 on three sides: what is found grows to 1e9, and leaves a tenth of the source."""
    u = U(x, y)
    source = sp.Eq(u.diff(x, 2) + u.diff(y, 2), -1)
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    problem = pibls.Problem(square, [source], [pibls.Dirichlet(u, 0, on=y < 1)])
    with pytest.warns(pibls.ConvergenceWarning, match=r"under-determined.* No condition holds where y = 1\."):
        assert pibls.solve(problem, seed=seed).status is pibls.Status.UNDETERMINED

"""Where conditions hold: the meaning of ``on``, and the number of points of each region."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.assembly.points import PointSet, place
from pibls.problem.forms.compilation import compile_problem

x, y, z, t = sp.symbols("x y z t")
u1 = sp.Function("u")(x)
u = sp.Function("u")(x, y)
v = sp.Function("v")(x, y)
ut = sp.Function("u")(x, t)
LINE = pibls.Interval(x, 0, 1)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
STRIP = LINE.during(t, 0, 2)
LAPLACE = u.diff(x, 2) + u.diff(y, 2)
HEAT = ut.diff(t) - ut.diff(x, 2)

RULES = ["sobol", "halton", "uniform", "grid", "chebyshev", "lhs"]


def points_of(
    problem: pibls.Problem, points: pibls.Points | None = None, seed: int = 0
) -> dict[str, PointSet]:
    """Return the points of every statement, by name."""
    compiled = compile_problem(problem)
    points = points or pibls.Points(200, 80, 20)
    found = place(compiled, problem.domain, points, np.random.default_rng(seed))
    return {r.name: found[r.region] for r in compiled.residuals}


def on_square(*conditions: Any) -> list[PointSet]:
    """Return the points of each condition for Laplace's equation on the unit square, in order."""
    problem = pibls.Problem(SQUARE, [LAPLACE], list(conditions))
    return list(points_of(problem).values())[1:]


def sides_of(points: PointSet) -> set[tuple[float, ...]]:
    """Return the sides on which points lie, by their outward normals."""
    return {tuple(map(float, n)) for n in points.normals}


LEFT, RIGHT, BOTTOM, TOP = (-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)


# --- relations ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "sides"),
    [
        (sp.Eq(x, 0), {LEFT}),
        (sp.Eq(0, x), {LEFT}),
        (sp.Eq(2 * x - 2, 0), {RIGHT}),
        (sp.Eq(y, 1), {TOP}),
        (sp.Or(sp.Eq(x, 0), sp.Eq(y, 1)), {LEFT, TOP}),
        (sp.Eq(x * (1 - x), 0), {LEFT, RIGHT}),
        (sp.Eq(sp.sin(sp.pi * x), 0), {LEFT, RIGHT}),
        (sp.Eq(1 / x, 1), {RIGHT}),
        (sp.Ne(x, 0), {RIGHT, BOTTOM, TOP}),
        (sp.Not(sp.Or(sp.Eq(x, 0), sp.Eq(x, 1))), {BOTTOM, TOP}),
        (x > 0.5, {RIGHT, BOTTOM, TOP}),
        (1 / x > 2, {LEFT, BOTTOM, TOP}),
        (x + y <= 1, {LEFT, BOTTOM}),
        (sp.And(x > 0.25, y > 0.5), {RIGHT, TOP}),
        (sp.true, {LEFT, RIGHT, BOTTOM, TOP}),
        (SQUARE, {LEFT, RIGHT, BOTTOM, TOP}),
        (None, {LEFT, RIGHT, BOTTOM, TOP}),
    ],
    ids=str,
)
def test_relation_selects_sides(on: Any, sides: set[tuple[float, ...]]) -> None:
    (found,) = on_square(pibls.Dirichlet(u, 0, on=on))
    assert sides_of(found) == sides
    if isinstance(on, sp.Basic) and on is not sp.true and not on.atoms(sp.Equality, sp.Unequality):
        X = found.sites[0]
        with np.errstate(divide="ignore"):
            assert sp.lambdify((x, y), on, "numpy")(*X.T).all()


def test_part_of_a_side() -> None:
    """¾ of one of four equal sides gets about ¾ of a quarter of the points, all of them inside."""
    part = sp.And(sp.Eq(x, 1), y > 0.25)
    problem = pibls.Problem(SQUARE, [LAPLACE], [pibls.Dirichlet(u, 0, on=part), pibls.Neumann(u, 0)])
    inner, rest = list(points_of(problem, pibls.Points(100, 400)).values())[1:]
    X, normals = inner.sites[0], rest.normals
    assert np.all(X[:, 0] == 1.0)
    assert np.all(X[:, 1] > 0.25)
    assert 0.7 * 75 <= len(inner) <= 1.3 * 75
    right = rest.sites[0][normals[:, 0] > 0.5]
    assert len(right)
    assert np.all(right[:, 1] <= 0.25)


@pytest.mark.parametrize("rule", RULES)
def test_condition_without_on_holds_on_the_rest(rule: str) -> None:
    problem = pibls.Problem(SQUARE, [LAPLACE], [pibls.Dirichlet(u, 1, on=sp.Eq(x, 0)), pibls.Neumann(u, 0)])
    named, rest = list(points_of(problem, pibls.Points(100, 80, rule=rule)).values())[1:]
    assert sides_of(named) == {LEFT}
    assert sides_of(rest) == {RIGHT, BOTTOM, TOP}
    assert np.all(rest.sites[0][:, 0] > 0.0)  # the corners belong to the named side


def test_two_conditions_without_on_hold_everywhere() -> None:
    """Two conditions without ``on`` both hold on the whole boundary (a clamped plate)."""
    first, second = on_square(pibls.Dirichlet(u, 0), pibls.Neumann(u, 0))
    assert len(sides_of(first)) == len(sides_of(second)) == 4


def test_condition_without_on_after_the_whole_boundary_raises() -> None:
    with pytest.raises(pibls.ProblemError, match=r"Neumann\(u\): on: .* already name all of it"):
        on_square(pibls.Dirichlet(u, 0, on=SQUARE), pibls.Neumann(u, 0))


def test_conditions_of_other_unknowns_do_not_interfere() -> None:
    problem = pibls.Problem(
        SQUARE,
        [LAPLACE - v, v.diff(x, 2) + v.diff(y, 2)],
        [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)), pibls.Dirichlet(v, 0), pibls.Neumann(u, 0)],
    )
    found = points_of(problem)
    assert sides_of(found["Dirichlet(v)"]) == {LEFT, RIGHT, BOTTOM, TOP}
    assert sides_of(found["Neumann(u)"]) == {RIGHT, BOTTOM, TOP}


def test_condition_on_two_unknowns_counts_for_both() -> None:
    problem = pibls.Problem(
        SQUARE,
        [LAPLACE - v, v.diff(x, 2) + v.diff(y, 2)],
        [pibls.Condition(u - v, on=sp.Eq(y, 0)), pibls.Dirichlet(u, 0), pibls.Dirichlet(v, 0)],
    )
    found = points_of(problem)
    assert sides_of(found["Dirichlet(u)"]) == sides_of(found["Dirichlet(v)"]) == {LEFT, RIGHT, TOP}


@pytest.mark.parametrize("rule", ["grid", "chebyshev"])
def test_corner_points_have_the_normal_of_their_side(rule: str) -> None:
    """Rules that reach the corners give each of them twice, once for each side that ends there."""
    box = pibls.Box({x: (-1, 2), y: (3, 5)})
    problem = pibls.Problem(box, [LAPLACE], [pibls.Neumann(u, 0), pibls.Dirichlet(u, 0, on={x: 0, y: 4})])
    found = points_of(problem, pibls.Points(100, 40, rule=rule))["Neumann(u)"]
    X, normals = found.sites[0], found.normals
    assert np.array_equal(np.abs(normals).sum(axis=1), np.ones(len(X)))
    levels: dict[tuple[float, ...], tuple[int, float]] = {
        LEFT: (0, -1.0),
        RIGHT: (0, 2.0),
        BOTTOM: (1, 3.0),
        TOP: (1, 5.0),
    }
    for point, normal in zip(X, normals, strict=True):
        axis, level = levels[tuple(map(float, normal))]
        assert point[axis] == level
    corners = np.isin(X[:, 0], (-1.0, 2.0)) & np.isin(X[:, 1], (3.0, 5.0))
    assert corners.sum() == 8


# --- points, slices, time -------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_ends_of_an_interval_are_repeated(rule: str) -> None:
    problem = pibls.Problem(LINE, [u1.diff(x, 2)], [pibls.Dirichlet(u1, 0)])
    X = points_of(problem, pibls.Points(10, 30, rule=rule))["Dirichlet(u)"].sites[0]
    assert sorted(X[:, 0]) == [0.0] * 15 + [1.0] * 15


@pytest.mark.parametrize("on", [sp.Eq(x, 0), {x: 0}, x < 0.5], ids=str)
def test_end_of_an_interval_by_relation_or_point(on: Any) -> None:
    """For each way to select the left end, on=None is the right end."""
    problem = pibls.Problem(LINE, [u1.diff(x, 2)], [pibls.Dirichlet(u1, 2, on=on), pibls.Neumann(u1, 3)])
    named, rest = list(points_of(problem).values())[1:]
    assert set(named.sites[0][:, 0]) == {0.0}
    assert set(rest.sites[0][:, 0]) == {1.0}
    assert pibls.solve(problem)(0.5) == pytest.approx(3.5, abs=1e-9)


def test_point_of_a_positive_coordinate() -> None:
    """Eq(x, 0) is false for a positive x, but {x: 0} still selects the left end."""
    p = sp.Symbol("x", positive=True)
    w = sp.Function("u")(p)
    problem = pibls.Problem(
        pibls.Interval(p, 0, 1), [w.diff(p, 2)], [pibls.Dirichlet(w, 0, on={p: 0}), pibls.Dirichlet(w, 1)]
    )
    assert pibls.solve(problem)(0.25) == pytest.approx(0.25, abs=1e-9)


@pytest.mark.parametrize("on", [{x: 0.5, y: 0.25}, sp.And(sp.Eq(x, 0.5), sp.Eq(y, 0.25))], ids=str)
def test_point_inside(on: Any) -> None:
    _, found = on_square(pibls.Neumann(u, 0), pibls.Dirichlet(u, 1, on=on))
    assert found.sites[0].tolist() == [[0.5, 0.25]]


@pytest.mark.parametrize("on", [{x: 0, y: 1}, sp.And(sp.Eq(x, 0), sp.Eq(y, 1))], ids=str)
def test_point_at_a_corner(on: Any) -> None:
    _, found = on_square(pibls.Neumann(u, 0), pibls.Dirichlet(u, 1, on=on))
    assert found.sites[0].tolist() == [[0.0, 1.0]]


def test_point_on_a_side_has_its_normal() -> None:
    _, found = on_square(pibls.Dirichlet(u, 0), pibls.Neumann(u, 1, on={x: 0.5, y: 1}))
    assert found.sites[0].tolist() == [[0.5, 1.0]]
    assert sides_of(found) == {TOP}


def test_point_leaves_all_sides_to_other_conditions() -> None:
    rest, _ = on_square(pibls.Neumann(u, 0), pibls.Dirichlet(u, 1, on={x: 0, y: 0.5}))
    assert sides_of(rest) == {LEFT, RIGHT, BOTTOM, TOP}


def test_point_without_time_holds_at_all_times() -> None:
    w = sp.Function("u")(x, y, t)
    problem = pibls.Problem(
        SQUARE.during(t, 1, 3),
        [w.diff(x, 2) + w.diff(y, 2)],
        [pibls.Neumann(w, 0), pibls.Dirichlet(w, t, on={x: 0.5, y: 0})],
    )
    X = list(points_of(problem).values())[2].sites[0]
    assert np.all(X[:, :2] == (0.5, 0.0))
    assert X[0, 2] == 1.0
    assert X[-1, 2] == 3.0
    assert len(X) > 5


def test_point_with_time_is_a_single_point() -> None:
    problem = pibls.Problem(
        STRIP,
        [HEAT],
        [pibls.Dirichlet(ut, 0), pibls.Initial(ut, 0), pibls.Dirichlet(ut, 0, on={x: 0.5, t: 1})],
    )
    assert list(points_of(problem).values())[3].sites[0].tolist() == [[0.5, 1.0]]


def test_end_of_an_interval_in_time_is_a_side() -> None:
    problem = pibls.Problem(
        STRIP, [HEAT], [pibls.Dirichlet(ut, 0, on={x: 1}), pibls.Neumann(ut, 0), pibls.Initial(ut, 0)]
    )
    named, rest, start = list(points_of(problem).values())[1:]
    assert set(named.sites[0][:, 0]) == {1.0}
    assert set(rest.sites[0][:, 0]) == {0.0}
    assert np.ptp(named.sites[0][:, 1]) > 1.5
    assert set(start.sites[0][:, 1]) == {0.0}


@pytest.mark.parametrize(("on", "level"), [(sp.Eq(t, 2), 2.0), (sp.Eq(t, 0), 0.0), (sp.Eq(t, 0.5), 0.5)])
def test_slice_in_time(on: Any, level: float) -> None:
    """A condition at a fixed time covers the space domain, and leaves the boundary to on=None."""
    problem = pibls.Problem(STRIP, [HEAT], [pibls.Dirichlet(ut, 0), pibls.Dirichlet(ut, 1, on=on)])
    sides, found = list(points_of(problem).values())[1:]
    X = found.sites[0]
    assert set(X[:, 1]) == {level}
    assert len(X) == 20
    assert np.ptp(X[:, 0]) > 0.8
    assert set(sides.sites[0][:, 0]) == {0.0, 1.0}


def test_part_of_a_slice_in_time() -> None:
    on = sp.And(sp.Eq(t, 2), x > 0.5)
    problem = pibls.Problem(STRIP, [HEAT], [pibls.Dirichlet(ut, 0), pibls.Dirichlet(ut, 1, on=on)])
    X = list(points_of(problem).values())[2].sites[0]
    assert set(X[:, 1]) == {2.0}
    assert np.all(X[:, 0] > 0.5)


def test_slice_in_space() -> None:
    """x = ½ is not on the boundary: it is a line through the domain."""
    _, found = on_square(pibls.Dirichlet(u, 0), pibls.Condition(u.diff(x), on=sp.Eq(x, 0.5)))
    assert set(found.sites[0][:, 0]) == {0.5}
    assert np.ptp(found.sites[0][:, 1]) > 0.8


def test_boundary_excludes_initial_and_final_time() -> None:
    found = points_of(pibls.Problem(STRIP, [HEAT], [pibls.Neumann(ut, 0), pibls.Initial(ut, 0)]))
    assert sides_of(found["Neumann(u)"]) == {LEFT, RIGHT}


@pytest.mark.parametrize("on", [LINE, STRIP, pibls.Interval(x, 0, 1)], ids=["space", "domain", "its-equal"])
def test_space_shape_selects_the_whole_lateral_boundary(on: Any) -> None:
    problem = pibls.Problem(STRIP, [HEAT], [pibls.Dirichlet(ut, 0, on=on), pibls.Initial(ut, 0)])
    sides = list(points_of(problem).values())[1]
    assert sides_of(sides) == {LEFT, RIGHT}
    assert len(sides) == 80


def test_irrational_bounds_are_recognised() -> None:
    domain = pibls.Box({x: (-sp.sqrt(2), sp.pi), y: (0, sp.Rational(1, 3))})
    conditions = [
        pibls.Dirichlet(u, 0, on=sp.Eq(x, sp.pi)),
        pibls.Dirichlet(u, 0, on=sp.Eq(x**2, 2)),
        pibls.Dirichlet(u, 0, on=sp.Eq(3 * y, 1)),
        pibls.Dirichlet(u, 0),
    ]
    found = list(points_of(pibls.Problem(domain, [LAPLACE], conditions)).values())[1:]
    assert [sides_of(f) for f in found] == [{RIGHT}, {LEFT}, {TOP}, {BOTTOM}]


@pytest.mark.parametrize("part", [t > 1, sp.And(sp.Eq(x, 0), t < 1)], ids=str)
def test_side_during_part_of_the_time(part: Any) -> None:
    problem = pibls.Problem(
        STRIP, [HEAT], [pibls.Dirichlet(ut, 0, on=part), pibls.Neumann(ut, 0), pibls.Initial(ut, 0)]
    )
    named, rest, _ = list(points_of(problem, pibls.Points(100, 200, 20)).values())[1:]
    holds = sp.lambdify((x, t), part if part.is_Relational else sp.And(x < 0.5, t < 1), "numpy")
    assert holds(*named.sites[0].T).all()
    assert not holds(*rest.sites[0].T).any()


# --- periodic -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_periodic_pairs_are_opposite(rule: str) -> None:
    box = pibls.Box({x: (-1, 2), y: (0, 1)})
    problem = pibls.Problem(box, [LAPLACE], [pibls.Periodic(u, x), pibls.Dirichlet(u, 0)])
    found = points_of(problem, pibls.Points(100, 80, rule=rule))
    low, high = found["Periodic(u, x)"].sites
    assert set(low[:, 0]) == {-1.0}
    assert set(high[:, 0]) == {2.0}
    assert np.array_equal(low[:, 1], high[:, 1])
    assert len(low) == 20
    assert sides_of(found["Dirichlet(u)"]) == {BOTTOM, TOP}


def test_periodic_holds_below_the_order_of_the_equation() -> None:
    beam = pibls.Problem(LINE, [u1.diff(x, 4) - u1], [pibls.Periodic(u1, x)])
    assert [s.name for s in beam.statements[1:]] == [
        "Periodic(u, x)",
        *(f"Periodic(u, x), derivative {k}" for k in (1, 2, 3)),
    ]


def test_periodic_in_both_directions() -> None:
    problem = pibls.Problem(SQUARE, [LAPLACE - u], [pibls.Periodic(u, x), pibls.Periodic(u, y)])
    found = points_of(problem)
    assert set(found["Periodic(u, x)"].sites[0][:, 0]) == {0.0}
    assert set(found["Periodic(u, y)"].sites[0][:, 1]) == {0.0}


# --- number of points -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("count", [4, 79, 80, 81, 83])
def test_number_of_boundary_points_on_a_square(rule: str, count: int) -> None:
    problem = pibls.Problem(SQUARE, [LAPLACE], [pibls.Dirichlet(u, 0)])
    found = points_of(problem, pibls.Points(64, count, rule=rule))
    assert len(found["Dirichlet(u)"]) == count
    assert len(found["equation"]) == 64


@pytest.mark.parametrize("rule", ["sobol", "halton", "uniform", "lhs"])
def test_number_of_boundary_points_on_a_cube(rule: str) -> None:
    w = sp.Function("u")(x, y, z)
    cube = pibls.Box({x: (0, 1), y: (0, 2), z: (0, 3)})
    problem = pibls.Problem(cube, [w.diff(x, 2)], [pibls.Dirichlet(w, 0)])
    assert len(points_of(problem, pibls.Points(50, 100, rule=rule))["Dirichlet(u)"]) == 100


def test_sides_get_equal_numbers_in_scaled_coordinates() -> None:
    """A long thin box is a square in scaled coordinates; its four sides get the same number of points."""
    thin = pibls.Box({x: (0, 1), y: (0, 1000)})
    problem = pibls.Problem(thin, [LAPLACE], [pibls.Neumann(u, 0)])
    normals = points_of(problem, pibls.Points(50, 40))["Neumann(u)"].normals
    assert [int(np.all(normals == n, axis=1).sum()) for n in (LEFT, RIGHT, BOTTOM, TOP)] == [10] * 4


def test_selected_side_gets_its_share_of_points() -> None:
    named, rest = on_square(pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)), pibls.Neumann(u, 0))
    assert (len(named), len(rest)) == (20, 60)


def test_initial_condition_has_its_own_number_of_points() -> None:
    problem = pibls.Problem(STRIP, [HEAT], [pibls.Dirichlet(ut, 0), pibls.Initial(ut, 0)])
    found = points_of(problem, pibls.Points(50, 32, 17))
    assert {k: len(s) for k, s in found.items()} == {"equation": 50, "Dirichlet(u)": 32, "Initial(u)": 17}


def test_conditions_on_the_same_region_share_points() -> None:
    first, second = on_square(pibls.Dirichlet(u, 0), pibls.Neumann(u, 0))
    assert first is second


@pytest.mark.parametrize(
    ("width", "squared"), [(1e-3, False), (1e-5, False), (1e-7, False), (1e-3, True), (2e-4, True)]
)
def test_small_part_of_a_side_is_found(width: float, squared: bool) -> None:
    """A thousand random points miss such a part; it was rejected, or had no points."""
    centre = 0.7201
    between = sp.And(y > centre - width / 2, y < centre + width / 2)
    part = sp.And(sp.Eq(x, 1), (y - centre) ** 2 < width**2 / 4 if squared else between)
    exact = sp.exp(x) * sp.sin(y)
    conditions = [pibls.Neumann(u, exact.subs(x, 1), on=part), pibls.Dirichlet(u, exact)]
    selected, rest = (found.sites[0] for found in on_square(*conditions))
    assert len(selected)
    assert np.all((selected[:, 0] == 1) & (np.abs(selected[:, 1] - centre) < 0.51 * width))
    assert not np.any((rest[:, 0] == 1) & (np.abs(rest[:, 1] - centre) < 0.49 * width))
    solution = pibls.solve(pibls.Problem(SQUARE, [LAPLACE], conditions), tol=1e-6)
    assert solution.converged
    assert abs(float(solution(0.9, centre)) - np.exp(0.9) * np.sin(centre)) < 1e-6

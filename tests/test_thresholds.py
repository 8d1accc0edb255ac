"""What the search decides by: each threshold has a case on either side of it that it must tell apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive import candidate as attempts
from pibls.adaptive import pipeline as drive
from pibls.adaptive.candidate import Candidate, rescaled
from pibls.adaptive.cells.hp_selection import SizedTree
from pibls.adaptive.cells.strategy import CellStrategy
from pibls.adaptive.evolution import evolution_of
from pibls.adaptive.evolutions.trajectory import Tolerances
from pibls.adaptive.ode.initial_values import initial_values
from pibls.adaptive.pipeline import _time_of_total_loss
from pibls.adaptive.random_features import strategy as waves
from pibls.adaptive.random_features.family import RandomFeatureFamily
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.validation.estimate import ComparisonPoints, ErrorEstimate, error_from_difference
from pibls.assembly.evolutions.ode_equations import group_by_order
from pibls.nonlinear import Outcome
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces.cell_tree import CellTree
from pibls.status import Status
from tests.strategy_helpers import interval_problem, make_candidate, make_strategy, square_problem

x, y = sp.symbols("x y")
u = sp.Function("u")

# -- trust --


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(8))
def test_the_second_solution_is_at_another_scale(seed: int) -> None:
    """In nearly the same space it would share the error of the first."""
    exact = sp.sin(6 * x) / (2 + x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(u(x).diff(x, 2), exact.diff(x, 2))],
        [pibls.Dirichlet(u(x), exact)],
    )
    basis = pibls.Waves(12, scale=8.0)
    solution = pibls.solve(problem, basis=basis, points=pibls.Points(60, 2), seed=seed)
    X = np.linspace(0, 1, 500)
    true = np.abs(solution(X) - sp.lambdify(x, exact)(X)).max()
    assert 1.5 * true <= solution.error.max <= 300 * true


def test_what_is_drawn_again_is_somewhat_narrower() -> None:
    assert 0.7 <= rescaled(pibls.Waves(10, scale=1.0)).scale <= 0.95  # type: ignore[union-attr]


def test_the_estimate_is_some_times_the_difference_and_never_below_rounding() -> None:
    where = ComparisonPoints(np.zeros((2, 1)), np.zeros((2, 1)))
    some = error_from_difference(np.full((1, 2), 1e-6), np.full((1, 2), 1e-6), np.ones(1), where)
    none = error_from_difference(np.zeros((1, 2)), np.zeros((1, 2)), np.ones(1), where)
    assert 2e-6 < some.max < 2e-5
    assert 2e-6 < some.l2 < 2e-5
    assert 2e-16 < none.max < 1e-14


@pytest.mark.parametrize(
    ("now", "last", "promising"),
    [(1e-5, 1.5e-5, False), (1e-7, 1.5e-7, True), (0.5, 5.0, False), (0.01, 0.5, True)],
    ids=["does not hold", "holds", "does not fit", "falls"],
)
def test_two_that_agree_prove_nothing_while_the_equations_do_not_hold(
    now: float, last: float, promising: bool
) -> None:
    assert bool(make_strategy()._is_promising(make_candidate(now), make_candidate(last))) is promising


@pytest.mark.parametrize(
    ("tol", "relative", "promising"),
    [
        (1e-10, 1e-12, True),
        (1e-10, 1e-11, False),
        (1e-4, 3e-5, True),
        (1e-4, 1e-3, False),
        (1e-7, 3e-8, False),
    ],
)
def test_the_first_width_is_confirmed_where_it_is_good_enough(
    tol: float, relative: float, promising: bool
) -> None:
    assert bool(make_strategy(tol)._is_promising(make_candidate(relative), None)) is promising


@pytest.mark.parametrize(
    ("relative", "difference", "undetermined"),
    [(1e-10, 1e-2, True), (1e-10, 1e-4, False), (1e-8, 1e-2, False)],
    ids=["two solutions", "the same", "not solved"],
)
def test_two_solutions_differ_by_more_than_their_errors(
    relative: float, difference: float, undetermined: bool
) -> None:
    assert (
        bool(
            make_strategy()._is_undetermined(
                make_candidate(relative), make_candidate(relative, 1.0 + difference)
            )
        )
        is undetermined
    )


@pytest.mark.parametrize(
    ("stiffness", "half", "undetermined"),
    [
        (1e-4, None, False),  # well-posed: not even asked at another width
        (1e-8, 1e-7, False),  # a resonance
        (1e-8, 1e-4, True),  # a condition is missing
        (1e-14, 1e-14, True),  # nothing but rounding
        (1e-12, 1e-12, False),
    ],
)
def test_a_missing_condition_and_a_resonance_are_told_apart(
    stiffness: float, half: float | None, undetermined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*args: Any, **more: Any) -> Candidate:
        assert half is not None, "it was asked for"
        return make_candidate(1e-12, coercivity=half)

    monkeypatch.setattr(RandomFeatureStrategy, "_compute", asked)
    assert (
        bool(
            make_strategy()._is_undetermined(
                make_candidate(1e-12), make_candidate(1e-12, coercivity=stiffness)
            )
        )
        is undetermined
    )


@pytest.mark.parametrize(
    ("relatives", "values", "contradictory"),
    [
        ((1e-2, 1e-2, 1e-2), (1.0, 1.0, 1.0), True),
        ((1e-6, 1e-6, 1e-6), (1.0, 1.0, 1.0), False),  # it may be solved yet
        ((1e-2, 1e-2, 1e-2), (1.0, 1.01, 1.02), True),
        ((1e-2, 1e-2, 1e-2), (1.0, 3.0, 9.0), False),  # it still moves
        ((1e-2, 3e-3, 1e-3), (1.0, 1.0, 1.0), False),  # it still falls
    ],
)
def test_contradictions_are_claimed_where_nothing_changes_any_more(
    relatives: tuple[float, ...], values: tuple[float, ...], contradictory: bool
) -> None:
    one = make_strategy()
    last, claimed = None, False
    for relative, value in zip(relatives, values, strict=True):
        now = make_candidate(relative, value)
        claimed, last = one._is_contradictory(now, last), now
    assert claimed is contradictory


def test_when_no_digit_is_left() -> None:
    history = ((1.0, 1e-6), (2.0, 1e-2), (3.0, 0.5), (4.0, 0.5))
    error = ErrorEstimate(0.5, 0.5, history=history)
    assert _time_of_total_loss(error, 1.0, None) == 3.0
    assert (
        _time_of_total_loss(error, 1.0, None, ((2.5, 3.5), (3.9, 5.0))) is None
    )  # in layers nothing is promised
    assert _time_of_total_loss(replace(error, history=history[:3]), 1.0, None) is None  # at the very end
    assert _time_of_total_loss(replace(error, history=history[:2]), 1.0, None) is None


# -- one basis --


@pytest.mark.parametrize(
    ("relative", "last", "nodes", "flat"),
    [
        (1e-14, 1.5e-14, 64, True),
        (1e-13, 1e-11, 64, False),
        (1e-6, 1.5e-6, 64, False),  # not yet rounding: it may go on
        (1e-10, 1.5e-10, 64, True),
        (1e-14, 1.2e-14, 42, True),
        (1e-14, 1.5e-14, 42, False),  # a third wider, a third better
    ],
)
def test_a_doubling_that_gains_nothing(relative: float, last: float, nodes: int, flat: bool) -> None:
    assert (
        bool(
            make_strategy()._is_rounding_limited(
                make_candidate(relative), make_candidate(last, nodes=32 if nodes == 64 else 48)
            )
        )
        is flat
    )


@pytest.mark.parametrize(
    ("source", "stretched"),
    [(sp.sin(40 * x) * (1 + y), True), (sp.exp(-40 * ((x - 0.5) ** 2 + (y - 0.4) ** 2)), False)],
    ids=["waves along x", "a round hill"],
)
def test_waves_lean_where_the_solution_does(source: Any, stretched: bool) -> None:
    one = make_strategy(1e-9, square_problem(source))
    for _ in range(3):
        one.advance()
    assert isinstance(one.family, RandomFeatureFamily)
    scale = one.family.anisotropy
    assert (max(scale) / min(scale) > 1.5) is stretched
    assert len(one.budget.history) > 5 or not stretched


@pytest.mark.parametrize(("fall", "leans"), [(0.5, True), (1e-2, False)])
def test_a_doubling_that_gains_enough_goes_on(
    fall: float, leans: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, residual = [], [0.1]

    def attempted(self: RandomFeatureStrategy, *_: Any, **__: Any) -> Candidate:
        residual[0] *= fall
        return make_candidate(residual[0], nodes=128 * 2 ** (self._width_count - 1))

    def stretched(self: RandomFeatureStrategy, now: Candidate, nodes: int) -> Candidate:
        asked.append(nodes)
        return now

    monkeypatch.setattr(RandomFeatureStrategy, "_compute", attempted)
    monkeypatch.setattr(RandomFeatureStrategy, "_select_anisotropy", stretched)
    monkeypatch.setattr(RandomFeatureStrategy, "_validate", lambda *_, **__: None)
    one = make_strategy(problem=square_problem())
    one.advance()
    one.advance()
    assert bool(asked) is leans


@pytest.mark.parametrize(("nodes", "asked"), [(1000, True), (300, False)])
def test_where_a_wider_one_is_expensive_a_second_opinion_is_asked(nodes: int, asked: bool) -> None:
    """Though the last two differ: what was gained since says nothing about what is left."""
    now, last = make_candidate(5e-12, 1.0, nodes=nodes), make_candidate(6e-12, 2.0, nodes=nodes // 2)
    assert bool(make_strategy()._is_promising(now, last)) is asked


@pytest.mark.parametrize(("share", "status"), [(0.5, Status.NO_SOLUTION), (0.01, Status.UNDETERMINED)])
def test_data_that_are_left_over_contradict_each_other(
    share: float, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waves, "unexplained_share", lambda *_: share)
    monkeypatch.setattr(RandomFeatureStrategy, "_is_undetermined", lambda *_: True)
    one = make_strategy()
    for _ in range(4):
        if one.status is None:
            one.advance()
    assert one.status is status


def test_a_smooth_solution_is_found_without_looking_for_a_lean() -> None:
    solution = pibls.solve(pibls.cases["TC-6"].problem, tol=1e-8)
    widths = [told.nodes for told in solution.history]
    assert all(widths.count(n) <= 3 for n in widths)


@pytest.mark.parametrize(("tol", "density"), [(1e-12, 2.5), (1e-10, 1.75)])
def test_rounding_is_averaged_over_more_points(tol: float, density: float) -> None:
    assert make_strategy(tol).context.density == density


@pytest.mark.parametrize(("relative", "per_node"), [(0.1, 3.0), (1e-3, 1.75)])
def test_what_is_rough_gets_more_points(relative: float, per_node: float) -> None:
    one = make_strategy(problem=square_problem())
    made = attempts.compute_candidate(
        one.context, pibls.Waves(40, scale=1.0), None, None, 1, make_candidate(relative)
    )
    assert made.settings["points"].interior == int(per_node * 40)


@pytest.mark.parametrize(("relative", "resumed"), [(0.1, True), (1.0, False)])
def test_a_good_solution_is_a_start(relative: float, resumed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u(x).diff(x, 2), u(x) ** 2 + 1)], [pibls.Dirichlet(u(x), 0)]
    )
    one, ways = make_strategy(problem=problem), []

    def way(name: bool) -> Any:
        def taken(system: Any, *_: Any) -> Outcome:
            ways.append(name)
            return Outcome(np.zeros(system.shape[1]), 0.0, 1, Status.SOLVED)

        return taken

    monkeypatch.setattr(attempts, "solve_from_solution", way(True))
    monkeypatch.setattr(attempts, "solve_from_data", way(False))
    attempts.compute_candidate(
        one.context, pibls.Waves(16, scale=3.0), None, None, 1, make_candidate(relative)
    )
    assert ways == [resumed]


@pytest.mark.parametrize(
    ("source", "more"), [(sp.exp(-2000 * ((x - 0.31) ** 2 + (y - 0.57) ** 2)), True), (sp.exp(x), False)]
)
def test_a_narrow_source_is_looked_at_where_it_is(source: Any, more: bool) -> None:
    context = make_strategy(problem=square_problem(source)).context
    inside = next(points for region, points in context.held_out.items() if region.is_interior)
    usual = next(
        points
        for region, points in make_strategy(problem=square_problem(sp.S.One)).context.held_out.items()
        if region.is_interior
    )
    assert (len(inside) > len(usual)) is more


# -- cells and windows --


def test_cells_are_divided_where_and_along_what_they_must() -> None:
    one = make_strategy(problem=square_problem())
    cells = CellStrategy(one.context, one.budget)
    cells.sized_tree = SizedTree.uniform(CellTree.grid(one.context.box, (4, 4)), 1)
    n = len(cells.tree)
    cells._worst_points = np.array([box.mean(axis=1) for box in cells.tree.boxes])
    cells._singular = cells._at_corner = np.zeros(n, dtype=np.bool_)
    cells._last_result = (n, 0.0, 1.0)
    indicator = np.full(n, 1e-3)  # less than the share of the largest that is divided
    indicator[0], indicator[1] = 1.0, 0.1
    along = np.tile([1.0, 0.01], (n, 1))
    along[1] = [1.0, 0.5]
    refined = cells._refine(make_candidate(0.5), indicator, along, 1e-9).tree
    # One along x alone, and the next, which matters too, along both: 1 + 3 more, if halved once.
    assert len(refined) >= n + 4
    kept = {tuple(box.ravel()) for box in cells.tree.boxes} & {tuple(box.ravel()) for box in refined.boxes}
    assert len(kept) == n - 2
    inside_first = [b for b in refined.boxes if _within(b, cells.tree.boxes[0])]
    heights = {round(float(b[1, 1] - b[1, 0]), 9) for b in inside_first}
    assert heights == {round(float(np.diff(cells.tree.boxes[0][1])[0]), 9)}


def _within(inner: Any, outer: Any) -> bool:
    return bool(np.all(outer[:, 0] - 1e-12 <= inner[:, 0]) and np.all(inner[:, 1] <= outer[:, 1] + 1e-12))


@pytest.mark.parametrize("problem", [interval_problem, square_problem])
def test_windows_are_not_asked_for_less_than_rounding_leaves(problem: Any) -> None:
    context = make_strategy(1e-6, problem()).context
    least = Tolerances(0.0, 0.0).clipped_to_rounding(context).spectral_tail
    assert 1e-16 <= least <= 1e-12
    assert least <= 1e-14 or context.compiled.dimension > 1
    assert least >= 1e-14 or context.compiled.dimension == 1


def test_a_bump_gets_as_many_cells_as_it_needs() -> None:
    """6 of them; asked for a thousandth of the tail 10, for a thousand times more 14, after two failures."""
    problem = pibls.Problem(
        pibls.Interval(x, -1, 1),
        [sp.Eq(u(x).diff(x, 2) - u(x), 1 / (1 + 10000 * x**2))],
        [pibls.Dirichlet(u(x), 0)],
    )
    solution = pibls.solve(problem, tol=1e-3)
    assert solution.converged
    assert 4 <= solution.history[-1].cells <= 8


def test_orbits_are_asked_for_more_than_the_tolerance_and_not_for_all() -> None:
    t = sp.Symbol("t")
    a, b = (sp.Function(name)(t) for name in "ab")
    problem = pibls.Problem(
        pibls.Interval(t, 0, 15),
        [sp.Eq(a.diff(t), a - a * b / 2), sp.Eq(b.diff(t), a * b / 2 - b)],
        [pibls.Initial(a, 10), pibls.Initial(b, 5)],
    )
    solution = pibls.solve(problem, tol=1e-4)
    assert solution.converged
    assert 3e-11 < solution.error.max < 1e-6


@pytest.mark.parametrize(("off", "runs"), [(0.1, 2), (1e-3, 3)])
@pytest.mark.parametrize("end", [0, 1])
def test_a_clear_contradiction_shows_in_a_rough_solution(
    off: float, runs: int, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """u' = u with u = 1 and u' = 1 + off at one end: what is nearly right is looked at with all digits."""
    tols: list[float] = []
    run = drive._run

    def counted(problem: Any, request: Any, budget: Any) -> Any:
        tols.append(request.tol)
        return run(problem, request, budget)

    monkeypatch.setattr(drive, "_run", counted)
    w = u(x)
    conditions = [pibls.Condition(sp.Eq(e, 1 + d), on={x: end}) for e, d in ((w, 0), (w.diff(x), off))]
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(pibls.Problem(pibls.Interval(x, 0, 1), [w.diff(x) - w], conditions))
    assert solution.status is Status.NO_SOLUTION
    assert len(tols) == runs


@pytest.mark.parametrize(("apart", "followed"), [(1e-10, True), (1e-13, False)])
def test_a_beginning_that_is_no_beginning(apart: float, followed: bool) -> None:
    """v + w and v + (1 + apart) w are two values as long as they can be told apart."""
    v, w = u(x), sp.Function("w")(x)
    conditions = [
        pibls.Condition(sp.Eq(v + w, 1), on={x: 0}),
        pibls.Condition(sp.Eq(v + (1 + sp.Float(apart)) * w, 1), on={x: 0}),
    ]
    lowered = compile_problem(
        pibls.Problem(pibls.Interval(x, 0, 1), [v.diff(x) - w, w.diff(x) + v], conditions)
    )
    evolution = evolution_of(lowered, pibls.Interval(x, 0, 1))
    assert evolution is not None
    assert (initial_values(lowered, evolution, group_by_order(evolution.orders)) is not None) is followed


@pytest.mark.parametrize(("across", "content"), [(5.0, False), (12.0, True)])
def test_free_waves_are_resolved_where_that_is_cheap(
    across: float, content: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the plane seven waves across are; more are left to others."""
    one = make_strategy(1e-8, square_problem())
    monkeypatch.setattr(type(one.context), "shortest_homogeneous_wave", property(lambda _: np.pi * across))
    monkeypatch.setattr(RandomFeatureStrategy, "_width", lambda *_: 128)
    assert one._resolves_homogeneous_waves(make_candidate(1e-9)) is content

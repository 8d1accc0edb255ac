"""Thresholds of the adaptive strategies: for each there is a case on either side of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive import candidate as candidates
from pibls.adaptive import pipeline as pipeline
from pibls.adaptive.candidate import Candidate, rescaled
from pibls.adaptive.cells.hp_selection import SizedTree
from pibls.adaptive.cells.strategy import CellStrategy
from pibls.adaptive.random_features import strategy as feature_strategy
from pibls.adaptive.random_features.family import RandomFeatureFamily
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.validation.consistency import time_of_total_loss
from pibls.adaptive.validation.estimate import ComparisonPoints, ErrorEstimate, error_from_difference
from pibls.analysis.evolution import evolution_of
from pibls.assembly.evolutions.ode_equations import group_by_order
from pibls.nonlinear import Outcome
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces.cell_tree import CellTree
from pibls.status import Status
from pibls.time.ode.initial_values import initial_values
from pibls.time.trajectory import Tolerances
from tests.strategy_helpers import interval_problem, make_candidate, make_strategy, square_problem

x, y = sp.symbols("x y")
u = sp.Function("u")

# -- error estimate and validation --


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(8))
def test_companion_solution_has_another_scale(seed: int) -> None:
    """In nearly the same space the companion would share the error of the solution."""
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


def test_rescaled_features_have_a_slightly_smaller_scale() -> None:
    assert 0.7 <= rescaled(pibls.Waves(10, scale=1.0)).scale <= 0.95  # type: ignore[union-attr]


def test_estimate_is_a_multiple_of_the_difference_and_above_rounding() -> None:
    points = ComparisonPoints(np.zeros((2, 1)), np.zeros((2, 1)))
    nonzero = error_from_difference(np.full((1, 2), 1e-6), np.full((1, 2), 1e-6), np.ones(1), points)
    zero = error_from_difference(np.zeros((1, 2)), np.zeros((1, 2)), np.ones(1), points)
    assert 2e-6 < nonzero.max < 2e-5
    assert 2e-6 < nonzero.l2 < 2e-5
    assert 2e-16 < zero.max < 1e-14


@pytest.mark.parametrize(
    ("now", "last", "promising"),
    [(1e-5, 1.5e-5, False), (1e-7, 1.5e-7, True), (0.5, 5.0, False), (0.01, 0.5, True)],
    ids=["residual too large", "residual small", "not resolved", "decreasing"],
)
def test_agreement_requires_small_residuals(now: float, last: float, promising: bool) -> None:
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
def test_first_candidate_is_confirmed_if_residual_is_small(
    tol: float, relative: float, promising: bool
) -> None:
    assert bool(make_strategy(tol)._is_promising(make_candidate(relative), None)) is promising


@pytest.mark.parametrize(
    ("relative", "difference", "undetermined"),
    [(1e-10, 1e-2, True), (1e-10, 1e-4, False), (1e-8, 1e-2, False)],
    ids=["two solutions", "same solution", "large residuals"],
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
    ("stability_constant", "at_half_width", "undetermined"),
    [
        (1e-4, None, False),  # well-posed: not computed at another width
        (1e-8, 1e-7, False),  # a resonance
        (1e-8, 1e-4, True),  # a condition is missing
        (1e-14, 1e-14, True),  # rounding only
        (1e-12, 1e-12, False),
    ],
)
def test_missing_condition_and_resonance_are_distinguished(
    stability_constant: float,
    at_half_width: float | None,
    undetermined: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compute(*args: Any, **more: Any) -> Candidate:
        assert at_half_width is not None, "unexpected computation"
        return make_candidate(1e-12, stability_constant=at_half_width)

    monkeypatch.setattr(RandomFeatureStrategy, "_compute", compute)
    assert (
        bool(
            make_strategy()._is_undetermined(
                make_candidate(1e-12), make_candidate(1e-12, stability_constant=stability_constant)
            )
        )
        is undetermined
    )


@pytest.mark.parametrize(
    ("relatives", "values", "contradictory"),
    [
        ((1e-2, 1e-2, 1e-2), (1.0, 1.0, 1.0), True),
        ((1e-6, 1e-6, 1e-6), (1.0, 1.0, 1.0), False),  # it may still be solved
        ((1e-2, 1e-2, 1e-2), (1.0, 1.01, 1.02), True),
        ((1e-2, 1e-2, 1e-2), (1.0, 3.0, 9.0), False),  # the solution still changes
        ((1e-2, 3e-3, 1e-3), (1.0, 1.0, 1.0), False),  # the residual still decreases
    ],
)
def test_contradiction_is_claimed_when_residual_and_solution_are_constant(
    relatives: tuple[float, ...], values: tuple[float, ...], contradictory: bool
) -> None:
    strategy = make_strategy()
    last, claimed = None, False
    for relative, value in zip(relatives, values, strict=True):
        now = make_candidate(relative, value)
        claimed, last = strategy._is_contradictory(now, last), now
    assert claimed is contradictory


def testtime_of_total_loss_of_accuracy() -> None:
    history = ((1.0, 1e-6), (2.0, 1e-2), (3.0, 0.5), (4.0, 0.5))
    error = ErrorEstimate(0.5, 0.5, history=history)
    assert time_of_total_loss(error, 1.0, None) == 3.0
    assert (
        time_of_total_loss(error, 1.0, None, ((2.5, 3.5), (3.9, 5.0))) is None
    )  # the estimate does not apply in initial layers
    assert time_of_total_loss(replace(error, history=history[:3]), 1.0, None) is None  # at the very end
    assert time_of_total_loss(replace(error, history=history[:2]), 1.0, None) is None


# -- random features --


@pytest.mark.parametrize(
    ("relative", "last", "nodes", "flat"),
    [
        (1e-14, 1.5e-14, 64, True),
        (1e-13, 1e-11, 64, False),
        (1e-6, 1.5e-6, 64, False),  # above the rounding level: continue
        (1e-10, 1.5e-10, 64, True),
        (1e-14, 1.2e-14, 42, True),
        (1e-14, 1.5e-14, 42, False),  # a third more nodes, a third smaller residual
    ],
)
def test_rounding_limit_is_detected_after_a_doubling(
    relative: float, last: float, nodes: int, flat: bool
) -> None:
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
    ids=["oscillation along x", "radial peak"],
)
def test_anisotropy_follows_the_solution(source: Any, stretched: bool) -> None:
    strategy = make_strategy(1e-9, square_problem(source))
    for _ in range(3):
        strategy.advance()
    assert isinstance(strategy.family, RandomFeatureFamily)
    scale = strategy.family.anisotropy
    assert (max(scale) / min(scale) > 1.5) is stretched
    assert len(strategy.budget.history) > 5 or not stretched


@pytest.mark.parametrize(("reduction", "anisotropic"), [(0.5, True), (1e-2, False)])
def test_anisotropy_is_tried_only_after_a_small_gain(
    reduction: float, anisotropic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    selections, residual = [], [0.1]

    def compute(self: RandomFeatureStrategy, *_: Any, **__: Any) -> Candidate:
        residual[0] *= reduction
        return make_candidate(residual[0], nodes=128 * 2 ** (self._width_count - 1))

    def select(self: RandomFeatureStrategy, now: Candidate, nodes: int) -> Candidate:
        selections.append(nodes)
        return now

    monkeypatch.setattr(RandomFeatureStrategy, "_compute", compute)
    monkeypatch.setattr(RandomFeatureStrategy, "_select_anisotropy", select)
    monkeypatch.setattr(RandomFeatureStrategy, "_validate", lambda *_, **__: None)
    strategy = make_strategy(problem=square_problem())
    strategy.advance()
    strategy.advance()
    assert bool(selections) is anisotropic


@pytest.mark.parametrize(("nodes", "confirmed"), [(1000, True), (300, False)])
def test_expensive_candidate_is_confirmed_instead_of_doubled(nodes: int, confirmed: bool) -> None:
    """Also if the last two differ: their difference does not bound the error of the latest one."""
    now, last = make_candidate(5e-12, 1.0, nodes=nodes), make_candidate(6e-12, 2.0, nodes=nodes // 2)
    assert bool(make_strategy()._is_promising(now, last)) is confirmed


@pytest.mark.parametrize(("share", "status"), [(0.5, Status.NO_SOLUTION), (0.01, Status.UNDETERMINED)])
def test_unexplained_data_mean_a_contradiction(
    share: float, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_strategy, "unexplained_share", lambda *_: share)
    monkeypatch.setattr(RandomFeatureStrategy, "_is_undetermined", lambda *_: True)
    strategy = make_strategy()
    for _ in range(4):
        if strategy.status is None:
            strategy.advance()
    assert strategy.status is status


def test_smooth_solution_needs_no_anisotropy_selection() -> None:
    solution = pibls.solve(pibls.cases["TC-6"].problem, tol=1e-8)
    widths = [progress.nodes for progress in solution.history]
    assert all(widths.count(n) <= 3 for n in widths)


@pytest.mark.parametrize(("tol", "density"), [(1e-12, 2.5), (1e-10, 1.75)])
def test_point_density_is_higher_near_rounding(tol: float, density: float) -> None:
    assert make_strategy(tol).context.density == density


@pytest.mark.parametrize(("relative", "per_node"), [(0.1, 3.0), (1e-3, 1.75)])
def test_unresolved_solution_gets_more_points(relative: float, per_node: float) -> None:
    strategy = make_strategy(problem=square_problem())
    candidate = candidates.compute_candidate(
        strategy.context, pibls.Waves(40, scale=1.0), None, None, 1, make_candidate(relative)
    )
    assert candidate.settings["points"].interior == int(per_node * 40)


@pytest.mark.parametrize(("relative", "resumed"), [(0.1, True), (1.0, False)])
def test_initial_guess_from_an_accurate_candidate(
    relative: float, resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u(x).diff(x, 2), u(x) ** 2 + 1)], [pibls.Dirichlet(u(x), 0)]
    )
    strategy, calls = make_strategy(problem=problem), []

    def solver(from_solution: bool) -> Any:
        def solve(system: Any, *_: Any) -> Outcome:
            calls.append(from_solution)
            return Outcome(np.zeros(system.shape[1]), 0.0, 1, Status.SOLVED)

        return solve

    monkeypatch.setattr(candidates, "solve_from_solution", solver(True))
    monkeypatch.setattr(candidates, "solve_from_data", solver(False))
    candidates.compute_candidate(
        strategy.context, pibls.Waves(16, scale=3.0), None, None, 1, make_candidate(relative)
    )
    assert calls == [resumed]


@pytest.mark.parametrize(
    ("source", "more"), [(sp.exp(-2000 * ((x - 0.31) ** 2 + (y - 0.57) ** 2)), True), (sp.exp(x), False)]
)
def test_validation_points_at_a_narrow_source(source: Any, more: bool) -> None:
    context = make_strategy(problem=square_problem(source)).context
    inside = next(points for region, points in context.held_out.items() if region.is_interior)
    usual = next(
        points
        for region, points in make_strategy(problem=square_problem(sp.S.One)).context.held_out.items()
        if region.is_interior
    )
    assert (len(inside) > len(usual)) is more


# -- cells and time windows --


def test_refinement_of_cells_is_local_and_anisotropic() -> None:
    strategy = make_strategy(problem=square_problem())
    cells = CellStrategy(strategy.context, strategy.budget)
    cells.sized_tree = SizedTree.uniform(CellTree.grid(strategy.context.box, (4, 4)), 1)
    n = len(cells.tree)
    cells._worst_points = np.array([box.mean(axis=1) for box in cells.tree.boxes])
    cells._singular = cells._at_corner = np.zeros(n, dtype=np.bool_)
    cells._last_result = (n, 0.0, 1.0)
    indicator = np.full(n, 1e-3)  # below the fraction of the largest indicator that is refined
    indicator[0], indicator[1] = 1.0, 0.1
    axis_indicators = np.tile([1.0, 0.01], (n, 1))
    axis_indicators[1] = [1.0, 0.5]
    refined = cells._refine(make_candidate(0.5), indicator, axis_indicators, 1e-9).tree
    # The first cell is halved along x only, the second along both axes: at least 1 + 3 more cells.
    assert len(refined) >= n + 4
    unchanged = {tuple(box.ravel()) for box in cells.tree.boxes} & {
        tuple(box.ravel()) for box in refined.boxes
    }
    assert len(unchanged) == n - 2
    inside_first = [b for b in refined.boxes if _within(b, cells.tree.boxes[0])]
    heights = {round(float(b[1, 1] - b[1, 0]), 9) for b in inside_first}
    assert heights == {round(float(np.diff(cells.tree.boxes[0][1])[0]), 9)}


def _within(inner: Any, outer: Any) -> bool:
    return bool(np.all(outer[:, 0] - 1e-12 <= inner[:, 0]) and np.all(inner[:, 1] <= outer[:, 1] + 1e-12))


@pytest.mark.parametrize("problem", [interval_problem, square_problem])
def test_tolerances_of_windows_are_above_rounding(problem: Any) -> None:
    context = make_strategy(1e-6, problem()).context
    least = Tolerances(0.0, 0.0).clipped_to_rounding(context).spectral_tail
    assert 1e-16 <= least <= 1e-12
    assert least <= 1e-14 or context.compiled.dimension > 1
    assert least >= 1e-14 or context.compiled.dimension == 1


def test_number_of_intervals_for_a_peak() -> None:
    """11 intervals towards a peak of width 0.01, also with the tail limit times 1000; 12 with it / 1000."""
    problem = pibls.Problem(
        pibls.Interval(x, -1, 1),
        [sp.Eq(u(x).diff(x, 2) - u(x), 1 / (1 + 10000 * x**2))],
        [pibls.Dirichlet(u(x), 0)],
    )
    solution = pibls.solve(problem, tol=1e-3)
    assert solution.converged
    assert 8 <= solution.history[-1].cells <= 12


def test_ode_tolerance_is_stricter_than_tol_but_above_rounding() -> None:
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


@pytest.mark.parametrize(("mismatch", "runs"), [(0.1, 2), (1e-3, 3)])
@pytest.mark.parametrize("end", [0, 1])
def test_clear_contradiction_is_found_by_a_coarse_solution(
    mismatch: float, runs: int, end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """u' = u with u = 1 and u' = 1 + mismatch at one end: small mismatches need a full-accuracy run."""
    tols: list[float] = []
    run = pipeline._run

    def counted(problem: Any, request: Any, budget: Any) -> Any:
        tols.append(request.tol)
        return run(problem, request, budget)

    monkeypatch.setattr(pipeline, "_run", counted)
    w = u(x)
    conditions = [pibls.Condition(sp.Eq(e, 1 + d), on={x: end}) for e, d in ((w, 0), (w.diff(x), mismatch))]
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(pibls.Problem(pibls.Interval(x, 0, 1), [w.diff(x) - w], conditions))
    assert solution.status is Status.NO_SOLUTION
    assert len(tols) == runs


@pytest.mark.parametrize(("separation", "independent"), [(1e-10, True), (1e-13, False)])
def test_nearly_dependent_initial_conditions(separation: float, independent: bool) -> None:
    """v + w and v + (1 + separation) w are independent unless the separation is at rounding level."""
    v, w = u(x), sp.Function("w")(x)
    conditions = [
        pibls.Condition(sp.Eq(v + w, 1), on={x: 0}),
        pibls.Condition(sp.Eq(v + (1 + sp.Float(separation)) * w, 1), on={x: 0}),
    ]
    compiled = compile_problem(
        pibls.Problem(pibls.Interval(x, 0, 1), [v.diff(x) - w, w.diff(x) + v], conditions)
    )
    evolution = evolution_of(compiled, pibls.Interval(x, 0, 1))
    assert evolution is not None
    assert (initial_values(compiled, evolution, group_by_order(evolution.orders)) is not None) is independent


@pytest.mark.parametrize(("wavelengths", "resolved"), [(5.0, False), (12.0, True)])
def test_homogeneous_waves_are_resolved_where_cheap(
    wavelengths: float, resolved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the plane, random features resolve up to seven wavelengths across the domain."""
    strategy = make_strategy(1e-8, square_problem())
    monkeypatch.setattr(
        type(strategy.context), "shortest_homogeneous_wave", property(lambda _: np.pi * wavelengths)
    )
    monkeypatch.setattr(RandomFeatureStrategy, "_width", lambda *_: 128)
    assert strategy._resolves_homogeneous_waves(make_candidate(1e-9)) is resolved

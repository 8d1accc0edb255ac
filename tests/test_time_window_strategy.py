"""The strategy of time windows: tolerances, time limits and points where two solutions are compared."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.evolutions import strategy as window_strategies
from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
from pibls.adaptive.validation.estimate import ComparisonPoints, ErrorEstimate, combine_unknowns
from pibls.problem import Interior
from pibls.spaces import CellTree
from pibls.status import Status
from pibls.time.discretizations import CollocationInSpace, GalerkinInSpace
from pibls.time.trajectory import (
    STEP_TOO_SMALL,
    TIME_LIMIT_REACHED,
    Tolerances,
    Trajectory,
    Window,
)
from tests.evolution_helpers import TOLERANCES, validation_context
from tests.strategy_helpers import make_candidate


def test_tolerances_and_sizes_of_discretizations() -> None:
    loose, usual, tight, least = (validation_context("rod", tol) for tol in (1e-5, 1e-6, 1e-8, 1e-14))
    collocation, galerkin = CollocationInSpace(), GalerkinInSpace()
    assert (
        collocation.nodes_per_cell(loose)
        == collocation.nodes_per_cell(usual)
        < collocation.nodes_per_cell(tight)
    )
    assert 1e-8 < collocation.initial_tolerances(usual).spectral_tail < 1e-7
    assert 2e-14 < collocation.initial_tolerances(least).spectral_tail < 1e-12
    assert 1e-5 < galerkin.initial_tolerances(usual).residual < 1e-4
    integrator = collocation.integrator(usual, TOLERANCES, lambda *_: None)
    assert integrator is not None
    assert 10 <= integrator.stage_count <= 20  # for a linear evolution


def trajectory(until: float, why: str | None, *, nodes: int = 10, windows: int = 1) -> Trajectory:
    e = validation_context("rod").evolution
    assert e is not None
    tree = CellTree.single_cell(validation_context("rod").box)
    space: Any = SimpleNamespace(
        nodes=nodes, cell_boxes=lambda _: tree.boxes, parts_with_coefficients=lambda _: [0]
    )
    edges = np.linspace(0.0, until, windows + 1)
    windows_list = [Window(space, np.zeros(1), a, b) for a, b in pairwise(edges)]
    return Trajectory(tuple(windows_list), e, why)


def test_failure_is_recognized_at_the_initial_time() -> None:
    discretization = CollocationInSpace()
    assert discretization.has_failed(trajectory(1e-4, STEP_TOO_SMALL))
    assert not discretization.has_failed(trajectory(1e-2, STEP_TOO_SMALL))
    assert not discretization.has_failed(trajectory(1e-4, TIME_LIMIT_REACHED))


def window_strategy(tol: float = 1e-8, discretization: Any = None) -> Any:
    return TimeWindowStrategy(
        validation_context("rod", tol),
        Budget(0.0, 100.0, 4000),
        discretization=discretization or CollocationInSpace(),
    )


@pytest.mark.parametrize("layer_end", [1e-8, 5e-8])
def test_initial_layer_is_widened_until_the_estimate_holds(
    layer_end: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy = window_strategy()
    tried_layers: list[Any] = []
    monkeypatch.setattr(
        window_strategies, "compare", lambda *_, **__: combine_unknowns([ErrorEstimate(1.0, 1.0)])
    )
    monkeypatch.setattr(TimeWindowStrategy, "relative_error", lambda *_: 1.0)

    def comparison_points(self: TimeWindowStrategy, first: Any, layers: Any = ()) -> ComparisonPoints:
        tried_layers.append(layers)
        return ComparisonPoints(np.zeros((1, 2)), np.zeros((1, 2)), 1)

    monkeypatch.setattr(TimeWindowStrategy, "_comparison_points", comparison_points)
    strategy.notes["layers"] = ((0.0, layer_end),)
    first = trajectory(1.0, None)
    strategy._estimated_error(
        first, SimpleNamespace(function=None), SimpleNamespace(function=None, rounding=None)
    )
    ends = [layers[0][1] for layers in tried_layers if layers]
    assert ends[0] == layer_end
    assert all(2.0 <= b / a <= 12.0 for a, b in pairwise(ends))
    assert 3e-5 < ends[-1] <= 1.1e-4


def test_time_is_reserved_for_the_companion_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy, spent = window_strategy(), [0.0]
    ends: list[float] = []
    strategy.tolerances = TOLERANCES
    monkeypatch.setattr(Budget, "spent", property(lambda _: spent[0]))
    time_at_share = Budget.time_at_share

    def record(self: Budget, share: float, most: float) -> float | None:
        ends.append(time_at_share(self, share, most) or 0.0)
        return ends[-1]

    monkeypatch.setattr(Budget, "time_at_share", record)
    strategy._deadline(True)
    spent[0] = 60.0
    strategy._deadline(False)
    spent[0] = 99.0
    strategy._deadline(True)
    assert 40.0 < ends[0] < 80.0
    assert 110.0 < ends[1] < 130.0
    assert 99.0 < ends[2] < 101.0


def test_number_of_comparison_points() -> None:
    strategy = window_strategy()
    few, many, most = (
        len(strategy._comparison_points(trajectory(1.0, None, nodes=n, windows=w)).all)
        for n, w in ((2, 10), (1000, 2), (100, 900))
    )
    assert 40 <= few <= 120
    assert 500 <= many <= 1200
    assert 10_000 <= most <= 30_000


def test_fewer_points_for_many_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy, counts = window_strategy(), []
    large = trajectory(1.0, None, nodes=300_000)
    points = strategy._comparison_points(large)
    assert 1500 <= len(points.all) <= 4500

    def residuals(compiled: Any, points: Any, *_: Any) -> Any:
        counts.append(len(points[Interior()]))
        return {}, np.zeros((1, 1))

    X = np.random.default_rng(0).random((10_000, 2))
    monkeypatch.setattr(TimeWindowStrategy, "_comparison_points", lambda *_: ComparisonPoints(X, X, 1))
    monkeypatch.setattr(Trajectory, "function", lambda _: (None, np.zeros(1)))
    monkeypatch.setattr(window_strategies, "residuals_at", residuals)
    strategy._validated(large, 0.0)
    assert 1200 <= counts[0] <= 5000


def test_tolerances_are_tightened_by_the_missing_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = window_strategy(1e-8)
    strategy.tolerances = Tolerances(1e-7, 1e-7)
    monkeypatch.setattr(TimeWindowStrategy, "relative_error", lambda *_: 1e-6)
    monkeypatch.setattr(TimeWindowStrategy, "report", lambda *_, **__: None)
    candidate: Candidate = make_candidate(1e-6)
    strategy._conclude(trajectory(1.0, None), candidate)
    assert strategy.status is not Status.TOLERANCE
    assert 0.0015 < strategy.tolerances.spectral_tail / 1e-7 < 0.006

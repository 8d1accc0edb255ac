"""Ways of following an evolution, and where two of them are compared."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.evolutions import strategy as following
from pibls.adaptive.evolutions.collocation import CollocationStepper
from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
from pibls.adaptive.evolutions.time_discretizations import CollocationInSpace, GalerkinInSpace
from pibls.adaptive.evolutions.time_stepping import (
    STEP_TOO_SMALL,
)
from pibls.adaptive.evolutions.trajectory import TIME_LIMIT_REACHED, Tolerances, Trajectory, Window
from pibls.adaptive.validation.estimate import ComparisonPoints, ErrorEstimate, combine_unknowns
from pibls.problem import Interior
from pibls.spaces import CellTree
from pibls.status import Status
from tests.evolution_helpers import TOLERANCES, validation_context
from tests.strategy_helpers import make_candidate

# -- ways --


def test_what_ways_ask_for() -> None:
    loose, usual, tight, least = (validation_context("rod", tol) for tol in (1e-5, 1e-6, 1e-8, 1e-14))
    in_moments, in_rooms = CollocationInSpace(), GalerkinInSpace()
    assert (
        in_moments.nodes_per_cell(loose)
        == in_moments.nodes_per_cell(usual)
        < in_moments.nodes_per_cell(tight)
    )
    assert 1e-8 < in_moments.initial_tolerances(usual).spectral_tail < 1e-7
    assert 2e-14 < in_moments.initial_tolerances(least).spectral_tail < 1e-12
    assert 1e-5 < in_rooms.initial_tolerances(usual).residual < 1e-4
    made = in_moments.stepper(usual, TOLERANCES, 0, None, lambda *_: None)
    assert isinstance(made, CollocationStepper)
    assert 10 <= made.stage_count <= 20  # of a linear evolution


def followed(until: float, why: str | None, *, nodes: int = 10, windows: int = 1) -> Trajectory:
    e = validation_context("rod").evolution
    assert e is not None
    tree = CellTree.single_cell(validation_context("rod").box)
    space: Any = SimpleNamespace(
        nodes=nodes, cell_boxes=lambda _: tree.boxes, parts_with_coefficients=lambda _: [0]
    )
    edges = np.linspace(0.0, until, windows + 1)
    made = [Window(space, np.zeros(1), a, b, 0.0) for a, b in pairwise(edges)]
    return Trajectory(tuple(made), e, why, 0, 0)


def test_what_has_not_begun_is_left_to_others() -> None:
    way = CollocationInSpace()
    assert way.has_failed(followed(1e-4, STEP_TOO_SMALL))
    assert not way.has_failed(followed(1e-2, STEP_TOO_SMALL))
    assert not way.has_failed(followed(1e-4, TIME_LIMIT_REACHED))


def windows_plan(tol: float = 1e-8, way: Any = None) -> Any:
    return TimeWindowStrategy(
        validation_context("rod", tol), Budget(0.0, 100.0, 4000), discretization=way or CollocationInSpace()
    )


@pytest.mark.parametrize("since", [1e-8, 5e-8])
def test_from_when_on_an_estimate_is_promised(since: float, monkeypatch: pytest.MonkeyPatch) -> None:
    one = windows_plan()
    wider: list[Any] = []
    monkeypatch.setattr(following, "compare", lambda *_, **__: combine_unknowns([ErrorEstimate(1.0, 1.0)]))
    monkeypatch.setattr(TimeWindowStrategy, "relative_error", lambda *_: 1.0)

    def where(self: TimeWindowStrategy, first: Any, layers: Any = ()) -> ComparisonPoints:
        wider.append(layers)
        return ComparisonPoints(np.zeros((1, 2)), np.zeros((1, 2)), 1)

    monkeypatch.setattr(TimeWindowStrategy, "_comparison_points", where)
    one.notes["layers"] = ((0.0, since),)
    first = followed(1.0, None)
    one._estimated_error(first, SimpleNamespace(function=None), SimpleNamespace(function=lambda: None))
    ends = [layers[0][1] for layers in wider if layers]
    assert ends[0] == since
    assert all(2.0 <= b / a <= 12.0 for a, b in pairwise(ends))
    assert 3e-5 < ends[-1] <= 1.1e-4


def test_time_is_left_for_the_second_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    one, spent = windows_plan(), [0.0]
    ends: list[float] = []
    one.tolerances = TOLERANCES
    monkeypatch.setattr(Budget, "spent", property(lambda _: spent[0]))
    until = Budget.time_at_share

    def asked(self: Budget, share: float, most: float) -> float | None:
        ends.append(until(self, share, most) or 0.0)
        return ends[-1]

    monkeypatch.setattr(Budget, "time_at_share", asked)
    monkeypatch.setattr(CollocationInSpace, "stepper", lambda *_: None)
    one._integrate(None)
    spent[0] = 60.0
    one._integrate(followed(1.0, None))
    spent[0] = 99.0
    one._integrate(None)
    assert 40.0 < ends[0] < 80.0
    assert 110.0 < ends[1] < 130.0
    assert 99.0 < ends[2] < 101.0


def test_places_where_two_solutions_are_compared() -> None:
    one = windows_plan()
    few, many, most = (
        len(one._comparison_points(followed(1.0, None, nodes=n, windows=w)).all)
        for n, w in ((2, 10), (1000, 2), (100, 900))
    )
    assert 40 <= few <= 120
    assert 500 <= many <= 1200
    assert 10_000 <= most <= 30_000


def test_many_functions_are_asked_at_fewer_places(monkeypatch: pytest.MonkeyPatch) -> None:
    one, seen = windows_plan(), []
    large = followed(1.0, None, nodes=300_000)
    where = one._comparison_points(large)
    assert 1500 <= len(where.all) <= 4500

    def residuals(lowered: Any, points: Any, *_: Any) -> Any:
        seen.append(len(points[Interior()]))
        return {}, np.zeros((1, 1))

    X = np.random.default_rng(0).random((10_000, 2))
    monkeypatch.setattr(TimeWindowStrategy, "_comparison_points", lambda *_: ComparisonPoints(X, X, 1))
    monkeypatch.setattr(Trajectory, "function", lambda _: (None, np.zeros(1)))
    monkeypatch.setattr(following, "residuals_at", residuals)
    one._validated(large, 0.0)
    assert 1200 <= seen[0] <= 5000


def test_what_is_missing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    one = windows_plan(1e-8)
    one.tolerances = Tolerances(1e-7, 1e-7)
    monkeypatch.setattr(TimeWindowStrategy, "relative_error", lambda *_: 1e-6)
    monkeypatch.setattr(TimeWindowStrategy, "report", lambda *_, **__: None)
    attempt: Candidate = make_candidate(1e-6)
    one._conclude(followed(1.0, None), attempt)
    assert one.status is not Status.TOLERANCE
    assert 0.0015 < one.tolerances.spectral_tail / 1e-7 < 0.006

"""Ways of following an evolution, and where two of them are compared."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Attempt
from pibls.adaptive.evolutions import strategy as following
from pibls.adaptive.evolutions.lines import LineFollower
from pibls.adaptive.evolutions.strategy import WindowPlan
from pibls.adaptive.evolutions.time_discretizations import InMoments, InRooms
from pibls.adaptive.evolutions.time_stepping import (
    SHORT,
)
from pibls.adaptive.evolutions.trajectory import LATE, Demand, Followed, Window
from pibls.adaptive.validation.estimate import ErrorEstimate, Where, worst_of
from pibls.problem import Inside
from pibls.spaces import CellTree
from pibls.status import Status
from tests.made import found
from tests.marched import ASKED, bench_of

# -- ways --


def test_what_ways_ask_for() -> None:
    loose, usual, tight, least = (bench_of("rod", tol) for tol in (1e-5, 1e-6, 1e-8, 1e-14))
    in_moments, in_rooms = InMoments(), InRooms()
    assert in_moments.nodes(loose) == in_moments.nodes(usual) < in_moments.nodes(tight)
    assert 1e-8 < in_moments.demand(usual).tail < 1e-7
    assert 2e-14 < in_moments.demand(least).tail < 1e-12
    assert 1e-5 < in_rooms.demand(usual).residual < 1e-4
    made = in_moments.follower(usual, ASKED, 0, None, lambda *_: None)
    assert isinstance(made, LineFollower)
    assert 10 <= made.moments <= 20  # of a linear evolution


def followed(until: float, why: str | None, *, nodes: int = 10, windows: int = 1) -> Followed:
    e = bench_of("rod").evolution
    assert e is not None
    tree = CellTree.over(bench_of("rod").box)
    space: Any = SimpleNamespace(nodes=nodes, boxes_in=lambda _: tree.boxes, each=lambda _: [0])
    edges = np.linspace(0.0, until, windows + 1)
    made = [Window(space, np.zeros(1), a, b, 0.0) for a, b in pairwise(edges)]
    return Followed(tuple(made), e, why, 0, 0)


def test_what_has_not_begun_is_left_to_others() -> None:
    way = InMoments()
    assert way.gives_up(followed(1e-4, SHORT))
    assert not way.gives_up(followed(1e-2, SHORT))
    assert not way.gives_up(followed(1e-4, LATE))


def windows_plan(tol: float = 1e-8, way: Any = None) -> Any:
    return WindowPlan(bench_of("rod", tol), Budget(0.0, 100.0, 4000), way=way or InMoments())


@pytest.mark.parametrize("since", [1e-8, 5e-8])
def test_from_when_on_an_estimate_is_promised(since: float, monkeypatch: pytest.MonkeyPatch) -> None:
    one = windows_plan()
    wider: list[Any] = []
    monkeypatch.setattr(following, "compare", lambda *_, **__: worst_of([ErrorEstimate(1.0, 1.0)]))
    monkeypatch.setattr(WindowPlan, "excess", lambda *_: 1.0)

    def where(self: WindowPlan, first: Any, layers: Any = ()) -> Where:
        wider.append(layers)
        return Where(np.zeros((1, 2)), np.zeros((1, 2)), 1)

    monkeypatch.setattr(WindowPlan, "_where", where)
    one.notes["layers"] = ((0.0, since),)
    first = followed(1.0, None)
    one._compared(first, SimpleNamespace(function=None), SimpleNamespace(function=lambda: None))
    ends = [layers[0][1] for layers in wider if layers]
    assert ends[0] == since
    assert all(2.0 <= b / a <= 12.0 for a, b in pairwise(ends))
    assert 3e-5 < ends[-1] <= 1.1e-4


def test_time_is_left_for_the_second_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    one, spent = windows_plan(), [0.0]
    ends: list[float] = []
    one.demand = ASKED
    monkeypatch.setattr(Budget, "spent", property(lambda _: spent[0]))
    until = Budget.until

    def asked(self: Budget, share: float, most: float) -> float | None:
        ends.append(until(self, share, most) or 0.0)
        return ends[-1]

    monkeypatch.setattr(Budget, "until", asked)
    monkeypatch.setattr(InMoments, "follower", lambda *_: None)
    one._follow(None)
    spent[0] = 60.0
    one._follow(followed(1.0, None))
    spent[0] = 99.0
    one._follow(None)
    assert 40.0 < ends[0] < 80.0
    assert 110.0 < ends[1] < 130.0
    assert 99.0 < ends[2] < 101.0


def test_places_where_two_solutions_are_compared() -> None:
    one = windows_plan()
    few, many, most = (
        len(one._where(followed(1.0, None, nodes=n, windows=w)).all)
        for n, w in ((2, 10), (1000, 2), (100, 900))
    )
    assert 40 <= few <= 120
    assert 500 <= many <= 1200
    assert 10_000 <= most <= 30_000


def test_many_functions_are_asked_at_fewer_places(monkeypatch: pytest.MonkeyPatch) -> None:
    one, seen = windows_plan(), []
    large = followed(1.0, None, nodes=300_000)
    where = one._where(large)
    assert 1500 <= len(where.all) <= 4500

    def residuals(lowered: Any, points: Any, *_: Any) -> Any:
        seen.append(len(points[Inside()]))
        return {}, np.zeros((1, 1))

    X = np.random.default_rng(0).random((10_000, 2))
    monkeypatch.setattr(WindowPlan, "_where", lambda *_: Where(X, X, 1))
    monkeypatch.setattr(Followed, "function", lambda _: (None, np.zeros(1)))
    monkeypatch.setattr(following, "residuals_at", residuals)
    one._judged(large, 0.0)
    assert 1200 <= seen[0] <= 5000


def test_what_is_missing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    one = windows_plan(1e-8)
    one.demand = Demand(1e-7, 1e-7)
    monkeypatch.setattr(WindowPlan, "excess", lambda *_: 1e-6)
    monkeypatch.setattr(WindowPlan, "tell", lambda *_, **__: None)
    attempt: Attempt = found(1e-6)
    one._conclude(followed(1.0, None), attempt)
    assert one.status is not Status.TOLERANCE
    assert 0.0015 < one.demand.tail / 1e-7 < 0.006

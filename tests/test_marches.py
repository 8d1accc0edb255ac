"""How evolutions are followed: on one side of each threshold a window does this, on the other that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from pibls.adaptive.evolutions import lines
from pibls.adaptive.evolutions.grading import Grading
from pibls.adaptive.evolutions.lines import LineFollower
from pibls.adaptive.evolutions.resolution import Resolution
from pibls.adaptive.evolutions.time_stepping import (
    Course,
    Easing,
    NoWindowError,
    left_by_newton,
    lengthened,
    shortened,
)
from pibls.adaptive.evolutions.trajectory import Demand, Followed
from pibls.spaces import CellTree
from tests.marched import ASKED, bench_of, follower, places_of

# -- what all ways share --


@pytest.mark.parametrize(("length", "enough"), [(3e-13, False), (3e-12, True)])
def test_the_shortest_window(length: float, enough: bool) -> None:
    assert (Course(0.0, 1.0).reached(0.0, length) is not None) is enough


def test_the_next_length() -> None:
    assert 0.3 < shortened(ASKED, 1e3 * ASKED.tail, 0.0, 8) < 0.5
    assert 2.0 < lengthened(1e-12, 0.0, 8) < 5.0
    assert 0.7 < lengthened(3e-14, 3e-14, 8) < 0.95
    assert 1.2 < lengthened(3e-12, 3e-14, 10) < 1.4


@pytest.mark.parametrize(("name", "factor"), [("rod", 1.25), ("plate", 1.25)])
def test_a_longer_window_is_worth_new_factors(name: str, factor: float) -> None:
    made = follower(name)
    state = made._first()
    U = np.zeros((1, 1, state.resolution.functions, 10))
    solved = lines._Solved(state, U, state.rates, 0.0, 0.1, np.ones(1))
    made._solver.past = lambda *_: SimpleNamespace()
    made._solver.window = lambda *_: SimpleNamespace()
    little, much = 1.15, 1.5
    for times, longer in ((little, False), (much, True)):
        along = made.demand.tail * (0.85 / times) ** 11.0
        _, _, h = made._accepted(solved, along, np.zeros((1, 1)))
        assert (h > 0.101) is longer


def test_what_rounding_leaves_may_be_left() -> None:
    for worst, hopeful in ((1e4, True), (1e6, False)):
        easing = Easing(Demand(1e-13, 1e-10), before=(worst, 1.0, 10))
        assert easing.is_rounding(worst, 0.5, 10) is hopeful


def test_what_windows_are_asked_for() -> None:
    assert 1e-13 < left_by_newton(1e-9) < 1e-11
    assert 3e-5 < Demand(1e-5, 1.0).misfit < 3e-4
    assert 1e-10 < Demand(1e-12, 1.0).misfit < 1e-8
    assert 1e-12 < Demand(1e-16, 1e-16).above(bench_of("rod")).residual < 1e-11


def test_windows_of_the_second_solution_are_halved_some_times() -> None:
    made, tried = follower(), []

    def never(*_: Any) -> Any:
        tried.append(1)
        raise NoWindowError

    made._given = never
    made._others = lambda _: [(0.0, 1.0, None)]
    made.replay = lambda f: super(LineFollower, made).replay(f)
    followed = Followed((), made.evolution, None, 0, 0)
    assert made.replay(followed).stopped is not None
    assert 20 <= len(tried) <= 80


# -- resolutions --


def resolved(name: str, *sizes: int, cells: int = 1) -> Resolution:
    bench = bench_of(name)
    counts = tuple(cells if i == 0 else 1 for i in range(len(bench.box)))
    return Resolution(CellTree.grid(bench.box, counts), sizes, places_of(name).repeated)


def test_first_resolutions() -> None:
    assert 10 <= Grading(places_of("ring")).first(20, True).sizes[0] <= 40
    assert all(8 <= n <= 20 for n in Grading(places_of("plate")).first(20, True).sizes)
    around = SimpleNamespace(bench=bench_of("plate"), axis=2, free=(0, 1), repeated=(True, False))
    assert all(8 <= n <= 20 for n in Grading(cast("Any", around)).first(20, True).sizes)


@pytest.mark.parametrize(
    ("name", "sizes", "cells", "more"),
    [
        ("ring", (301,), 1, True),
        ("ring", (451,), 1, False),
        ("plate", (24, 24), 1, True),
        ("plate", (32, 32), 1, False),
        ("rod", (20,), 100, True),
        ("rod", (20,), 200, False),
    ],
)
def test_there_are_not_more_functions_than_that(
    name: str, sizes: tuple[int, ...], cells: int, more: bool
) -> None:
    own = places_of(name)
    places = SimpleNamespace(bench=own.bench, free=own.free, framed=None, is_apart=False)
    chosen = resolved(name, *sizes, cells=cells)
    n = len(chosen.tree)
    refined = Grading(cast("Any", places)).refined(chosen, np.full((n, len(sizes)), 9.0), np.zeros(n))
    assert (refined is not None) is more


def test_the_hardest_cells_are_divided_towards_the_sides() -> None:
    grading, across = Grading(places_of("rod")), np.array([[0.01], [0.2], [0.01], [1.0]])
    steeper = grading.steeper(resolved("rod", 20, cells=4), across).tree
    lengths = sorted(np.ptp(box[0]) for box in steeper.boxes)
    assert 4 + 1 + 2 <= len(steeper) <= 4 + 1 + 5  # one in its middle, the last one towards the side
    assert 0.01 < lengths[0] < 0.1
    for length, divided in ((1e-11, True), (1e-13, False)):
        tiny = Resolution(CellTree.over(np.array([[0.5, 0.5 + length], [0.0, 1.0]])), (20,), (False,))
        assert (len(grading.steeper(tiny, np.ones((1, 1))).tree) > 1) is divided


@pytest.mark.parametrize(("share", "cells"), [(0.03, 1), (0.3, 2)])
def test_cells_are_joined_where_nothing_is_left_to_resolve(share: float, cells: int) -> None:
    across = np.full((2, 1), share * 1e-9 * 2.0 ** (-0.75 * 20))
    joined = Grading(places_of("rod")).joined(resolved("rod", 20, cells=2), across, 1e-9)
    assert len(joined.tree) == cells


# -- the beginning --


@pytest.mark.parametrize(("tail", "rounds"), [(1e-11, 0), (1e-10, 1)])
def test_the_beginning_in_the_plane_may_leave_more(
    tail: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = follower("plate")
    _beginning(made, [tail, 1e-16], monkeypatch)
    first = _Resolved(0, (False, False))
    first.resolution.sizes = (12, 12)
    assert int(made._resolved(first).resolution) == rounds


@pytest.mark.parametrize(
    ("tails", "rounds"),
    [
        ([5e-13, 1e-16], 0),  # less than windows may leave by far
        ([5e-12, 5e-14], 1),
        ([3e-11, 2.5e-11, 1e-13], 0),  # rounding, which more cells do not halve
        ([3e-8, 2.5e-8, 2.2e-8, 1e-13], 3),
    ],
)
def test_the_beginning_is_resolved(tails: list[float], rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = follower()
    _beginning(made, tails, monkeypatch)
    assert made._resolved(_Resolved(0, (False,))).resolution == rounds


def test_a_beginning_that_never_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made = follower()
    _beginning(made, [0.6**i for i in range(900)], monkeypatch)
    state = made._resolved(_Resolved(0, (False,)))
    assert 8 <= state.resolution <= 30


@pytest.mark.parametrize(("gain", "tail", "kept"), [(2.0, 1e-8, 0), (6.0, 1e-8, 2), (2.0, 1e-7, 3)])
def test_a_seam_is_left_as_it_is(
    gain: float, tail: float, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is small already, and half as many waves again gain little."""
    made = follower("ring", 1e-9)
    tails = [tail, tail / gain, tail / gain**2, 1e-14, 1e-14]
    if kept == 2:
        tails[2] = 1e-14
    _beginning(made, tails, monkeypatch, repeated=(True,))
    assert int(made._resolved(_Resolved(0, (True,))).resolution) == kept


class _Number(int):
    repeated: tuple[bool, ...] = (False,)
    sizes: tuple[int, ...] = (20,)


def _Resolved(n: int, repeated: tuple[bool, ...]) -> Any:
    number = _Number(n)
    number.repeated = repeated
    return SimpleNamespace(resolution=number, rates=0)


def _beginning(
    made: LineFollower,
    tails: list[float],
    monkeypatch: pytest.MonkeyPatch,
    repeated: tuple[bool, ...] = (False,),
) -> None:
    """A beginning with these tails at the first resolution, at the next, …"""

    def finer(resolution: int, *_: Any) -> Any:
        return _Resolved(resolution + 1, repeated).resolution if resolution + 1 < len(tails) else None

    made.__dict__["_grading"] = SimpleNamespace(refined=finer)
    made.__dict__["_beginning"] = SimpleNamespace(
        at=lambda n: SimpleNamespace(resolution=n, rates=0),
        unresolved=lambda state: np.array([[tails[state.resolution]]]),
    )
    monkeypatch.setattr(lines, "spectra", lambda n, _: np.array([[tails[n]]]))

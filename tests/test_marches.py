"""How evolutions are followed: on one side of each threshold a window does this, on the other that."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.problem import Inside
from pibls.problem.lowering import lower
from pibls.search.attempt import Attempt
from pibls.search.bench import Bench
from pibls.search.budget import Budget
from pibls.search.estimate import ErrorEstimate, Where
from pibls.search.evolutions import beginning, lines, newton, rough
from pibls.search.evolutions import plan as following
from pibls.search.evolutions.beginning import Beginning
from pibls.search.evolutions.chain import Places
from pibls.search.evolutions.contraction import Contraction
from pibls.search.evolutions.followed import LATE, Demand, Followed, Window
from pibls.search.evolutions.grading import Grading
from pibls.search.evolutions.lines import LineFollower
from pibls.search.evolutions.march import (
    SHORT,
    Course,
    Easing,
    NoWindowError,
    left_by_newton,
    lengthened,
    shortened,
)
from pibls.search.evolutions.newton import WindowSolver
from pibls.search.evolutions.plan import WindowPlan
from pibls.search.evolutions.resolution import Resolution
from pibls.search.evolutions.room import RoomPlaces, _independent
from pibls.search.evolutions.rooms import RoomFollower, _predicted
from pibls.search.evolutions.rough import RoughFollower
from pibls.search.evolutions.tails import noise_of, rounding_of
from pibls.search.evolutions.ways import InMoments, InRooms
from pibls.search.singular.corner_functions import corner_functions
from pibls.solver.stages import stages
from pibls.space import CellTree
from pibls.status import Status
from tests.made import found

x, y, t = sp.symbols("x y t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, y, t)
ASKED = Demand(1e-9, 1e-6)


@cache
def bench_of(name: str, tol: float = 1e-8) -> Bench:
    rod, ring = (pibls.Interval(x, 0, 1).during(t, 0, 1), pibls.Interval(x, 0, 2 * sp.pi).during(t, 0, 1))
    plate = pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 1)
    disc = pibls.Disk((x, y), (0, 0), 1).during(t, 0, 1)
    heat, wave = u.diff(t) - u.diff(x, 2), u.diff(t, 2) - u.diff(x, 2)
    heated = v.diff(t) - v.diff(x, 2) - v.diff(y, 2)
    cold, hill = pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))
    at_rest = pibls.Initial(u.diff(t), 0)
    hot = [pibls.Dirichlet(v, 0), pibls.Initial(v, sp.sin(sp.pi * x) * sp.sin(sp.pi * y))]
    stated: dict[str, tuple[Any, Any, list[Any]]] = {
        "rod": (rod, heat, [cold, hill]),
        "ring": (ring, heat, [pibls.Periodic(u, x), pibls.Initial(u, sp.cos(x))]),
        "string": (rod, wave, [cold, hill, at_rest]),
        "weakly damped": (rod, wave + 10 * u.diff(t), [cold, hill, at_rest]),
        "damped": (rod, wave + 100 * u.diff(t), [cold, hill, at_rest]),
        "plate": (plate, heated, hot),
        "disc": (disc, heated, [pibls.Dirichlet(v, 0), pibls.Initial(v, 1 - x**2 - y**2)]),
    }
    domain, equation, conditions = stated[name]
    problem = pibls.Problem(domain, [equation], conditions)
    return Bench.of(lower(problem), problem.domain, 0, tol)


@cache
def places_of(name: str) -> Places:
    made = Places.of(bench_of(name))
    assert made is not None
    return made


def follower(name: str = "rod", tail: float = 1e-9) -> Any:
    made = LineFollower(Demand(tail, 1e-6), places_of(name), 20, 10)
    made._sizes = np.ones(1)
    return made


# -- what all ways share --


@pytest.mark.parametrize(("length", "enough"), [(3e-13, False), (3e-12, True)])
def test_the_shortest_window(length: float, enough: bool) -> None:
    assert (Course(0.0, 1.0).reached(0.0, length) is not None) is enough


def test_the_next_length() -> None:
    assert 0.3 < shortened(ASKED, 1e3 * ASKED.tail, 0.0, 8) < 0.5
    assert 2.0 < lengthened(1e-12, 0.0, 8, 1.25) < 5.0
    assert 0.7 < lengthened(3e-14, 3e-14, 8, 1.25) < 0.95
    assert 1.2 < lengthened(3e-12, 3e-14, 10, 1.25) < 1.4


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
    made.__dict__["_beginning"] = SimpleNamespace(at=lambda n: SimpleNamespace(resolution=n, rates=0))
    monkeypatch.setattr(lines, "spectra", lambda n, _: np.array([[tails[n]]]))


# -- one window --


def tried(
    monkeypatch: pytest.MonkeyPatch, name: str = "rod", *, t: float = 0.0, wide: float = 0.0, windows: int = 0
) -> tuple[list[float], Any]:  # fmt: skip
    """The lengths that are tried where the tail in time is never small enough, and what comes of it."""
    made, lengths = follower(name), []
    state = made._first()
    n = len(state.resolution.tree)

    def solved(self: Any, state: Any, past: Any, t: float, stop: float) -> Any:
        lengths.append(stop - t)
        return None, state.rates

    monkeypatch.setattr(LineFollower, "_solved", solved)
    axes = len(state.resolution.sizes)
    monkeypatch.setattr(LineFollower, "_tails", lambda *_: (1e-6, np.full((n, axes), wide), np.ones(1)))
    monkeypatch.setattr(LineFollower, "_left", lambda *_: np.zeros(n))
    monkeypatch.setattr(LineFollower, "_accepted", lambda self, solved, *_: ("accepted", None, 0.0))
    monkeypatch.setattr(Beginning, "misfit", lambda *_: 0.0)
    monkeypatch.setattr(LineFollower, "_travels", lambda *_: False)
    if t:
        made.layers[0.0] = t
        made._done = [SimpleNamespace(start=t)] * windows
    return lengths, made._window((state, None if not t else object()), t, 0.02)


@pytest.mark.parametrize(("name", "least", "most"), [("rod", 1e-13, 1e-9), ("plate", 1e-9, 1e-5)])
def test_a_beginning_that_is_hard_is_taken_for_one_that_does_not_fit(
    name: str, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths, _ = tried(monkeypatch, name)
    jump = next(i for i, (a, b) in enumerate(pairwise(lengths)) if b < 1e-2 * a)
    assert 4 <= jump <= 12
    assert least < lengths[jump + 1] < most


@pytest.mark.parametrize(
    ("name", "since", "accepted"),
    [("rod", 5e-5, True), ("rod", 5e-3, False), ("plate", 0.05, True), ("plate", 0.3, False)],
)
def test_after_a_while_what_is_not_resolved_is_none(
    name: str, since: float, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths, made = tried(monkeypatch, name, t=since, windows=5)
    assert (made[0] == "accepted") is accepted
    if name == "rod":
        assert 0.1 * since < lengths[-1] < 0.4 * since  # shorter ones are not tried in the layer


@pytest.mark.parametrize(("name", "travel"), [("string", True), ("weakly damped", True), ("damped", False)])
def test_kinks_that_travel(name: str, travel: bool) -> None:
    made = follower(name)
    assert made._travels(made._first()) is travel


@pytest.mark.parametrize(("along", "length"), [(1e-9, 0.02), (1e-4, 0.02), (1e-1, 0.0083)])
def test_kinks_are_followed_as_well_as_so_many_windows_can(
    along: float, length: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = RoughFollower(places_of("string"), 20, 10, 1e-9)
    begun, _ = made._begun()
    assert 12 <= len(begun.state.resolution.tree) <= 40
    monkeypatch.setattr(rough, "tails_of", lambda *_: (along, np.array([1e-2]), np.ones(1)))
    new = SimpleNamespace(resolution=None, series=None)
    solver = SimpleNamespace(window=lambda _: None)
    stub: Any = SimpleNamespace(
        state=begun.state, solver=solver, after=lambda *_: None, solved=lambda *_: (None, None, new)
    )
    stops: list[float] = []

    def reached(self: Course, t: float, h: float) -> float:
        stops.append(h)
        return t + h

    monkeypatch.setattr(Course, "reached", reached)
    made._window(stub, 0.0, 0.02)
    assert 0.6 * length < stops[-1] < 1.6 * length
    assert 1e-4 < made._level < 1e-3


def test_when_a_matrix_nearer_to_the_solution_is_wanted() -> None:
    for ratio, wanted in ((0.2, False), (0.8, True)):
        going = Contraction()
        going.hear(1.0)
        going.hear(ratio)
        assert going.wants_another(False) is wanted


def windowed(
    ratio: float, columns: int, monkeypatch: pytest.MonkeyPatch, *, in_steps: bool = False, highest: int = 1
) -> tuple[WindowSolver, list[str], bool]:
    """Newton's steps that shrink by a ratio, with means over space instead of the operator."""
    solver: Any = WindowSolver(places_of("rod"), stages(4), 1e-9)
    said: list[str] = []
    moments = SimpleNamespace(residual=lambda _: np.zeros(1), has_operator=lambda _: False)
    stub = SimpleNamespace(is_linear=False, highest=highest, columns=columns, at=lambda _: moments)
    factors = SimpleNamespace(is_whole=False, weights=None, in_steps=in_steps)

    def factored(self: WindowSolver, *_: Any) -> Any:
        said.append("factored")
        return factors

    def change(self: WindowSolver, *_: Any) -> Any:
        said.append("step")
        return np.full((1, 1, 3, 4), ratio ** said.count("step")), None

    monkeypatch.setattr(WindowSolver, "_factored", factored)
    monkeypatch.setattr(WindowSolver, "_change", change)
    state = SimpleNamespace(rates=np.zeros((highest, 1, 1, 3)), resolution=None)
    try:
        solver.solve(stub, state, None, 0.0, 0.1, np.ones(1))
        ended = True
    except NoWindowError:
        ended = False
    return solver, said, ended


def test_steps_of_means_over_space(monkeypatch: pytest.MonkeyPatch) -> None:
    _, said, ended = windowed(0.48, 100, monkeypatch)
    assert not ended
    assert 20 <= said.count("step") <= 60
    assert said.count("factored") == 1
    _, _, ended = windowed(0.3, 100, monkeypatch)
    assert ended
    # Until what is left is nothing beside what a window may leave; Krylov's steps may leave more.
    for in_steps, highest, least, most in ((True, 1, 18, 23), (True, 2, 24, 28), (False, 1, 24, 28)):
        _, said, ended = windowed(0.3, 100, monkeypatch, in_steps=in_steps, highest=highest)
        assert ended
        assert least <= said.count("step") <= most
    solver, said, _ = windowed(0.8, 300, monkeypatch)
    assert said.count("factored") > 1
    assert solver._varied  # the next matrices are whole ones
    _, said, ended = windowed(0.8, 1000, monkeypatch)
    assert not ended
    assert len(said) <= 4


def shifting(n: int, *, linear: bool) -> Any:
    """An operator that moves each entry to the next place."""
    rows = SimpleNamespace(highest=1, is_linear=linear, groups=(0,), firsts=(0, n))
    return SimpleNamespace(changed=lambda *_: lambda z: np.roll(z, 1), lines=rows)


@pytest.mark.parametrize(("steps", "found"), [(30, True), (200, False)])
def test_krylov_steps(steps: int, found: bool) -> None:
    """A shift of so many entries needs as many steps."""
    n = steps
    solver: Any = WindowSolver(places_of("rod"), stages(4), 1e-9)
    solver.stages = SimpleNamespace(together=lambda z: z, apart=lambda R: R, rates=lambda z, *_: z)
    factors = SimpleNamespace(in_steps=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), moving=0)
    moments = shifting(n, linear=True)
    R = np.zeros(n)
    R[0] = 1.0
    try:
        z, _ = solver._change(factors, moments, [R], R, 1e-20)
        assert found
        assert np.allclose(np.roll(z, 1), R)
    except NoWindowError:
        assert not found


def test_krylov_steps_that_gain_slowly_end() -> None:
    n, made = 300, 0
    solver: Any = WindowSolver(places_of("rod"), stages(4), 1e-9)
    solver.stages = SimpleNamespace(together=lambda z: z, apart=lambda R: R, rates=lambda z, *_: z)
    factors = SimpleNamespace(in_steps=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), moving=0)
    moments = shifting(n, linear=True)

    def scaled(z: Any) -> Any:
        nonlocal made
        made += 1
        return z * np.linspace(1.0, 600.0, n)

    moments.changed = lambda *_: scaled
    R = np.linspace(1.0, 2.0, n)
    with suppress(NoWindowError):
        solver._change(factors, moments, [R], R, 1e-20)
    assert 40 <= made <= 70


@pytest.mark.parametrize(
    ("linear", "enough", "left", "asked"),
    [
        (True, 1e-30, 0.1, 1e-11),
        (False, 1e-30, 0.1, 1e-3),
        (True, 1e-30, 0.5, None),  # more than that is nothing
        (True, 0.5, 0.1, math.nan),  # nothing is to be gained
    ],
)
def test_what_krylov_steps_leave(
    linear: bool, enough: float, left: float, asked: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[float] = []

    def gmres(_: Any, b: Any, *, left: float, most: int) -> Any:
        said.append(left)
        return SimpleNamespace(z=b, left=wanted)

    wanted = left
    monkeypatch.setattr(newton, "gmres", gmres)
    solver: Any = WindowSolver(places_of("rod"), stages(4), 1e-9)
    solver.stages = SimpleNamespace(together=lambda z: z, apart=lambda R: R, rates=lambda z, *_: z)
    factors = SimpleNamespace(in_steps=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), moving=0)
    moments = shifting(4, linear=linear)
    rates = [np.zeros(4)]
    R = np.array([0.4, 0.0, 0.0, 0.0])
    if asked is None:
        with pytest.raises(NoWindowError):
            solver._change(factors, moments, rates, R, enough)
        return
    solver._change(factors, moments, rates, R, enough)
    if math.isnan(asked):
        assert not said
    else:
        assert 0.1 * asked < said[0] < 10 * asked


# -- shapes --


@cache
def room() -> Any:
    made = RoomPlaces.of(bench_of("disc"))
    assert made is not None
    return made


def roomy(tail: float = 1e-9) -> Any:
    made = RoomFollower(Demand(tail, 1e-6), room(), 10)
    made._sizes = np.ones(1)
    return made


def test_the_next_degree() -> None:
    made = roomy()
    assert 13 <= (made._finer(10) or 0) <= 16
    predicted = _predicted((8, 1e-1), (10, 8e-2), 1e-12)
    assert predicted is not None
    assert 12 <= predicted <= 20


@pytest.mark.parametrize(
    ("tails", "last"),
    [
        ([1e-10], 0),
        ([9e-10, 1e-10], 1),
        ([5e-9, 4e-9, 1e-10], 0),  # rounding
        ([5e-8, 4e-8, 1e-10], 2),
    ],
)
def test_the_beginning_on_a_shape(tails: list[float], last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made, degrees = roomy(), []

    def at(self: RoomFollower, degree: int) -> Any:
        if degree not in degrees:
            degrees.append(degree)
        return SimpleNamespace(room=degree, rates=np.zeros((1, 1)))

    monkeypatch.setattr(RoomFollower, "_room", lambda self, degree: degree)
    monkeypatch.setattr(RoomFollower, "_at_start", at)
    monkeypatch.setattr(RoomFollower, "_contradicts", lambda *_: False)
    monkeypatch.setattr(RoomFollower, "_scale", lambda *_: None)
    monkeypatch.setattr(RoomFollower, "_across", lambda self, degree, *_: tails[degrees.index(degree)])
    state: Any = made._resolved()
    assert degrees.index(state.room) == last
    assert 5 <= degrees[0] <= 12


@pytest.mark.parametrize(("since", "resolved"), [(0.05, True), (0.3, False)])
def test_a_layer_on_a_shape(since: float, resolved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made, lengths = roomy(), []

    def solve(state: Any, t: float, stop: float, _: Any) -> Any:
        lengths.append(stop - t)
        return None, None

    made.__dict__["_solver"] = SimpleNamespace(solve=solve)
    monkeypatch.setattr(RoomFollower, "_tails", lambda *_: (0.0, 1.0, np.ones(1)))
    monkeypatch.setattr(RoomFollower, "_left", lambda *_: 0.0)
    monkeypatch.setattr(RoomFollower, "_contradicts", lambda *_: True)
    monkeypatch.setattr(RoomFollower, "_accepted", lambda *_: ("accepted", None, 0.0))
    state = SimpleNamespace(room=SimpleNamespace(degree=8))
    made._window(state, 0.0, 0.02)
    assert 3e-5 < lengths[0] < 1e-3
    made._done, made.layers = [object()], {0.0: since}
    assert (made._window(state, since, 0.02)[0] == "accepted") is resolved


def test_steps_of_newton_on_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[float] = []

    def hear(self: Any, moved: float) -> None:
        heard.append(moved)

    monkeypatch.setattr(Contraction, "hear", hear)
    for name in ("is_there", "is_rounding", "is_slower", "wants_another"):
        monkeypatch.setattr(Contraction, name, lambda *_: False)
    made = roomy()
    state = made._at_start(made._room(4))
    with pytest.raises(NoWindowError):
        made._solver.solve(state, 0.0, 0.1, np.ones(1))
    assert 20 <= len(heard) <= 60


def test_functions_that_are_dependent() -> None:
    rng = np.random.default_rng(0)
    A = np.linalg.qr(rng.standard_normal((20, 3)))[0]
    for less, rank in ((1e-8, 3), (1e-12, 2)):
        B = A.copy()
        B[:, 2] = B[:, 1] + less * B[:, 2]
        assert _independent(B, None)[1].shape[1] == rank


def test_points_of_a_rule_are_more_than_the_functions() -> None:
    assert 1500 <= len(room()._inside(2, 1000).weights) <= 6000


def wedge(angle: float) -> Any:
    a, b = sp.symbols("a b")
    w = sp.Function("w")(a, b)
    corners = ((0, 0), (1, 0), (sp.cos(angle).evalf(), sp.sin(angle).evalf()))
    domain = pibls.Polygon((a, b), corners)
    problem = pibls.Problem(domain, [w.diff(a, 2) + w.diff(b, 2)], [pibls.Dirichlet(w, 0)])
    return corner_functions(lower(problem), problem.domain)


def test_powers_at_corners_of_a_shape() -> None:
    assert len(wedge(math.pi / 3.5)) == 3
    assert len(wedge(math.pi / 5.5)) == 2  # that of r^5.5 is smooth enough
    assert all(10.0 < powers.max() < 18.0 for _, powers in wedge(math.pi / 3.5))


def test_longer_windows_on_a_shape_are_worth_their_factors() -> None:
    made = roomy()
    made.__dict__["_solver"] = SimpleNamespace(window=lambda *_: None)
    state = SimpleNamespace(room=SimpleNamespace(degree=8))
    for times, longer in ((1.4, False), (2.5, True)):
        along = made.demand.tail * (0.85 / times) ** 11.0
        _, _, h = made._accepted(state, None, None, 0.0, 0.1, np.ones(1), along)
        assert (h > 0.101) is longer


@pytest.mark.parametrize(("tail", "noise"), [(1e-13, 3e-13), (1e-9, 3e-11)])
def test_what_is_unknown_of_a_beginning(tail: float, noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def recorded(places: Any, resolution: Any, left: Any, *more: Any) -> Any:
        seen.append(float(left.max()))
        return noise_of(places, resolution, left, *more)

    made = follower()
    state = made._first()
    size = float(np.abs(state.rates[0]).max())
    monkeypatch.setattr(beginning, "noise_of", recorded)
    monkeypatch.setattr(beginning, "spectra", lambda *_: np.array([[tail]]))
    made._beginning.misfit(state, made._lines(state.resolution)[0], 0.0)
    assert 0.3 * noise < seen[0] / size < 3.0 * noise


def test_what_rounding_of_terms_does_to_an_unknown() -> None:
    """u_t = u_xx with u = sin πx: after t = 1 it is off by some 1e-13 of π²."""
    made = follower()
    state = made._first()
    moments = made._lines(state.resolution)[0].at(np.array([0.0]))
    rates = [np.asarray(r)[..., None] for r in state.rates]
    rates += [np.zeros_like(rates[0])] * (moments.lines.highest + 1 - len(rates))
    (off,) = rounding_of(made.places, moments, rates, 1.0)
    assert 5e-14 < off < 2e-12


def test_residuals_are_small_beside_what_derivatives_usually_are() -> None:
    """u = 1 + εt in one long window: ε is held against derivatives of what varies over a cell."""
    made = follower()
    state = made._first()
    stage = made._solver.stages
    U = np.zeros((len(state.resolution.tree), 1, state.resolution.functions, stage.count))
    U[:, :, 0, :] = 1.0 + 1e-6 * stage.nodes
    begun = np.zeros_like(state.rates)
    begun[0, :, :, 0] = 1.0
    left = float(made._left(replace(state, rates=begun), U, 0.0, 1.0).max())
    assert 2e-7 < left < 1e-5


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
    space: Any = SimpleNamespace(nodes=nodes, tree_over=lambda _: tree, each=lambda _: [0])
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
    monkeypatch.setattr(following, "compare", lambda *_, **__: ErrorEstimate(1.0, 1.0))
    monkeypatch.setattr(WindowPlan, "excess", lambda *_: 1.0)
    monkeypatch.setattr(WindowPlan, "_where", lambda self, first, layers=(): wider.append(layers))
    one.notes["layers"] = ((0.0, since),)
    first = followed(1.0, None)
    one._compared(first, SimpleNamespace(function=None), SimpleNamespace(function=lambda: None))
    ends = [layers[0][1] for layers in wider[1:]]
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

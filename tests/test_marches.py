"""How evolutions are followed: on one side of each threshold a window does this, on the other that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from pibls.adaptive.evolutions import collocation as lines
from pibls.adaptive.evolutions.collocation import CollocationStepper
from pibls.adaptive.evolutions.refinement import Refinement
from pibls.adaptive.evolutions.resolution import Resolution
from pibls.adaptive.evolutions.time_stepping import (
    TimeInterval,
    ToleranceRelaxation,
    WindowFailedError,
    growth_factor,
    newton_tolerance,
    reduction_factor,
)
from pibls.adaptive.evolutions.trajectory import Tolerances, Trajectory
from pibls.spaces import CellTree
from tests.evolution_helpers import TOLERANCES, collocation_operator, collocation_stepper, validation_context

# -- what all ways share --


@pytest.mark.parametrize(("length", "enough"), [(3e-13, False), (3e-12, True)])
def test_the_shortest_window(length: float, enough: bool) -> None:
    assert (TimeInterval(0.0, 1.0).window_end(0.0, length) is not None) is enough


def test_the_next_length() -> None:
    assert 0.3 < reduction_factor(TOLERANCES, 1e3 * TOLERANCES.spectral_tail, 0.0, 8) < 0.5
    assert 2.0 < growth_factor(1e-12, 0.0, 8) < 5.0
    assert 0.7 < growth_factor(3e-14, 3e-14, 8) < 0.95
    assert 1.2 < growth_factor(3e-12, 3e-14, 10) < 1.4


@pytest.mark.parametrize(("name", "factor"), [("rod", 1.25), ("plate", 1.25)])
def test_a_longer_window_is_worth_new_factors(name: str, factor: float) -> None:
    made = collocation_stepper(name)
    state = made._first_state()
    U = np.zeros((1, 1, state.resolution.functions, 10))
    solved = lines._SolvedWindow(state, U, state.rates, 0.0, 0.1, np.ones(1))
    made._solver.previous_window = lambda *_: SimpleNamespace()
    made._solver.window = lambda *_: SimpleNamespace()
    little, much = 1.15, 1.5
    for times, longer in ((little, False), (much, True)):
        along = made.tolerances.spectral_tail * (0.85 / times) ** 11.0
        _, _, h = made._accept(solved, along, np.zeros((1, 1)))
        assert (h > 0.101) is longer


def test_what_rounding_leaves_may_be_left() -> None:
    for worst, hopeful in ((1e4, True), (1e6, False)):
        easing = ToleranceRelaxation(Tolerances(1e-13, 1e-10), previous=(worst, 1.0, 10))
        assert easing.accept_rounding(worst, 0.5, 10) is hopeful


def test_what_windows_are_asked_for() -> None:
    assert 1e-13 < newton_tolerance(1e-9) < 1e-11
    assert 3e-5 < Tolerances(1e-5, 1.0).incompatibility_limit < 3e-4
    assert 1e-10 < Tolerances(1e-12, 1.0).incompatibility_limit < 1e-8
    assert 1e-12 < Tolerances(1e-16, 1e-16).clipped_to_rounding(validation_context("rod")).residual < 1e-11


def test_windows_of_the_second_solution_are_halved_some_times() -> None:
    made, tried = collocation_stepper(), []

    def never(*_: Any) -> Any:
        tried.append(1)
        raise WindowFailedError

    made._prescribed_window = never
    made._companion_windows = lambda _: [(0.0, 1.0, None)]
    made.run_companion = lambda f: super(CollocationStepper, made).run_companion(f)
    followed = Trajectory((), made.evolution, None, 0, 0)
    assert made.run_companion(followed).stopped is not None
    assert 20 <= len(tried) <= 80


# -- resolutions --


def resolved(name: str, *sizes: int, cells: int = 1) -> Resolution:
    context = validation_context(name)
    counts = tuple(cells if i == 0 else 1 for i in range(len(context.box)))
    return Resolution(CellTree.grid(context.box, counts), sizes, collocation_operator(name).periodic)


def test_first_resolutions() -> None:
    assert 10 <= Refinement(collocation_operator("ring")).initial(20, True).sizes[0] <= 40
    assert all(8 <= n <= 20 for n in Refinement(collocation_operator("plate")).initial(20, True).sizes)
    around = SimpleNamespace(
        context=validation_context("plate"), axis=2, space_axes=(0, 1), periodic=(True, False)
    )
    assert all(8 <= n <= 20 for n in Refinement(cast("Any", around)).initial(20, True).sizes)


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
    own = collocation_operator(name)
    places = SimpleNamespace(
        context=own.context, space_axes=own.space_axes, face_conditions=None, is_separable=False
    )
    chosen = resolved(name, *sizes, cells=cells)
    n = len(chosen.tree)
    refined = Refinement(cast("Any", places)).refine(chosen, np.full((n, len(sizes)), 9.0), np.zeros(n))
    assert (refined is not None) is more


def test_the_hardest_cells_are_divided_towards_the_sides() -> None:
    grading, across = Refinement(collocation_operator("rod")), np.array([[0.01], [0.2], [0.01], [1.0]])
    steeper = grading.refine_layers(resolved("rod", 20, cells=4), across).tree
    lengths = sorted(np.ptp(box[0]) for box in steeper.boxes)
    assert 4 + 1 + 2 <= len(steeper) <= 4 + 1 + 5  # one in its middle, the last one towards the side
    assert 0.01 < lengths[0] < 0.1
    for length, divided in ((1e-11, True), (1e-13, False)):
        tiny = Resolution(CellTree.single_cell(np.array([[0.5, 0.5 + length], [0.0, 1.0]])), (20,), (False,))
        assert (len(grading.refine_layers(tiny, np.ones((1, 1))).tree) > 1) is divided


@pytest.mark.parametrize(("share", "cells"), [(0.03, 1), (0.3, 2)])
def test_cells_are_joined_where_nothing_is_left_to_resolve(share: float, cells: int) -> None:
    across = np.full((2, 1), share * 1e-9 * 2.0 ** (-0.75 * 20))
    joined = Refinement(collocation_operator("rod")).merge_cells(resolved("rod", 20, cells=2), across, 1e-9)
    assert len(joined.tree) == cells


# -- the beginning --


@pytest.mark.parametrize(("tail", "rounds"), [(1e-11, 0), (1e-10, 1)])
def test_the_beginning_in_the_plane_may_leave_more(
    tail: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = collocation_stepper("plate")
    _beginning(made, [tail, 1e-16], monkeypatch)
    first = _Resolved(0, (False, False))
    first.resolution.sizes = (12, 12)
    assert int(made._resolved_initial_state(first).resolution) == rounds


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
    made = collocation_stepper()
    _beginning(made, tails, monkeypatch)
    assert made._resolved_initial_state(_Resolved(0, (False,))).resolution == rounds


def test_a_beginning_that_never_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made = collocation_stepper()
    _beginning(made, [0.6**i for i in range(900)], monkeypatch)
    state = made._resolved_initial_state(_Resolved(0, (False,)))
    assert 8 <= state.resolution <= 30


@pytest.mark.parametrize(("gain", "tail", "kept"), [(2.0, 1e-8, 0), (6.0, 1e-8, 2), (2.0, 1e-7, 3)])
def test_a_seam_is_left_as_it_is(
    gain: float, tail: float, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is small already, and half as many waves again gain little."""
    made = collocation_stepper("ring", 1e-9)
    tails = [tail, tail / gain, tail / gain**2, 1e-14, 1e-14]
    if kept == 2:
        tails[2] = 1e-14
    _beginning(made, tails, monkeypatch, periodic=(True,))
    assert int(made._resolved_initial_state(_Resolved(0, (True,))).resolution) == kept


class _Number(int):
    periodic: tuple[bool, ...] = (False,)
    sizes: tuple[int, ...] = (20,)


def _Resolved(n: int, periodic: tuple[bool, ...]) -> Any:
    number = _Number(n)
    number.periodic = periodic
    return SimpleNamespace(resolution=number, rates=0)


def _beginning(
    made: CollocationStepper,
    tails: list[float],
    monkeypatch: pytest.MonkeyPatch,
    periodic: tuple[bool, ...] = (False,),
) -> None:
    """A beginning with these tails at the first resolution, at the next, …"""

    def finer(resolution: int, *_: Any) -> Any:
        return _Resolved(resolution + 1, periodic).resolution if resolution + 1 < len(tails) else None

    made.__dict__["_refinement"] = SimpleNamespace(refine=finer)
    made.__dict__["_initial_data"] = SimpleNamespace(
        at=lambda n: SimpleNamespace(resolution=n, rates=0),
        unresolved_tails=lambda state: np.array([[tails[state.resolution]]]),
    )
    monkeypatch.setattr(lines, "space_tails", lambda n, _: np.array([[tails[n]]]))

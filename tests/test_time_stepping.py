"""Time stepping of evolutions: behaviour on both sides of each threshold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from pibls.spaces import CellTree
from pibls.time.box import windows as box_windows
from pibls.time.box.refinement import Refinement
from pibls.time.box.resolution import Resolution
from pibls.time.box.windows import CollocationWindows
from pibls.time.interval import TimeInterval
from pibls.time.step_control import newton_tolerance
from pibls.time.trajectory import Tolerances
from tests.evolution_helpers import collocation_operator, collocation_windows, validation_context

# -- common to all discretizations --


@pytest.mark.parametrize(("length", "is_long_enough"), [(3e-13, False), (3e-12, True)])
def test_shortest_window(length: float, is_long_enough: bool) -> None:
    assert (TimeInterval(0.0, 1.0).window_end(0.0, length) is not None) is is_long_enough


def test_tolerances_of_windows() -> None:
    assert 1e-13 < newton_tolerance(1e-9) < 1e-11
    assert 3e-5 < Tolerances(1e-5, 1.0).incompatibility_limit < 3e-4
    assert 1e-10 < Tolerances(1e-12, 1.0).incompatibility_limit < 1e-8
    assert 1e-12 < Tolerances(1e-16, 1e-16).clipped_to_rounding(validation_context("rod")).residual < 1e-11


# -- resolutions --


def grid_resolution(name: str, *sizes: int, cells: int = 1) -> Resolution:
    context = validation_context(name)
    counts = tuple(cells if i == 0 else 1 for i in range(len(context.box)))
    return Resolution(CellTree.grid(context.box, counts), sizes, collocation_operator(name).periodic)


def test_first_resolutions() -> None:
    assert 10 <= Refinement(collocation_operator("ring")).initial(20, True).sizes[0] <= 40
    assert all(8 <= n <= 20 for n in Refinement(collocation_operator("plate")).initial(20, True).sizes)
    operator = SimpleNamespace(
        context=validation_context("plate"), axis=2, space_axes=(0, 1), periodic=(True, False)
    )
    assert all(8 <= n <= 20 for n in Refinement(cast("Any", operator)).initial(20, True).sizes)


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
def test_refinement_stops_at_the_maximum_number_of_functions(
    name: str, sizes: tuple[int, ...], cells: int, more: bool
) -> None:
    original = collocation_operator(name)
    operator_stub = SimpleNamespace(
        context=original.context, space_axes=original.space_axes, face_conditions=None, is_separable=False
    )
    resolution = grid_resolution(name, *sizes, cells=cells)
    n = len(resolution.tree)
    refined = Refinement(cast("Any", operator_stub)).refine(
        resolution, np.full((n, len(sizes)), 9.0), np.zeros(n)
    )
    assert (refined is not None) is more


def test_cells_with_the_largest_tails_are_refined_towards_the_boundary() -> None:
    grading, space_tails = Refinement(collocation_operator("rod")), np.array([[0.01], [0.2], [0.01], [1.0]])
    refined_tree = grading.refine_layers(grid_resolution("rod", 20, cells=4), space_tails).tree
    lengths = sorted(np.ptp(box[0]) for box in refined_tree.boxes)
    assert (
        4 + 1 + 2 <= len(refined_tree) <= 4 + 1 + 5
    )  # one cell bisected, the last one graded towards the boundary
    assert 0.01 < lengths[0] < 0.1
    for length, divided in ((1e-11, True), (1e-13, False)):
        tiny = Resolution(CellTree.single_cell(np.array([[0.5, 0.5 + length], [0.0, 1.0]])), (20,), (False,))
        assert (len(grading.refine_layers(tiny, np.ones((1, 1))).tree) > 1) is divided


@pytest.mark.parametrize(("fraction", "cells"), [(0.03, 1), (0.3, 2)])
def test_well_resolved_cells_are_merged(fraction: float, cells: int) -> None:
    space_tails = np.full((2, 1), fraction * 1e-9 * 2.0 ** (-0.75 * 20))
    joined = Refinement(collocation_operator("rod")).merge_cells(
        grid_resolution("rod", 20, cells=2), space_tails, 1e-9
    )
    assert len(joined.tree) == cells


# -- initial data --


@pytest.mark.parametrize(("tail", "rounds"), [(1e-11, 0), (1e-10, 1)])
def test_initial_tail_limit_in_two_dimensions(
    tail: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepper = collocation_windows("plate")
    _set_initial_tails(stepper, [tail, 1e-16], monkeypatch)
    first = _state_with_resolution(0, (False, False))
    first.resolution.sizes = (12, 12)
    assert int(stepper._resolved_initial_state(first).resolution) == rounds


@pytest.mark.parametrize(
    ("tails", "rounds"),
    [
        ([5e-13, 1e-16], 0),  # far below the tolerance of windows
        ([5e-12, 5e-14], 1),
        ([3e-11, 2.5e-11, 1e-13], 0),  # rounding, which refinement does not reduce
        ([3e-8, 2.5e-8, 2.2e-8, 1e-13], 3),
    ],
)
def test_initial_data_are_refined_until_resolved(
    tails: list[float], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepper = collocation_windows()
    _set_initial_tails(stepper, tails, monkeypatch)
    assert stepper._resolved_initial_state(_state_with_resolution(0, (False,))).resolution == rounds


def test_refinement_of_unresolvable_initial_data_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stepper = collocation_windows()
    _set_initial_tails(stepper, [0.6**i for i in range(900)], monkeypatch)
    state = stepper._resolved_initial_state(_state_with_resolution(0, (False,)))
    assert 8 <= state.resolution <= 30


@pytest.mark.parametrize(("reduction", "tail", "kept"), [(2.0, 1e-8, 0), (6.0, 1e-8, 2), (2.0, 1e-7, 3)])
def test_small_periodic_mismatch_is_not_refined(
    reduction: float, tail: float, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail is small already, and 50 % more Fourier modes reduce it little."""
    stepper = collocation_windows("ring", 1e-9)
    tails = [tail, tail / reduction, tail / reduction**2, 1e-14, 1e-14]
    if kept == 2:
        tails[2] = 1e-14
    _set_initial_tails(stepper, tails, monkeypatch, periodic=(True,))
    assert int(stepper._resolved_initial_state(_state_with_resolution(0, (True,))).resolution) == kept


class _FakeResolution(int):
    periodic: tuple[bool, ...] = (False,)
    sizes: tuple[int, ...] = (20,)


def _state_with_resolution(n: int, periodic: tuple[bool, ...]) -> Any:
    number = _FakeResolution(n)
    number.periodic = periodic
    return SimpleNamespace(resolution=number, rates=0)


def _set_initial_tails(
    stepper: CollocationWindows,
    tails: list[float],
    monkeypatch: pytest.MonkeyPatch,
    periodic: tuple[bool, ...] = (False,),
) -> None:
    """Give the initial data these spectral tails at the successive resolutions."""

    def refine(resolution: int, *_: Any) -> Any:
        return (
            _state_with_resolution(resolution + 1, periodic).resolution
            if resolution + 1 < len(tails)
            else None
        )

    stepper.__dict__["_refinement"] = SimpleNamespace(refine=refine)
    stepper.__dict__["_initial_data"] = SimpleNamespace(
        at=lambda n: SimpleNamespace(resolution=n, rates=0),
        unresolved_tails=lambda state: np.array([[tails[state.resolution]]]),
    )
    monkeypatch.setattr(box_windows, "space_tails", lambda n, _: np.array([[tails[n]]]))

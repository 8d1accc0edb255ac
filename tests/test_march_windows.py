"""One window of an evolution: on one side of each threshold it is taken, on the other not."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.adaptive.evolutions import collocation_solver as newton
from pibls.adaptive.evolutions import nonsmooth as rough
from pibls.adaptive.evolutions.collocation import CollocationStepper
from pibls.adaptive.evolutions.collocation_solver import CollocationSolver
from pibls.adaptive.evolutions.initial_state import InitialData
from pibls.adaptive.evolutions.newton_convergence import NewtonConvergence
from pibls.adaptive.evolutions.nonsmooth import NonsmoothStepper
from pibls.adaptive.evolutions.time_stepping import (
    TimeInterval,
    WindowFailedError,
)
from pibls.nonlinear.radau_stages import radau_stages
from tests.evolution_helpers import collocation_operator, collocation_stepper

# -- one window --


def tried(
    monkeypatch: pytest.MonkeyPatch, name: str = "rod", *, t: float = 0.0, wide: float = 0.0, windows: int = 0
) -> tuple[list[float], Any]:  # fmt: skip
    """The lengths that are tried where the tail in time is never small enough, and what comes of it."""
    made, lengths = collocation_stepper(name), []
    state = made._first_state()
    n = len(state.resolution.tree)

    def solved(self: Any, state: Any, past: Any, t: float, stop: float) -> Any:
        lengths.append(stop - t)
        return None, state.rates

    monkeypatch.setattr(CollocationStepper, "_solve", solved)
    axes = len(state.resolution.sizes)
    monkeypatch.setattr(
        CollocationStepper, "_spectral_tails", lambda *_: (1e-6, np.full((n, axes), wide), np.ones(1))
    )
    monkeypatch.setattr(CollocationStepper, "_residual", lambda *_: np.zeros(n))
    monkeypatch.setattr(CollocationStepper, "_accept", lambda self, solved, *_: ("accepted", None, 0.0))
    monkeypatch.setattr(InitialData, "incompatibility", lambda *_: 0.0)
    monkeypatch.setattr(CollocationStepper, "_has_undamped_short_waves", lambda *_: False)
    if t:
        made.layers[0.0] = t
        made._done = [SimpleNamespace(start=t)] * windows
    return lengths, made._next_window((state, None if not t else object()), t, 0.02)


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
    made = collocation_stepper(name)
    assert made._has_undamped_short_waves(made._first_state()) is travel


@pytest.mark.parametrize(("along", "length"), [(1e-9, 0.02), (1e-4, 0.02), (1e-1, 0.0083)])
def test_kinks_are_followed_as_well_as_so_many_windows_can(
    along: float, length: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = NonsmoothStepper(collocation_operator("string"), 20, 10, 1e-9)
    begun, _ = made._begin()
    assert 12 <= len(begun.state.resolution.tree) <= 40
    monkeypatch.setattr(rough, "spectral_tails", lambda *_: (along, np.array([1e-2]), np.ones(1)))
    new = SimpleNamespace(resolution=None, series=None)
    solver = SimpleNamespace(window=lambda _: None)
    stub: Any = SimpleNamespace(
        state=begun.state, solver=solver, after=lambda *_: None, solve_window=lambda *_: (None, None, new)
    )
    stops: list[float] = []

    def reached(self: TimeInterval, t: float, h: float) -> float:
        stops.append(h)
        return t + h

    monkeypatch.setattr(TimeInterval, "window_end", reached)
    made._next_window(stub, 0.0, 0.02)
    assert 0.6 * length < stops[-1] < 1.6 * length
    assert 1e-4 < made._tail_level < 1e-3


def test_when_a_matrix_nearer_to_the_solution_is_wanted() -> None:
    for ratio, wanted in ((0.2, False), (0.8, True)):
        going = NewtonConvergence()
        going.record_step(1.0)
        going.record_step(ratio)
        assert going.needs_new_jacobian(False) is wanted


def windowed(
    ratio: float,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_preconditioner: bool = False,
    highest: int = 1,
) -> tuple[CollocationSolver, list[str], bool]:
    """Newton's steps that shrink by a ratio, with means over space instead of the operator."""
    solver: Any = CollocationSolver(collocation_operator("rod"), radau_stages(4), 1e-9)
    said: list[str] = []
    moments = SimpleNamespace(residual=lambda _: np.zeros(1), has_coefficients=lambda _: False)
    stub = SimpleNamespace(is_linear=False, time_order=highest, columns=columns, at=lambda _: moments)
    factors = SimpleNamespace(is_exact=False, weights=None, is_preconditioner=is_preconditioner)

    def factored(self: CollocationSolver, *_: Any) -> Any:
        said.append("factored")
        return factors

    def change(self: CollocationSolver, *_: Any) -> Any:
        said.append("step")
        return np.full((1, 1, 3, 4), ratio ** said.count("step")), None

    monkeypatch.setattr(CollocationSolver, "_factored", factored)
    monkeypatch.setattr(CollocationSolver, "_change", change)
    state = SimpleNamespace(rates=np.zeros((highest, 1, 1, 3)), resolution=None)
    try:
        solver.solve(stub, state, None, 0.0, 0.1, np.ones(1))
        ended = True
    except WindowFailedError:
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
        _, said, ended = windowed(0.3, 100, monkeypatch, is_preconditioner=in_steps, highest=highest)
        assert ended
        assert least <= said.count("step") <= most
    solver, said, _ = windowed(0.8, 300, monkeypatch)
    assert said.count("factored") > 1
    assert solver._needs_full_matrix  # the next matrices are whole ones
    _, said, ended = windowed(0.8, 1000, monkeypatch)
    assert not ended
    assert len(said) <= 4


def shifting(n: int, *, linear: bool) -> Any:
    """An operator that moves each entry to the next place."""
    rows = SimpleNamespace(time_order=1, is_linear=linear, statements=(0,), first_rows=(0, n))
    return SimpleNamespace(directional_derivative=lambda *_: lambda z: np.roll(z, 1), system=rows)


@pytest.mark.parametrize(("steps", "found"), [(30, True), (200, False)])
def test_krylov_steps(steps: int, found: bool) -> None:
    """A shift of so many entries needs as many steps."""
    n = steps
    solver: Any = CollocationSolver(collocation_operator("rod"), radau_stages(4), 1e-9)
    solver.stages = SimpleNamespace(
        from_eigenbasis=lambda z: z, to_eigenbasis=lambda R: R, time_derivatives=lambda z, *_: z
    )
    factors = SimpleNamespace(
        is_preconditioner=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), krylov_groups=0
    )
    moments = shifting(n, linear=True)
    R = np.zeros(n)
    R[0] = 1.0
    try:
        z, _ = solver._change(factors, moments, [R], R, 1e-20)
        assert found
        assert np.allclose(np.roll(z, 1), R)
    except WindowFailedError:
        assert not found


def test_krylov_steps_that_gain_slowly_end() -> None:
    n, made = 300, 0
    solver: Any = CollocationSolver(collocation_operator("rod"), radau_stages(4), 1e-9)
    solver.stages = SimpleNamespace(
        from_eigenbasis=lambda z: z, to_eigenbasis=lambda R: R, time_derivatives=lambda z, *_: z
    )
    factors = SimpleNamespace(
        is_preconditioner=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), krylov_groups=0
    )
    moments = shifting(n, linear=True)

    def scaled(z: Any) -> Any:
        nonlocal made
        made += 1
        return z * np.linspace(1.0, 600.0, n)

    moments.directional_derivative = lambda *_: scaled
    R = np.linspace(1.0, 2.0, n)
    with suppress(WindowFailedError):
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

    def gmres(_: Any, b: Any, *, rtol: float, max_steps: int) -> Any:
        said.append(rtol)
        return SimpleNamespace(z=b, relative_residual=wanted)

    wanted = left
    monkeypatch.setattr(newton, "gmres", gmres)
    solver: Any = CollocationSolver(collocation_operator("rod"), radau_stages(4), 1e-9)
    solver.stages = SimpleNamespace(
        from_eigenbasis=lambda z: z, to_eigenbasis=lambda R: R, time_derivatives=lambda z, *_: z
    )
    factors = SimpleNamespace(
        is_preconditioner=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), krylov_groups=0
    )
    moments = shifting(4, linear=linear)
    rates = [np.zeros(4)]
    R = np.array([0.4, 0.0, 0.0, 0.0])
    if asked is None:
        with pytest.raises(WindowFailedError):
            solver._change(factors, moments, rates, R, enough)
        return
    solver._change(factors, moments, rates, R, enough)
    if math.isnan(asked):
        assert not said
    else:
        assert 0.1 * asked < said[0] < 10 * asked

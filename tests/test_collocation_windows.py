"""Time windows of evolutions: accepted on one side of each threshold, rejected on the other."""

from __future__ import annotations

import math
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.time.box import nonsmooth as nonsmooth
from pibls.time.box import solver as collocation_solver
from pibls.time.box.nonsmooth import NonsmoothWindows
from pibls.time.box.solver import CollocationSolver
from pibls.time.integrator import Integrator
from pibls.time.interval import TimeInterval
from pibls.time.newton_convergence import NewtonConvergence
from pibls.time.radau_stages import radau_stages
from pibls.time.trajectory import Tolerances, WindowFailedError
from tests.evolution_helpers import collocation_operator, collocation_windows


@pytest.mark.parametrize(("name", "undamped"), [("string", True), ("weakly damped", True), ("damped", False)])
def test_detection_of_undamped_short_waves(name: str, undamped: bool) -> None:
    windows = collocation_windows(name)
    assert windows.has_undamped_short_waves(windows.first_state()) is undamped


@pytest.mark.parametrize(("time_tail", "length"), [(1e-9, 0.02), (1e-4, 0.02), (1e-1, 0.0083)])
def test_window_length_of_nonsmooth_solutions(
    time_tail: float, length: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail in time is as large as a fraction of that in space, unless windows get too short."""
    windows: Any = NonsmoothWindows(Tolerances(1e-9, 1e-6), collocation_operator("string"), 20, 10)
    state, _ = windows.initial_state()
    assert 12 <= windows.cell_count(state) <= 40
    monkeypatch.setattr(
        nonsmooth, "window_spectral_tails", lambda *_: (time_tail, np.array([1e-2]), np.ones(1))
    )
    new = SimpleNamespace(resolution=None, series=None)
    windows._solve = lambda *_: (None, None, new)
    windows.accept = lambda solved, _: (SimpleNamespace(stop=1.0), state, None)
    lengths: list[float] = []

    def window_end(self: TimeInterval, t: float, h: float) -> float:
        lengths.append(h)
        return t + h

    monkeypatch.setattr(TimeInterval, "window_end", window_end)
    integrator: Integrator[Any, Any] = Integrator(windows, windows.operator.evolution, windows.tolerances)
    integrator.run()
    assert 0.6 * length < lengths[-1] < 1.6 * length
    assert 1e-4 < windows.tail_level < 1e-3


def test_new_jacobian_for_slow_convergence() -> None:
    for ratio, expected in ((0.2, False), (0.8, True)):
        convergence = NewtonConvergence()
        convergence.record_step(1.0)
        convergence.record_step(ratio)
        assert convergence.needs_new_jacobian(False) is expected


def solve_with_shrinking_steps(
    ratio: float,
    columns: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_preconditioner: bool = False,
    highest: int = 1,
) -> tuple[CollocationSolver, list[str], bool]:
    """Run Newton's method with steps that shrink by a ratio, with averaged coefficients."""
    solver: Any = CollocationSolver(collocation_operator("rod"), radau_stages(4), 1e-9)
    calls: list[str] = []
    system_at_times = SimpleNamespace(residual=lambda _: np.zeros(1), has_coefficients=lambda _: False)
    stub = SimpleNamespace(is_linear=False, time_order=highest, columns=columns, at=lambda _: system_at_times)
    factors = SimpleNamespace(is_exact=False, weights=None, is_preconditioner=is_preconditioner)

    def factored(self: CollocationSolver, *_: Any) -> Any:
        calls.append("factored")
        return factors

    def change(self: CollocationSolver, *_: Any) -> Any:
        calls.append("step")
        return np.full((1, 1, 3, 4), ratio ** calls.count("step")), None

    monkeypatch.setattr(CollocationSolver, "_factored", factored)
    monkeypatch.setattr(CollocationSolver, "_change", change)
    state = SimpleNamespace(rates=np.zeros((highest, 1, 1, 3)), resolution=None)
    try:
        solver.solve(stub, state, None, 0.0, 0.1, np.ones(1))
        converged = True
    except WindowFailedError:
        converged = False
    return solver, calls, converged


def test_newton_steps_with_averaged_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    _, calls, converged = solve_with_shrinking_steps(0.48, 100, monkeypatch)
    assert not converged
    assert 20 <= calls.count("step") <= 60
    assert calls.count("factored") == 1
    _, _, converged = solve_with_shrinking_steps(0.3, 100, monkeypatch)
    assert converged
    # Until the step is negligible compared with the tolerance of a window; Krylov steps may stop earlier.
    for in_steps, highest, least, most in ((True, 1, 18, 23), (True, 2, 24, 28), (False, 1, 24, 28)):
        _, calls, converged = solve_with_shrinking_steps(
            0.3, 100, monkeypatch, is_preconditioner=in_steps, highest=highest
        )
        assert converged
        assert least <= calls.count("step") <= most
    solver, calls, _ = solve_with_shrinking_steps(0.8, 300, monkeypatch)
    assert calls.count("factored") > 1
    assert solver._needs_full_matrix  # the next matrices are not averaged
    _, calls, converged = solve_with_shrinking_steps(0.8, 1000, monkeypatch)
    assert not converged
    assert len(calls) <= 4


def shift_operator(n: int, *, linear: bool) -> Any:
    """Return an operator that shifts each entry by one position."""
    rows = SimpleNamespace(time_order=1, is_linear=linear, statements=(0,), first_rows=(0, n))
    return SimpleNamespace(directional_derivative=lambda *_: lambda z: np.roll(z, 1), system=rows)


@pytest.mark.parametrize(("steps", "found"), [(30, True), (200, False)])
def test_number_of_krylov_steps_is_limited(steps: int, found: bool) -> None:
    """A cyclic shift of n entries needs n steps."""
    n = steps
    solver: Any = CollocationSolver(collocation_operator("rod"), radau_stages(4), 1e-9)
    solver.stages = SimpleNamespace(
        from_eigenbasis=lambda z: z, to_eigenbasis=lambda R: R, time_derivatives=lambda z, *_: z
    )
    factors = SimpleNamespace(
        is_preconditioner=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), krylov_groups=0
    )
    system_at_times = shift_operator(n, linear=True)
    R = np.zeros(n)
    R[0] = 1.0
    try:
        z, _ = solver._change(factors, system_at_times, [R], R, 1e-20)
        assert found
        assert np.allclose(np.roll(z, 1), R)
    except WindowFailedError:
        assert not found


def test_slow_krylov_iteration_stops_early() -> None:
    n, evaluations = 300, 0
    solver: Any = CollocationSolver(collocation_operator("rod"), radau_stages(4), 1e-9)
    solver.stages = SimpleNamespace(
        from_eigenbasis=lambda z: z, to_eigenbasis=lambda R: R, time_derivatives=lambda z, *_: z
    )
    factors = SimpleNamespace(
        is_preconditioner=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), krylov_groups=0
    )
    system_at_times = shift_operator(n, linear=True)

    def scaled(z: Any) -> Any:
        nonlocal evaluations
        evaluations += 1
        return z * np.linspace(1.0, 600.0, n)

    system_at_times.directional_derivative = lambda *_: scaled
    R = np.linspace(1.0, 2.0, n)
    with suppress(WindowFailedError):
        solver._change(factors, system_at_times, [R], R, 1e-20)
    assert 40 <= evaluations <= 70


@pytest.mark.parametrize(
    ("linear", "tolerance", "relative_residual", "expected_rtol"),
    [
        (True, 1e-30, 0.1, 1e-11),
        (False, 1e-30, 0.1, 1e-3),
        (True, 1e-30, 0.5, None),  # not accurate enough
        (True, 0.5, 0.1, math.nan),  # the right-hand side is below the tolerance
    ],
)
def test_tolerance_of_krylov_steps(
    linear: bool,
    tolerance: float,
    relative_residual: float,
    expected_rtol: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[float] = []

    def gmres(_: Any, b: Any, *, rtol: float, max_steps: int) -> Any:
        calls.append(rtol)
        return SimpleNamespace(z=b, relative_residual=relative_residual)

    monkeypatch.setattr(collocation_solver, "gmres", gmres)
    solver: Any = CollocationSolver(collocation_operator("rod"), radau_stages(4), 1e-9)
    solver.stages = SimpleNamespace(
        from_eigenbasis=lambda z: z, to_eigenbasis=lambda R: R, time_derivatives=lambda z, *_: z
    )
    factors = SimpleNamespace(
        is_preconditioner=True, h=1.0, solver=SimpleNamespace(solve=lambda R: R), krylov_groups=0
    )
    system_at_times = shift_operator(4, linear=linear)
    rates = [np.zeros(4)]
    R = np.array([0.4, 0.0, 0.0, 0.0])
    if expected_rtol is None:
        with pytest.raises(WindowFailedError):
            solver._change(factors, system_at_times, rates, R, tolerance)
        return
    solver._change(factors, system_at_times, rates, R, tolerance)
    if math.isnan(expected_rtol):
        assert not calls
    else:
        assert 0.1 * expected_rtol < calls[0] < 10 * expected_rtol

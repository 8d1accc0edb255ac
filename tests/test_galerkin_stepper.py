"""Time stepping on shapes: behaviour on both sides of each threshold."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.problem.forms.compilation import compile_problem
from pibls.time.box import initial_state as initial_state
from pibls.time.box.error_indicators import rounding_errors, rounding_scale
from pibls.time.newton_convergence import NewtonConvergence
from pibls.time.shape.corner_functions import corner_functions
from pibls.time.shape.operator import GalerkinOperator, _orthonormal_columns
from pibls.time.shape.windows import GalerkinWindows
from pibls.time.trajectory import Tolerances, WindowFailedError
from tests.evolution_helpers import collocation_windows, validation_context

# -- shapes --


@cache
def galerkin_operator() -> Any:
    operator = GalerkinOperator.of(validation_context("disc"))
    assert operator is not None
    return operator


def galerkin_windows(tail: float = 1e-9) -> Any:
    windows = GalerkinWindows(Tolerances(tail, 1e-6), galerkin_operator(), 10)
    windows.magnitudes = np.ones(1)
    return windows


def test_next_degree() -> None:
    windows = galerkin_windows()
    assert 13 <= (windows._next_degree(10) or 0) <= 16


@pytest.mark.parametrize(
    ("tails", "last"),
    [
        ([1e-10], 0),
        ([9e-10, 1e-10], 1),
        ([5e-9, 4e-9, 1e-10], 0),  # rounding
        ([5e-8, 4e-8, 1e-10], 2),
    ],
)
def test_degree_that_resolves_the_initial_data(
    tails: list[float], last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows, degrees = galerkin_windows(), []

    def at(self: GalerkinWindows, degree: int) -> Any:
        if degree not in degrees:
            degrees.append(degree)
        return SimpleNamespace(space=degree, rates=np.zeros((1, 1)))

    monkeypatch.setattr(GalerkinWindows, "_space", lambda self, degree: degree)
    monkeypatch.setattr(GalerkinWindows, "_at_start", at)
    monkeypatch.setattr(GalerkinWindows, "_is_incompatible", lambda *_: False)
    monkeypatch.setattr(GalerkinWindows, "_scale", lambda *_: None)
    monkeypatch.setattr(GalerkinWindows, "_space_tail", lambda self, degree, *_: tails[degrees.index(degree)])
    state: Any = windows._resolved_initial_state()
    assert degrees.index(state.space) == last
    assert 5 <= degrees[0] <= 12


def test_number_of_newton_steps_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[float] = []

    def record(self: Any, moved: float) -> None:
        steps.append(moved)

    monkeypatch.setattr(NewtonConvergence, "record_step", record)
    for name in ("has_converged", "is_rounding", "is_slower_than", "needs_new_jacobian"):
        monkeypatch.setattr(NewtonConvergence, name, lambda *_: False)
    windows = galerkin_windows()
    state = windows._at_start(windows._space(4))
    with pytest.raises(WindowFailedError):
        windows._solver.solve(state, 0.0, 0.1, np.ones(1))
    assert 20 <= len(steps) <= 60


def test_rank_of_nearly_dependent_functions() -> None:
    rng = np.random.default_rng(0)
    A = np.linalg.qr(rng.standard_normal((20, 3)))[0]
    for distance, rank in ((1e-8, 3), (1e-12, 2)):
        B = A.copy()
        B[:, 2] = B[:, 1] + distance * B[:, 2]
        assert _orthonormal_columns(B, None)[1].shape[1] == rank


def test_quadrature_has_more_points_than_functions() -> None:
    assert 1500 <= len(galerkin_operator()._interior_rule(2, 1000).weights) <= 6000


def corner_functions_of_triangle(angle: float) -> Any:
    a, b = sp.symbols("a b")
    w = sp.Function("w")(a, b)
    corners = ((0, 0), (1, 0), (sp.cos(angle).evalf(), sp.sin(angle).evalf()))
    domain = pibls.Polygon((a, b), corners)
    problem = pibls.Problem(domain, [w.diff(a, 2) + w.diff(b, 2)], [pibls.Dirichlet(w, 0)])
    return corner_functions(compile_problem(problem), problem.domain)


def test_singular_powers_at_corners() -> None:
    assert len(corner_functions_of_triangle(math.pi / 3.5)) == 3
    assert len(corner_functions_of_triangle(math.pi / 5.5)) == 2  # r^5.5 is smooth enough
    assert all(10.0 < powers.max() < 18.0 for _, powers in corner_functions_of_triangle(math.pi / 3.5))


@pytest.mark.parametrize(("tail", "noise"), [(1e-13, 3e-13), (1e-9, 3e-11)])
def test_rounding_level_of_initial_data(tail: float, noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_tails: list[float] = []

    def recorded(operator: Any, resolution: Any, left: Any, *more: Any) -> Any:
        recorded_tails.append(float(left.max()))
        return rounding_scale(operator, resolution, left, *more)

    windows = collocation_windows()
    state = windows.first_state()
    size = float(np.abs(state.rates[0]).max())
    monkeypatch.setattr(initial_state, "rounding_scale", recorded)
    monkeypatch.setattr(initial_state, "space_tails", lambda *_: np.array([[tail]]))
    windows._initial_data.incompatibility(state, windows._system(state.resolution)[0], 0.0, np.zeros(1))
    assert 0.3 * noise < recorded_tails[0] / size < 3.0 * noise


def test_rounding_error_of_an_unknown() -> None:
    """u_t = u_xx with u = sin πx: at t = 1 the error is about 1e-13 π²."""
    windows = collocation_windows()
    state = windows.first_state()
    system_at_times = windows._system(state.resolution)[0].at(np.array([0.0]))
    rates = [np.asarray(r)[..., None] for r in state.rates]
    rates += [np.zeros_like(rates[0])] * (system_at_times.system.time_order + 1 - len(rates))
    (error,) = rounding_errors(windows.operator, system_at_times, rates, 1.0)
    assert 5e-14 < error < 2e-12


def test_residual_is_relative_to_typical_derivatives() -> None:
    """u = 1 + εt in one long window: ε is compared with derivatives of functions that vary over a cell."""
    windows = collocation_windows()
    state = windows.first_state()
    stage = windows._solver.stages
    U = np.zeros((len(state.resolution.tree), 1, state.resolution.functions, stage.count))
    U[:, :, 0, :] = 1.0 + 1e-6 * stage.nodes
    initial_rates = np.zeros_like(state.rates)
    initial_rates[0, :, :, 0] = 1.0
    residual = float(windows._residual(replace(state, rates=initial_rates), U, 0.0, 1.0).max())
    assert 2e-7 < residual < 1e-5

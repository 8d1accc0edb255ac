"""Evolutions on shapes: on one side of each threshold a window does this, on the other that."""

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
from pibls.adaptive.evolutions import initial_state as beginning
from pibls.adaptive.evolutions.error_indicators import rounding_errors, rounding_scale
from pibls.adaptive.evolutions.galerkin import GalerkinStepper
from pibls.adaptive.evolutions.galerkin_operator import GalerkinOperator, _orthonormal_columns
from pibls.adaptive.evolutions.newton_convergence import NewtonConvergence
from pibls.adaptive.evolutions.time_stepping import (
    WindowFailedError,
)
from pibls.adaptive.evolutions.trajectory import Tolerances
from pibls.adaptive.singular.corner_functions import corner_functions
from pibls.problem.forms.compilation import compile_problem
from tests.evolution_helpers import collocation_stepper, validation_context

# -- shapes --


@cache
def room() -> Any:
    made = GalerkinOperator.of(validation_context("disc"))
    assert made is not None
    return made


def roomy(tail: float = 1e-9) -> Any:
    made = GalerkinStepper(Tolerances(tail, 1e-6), room(), 10)
    made._magnitudes = np.ones(1)
    return made


def test_the_next_degree() -> None:
    made = roomy()
    assert 13 <= (made._next_degree(10) or 0) <= 16


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

    def at(self: GalerkinStepper, degree: int) -> Any:
        if degree not in degrees:
            degrees.append(degree)
        return SimpleNamespace(space=degree, rates=np.zeros((1, 1)))

    monkeypatch.setattr(GalerkinStepper, "_space", lambda self, degree: degree)
    monkeypatch.setattr(GalerkinStepper, "_at_start", at)
    monkeypatch.setattr(GalerkinStepper, "_is_incompatible", lambda *_: False)
    monkeypatch.setattr(GalerkinStepper, "_scale", lambda *_: None)
    monkeypatch.setattr(GalerkinStepper, "_space_tail", lambda self, degree, *_: tails[degrees.index(degree)])
    state: Any = made._resolved_initial_state()
    assert degrees.index(state.space) == last
    assert 5 <= degrees[0] <= 12


@pytest.mark.parametrize(("since", "resolved"), [(0.05, True), (0.3, False)])
def test_a_layer_on_a_shape(since: float, resolved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made, lengths = roomy(), []

    def solve(state: Any, t: float, stop: float, _: Any) -> Any:
        lengths.append(stop - t)
        return None, None

    made.__dict__["_solver"] = SimpleNamespace(
        solve=solve, stages=SimpleNamespace(nodes=np.array([0.5, 1.0]))
    )
    monkeypatch.setattr(GalerkinStepper, "_spectral_tails", lambda *_: (0.0, 1.0, np.ones(1)))
    monkeypatch.setattr(GalerkinStepper, "_residual", lambda *_: 0.0)
    monkeypatch.setattr(GalerkinStepper, "_is_incompatible", lambda *_: True)
    monkeypatch.setattr(GalerkinStepper, "_accept", lambda *_: ("accepted", None, 0.0))
    state = SimpleNamespace(space=SimpleNamespace(degree=8))
    made._next_window(state, 0.0, 0.02)
    assert 3e-5 < lengths[0] < 1e-3
    made._done, made.layers = [object()], {0.0: since}
    assert (made._next_window(state, since, 0.02)[0] == "accepted") is resolved


def test_steps_of_newton_on_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[float] = []

    def hear(self: Any, moved: float) -> None:
        heard.append(moved)

    monkeypatch.setattr(NewtonConvergence, "record_step", hear)
    for name in ("has_converged", "is_rounding", "is_slower_than", "needs_new_jacobian"):
        monkeypatch.setattr(NewtonConvergence, name, lambda *_: False)
    made = roomy()
    state = made._at_start(made._space(4))
    with pytest.raises(WindowFailedError):
        made._solver.solve(state, 0.0, 0.1, np.ones(1))
    assert 20 <= len(heard) <= 60


def test_functions_that_are_dependent() -> None:
    rng = np.random.default_rng(0)
    A = np.linalg.qr(rng.standard_normal((20, 3)))[0]
    for less, rank in ((1e-8, 3), (1e-12, 2)):
        B = A.copy()
        B[:, 2] = B[:, 1] + less * B[:, 2]
        assert _orthonormal_columns(B, None)[1].shape[1] == rank


def test_points_of_a_rule_are_more_than_the_functions() -> None:
    assert 1500 <= len(room()._interior_rule(2, 1000).weights) <= 6000


def wedge(angle: float) -> Any:
    a, b = sp.symbols("a b")
    w = sp.Function("w")(a, b)
    corners = ((0, 0), (1, 0), (sp.cos(angle).evalf(), sp.sin(angle).evalf()))
    domain = pibls.Polygon((a, b), corners)
    problem = pibls.Problem(domain, [w.diff(a, 2) + w.diff(b, 2)], [pibls.Dirichlet(w, 0)])
    return corner_functions(compile_problem(problem), problem.domain)


def test_powers_at_corners_of_a_shape() -> None:
    assert len(wedge(math.pi / 3.5)) == 3
    assert len(wedge(math.pi / 5.5)) == 2  # that of r^5.5 is smooth enough
    assert all(10.0 < powers.max() < 18.0 for _, powers in wedge(math.pi / 3.5))


def test_longer_windows_on_a_shape_are_worth_their_factors() -> None:
    made = roomy()
    made.__dict__["_solver"] = SimpleNamespace(window=lambda *_: None)
    state = SimpleNamespace(space=SimpleNamespace(degree=8))
    for times, longer in ((1.1, False), (2.5, True)):
        along = made.tolerances.spectral_tail * (0.85 / times) ** 11.0
        _, _, h = made._accept(state, None, None, 0.0, 0.1, np.ones(1), along)
        assert (h > 0.101) is longer


@pytest.mark.parametrize(("tail", "noise"), [(1e-13, 3e-13), (1e-9, 3e-11)])
def test_what_is_unknown_of_a_beginning(tail: float, noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def recorded(places: Any, resolution: Any, left: Any, *more: Any) -> Any:
        seen.append(float(left.max()))
        return rounding_scale(places, resolution, left, *more)

    made = collocation_stepper()
    state = made._first_state()
    size = float(np.abs(state.rates[0]).max())
    monkeypatch.setattr(beginning, "rounding_scale", recorded)
    monkeypatch.setattr(beginning, "space_tails", lambda *_: np.array([[tail]]))
    made._initial_data.incompatibility(state, made._system(state.resolution)[0], 0.0, np.zeros(1))
    assert 0.3 * noise < seen[0] / size < 3.0 * noise


def test_what_rounding_of_terms_does_to_an_unknown() -> None:
    """u_t = u_xx with u = sin πx: after t = 1 it is off by some 1e-13 of π²."""
    made = collocation_stepper()
    state = made._first_state()
    moments = made._system(state.resolution)[0].at(np.array([0.0]))
    rates = [np.asarray(r)[..., None] for r in state.rates]
    rates += [np.zeros_like(rates[0])] * (moments.system.time_order + 1 - len(rates))
    (off,) = rounding_errors(made.operator, moments, rates, 1.0)
    assert 5e-14 < off < 2e-12


def test_residuals_are_small_beside_what_derivatives_usually_are() -> None:
    """u = 1 + εt in one long window: ε is held against derivatives of what varies over a cell."""
    made = collocation_stepper()
    state = made._first_state()
    stage = made._solver.stages
    U = np.zeros((len(state.resolution.tree), 1, state.resolution.functions, stage.count))
    U[:, :, 0, :] = 1.0 + 1e-6 * stage.nodes
    begun = np.zeros_like(state.rates)
    begun[0, :, :, 0] = 1.0
    left = float(made._residual(replace(state, rates=begun), U, 0.0, 1.0).max())
    assert 2e-7 < left < 1e-5

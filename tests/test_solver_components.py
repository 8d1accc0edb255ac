"""Small cases for solver components that other tests do not cover (found by mutation testing)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.validation.conditioning import Conditioning, compute_conditioning
from pibls.arrays import Array
from pibls.linalg import RidgeQR
from pibls.nonlinear import GaussNewton, TrustRegion
from tests.strategy_helpers import make_candidate, make_strategy


@dataclass(frozen=True)
class Linear:
    """A w = b."""

    A: Array
    b: Array
    is_linear = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.A.shape[0], self.A.shape[1]

    def residual(self, w: Array) -> Array:
        return self.A @ w - self.b

    def values_of_constant(self, u: float) -> Array:
        return np.full(1, u)

    def linearize(self, v: Array) -> tuple[Array, Array]:
        return self.A, self.b

    def row_scales(self, J: Any) -> Array:
        return np.ones(len(self.A))


def test_iterative_refinement_reduces_error_of_ridge_and_rounding() -> None:
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((n, 8)))[0] for n in (30, 8))
    A = np.asfortranarray(U @ np.diag(10.0 ** -np.arange(8.0)) @ V.T)
    w = rng.standard_normal(8)
    method: Any = GaussNewton(linear=RidgeQR(cond=1e-9))
    system: Any = Linear(A, A @ w)
    unrefined = method.linear.factor_scaled(A, np.ones(30), 1e-9).apply(A @ w)
    refined = method.linear_solve(system).w
    assert np.linalg.norm(refined - w) < 0.1 * np.linalg.norm(unrefined - w)


def test_ridge_solves_dependent_and_badly_scaled_columns() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 3))
    b = A @ np.array([1.0, 2.0, 3.0])
    dependent = np.asfortranarray(A[:, [0, 1, 2, 2]])
    w = RidgeQR(cond=1e-12).factor(dependent).apply(b)
    assert np.abs(w).max() < 10.0  # the ridge distributes weight over equal columns
    assert np.allclose(dependent @ w, b, atol=1e-6)
    short = np.asfortranarray(A * np.array([1.0, 1.0, 1e-12]))
    w = RidgeQR(cond=1e-9).factor_scaled(short, np.ones(20), 1e-9).apply(b)
    assert np.allclose(w * np.array([1.0, 1.0, 1e-12]), [1.0, 2.0, 3.0], rtol=1e-4)


@pytest.mark.parametrize(("stability_constant", "has_free_direction"), [(1e-15, True), (1e-3, False)])
def test_free_direction_is_confirmed_in_a_second_basis(
    stability_constant: float, has_free_direction: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(make_candidate(1e-9), conditioning=Conditioning(stability_constant))
    monkeypatch.setattr(RandomFeatureStrategy, "_compute", lambda *_, **__: other)
    assert (
        make_strategy()._has_free_direction(replace(make_candidate(1e-9), conditioning=Conditioning(1e-15)))
        is has_free_direction
    )


def test_trust_region_radius_shrinks_after_rejected_steps() -> None:
    """arctan(w₁) = 0 from w₁ = 20, with w₀ = 100 large: long steps are rejected."""

    class ArctanSystem:
        shape, is_linear = (2, 2), False

        def residual(self, w: Array) -> Array:
            return np.array([w[0] - 100.0, np.arctan(w[1])])

        def jacobian(self, w: Array) -> Array:
            return np.asfortranarray([[1.0, 0.0], [0.0, 1.0 / (1.0 + w[1] ** 2)]])

    system: Any = ArctanSystem()
    w, cost, steps, converged = TrustRegion().minimize(system, np.array([100.0, 20.0]))
    assert converged
    assert np.allclose(w, [100.0, 0.0], atol=1e-6)
    assert steps < 80
    assert cost < 1e-12


@pytest.mark.parametrize(("stability_constant", "is_estimated"), [(3e-3, True), (5e-2, False)])
def test_rounding_is_estimated_for_small_stability_constant(
    stability_constant: float, is_estimated: bool
) -> None:
    basis = SimpleNamespace(jets=lambda X, _: [np.ones((len(X), 2))])
    space = SimpleNamespace(bases=[basis], columns=2, slices=[slice(0, 2)])
    system: Any = SimpleNamespace(
        space=space, merge_columns=lambda values: values, term_magnitudes=lambda _: np.ones(3)
    )
    factors: Any = SimpleNamespace(
        leverage=lambda values: np.full(len(values), 1.0 / stability_constant),
        influence=lambda *_: np.ones(1),
    )
    context = make_strategy().context
    found = compute_conditioning(context, system, factors, np.zeros(2), 1)
    assert found.stability_constant == pytest.approx(stability_constant)
    assert bool(found.rounding[0]) is is_estimated

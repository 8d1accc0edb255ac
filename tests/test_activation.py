"""Derivatives of the activations against values with 50 digits, and a user-defined activation."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

import numpy as np
import pytest

from pibls.arrays import Array
from pibls.basis import Broad, Features
from pibls.basis.activation import ACTIVATIONS, Activation, Sine, activation
from pibls.errors import ProblemError
from tests.taylor_series import DEFINITIONS, coefficients, mp

ORDERS = range(9)
# Both tails; shifted so that no point is a zero of a derivative, where the relative error is meaningless.
POINTS = np.concatenate([[-12.0], np.arange(-48, 48) / 4 + 1 / 16, [12.0]])
FAR = np.array([-340.0, -90.0, -25.0, 25.0, 90.0, 340.0])


def exact(name: str, s: Array, orders: range) -> Array:
    """σ⁽ᵏ⁾(s), one row per order, correctly rounded."""
    rows = [coefficients(name, mp.mpf(float(x)), orders[-1]) for x in s]
    return np.array([[float(factorial(k) * row[k]) for row in rows] for k in orders])


def test_every_activation_has_a_definition_here() -> None:
    assert set(DEFINITIONS) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_agree_with_50_digit_reference(name: str) -> None:
    """Each value has a relative error below 1e-11, up to order 8 and in the tails."""
    got = np.array(ACTIVATIONS[name].derivatives(POINTS, ORDERS))
    expected = exact(name, POINTS, ORDERS)
    error = np.abs(got - expected) / np.abs(expected)
    order, point = np.unravel_index(error.argmax(), error.shape)
    assert error.max() < 1e-11, f"order {order} at s = {POINTS[point]}"


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softplus", "swish"])
def test_decaying_tails_keep_their_relative_accuracy_at_25(name: str) -> None:
    """At |s| = 25 the derivatives are near 1e-11 or 1e-22; subtraction in 1 - tanh² would lose them."""
    s = np.array([-25.0, 25.0])
    got = np.array(ACTIVATIONS[name].derivatives(s, range(5)))
    np.testing.assert_allclose(got, exact(name, s, range(5)), rtol=1e-11, atol=0.0)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_far_tails_stay_finite(name: str) -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        values = ACTIVATIONS[name].derivatives(FAR, ORDERS)
    assert np.isfinite(values).all()
    if name not in ("sin", "cos"):
        # Derivatives of order 2 and more of all others decay.
        assert max(np.abs(v).max() for v in values[2:]) < 1e-3


@pytest.mark.parametrize("name", ["tanh", "sin", "arctan"])
def test_odd_activations_are_accurate_near_zero(name: str) -> None:
    """σ(s) ≈ s keeps its relative accuracy for every small s, together with the derivative."""
    s = np.concatenate([10.0 ** -np.arange(1, 13), [-0.049, 0.051, 1e-100]])
    value, slope = ACTIVATIONS[name].derivatives(s, [0, 1])
    np.testing.assert_allclose([value, slope], exact(name, s, range(2)), rtol=1e-14, atol=0.0)


@pytest.mark.parametrize("name", ["tanh", "sin", "arctan", "gaussian", "multiquadric", "cos"])
def test_parity(name: str) -> None:
    """σ odd: even derivatives odd; σ even: odd derivatives odd. The odd ones are exactly zero at 0."""
    odd = name in ("tanh", "sin", "arctan")
    s = np.array([0.0, 0.3, 2.0, 7.0])
    plus, minus = (ACTIVATIONS[name].derivatives(x, ORDERS) for x in (s, -s))
    for k in ORDERS:
        sign = -1.0 if (k % 2 == 0) == odd else 1.0
        np.testing.assert_allclose(minus[k], sign * plus[k], rtol=1e-15, atol=0.0)
        assert plus[k][0] == 0.0 if sign < 0 else plus[k][0] != 0.0


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_are_returned_in_the_requested_order(name: str) -> None:
    """Any subset of orders in any sequence, for any shape, without changing the argument."""
    s = np.linspace(-2.0, 2.0, 6).reshape(3, 2)
    before = s.copy()
    all_orders = ACTIVATIONS[name].derivatives(s, range(6))
    for orders in ([0], [3], [5, 1], [2, 0, 4], [1, 3], [2]):
        selected = ACTIVATIONS[name].derivatives(s, orders)
        assert len(selected) == len(orders)
        for k, value in zip(orders, selected, strict=True):
            assert value.shape == s.shape
            np.testing.assert_allclose(value, all_orders[k], rtol=1e-14, atol=0.0)
    np.testing.assert_array_equal(s, before)


class Cubic:
    """σ(s) = s³ - s, a user-defined class without a base class."""

    name = "cubic"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        table = {0: s**3 - s, 1: 3 * s**2 - 1, 2: 6 * s, 3: np.full_like(s, 6.0)}
        return [table.get(k, np.zeros_like(s)) for k in orders]


def test_user_defined_activation() -> None:
    """φ = ξ = s³ - s: features are cubics and enhancements of degree 9, so ∂¹⁰ vanishes and ∂⁹ does not."""
    cubic = Cubic()
    assert isinstance(cubic, Activation)
    assert activation(cubic) is cubic
    X = np.linspace(-1.0, 1.0, 5)[:, None]
    box = np.array([[-1.0, 1.0]])
    basis = Broad(1, 3, 1, 2, scale=1.0, activation=cubic).draw(box, np.random.default_rng(0))
    value, third, fourth, ninth, tenth = basis.jets(X, [(0,), (3,), (4,), (9,), (10,)])
    W, b = basis.features.weights, basis.features.biases
    Z = (X @ W + b) ** 3 - (X @ W + b)
    g = Z @ basis.inner + basis.offsets
    np.testing.assert_allclose(value, np.hstack([Z, g**3 - g]), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(third[:, :3], np.broadcast_to(6 * W[0] ** 3, (5, 3)), rtol=1e-13)
    assert not fourth[:, :3].any()
    lead = (W[0] ** 3) @ basis.inner  # the x³ coefficient of g, and lead³ that of x⁹ in g³
    np.testing.assert_allclose(ninth[:, 3:], np.tile(factorial(9) * lead**3, (5, 1)), rtol=1e-10)
    assert np.abs(tenth[:, 3:]).max() < 1e-9 * np.abs(ninth[:, 3:]).max()


def test_user_defined_activation_in_features() -> None:
    basis = Features(4, scale=2.0, activation=Cubic()).draw(np.array([[0.0, 1.0]]), np.random.default_rng(1))
    (second,) = basis.jets(np.array([[0.25], [0.75]]), [(2,)])
    s = np.array([[-0.5], [0.5]]) @ basis.layer.weights + basis.layer.biases
    np.testing.assert_allclose(second, 6 * s * (2 * basis.layer.weights[0]) ** 2, rtol=1e-13)


def test_activation_accepts_names_and_objects() -> None:
    assert [activation(name).name for name in ACTIVATIONS] == list(ACTIVATIONS)
    assert activation(Sine()) == ACTIVATIONS["sin"]


def test_unknown_name_raises_with_list_of_valid_names() -> None:
    with pytest.raises(ProblemError, match=r"expected one of 'tanh', 'sin', .*got 'relu'"):
        activation("relu")
    with pytest.raises(ProblemError, match=r"Broad\(enhancement_activation\).*got 'relu'"):
        Broad(1, 2, 1, 2, scale=1.0, enhancement_activation="relu")


def test_object_without_derivatives_is_rejected() -> None:
    with pytest.raises(ProblemError, match=r"Features\(activation\).*derivatives\(s, orders\)"):
        Features(3, scale=1.0, activation=np.tanh)  # type: ignore[arg-type]

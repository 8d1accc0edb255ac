"""Fourier modes of periodic evolutions, propagating discontinuities of the derivative, point sources."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.assembly.evolutions.fourier_modes import FourierModes
from pibls.basis.polynomials.product import trigonometric, trigonometric_sums
from pibls.basis.polynomials.quadrature import quadrature_nodes
from pibls.time.box.resolution import fourier_size

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)


@pytest.mark.parametrize(("n", "points"), [(21, 21), (21, 42), (75, 90)])
@pytest.mark.parametrize("order", [0, 1, 4])
def test_trigonometric_sums_equal_table_products(n: int, points: int, order: int) -> None:
    c = np.random.default_rng(0).standard_normal((2, n, 3))
    table: Any = trigonometric(quadrature_nodes(points, True), n, order)
    np.testing.assert_allclose(
        trigonometric_sums(c, points, order), table @ c, atol=1e-12 * np.abs(table).sum(1).max()
    )


def test_fourier_coefficients_and_derivatives_from_values() -> None:
    modes = FourierModes((9, 15), np.array([1.0, 2.0]))
    c: Any = np.random.default_rng(1).standard_normal((135, 2))
    table: Any = np.kron(
        trigonometric(quadrature_nodes(9, True), 9), trigonometric(quadrature_nodes(15, True), 15)
    )
    np.testing.assert_allclose(modes.to_real(modes.from_values(table @ c)), c, atol=1e-13)
    # A derivative multiplies each mode by a number.
    derivative_table = np.kron(
        trigonometric(quadrature_nodes(9, True), 9), trigonometric(quadrature_nodes(15, True), 15, 1) / 2.0
    )
    differentiated = modes.symbol((0, 1))[:, None] * modes.from_values((table @ c).astype(complex))
    np.testing.assert_allclose(
        differentiated, modes.from_values((derivative_table @ c).astype(complex)), atol=1e-11
    )


def test_fourier_sizes_are_odd_and_smooth() -> None:
    assert [fourier_size(n) for n in (2, 16, 22, 100.5, 300)] == [3, 21, 25, 105, 315]


@pytest.mark.parametrize("position", [sp.Rational(3, 10), sp.Rational(1, 2)])
def test_point_source_from_zero_initial_data(position: Any) -> None:
    """u_t = u_xx + δ(x - a) from u = 0: the slope jumps immediately."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [u.diff(t) - u.diff(x, 2) - sp.DiracDelta(x - position)],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, 0)],
    )
    solution = pibls.solve(problem, tol=1e-6)
    X, T = np.meshgrid(np.linspace(0.05, 0.95, 19), [0.01, 0.1, 1.0])
    a, k = float(position), np.pi * np.arange(1, 2000)[:, None, None]
    steady = np.where(a > X, X * (1 - a), a * (1 - X))
    exact = steady - (2 * np.sin(k * a) * np.sin(k * X) * np.exp(-(k**2) * T) / k**2).sum(axis=0)
    assert solution.converged
    assert np.abs(solution(X, T) - exact).max() <= max(solution.error.max, 1e-12)


@pytest.mark.parametrize(("tol", "met"), [(1e-2, True), (1e-6, False)])
def test_propagating_kinks_have_a_reliable_error_estimate(tol: float, met: bool) -> None:
    """A string plucked at 0.3 over one period; the kink is in a Python function and not known in advance."""

    def pluck(X: Any, _: Any) -> Any:
        return np.where(X < 0.3, 10 * X / 3, 10 * (1 - X) / 7)

    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 2),
        [u.diff(t, 2) - u.diff(x, 2)],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, pluck), pibls.Initial(u.diff(t), 0)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=tol)

    def odd_extension(z: Any) -> Any:
        z = (z + 1) % 2 - 1
        f = np.abs(z)
        return np.sign(z) * np.where(f < 0.3, f / 0.3, (1 - f) / 0.7)

    X, T = np.random.default_rng(2).uniform(0, [1, 2], (400, 2)).T
    error = np.abs(solution(X, T) - (odd_extension(X - T) + odd_extension(X + T)) / 2).max()
    assert error <= solution.error.max < 0.02
    assert solution.converged == met
    if not met:
        assert solution.status is pibls.Status.INCOMPATIBLE_DATA


def test_soliton_with_nearly_periodic_initial_data() -> None:
    """A soliton whose initial data jump by 8e-7 at the periodic ends; the jump is transported."""
    problem = pibls.Problem(
        pibls.Interval(x, -15, 15).during(t, 0, 1),
        [u.diff(t) + v.diff(x, 2) / 2 + (u**2 + v**2) * v, v.diff(t) - u.diff(x, 2) / 2 - (u**2 + v**2) * u],
        [
            pibls.Periodic(u, x),
            pibls.Periodic(v, x),
            pibls.Initial(u, sp.cos(x) / sp.cosh(x)),
            pibls.Initial(v, sp.sin(x) / sp.cosh(x)),
        ],
    )
    solution = pibls.solve(problem, tol=1e-5)
    X = np.linspace(-8, 8, 60)
    assert solution.converged
    for k, part in ((u, np.cos(X)), (v, np.sin(X))):
        assert np.abs(solution[k](X, 0 * X + 1) - part / np.cosh(X - 1)).max() <= solution[k].error.max

"""Evolutions by collocation in time and space: against exact solutions, and the components alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.special import erf

import pibls
from pibls.analysis.corners.incompatible_conditions import incompatible_conditions
from pibls.basis import ProductBasis
from pibls.time.radau_stages import radau_stages

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)


@pytest.mark.parametrize("s", [3, 8, 11])
def test_radau_collocation_has_order_2s_minus_1(s: int) -> None:
    """y' = -y over one window, and t^s exactly."""
    st = radau_stages(s)
    rates = st.time_derivatives(st.nodes**s, [np.zeros(())], 1, 1.0)
    np.testing.assert_allclose(rates[1], s * st.nodes ** (s - 1), atol=1e-11)
    h = 0.5
    y = np.linalg.solve(st.derivative / h + np.eye(s), -st.start_weights / h)
    assert abs(y[-1] - np.exp(-h)) < max(h ** (2 * s) / 10.0, 1e-14)
    R = np.random.default_rng(0).standard_normal((4, s))
    np.testing.assert_allclose(st.from_eigenbasis(st.to_eigenbasis(R)), R, atol=1e-7)


@pytest.mark.parametrize("periodic_axes", [(), (0,)])
def test_derivatives_of_product_basis(periodic_axes: tuple[int, ...]) -> None:
    basis = ProductBasis((5, 4), periodic_axes, np.array([0.3, 1.0]), np.array([0.7, 0.5]))
    X = np.random.default_rng(1).uniform(0, 1, (6, 2))
    h = 1e-5
    (plus,), (minus,) = (basis.jets(X + [s, 0.0], [(0, 1)]) for s in (h, -h))
    (mixed,) = basis.jets(X, [(1, 1)])
    np.testing.assert_allclose((plus - minus) / (2 * h), mixed, atol=1e-6)
    w = np.arange(20.0)
    np.testing.assert_allclose(basis.linear_combinations(X, [((1, 1), w)])[0], mixed @ w, rtol=1e-12)
    if periodic_axes:
        ends = np.array([[-0.4, 1.2], [1.0, 1.2]])
        (table,) = basis.jets(ends, [(2, 0)])
        np.testing.assert_allclose(table[0], table[1], atol=1e-11)


def ring(speed: float) -> tuple[pibls.Problem, Callable[..., Any]]:
    """u_t + c u_x = 0 on a periodic interval."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 2 * sp.pi).during(t, 0, 1),
        [u.diff(t) + speed * u.diff(x)],
        [pibls.Periodic(u, x), pibls.Initial(u, sp.exp(sp.sin(x)))],
    )
    return problem, lambda X, T: np.exp(np.sin(X - speed * T))


def string() -> tuple[pibls.Problem, Callable[..., Any]]:
    """u_tt = 4 u_xx with a moving end."""
    exact = sp.sin(3 * x - 6 * t) + sp.cos(2 * x + 4 * t)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 2).during(t, 0, 4),
        [u.diff(t, 2) - 4 * u.diff(x, 2)],
        [
            pibls.Dirichlet(u, exact.subs(x, 0), on=sp.Eq(x, 0)),
            pibls.Neumann(u, exact.diff(x).subs(x, 2), on=sp.Eq(x, 2)),
            pibls.Initial(u, exact.subs(t, 0)),
            pibls.Initial(u.diff(t), exact.diff(t).subs(t, 0)),
        ],
    )
    return problem, sp.lambdify((x, t), exact)


def front() -> tuple[pibls.Problem, Callable[..., Any]]:
    """u_t = u_xx/50 - u² + f with a stationary front."""
    k = sp.sqrt(25)
    exact = (1 - sp.tanh(k / 2 * (x - 0.5))) / 2
    source = exact.diff(t) - exact.diff(x, 2) / 50 + exact**2
    problem = pibls.Problem(
        pibls.Interval(x, -2, 2).during(t, 0, 1),
        [u.diff(t) - u.diff(x, 2) / 50 + u**2 - source],
        [pibls.Dirichlet(u, exact), pibls.Initial(u, exact)],
    )
    return problem, lambda X, T: (1 - np.tanh(2.5 * (X - 0.5))) / 2


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("problem_and_exact", "tol"),
    [(ring(70.0), 1e-10), (string(), 1e-8), (front(), 1e-7)],
    ids=["ring", "string", "front"],
)
def test_evolutions_with_known_solutions(
    problem_and_exact: tuple[pibls.Problem, Callable[..., Any]], tol: float, seed: int
) -> None:
    problem, exact = problem_and_exact
    solution = pibls.solve(problem, tol=tol, seed=seed)
    X = problem.domain.interior(500, np.random.default_rng(seed))
    error = np.abs(solution(*X.T) - exact(*X.T)).max()
    assert solution.converged
    assert error <= solution.error.max
    assert error <= tol * np.abs(exact(*X.T)).max()


def test_periodic_solution_is_smooth_and_saved(tmp_path: Path) -> None:
    problem, _ = ring(30.0)
    solution = pibls.solve(problem, tol=1e-8)
    T = np.linspace(0, 1, 40)
    gap = solution.evaluate(u.diff(x), np.zeros(40), T) - solution.evaluate(u.diff(x), 2 * np.pi, T)
    assert np.abs(gap).max() < 1e-11
    solution.save(tmp_path / "ring.pibls")
    loaded = pibls.load(tmp_path / "ring.pibls")
    assert np.array_equal(loaded(1.0, T), solution(1.0, T))


def test_two_unknowns_of_different_order() -> None:
    """u_t = u_xx - w, w_t = u: the exact solution is one mode with two exponentials."""
    w = v
    problem = pibls.Problem(
        pibls.Interval(x, 0, sp.pi).during(t, 0, 6),
        [u.diff(t) - u.diff(x, 2) + w, w.diff(t) - u],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(x)), pibls.Initial(w, 0)],
    )
    solution = pibls.solve(problem, tol=1e-9)
    T = np.linspace(0, 6, 50)
    root = np.sqrt(3.0) / 2
    exact = np.exp(-T / 2) * (np.cos(root * T) - np.sin(root * T) / np.sqrt(3.0))
    assert solution.converged
    assert np.abs(solution["u"](1.0, T) - np.sin(1.0) * exact).max() < 1e-9


def test_rod_with_incompatible_initial_data() -> None:
    """u = 1 at the start, 0 at the ends for t > 0: against the series of images."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 0.2),
        [u.diff(t) - u.diff(x, 2)],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, 1)],
    )
    solution = pibls.solve(problem, tol=1e-6)
    X = np.concatenate([np.geomspace(1e-6, 0.5, 100), np.linspace(0, 1, 50)])
    assert solution.converged
    assert solution.notes["promised"] < 1e-9
    assert "not compatible with the boundary conditions" in solution.explanation
    for T in (1e-8, 1e-4, 1e-2, 0.2):
        k = np.arange(-6, 7)[:, None]
        parts = [erf((X - 2 * k + s) / np.sqrt(4 * T)) for s in (-1, 0, 1)]
        exact = (parts[1] - 0.5 * (parts[0] + parts[2])).sum(axis=0)
        assert np.abs(solution(X, T) - exact).max() <= min(1e-6, solution.error.max)
    times, errors = solution.error.over_time()
    assert errors[0] > solution.error.max
    assert times[-1] == pytest.approx(0.2)


@pytest.mark.parametrize("backwards", [False, True])
def test_black_scholes_with_a_kinked_payoff(backwards: bool) -> None:
    """Black-Scholes: 10.450583572 for S = K = 100, r = 0.05, σ = 0.2, T = 1; both time directions."""
    S, q = sp.symbols("S q")
    V = sp.Function("V")(S, q)
    elapsed = 1 - q if backwards else q
    payoff = sp.Max(S - 100, 0)
    problem = pibls.Problem(
        pibls.Interval(S, 0, 400).during(q, 0, 1),
        [V.diff(q) / elapsed.diff(q) - S**2 * V.diff(S, 2) / 50 - S * V.diff(S) / 20 + V / 20],
        [
            pibls.Dirichlet(V, 0, on=sp.Eq(S, 0)),
            pibls.Dirichlet(V, S - 100 * sp.exp(-elapsed / 20), on=sp.Eq(S, 400)),
            pibls.Dirichlet(V, payoff, on=sp.Eq(q, 1)) if backwards else pibls.Initial(V, payoff),
        ],
    )
    solution = pibls.solve(problem, tol=1e-7)
    assert solution.converged
    assert abs(solution(100, 0 if backwards else 1) - 10.450583572) < 1e-8


def test_string_with_a_late_boundary_pulse() -> None:
    """The pulse at t = 1/2 is 1e-44 at t = 0: the data are compatible, and no kink propagates."""
    pulse = sp.exp(-((20 * (t - sp.Rational(1, 2))) ** 2))
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, sp.Rational(3, 5)),
        [u.diff(t, 2) - u.diff(x, 2)],
        [
            pibls.Dirichlet(u, pulse, on=sp.Eq(x, 0)),
            pibls.Dirichlet(u, 0, on=sp.Eq(x, 1)),
            pibls.Initial(u, 0),
            pibls.Initial(u.diff(t), 0),
        ],
    )
    solution = pibls.solve(problem, tol=1e-5)
    assert solution.converged
    X, T = problem.domain.interior(1000, np.random.default_rng(0)).T
    error = np.abs(solution(X, T) - np.exp(-((20 * (T - X - 0.5)) ** 2))).max()
    assert error <= min(1e-5, solution.error.max)


@pytest.mark.parametrize("ring", [False, True])
def test_narrow_initial_peak_between_sample_points(ring: bool) -> None:
    """A Gaussian of width 1/3000: all sample points had missed it, and u = 0 had converged."""
    variance = sp.Float(1e-7) + t / 50
    gaussian = sp.sqrt(1e-7 / variance) * sp.exp(-((x - sp.Rational(3, 10)) ** 2) / (2 * variance))
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1e-4),
        [u.diff(t) - u.diff(x, 2) / 100],
        [pibls.Periodic(u, x) if ring else pibls.Dirichlet(u, 0), pibls.Initial(u, gaussian.subs(t, 0))],
    )
    solution = pibls.solve(problem, tol=1e-5)
    assert solution.converged
    X, T = 0.3 + 0.005 * np.linspace(-1, 1, 301), np.linspace(0, 1e-4, 301)
    error = np.abs(solution(X, T) - sp.lambdify((x, t), gaussian)(X, T)).max()
    assert error <= min(1e-5, solution.error.max)


@pytest.mark.parametrize("unit", [1, sp.Float("1e-100")])
def test_source_that_underflows_before_its_pulse(unit: Any) -> None:
    """1e-320 at t = 0.25, 1 at t = 0.3: time stepping was not used; small solutions stay accurate."""
    width, rate = sp.Rational(1, 500), sp.pi**2 / 10
    pulse = unit * sp.exp(-(((t - sp.Rational(3, 10)) / width) ** 2)) * sp.cos(sp.pi * x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, sp.Rational(1, 2)),
        [sp.Eq(u.diff(t), u.diff(x, 2) / 10 + pulse)],
        [pibls.Neumann(u, 0), pibls.Initial(u, 0)],
    )
    solution = pibls.solve(problem, tol=1e-6)
    a, w = float(rate), 0.002
    T = np.concatenate([np.linspace(0, 0.5, 40), np.linspace(0.295, 0.305, 21)])
    exact = 0.5 * np.sqrt(np.pi) * w * np.exp(a * (0.3 - T) + (a * w / 2) ** 2)
    exact *= float(unit) * (1 + erf((T - 0.3) / w - a * w / 2))
    assert solution.converged
    assert solution.windows
    assert np.abs(solution(0 * T, T) - exact).max() <= solution.error.max <= 1e-6 * exact.max()


def test_square_drum_over_ten_periods() -> None:
    y = sp.Symbol("y")
    w = sp.Function("w")(x, y, t)
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 14),
        [w.diff(t, 2) - w.diff(x, 2) - w.diff(y, 2)],
        [
            pibls.Dirichlet(w, 0),
            pibls.Initial(w, sp.sin(sp.pi * x) * sp.sin(sp.pi * y)),
            pibls.Initial(w.diff(t), 0),
        ],
    )
    solution = pibls.solve(problem, tol=1e-6)
    X, Y, T = problem.domain.interior(500, np.random.default_rng(0)).T
    exact = np.sin(np.pi * X) * np.sin(np.pi * Y) * np.cos(np.sqrt(2) * np.pi * T)
    error = np.abs(solution(X, Y, T) - exact).max()
    assert solution.converged
    assert error <= min(1e-6, solution.error.max)


def test_taylor_green_vortex() -> None:
    """Taylor-Green vortices on a periodic square at Re = 100, with a pressure that has no time derivative."""
    y = sp.Symbol("y")
    a, b, p = (sp.Function(name)(x, y, t) for name in "abp")
    box = pibls.Box({x: (0, 2 * sp.pi), y: (0, 2 * sp.pi)}).during(t, 0, 0.5)

    def transport(c: Any) -> Any:
        return c.diff(t) + a * c.diff(x) + b * c.diff(y) - (c.diff(x, 2) + c.diff(y, 2)) / 100

    problem = pibls.Problem(
        box,
        [transport(a) + p.diff(x), transport(b) + p.diff(y), a.diff(x) + b.diff(y)],
        [
            *(pibls.Periodic(c, z) for c in (a, b, p) for z in (x, y)),
            pibls.Initial(a, sp.sin(x) * sp.cos(y)),
            pibls.Initial(b, -sp.cos(x) * sp.sin(y)),
            pibls.Condition(sp.Eq(p, sp.exp(-t / 25) / 2), on={x: 0, y: 0}),
        ],
    )
    solution = pibls.solve(problem, tol=1e-6)
    X, Y, T = box.interior(300, np.random.default_rng(0)).T
    assert solution.converged
    exact = np.sin(X) * np.cos(Y) * np.exp(-T / 50)
    assert np.abs(solution["a"](X, Y, T) - exact).max() < 1e-6
    exact = (np.cos(2 * X) + np.cos(2 * Y)) / 4 * np.exp(-T / 25)
    assert np.abs(solution["p"](X, Y, T) - exact).max() < 1e-6


def eigenmodes(roots: tuple[float, ...], weights: tuple[float, ...], X: Any, m: Any) -> list[Any]:
    """Eigenmodes of a bar clamped at 0 and free at 1: differences of cosh, with cancellation."""
    out = []
    for b, c in zip(roots, weights, strict=True):
        ratio = (np.sinh(b) - np.sin(b)) / (np.cosh(b) + np.cos(b))
        out.append(c * (m.cosh(b * X) - m.cos(b * X) - ratio * (m.sinh(b * X) - m.sin(b * X))))
    return out


@pytest.mark.parametrize(
    ("unit", "roots"),
    [
        (sp.Rational(1, 30), (1.8751040687119611, 4.6940911329741746)),
        (100, (1.8751040687119611, 7.8547574382376126, 10.995540734875467)),
    ],
)
def test_vibrating_bar_is_independent_of_the_time_unit(unit: Any, roots: tuple[float, ...]) -> None:
    """τ² u_tt = -u_xxxx: rounding in u_xxx at the free end is neither incompatible nor a reason to refine."""
    weights = (1.0, 0.3, 0.1)[: len(roots)]
    left, right = sp.Eq(x, 0), sp.Eq(x, 1)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, unit / 2),
        [sp.Eq(unit**2 * u.diff(t, 2), -u.diff(x, 4))],
        [
            pibls.Dirichlet(u, 0, on=left),
            pibls.Neumann(u, 0, on=left),
            pibls.Condition(u.diff(x, 2), on=right),
            pibls.Condition(u.diff(x, 3), on=right),
            pibls.Initial(u, sum(eigenmodes(roots, weights, x, sp))),
            pibls.Initial(u.diff(t), 0),
        ],
    )
    assert incompatible_conditions(problem) == ()
    solution = pibls.solve(problem)
    assert solution.converged
    assert len(solution.windows) < 60
    X, T = np.random.default_rng(0).random((2, 200)) * [[1.0], [0.5]]
    parts = zip(roots, eigenmodes(roots, weights, X, np), strict=True)
    exact = sum(part * np.cos(b**2 * T) for b, part in parts)
    assert np.abs(solution(X, T * float(unit)) - exact).max() < 1e-10


@pytest.mark.parametrize(
    "boundary_value", [sp.Heaviside(t - 0.35), sp.Piecewise((0, t < 0.35), (1, True))], ids=str
)
def test_boundary_value_with_a_jump_in_time(boundary_value: Any) -> None:
    """u = 1 at x = 0 for t > 0.35: a layer starts there, as with incompatible initial data."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(u.diff(t), u.diff(x, 2) / 5)],
        [
            pibls.Dirichlet(u, boundary_value, on=sp.Eq(x, 0)),
            pibls.Dirichlet(u, 0, on=sp.Eq(x, 1)),
            pibls.Initial(u, sp.sin(sp.pi * x)),
        ],
    )
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.converged
    ((start, layer_end),) = solution.notes["layers"]
    assert start == 0.35 < layer_end < 0.3501
    assert "promised" not in solution.notes
    assert "Data that change abruptly" in solution.message
    rng = np.random.default_rng(0)
    X, T = rng.random((2, 300))
    T[:100] = layer_end + 10.0 ** rng.uniform(-6, -1, 100)
    r, m = 2.0 * np.sqrt(0.2 * np.maximum(T - 0.35, 1e-30)), 2.0 * np.arange(6)[:, None]
    exact = np.sin(np.pi * X) * np.exp(-0.2 * np.pi**2 * T)
    exact += np.where(T > 0.35, (erf((m + 2 - X) / r) - erf((m + X) / r)).sum(axis=0), 0.0)
    assert np.abs(solution(X, T) - exact).max() <= solution.error.max


def test_boundary_value_with_a_kink_in_time() -> None:
    """u = max(t - 0.35, 0) at x = 0: a window that ends there does not contain any of it."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(u.diff(t), u.diff(x, 2) / 5)],
        [
            pibls.Dirichlet(u, sp.Max(t - 0.35, 0), on=sp.Eq(x, 0)),
            pibls.Dirichlet(u, 0, on=sp.Eq(x, 1)),
            pibls.Initial(u, sp.sin(sp.pi * x)),
        ],
    )
    assert pibls.solve(problem).converged

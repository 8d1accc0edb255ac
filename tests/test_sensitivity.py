"""Sensitivities s = ∂u/∂k, compared with closed forms and difference quotients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls

x, y, t, k = sp.symbols("x y t k")
u, v = sp.Function("u")(x), sp.Function("v")(x)
w = sp.Function("w")(x, y)
h = sp.Function("h")(x, t)
LINE, SQUARE = pibls.Interval(x, 0, 1), pibls.Box({x: (0, 1), y: (0, 1)})


def exact_problem(domain: Any, unknown: Any, operator: Any, exact: Any, conditions: Any, value: float) -> Any:
    """Return N[u; k] = f(k) with the solution u = exact, so that ∂u/∂k is known."""
    source = operator.subs(unknown, exact).doit()
    return pibls.Problem(domain, [operator - source], conditions, parameters={k: value})


WAVE = sp.sin(k * x) + sp.cos(x) / k
PRODUCT = sp.sin(k * x) * sp.exp(y / k)
DECAY = sp.exp(-k * t) * sp.sin(3 * x) + x * t * k
CASES: dict[str, tuple[Any, ...]] = {
    "linear": (LINE, u, k * u.diff(x, 2) + u, WAVE, [pibls.Dirichlet(u, WAVE)], 2.0),
    "nonlinear": (LINE, u, u.diff(x, 2) - sp.exp(k * u / 3), WAVE, [pibls.Dirichlet(u, WAVE)], 1.5),
    "robin": (
        LINE,
        u,
        u.diff(x, 2) - u,
        WAVE,
        [
            pibls.Dirichlet(u, WAVE, on=sp.Eq(x, 0)),
            pibls.Robin(u, k * WAVE + k**2 * WAVE.diff(x), k, k**2, on=sp.Eq(x, 1)),
        ],
        2.0,
    ),
    "nonlinear condition": (
        LINE,
        u,
        u.diff(x, 2),
        WAVE,
        [
            pibls.Dirichlet(u, WAVE, on=sp.Eq(x, 0)),
            pibls.Condition(pibls.dn(u) + k * u**3 - (WAVE.diff(x) + k * WAVE**3), on=sp.Eq(x, 1)),
        ],
        2.0,
    ),
    "plane": (
        SQUARE,
        w,
        (1 + k * x) * (w.diff(x, 2) + w.diff(y, 2)) + k * w.diff(x),
        PRODUCT,
        [
            pibls.Dirichlet(w, PRODUCT, on=sp.Or(sp.Eq(x, 0), sp.Eq(y, 0), sp.Eq(y, 1))),
            pibls.Neumann(w, PRODUCT.diff(x), on=sp.Eq(x, 1)),
        ],
        2.0,
    ),
    "evolution": (
        LINE.during(t, 0, 1),
        h,
        h.diff(t) - h.diff(x, 2) / k + h**2,
        DECAY,
        [pibls.Dirichlet(h, DECAY), pibls.Initial(h, DECAY)],
        2.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sensitivity_equals_exact_derivative(name: str) -> None:
    domain, unknown, operator, exact, conditions, value = CASES[name]
    problem = exact_problem(domain, unknown, operator, exact, conditions, value)
    solution = pibls.solve(problem, tol=1e-8)
    slope = solution.sensitivity(k)
    assert slope.converged
    X = domain.interior(200, np.random.default_rng(1))
    true = sp.lambdify(domain.coordinates, exact.diff(k).subs(k, value))(*X.T)
    error = float(np.abs(slope(*X.T) - true).max())
    assert error <= 1e-7 * float(np.abs(true).max())
    assert error <= slope.error.max


def test_sensitivity_of_a_system_by_parameter_name() -> None:
    """u' = v, v' = -k² u: u = cos(k x)."""
    problem = pibls.Problem(
        LINE,
        [sp.Eq(u.diff(x), v), sp.Eq(v.diff(x), -(k**2) * u)],
        [pibls.Initial(u, 1), pibls.Initial(v, 0)],
        parameters={k: 3.0},
    )
    slope = pibls.solve(problem).sensitivity("k")
    X = np.linspace(0, 1, 9)
    np.testing.assert_allclose(slope[u](X), -X * np.sin(3 * X), atol=1e-9)
    np.testing.assert_allclose(slope[v](X), -np.sin(3 * X) - 3 * X * np.cos(3 * X), atol=1e-8)


def test_sensitivity_keeps_flux_form() -> None:
    problem = pibls.Problem(
        LINE, [pibls.div((1 + k * x) * pibls.grad(u)) - 1], [pibls.Dirichlet(u, 0)], parameters={k: 1.0}
    )
    solution = pibls.solve(problem)
    slope = solution.sensitivity(k)
    step = 1e-5
    upper, lower = (pibls.solve(problem.at(k=1 + s)) for s in (step, -step))
    X = np.linspace(0, 1, 9)
    np.testing.assert_allclose(slope(X), (upper(X) - lower(X)) / (2 * step), atol=1e-8)
    assert slope.problem.statements[0].form.fluxes


def test_unknown_parameter_is_rejected() -> None:
    problem = pibls.Problem(LINE, [u.diff(x) + k * u], [pibls.Initial(u, 1)], parameters={k: 2.0})
    solution = pibls.solve(problem, tol=1e-4)
    with pytest.raises(pibls.ProblemError, match=r"sensitivity\(m\): expected a parameter .* \(k\)"):
        solution.sensitivity(sp.Symbol("m"))


def test_parameter_in_boundary_data_only() -> None:
    """Only the boundary value depends on k."""
    problem = pibls.Problem(LINE, [u.diff(x, 2)], [pibls.Dirichlet(u, k * x)], parameters={k: 2.0})
    slope = pibls.solve(problem).sensitivity(k)
    assert slope(0.25) == pytest.approx(0.25)


def test_error_estimate_includes_the_error_of_the_solution() -> None:
    """The estimate of ∂u/∂k for each unknown is at least the error of the solution (tol = 1e-3)."""
    problem = pibls.Problem(
        LINE, [u.diff(x) + k * v, v.diff(x) - k * u], [pibls.Initial(u, 1), pibls.Initial(v, 0)], {k: 3.0}
    )
    solution = pibls.solve(problem, tol=1e-3)
    slope = solution.sensitivity(k)
    solution_error = max(solution[f].error.max for f in (u, v))
    for f in (u, v):
        assert slope[f].error.max >= solution_error
    assert slope.error.max == max(slope[f].error.max for f in (u, v))


def test_sensitivity_across_an_interface() -> None:
    """(κ u')' = -1, κ = k | 10: κ s' + ∂κ/∂k u' is continuous, and not κ s'."""
    kappa = sp.Piecewise((k, x < sp.Rational(1, 3)), (10, True))
    problem = pibls.Problem(
        LINE, [pibls.div(kappa * pibls.grad(u)) + 1], [pibls.Dirichlet(u, 0)], parameters={k: 2.0}
    )
    C = sp.Symbol("C")
    f, third, half = -(x**2) / 2 + C * x, sp.Rational(1, 3), sp.Rational(1, 2)
    right = f / 10 + (half - C) / 10
    (c,) = sp.solve((f / k - right).subs(x, third), C)
    exact = sp.lambdify(x, sp.Piecewise((f / k, x < third), (right, True)).subs(C, c).diff(k).subs(k, 2))
    slope = pibls.solve(problem).sensitivity(k)
    X = np.linspace(0.01, 0.99, 50)
    assert np.abs(slope(X) - exact(X)).max() <= slope.error.max <= 1e-12


@pytest.mark.parametrize("law", [sp.Piecewise((1, x < k), (0, True)), sp.floor(x + k)])
def test_jump_position_as_parameter_is_rejected(law: Any) -> None:
    problem = pibls.Problem(LINE, [u.diff(x, 2) + law], [pibls.Dirichlet(u, 0)], parameters={k: 0.4})
    with pytest.raises(pibls.ProblemError, match=r"does not move jumps.* Heaviside"):
        pibls.solve(problem).sensitivity(k)


@pytest.mark.parametrize(
    ("law", "slope"),
    [
        (sp.Heaviside(k - x), 0.18),
        (sp.sign(k - x), 0.36),
        (sp.Piecewise((x - k, x > k), (0, True)), -0.054),
    ],
    ids=str,
)
def test_parameter_in_heaviside_sign_and_continuous_piecewise(law: Any, slope: float) -> None:
    """u'' = -θ(k - x): ∂u/∂k is Green's function, 0.3 (1 - k) for k = 0.4 at x = 0.3."""
    problem = pibls.Problem(LINE, [u.diff(x, 2) + law], [pibls.Dirichlet(u, 0)], parameters={k: 0.4})
    assert pibls.solve(problem).sensitivity(k)(0.3) == pytest.approx(slope, abs=1e-9)


def test_undifferentiable_expression_is_rejected() -> None:
    domain = pibls.Interval(x, 1, 2)
    problem = pibls.Problem(domain, [u.diff(x, 2) + sp.besselj(k, x)], [pibls.Dirichlet(u, 0)], {k: 0.4})
    with pytest.raises(pibls.ProblemError, match=r"sensitivity\(k\): expected terms that SymPy .* besselj"):
        pibls.solve(problem, tol=1e-4).sensitivity(k)


def test_sensitivity_with_corner_singularities() -> None:
    """The source ku is singular, too: with the functions for Δs = ks alone the error stayed at 1e-3."""
    u = sp.Function("u")(x, y)
    corner = pibls.Polygon((x, y), [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)])
    problem = pibls.Problem(
        corner,
        [k**2 * (u.diff(x, 2) + u.diff(y, 2)) - k**2 * u + 1],
        [pibls.Dirichlet(u, 0)],
        parameters={k: 2.0},
    )
    solution = pibls.solve(problem, tol=1e-7)
    slope = solution.sensitivity(k)  # u ~ 1/k²
    assert slope.converged
    X = corner.interior(200, np.random.default_rng(1)).T
    error = np.abs(slope(*X) + solution(*X)).max()
    assert error <= slope.error.max <= 1e-7 * np.abs(slope(*X)).max()


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("name", ["line", "corner"])
def test_time_limit_is_respected(name: str) -> None:
    """A tiny limit stops both the linearized problem and difference quotients of solutions."""
    if name == "line":
        problem = pibls.Problem(
            LINE, [u.diff(x, 2) - k * u - 1], [pibls.Dirichlet(u, 0)], parameters={k: 2.0}
        )
    else:
        l_shape = pibls.Polygon((x, y), [(-1, -1), (0, -1), (0, 0), (1, 0), (1, 1), (-1, 1)])
        equation = w.diff(x, 2) + w.diff(y, 2) - k * w + 1
        problem = pibls.Problem(l_shape, [equation], [pibls.Dirichlet(w, 0)], parameters={k: 2.0})
    slope = pibls.solve(problem, tol=1e-4).sensitivity(k, time_limit=1e-6)
    assert slope.status is pibls.Status.TIME_LIMIT

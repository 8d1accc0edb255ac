"""Singular endpoints of ordinary differential equations: exponents s^α and solutions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.special import jv

import pibls
from pibls.analysis.frobenius import singular_ends
from pibls.analysis.thresholds import SingularEndThresholds

x, k = sp.symbols("x k")
u = sp.Function("u")(x)
HALF, THIRD = sp.Rational(1, 2), sp.Rational(1, 3)


def line(equation: Any, left: Any, right: Any, a: Any = 0, b: Any = 1, **more: Any) -> pibls.Problem:
    conditions = [pibls.Dirichlet(u, left, on=sp.Eq(x, a)), pibls.Dirichlet(u, right, on=sp.Eq(x, b))]
    return pibls.Problem(pibls.Interval(x, a, b), [equation], conditions, **more)


def bessel(length: int) -> pibls.Problem:
    return line(x**2 * u.diff(x, 2) + x * u.diff(x) + (x**2 - THIRD**2) * u, 0, 1, 0, length)


def powers(problem: pibls.Problem) -> list[tuple[float, list[float], bool]]:
    found = singular_ends(problem)
    return [(e.point[0], [round(p, 9) for p, _ in e.powers[:2]], e.powers[0][1]) for e in found]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (bessel(5), [(0.0, [round(1 / 3, 9), round(4 / 3, 9)], False)]),
        (line(pibls.div(sp.sqrt(x) * pibls.grad(u)) + 1, 0, 0), [(0.0, [0.5, 1.5], False)]),
        (line(u.diff(x, 2) - u ** (3 * HALF) / sp.sqrt(x), 1, 0), [(0.0, [1.5, 2.5], False)]),
        (line(u.diff(x, 2) - sp.sqrt(2 - x), 0, 0, 1, 2), [(2.0, [2.5, 3.5], False)]),
        (line(u.diff(x, 2) - sp.sqrt(x) * u.diff(x) - u, 0, 1), [(0.0, [1.5, 2.5], False)]),
        (line(u.diff(x, 2) + u / x, 1, 0), [(0.0, [1.0, 2.0], True)]),
        (line(x * u.diff(x, 2) + k * u.diff(x), 0, 1, parameters={k: 0.3}), [(0.0, [0.7, 1.7], False)]),
        # Regular endpoints, the radial equation in a ball, and irregular singularities.
        (line((1 + x**2) * u.diff(x, 2) + u, 0, 1), []),
        (line(x * u.diff(x, 2) + 2 * u.diff(x) - x * u, 0, 1), []),
        (line(x**3 * u.diff(x, 2) + u.diff(x), 0, 1), []),
        (line(u.diff(x, 2) - sp.log(x), 0, 1), []),
    ],
)  # fmt: skip
def test_exponents_follow_from_the_equation(problem: pibls.Problem, expected: Any) -> None:
    assert powers(problem) == expected


def test_bessel_function_of_fractional_order(tmp_path: Path) -> None:
    # The status was NO_SOLUTION: random features do not approximate x^(1/3).
    solution = pibls.solve(bessel(5), tol=1e-9)
    assert solution.converged
    X = np.concatenate([np.linspace(0, 5, 200), np.geomspace(1e-6, 1, 50)])
    error = np.abs(solution(X) - jv(1 / 3, X) / jv(1 / 3, 5)).max()
    assert error <= solution.error.max <= 1e-8
    solution.save(tmp_path / "bessel.pibls")
    assert np.array_equal(pibls.load(tmp_path / "bessel.pibls")(X), solution(X))


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
def test_number_of_endpoint_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pibls.solve(bessel(60), tol=1e-7, max_nodes=600).converged
    monkeypatch.setattr("pibls.analysis.frobenius.SINGULAR_ENDS", SingularEndThresholds(max_functions=2))
    assert not pibls.solve(bessel(60), tol=1e-7, max_nodes=600).converged


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_coefficient_that_vanishes_at_both_ends(tol: float) -> None:
    # (√(1 - x²) u')' = 0: the solution is an arcsine, with a square root at both ends.
    equation = sp.Derivative(sp.sqrt(1 - x**2) * u.diff(x), x)
    solution = pibls.solve(line(equation, -1, 1, -1, 1), tol=tol)
    assert solution.converged
    X = np.linspace(-1, 1, 301)
    assert np.abs(solution(X) - 2 / np.pi * np.arcsin(X)).max() <= max(solution.error.max, 1e-14)


def test_logarithm_at_a_pole_of_the_coefficient() -> None:
    # u'' + u/x = 0 with u(0) = 1: u = 1 - x log x + …; u(1/2) from its series with 30 digits.
    solution = pibls.solve(line(u.diff(x, 2) + u / x, 1, 0), tol=1e-8)
    assert solution.converged
    assert abs(solution(0.5) - 0.81851189307762432) <= max(solution.error.max, 1e-14)


def test_thomas_fermi_equation() -> None:
    # u'' = u^(3/2)/√x, u(0) = 1, u(5) = 0 (status was STALLED); u(1) from a Chebyshev series in √x.
    equation = sp.Eq(u.diff(x, 2), u ** (3 * HALF) / sp.sqrt(x))
    solution = pibls.solve(line(equation, 1, 0, 0, 5), tol=1e-6)
    assert solution.converged
    assert abs(solution(1.0) - 0.42012896973) <= solution.error.max

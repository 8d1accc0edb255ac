"""Initial guesses of nonlinear problems: accepted forms, and unknowns far from zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls

x = sp.Symbol("x")
f = sp.Function("u")
u = f(x)
BRATU = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + sp.exp(u)], [pibls.Dirichlet(u, 0)])


@pytest.mark.parametrize("key", [u, f, "u"], ids=["applied", "function", "name"])
def test_keys_of_a_guess(key: Any) -> None:
    solution = pibls.solve(BRATU, tol=1e-4, guess={key: 16 * x * (1 - x)})
    assert solution(0.5) == pytest.approx(4.0915, abs=1e-2)


@pytest.mark.parametrize(
    ("guess", "message"),
    [
        (lambda: 1.0, "a callable of 1 coordinate array"),
        (lambda X: "many", "returns real numbers"),
        (lambda X: X[:-1], "one per point"),
        (1j, "a real initial guess"),
        (sp.I * x, "a real initial guess"),
        ({sp.Function("v")(x): 1.0}, r"unknowns of the problem \(u\)"),
    ],
)
def test_invalid_guesses_are_rejected(guess: Any, message: str) -> None:
    with pytest.raises(pibls.ProblemError, match=rf"guess.*{message}"):
        pibls.solve(BRATU, guess=guess)


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_exponential_of_an_unknown_far_from_zero(shift: float) -> None:
    """SymPy writes exp(u - 1000.0) as 5e-435 exp(u), which is 0 times infinity in floating point."""
    term = -2 * sp.exp(u - shift) * x
    exact = shift + sp.sin(2 * x)
    source = exact.diff(x, 2) - 2 * x * sp.exp(sp.sin(2 * x))
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [u.diff(x, 2) + term - source], [pibls.Dirichlet(u, exact)]
    )
    solution = pibls.solve(problem)
    X = np.linspace(0, 1, 50)
    assert solution.converged
    assert np.abs(solution(X) - shift - np.sin(2 * X)).max() <= solution.error.max

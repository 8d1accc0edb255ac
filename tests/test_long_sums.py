"""Equations with thousands of terms: functions are not evaluated again in every pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.problem.forms.long_sums import evaluate_terms, rename_symbols

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)


def series(count: int) -> Any:
    return sp.Add(
        *(sp.Rational(1, k + 1) * sp.sin(k * sp.pi * x) * sp.cos(k * y) for k in range(1, count + 1))
    )


def test_functions_of_a_long_sum_are_not_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 1050  # more than the size of SymPy's cache
    equation = u.diff(x, 2) + u.diff(y, 2) - sp.Add(*(sp.sin(k * x) for k in range(1, count + 1)))
    calls = []
    old = sp.sin.eval.__func__

    def counted(cls: Any, argument: Any) -> Any:
        calls.append(argument)
        return old(cls, argument)

    monkeypatch.setattr(sp.sin, "eval", classmethod(counted))
    problem = pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [equation], [pibls.Dirichlet(u, 0)])
    assert problem.is_linear
    assert len(calls) < count / 10


def test_values_of_a_long_source() -> None:
    from pibls.problem.forms.compilation import compile_problem

    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}), [u.diff(x, 2) + u.diff(y, 2) - series(40)], [pibls.Dirichlet(u, 0)]
    )
    X = np.random.default_rng(0).random((50, 2))
    (inside,) = (r for r in compile_problem(problem).residuals if r.region.is_interior)
    found = inside.rest(X, np.zeros_like(X), inside.data_function_values(X), np.empty((0, len(X))))
    k = np.arange(1, 41)[:, None]
    expected = -np.sum(np.sin(k * np.pi * X[:, 0]) * np.cos(k * X[:, 1]) / (k + 1), axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_unevaluated_terms_are_evaluated() -> None:
    integral = sp.Integral(sp.sin(y), (y, 0, 1))
    expression = sp.sin(x) + sp.Derivative(x**3, x) + sp.Sum(y * x, (y, 1, 3)) + integral
    assert evaluate_terms(expression) == sp.sin(x) + 3 * x**2 + 6 * x + integral
    assert evaluate_terms(sp.Derivative(x**2, x)) == 2 * x


def test_rename_symbols_agrees_with_xreplace() -> None:
    p, q = sp.symbols("p q", real=True)
    expression = sp.sin(x - 2 * y) ** 2 + sp.sqrt(x**2) * sp.exp(-x) + sp.Abs(y) + sp.pi * x**y + 3
    found = rename_symbols(expression, {x: p, y: q})
    assert sp.simplify(found - expression.xreplace({x: p, y: q})) == 0
    assert found.has(sp.Abs(p))  # assumptions on the new symbols are used outside of sines

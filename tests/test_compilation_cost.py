"""The cost of compiling a problem is proportional to the number of its terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.forms.compiled_expressions import compile_expressions
from tests.call_counts import count_calls


def bodies(n: int) -> pibls.Problem:
    """The plane n-body problem: 4n equations with 2n(n - 1) interaction terms."""
    t = sp.Symbol("t")
    x, y, v, w = ([sp.Function(f"{name}{i}")(t) for i in range(n)] for name in "xyvw")
    equations: list[Any] = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        cubes = {j: ((x[j] - x[i]) ** 2 + (y[j] - y[i]) ** 2) ** sp.Rational(3, 2) for j in others}
        equations += [x[i].diff(t) - v[i], y[i].diff(t) - w[i]]
        equations += [
            sp.Eq(a[i].diff(t), sum((p[j] - p[i]) / cubes[j] for j in others)) for p, a in ((x, v), (y, w))
        ]
    conditions = [
        pibls.Initial(f, i + 0.5 * k) for k, fs in enumerate((x, y, v, w)) for i, f in enumerate(fs)
    ]
    return pibls.Problem(pibls.Interval(t, 0, 1), equations, conditions)


def test_cost_per_interaction_does_not_grow() -> None:
    """Seven bodies need no more calls per interaction than three (0.8 s; 17 s before)."""
    compile_problem(bodies(2))  # imports and the caches of SymPy are not counted
    few, many = (
        count_calls(lambda: compile_problem(bodies(3))) / 12,
        count_calls(lambda: compile_problem(bodies(7))) / 84,
    )
    assert many < few < 100_000
    problem = bodies(7)
    assert len(problem.equations) == 28
    assert not problem.is_linear


def test_compiled_expressions_equal_lambdify() -> None:
    x, y, n = sp.symbols("x y n")
    expressions = [
        x / y**2, -x - y, sp.exp(-(x**2)) / 3, sp.Piecewise((x, x < y), (y, True)), sp.pi * x - 2,
        (x**2 + y**2) ** sp.Rational(-3, 2), x**y, x**n, sp.besselj(2, x), sp.Max(x, y), sp.atan2(y, x),
        sp.Heaviside(x - y), 2 * x - 3 * y, sp.sqrt(x) * x**5, sp.Abs(x - y), sp.Integer(4),
    ]  # fmt: skip
    X, Y = np.random.default_rng(0).uniform(0.1, 2.0, (2, 20))
    ours = compile_expressions([x, y, n], expressions)(X, Y, 2.0)
    theirs = sp.lambdify([x, y, n], expressions, modules=["scipy", "numpy"])(X, Y, 2.0)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)

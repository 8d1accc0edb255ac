"""Stationary nonlinear problems with thin layers, where Newton's method stalls from every constant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import sympy as sp
from scipy.integrate import solve_bvp

import pibls
from pibls.arrays import Array
from validation.entry import Entry, Function, References

x = sp.Symbol("x")
u = sp.Function("u")(x)


def interior_shock(epsilon: float) -> pibls.Problem:
    """Return ε u'' + u u' = u, u(0) = -7/6, u(1) = 3/2, with a shock at x = 1/3 (Kevorkian and Cole)."""
    ends = [pibls.Dirichlet(u, -sp.Rational(7, 6), on={x: 0}), pibls.Dirichlet(u, 1.5, on={x: 1})]
    return pibls.Problem(pibls.Interval(x, 0, 1), [epsilon * u.diff(x, 2) + u * u.diff(x) - u], ends)


def shock_references(epsilon: float) -> Mapping[str, Function]:
    """Solve with SciPy from the matched asymptotic expansion; accurate to 3e-9."""
    stretched = 1 / 3 + epsilon * np.linspace(-40, 40, 801)
    t = np.unique(np.concatenate([np.linspace(0, 1, 201), stretched[(stretched > 0) & (stretched < 1)]]))
    s = np.clip(5 / 12 * (t - 1 / 3) / epsilon, -300, 300)
    guess = np.array([t - 1 / 3 + 5 / 6 * np.tanh(s), 1 + 25 / 72 / epsilon / np.cosh(s) ** 2])
    found = solve_bvp(
        lambda _, w: np.array([w[1], (w[0] - w[0] * w[1]) / epsilon]),
        lambda a, b: np.array([a[0] + 7 / 6, b[0] - 1.5]),
        t, guess, tol=1e-7, max_nodes=10_000,
        fun_jac=lambda _, w: np.array([[0 * w[0], 1 + 0 * w[0]], [(1 - w[1]) / epsilon, -w[0] / epsilon]]),
    )  # fmt: skip
    if not found.success:
        raise RuntimeError(found.message)
    return {"u": lambda X: np.asarray(found.sol(X)[0])}


def kink(epsilon: float) -> pibls.Problem:
    """Return ε u'' = u'² - 1, u(±1) = 0."""
    equation = epsilon * u.diff(x, 2) - u.diff(x) ** 2 + 1
    return pibls.Problem(pibls.Interval(x, -1, 1), [equation], [pibls.Dirichlet(u, 0)])


def kink_references(epsilon: float) -> Mapping[str, Function]:
    """Return u = ε log cosh(1/ε) - ε log cosh(x/ε)."""

    def exact(X: Array) -> Array:
        a, b = 1 / epsilon, X / epsilon
        return np.asarray(epsilon * (np.logaddexp(a, -a) - np.logaddexp(b, -b)))

    return {"u": exact}


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    made: list[tuple[str, float, Callable[..., pibls.Problem], Callable[..., References]]] = [
        *(("interior shock", e, interior_shock, shock_references) for e in (1e-2, 5e-3, 3e-3, 2e-3, 1e-3)),
        *(("kink", e, kink, kink_references) for e in (1e-1, 1e-2, 3e-3, 1e-3, 5e-4)),
    ]
    for name, epsilon, build, references in made:
        yield Entry(
            f"{name}, ε = {epsilon:g}", "layers", partial(build, epsilon), partial(references, epsilon), 1e-6,
            tags=("nonlinear",), accuracy=3e-9 if references is shock_references else 0.0,
        )  # fmt: skip

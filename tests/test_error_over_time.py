"""error.max is the maximum of error.over_time() over the times that it covers."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.validation.estimate import (
    ComparisonPoints,
    error_from_difference,
    is_in_interval,
    with_lower_bound,
)

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(t)
LINE = pibls.Interval(x, -1, 1).during(t, 0, 1)


def maximum_of_covered_times(error: pibls.ErrorEstimate) -> float:
    times, errors = error.over_time()
    keep = np.ones(len(times), dtype=bool)
    for layer in error.left_out:
        keep &= ~is_in_interval(times, layer)
    return float(errors[keep].max())


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_maximum_covers_all_times_except_those_left_out(sign: float) -> None:
    s = sign * np.linspace(0.0, 1.0, 2001)[:, None]
    difference = np.exp(-60.0 * np.abs(s.T))
    layers = ((0.0, sign * 0.1), (sign * 0.5, sign * 0.6))
    error = error_from_difference(
        difference, difference[:, 500:], np.ones(1), ComparisonPoints(s, s[500:], 0, layers)
    )
    assert error.left_out == layers
    assert error.max == error.each[0].max == maximum_of_covered_times(error)
    outside = (np.abs(s[:, 0]) >= 0.1) & ((np.abs(s[:, 0]) < 0.5) | (np.abs(s[:, 0]) >= 0.6))
    factor = error.over_time()[1].max() / difference.max()
    assert error.max == pytest.approx(factor * difference[0, outside].max())
    assert "without the times from 0 to" in str(error)


def test_lower_bound_also_applies_to_errors_over_time() -> None:
    s = np.linspace(0.0, 1.0, 200)[:, None]
    error = error_from_difference(1e-9 * s.T, 1e-9 * s.T, np.ones(1), ComparisonPoints(s, s, 0))
    raised = with_lower_bound(error, np.array([1e-6]), np.array([1e-7]))
    assert raised.max == maximum_of_covered_times(raised) >= 1e-6


def test_incompatible_initial_data() -> None:
    problem = pibls.Problem(LINE, [u.diff(t) - u.diff(x, 2)], [pibls.Dirichlet(u, 0), pibls.Initial(u, 1)])
    solution = pibls.solve(problem, tol=1e-6)
    valid_from = solution.notes["promised"]
    assert solution.error.left_out == ((0.0, valid_from),)
    times, errors = solution.error.over_time()
    assert errors[times >= valid_from].max() == solution.error.max
    assert errors.max() > solution.error.max
    assert (
        f"without the times from 0 to {valid_from:g}, which error.over_time() includes" in solution.summary()
    )
    assert f"the estimate holds for all times from {valid_from:.3g} on" in solution.summary()


def test_allen_cahn_with_a_kink_in_its_periodic_initial_data() -> None:
    equation = sp.Eq(u.diff(t), u.diff(x, 2) / 100 + 5 * (u - u**3))
    conditions = [pibls.Periodic(u, x), pibls.Initial(u, x**2 * sp.cos(sp.pi * x))]
    solution = pibls.solve(pibls.Problem(LINE, [equation], conditions), tol=1e-6)
    assert solution.converged
    assert solution.error.max == maximum_of_covered_times(solution.error)


def test_ordinary_evolutions() -> None:
    decay = pibls.solve(pibls.Problem(pibls.Interval(t, 0, 1), [v.diff(t) + v], [pibls.Initial(v, 1)]))
    assert decay.error.max == maximum_of_covered_times(decay.error)
    unstable = [sp.Eq(v.diff(t), 60 * (v - sp.cos(t)) - sp.sin(t))]
    with pytest.warns(pibls.ConvergenceWarning):
        unstable_solution = pibls.solve(
            pibls.Problem(pibls.Interval(t, 0, 3), unstable, [pibls.Initial(v, 1)])
        )
    assert unstable_solution.error.max == maximum_of_covered_times(unstable_solution.error)

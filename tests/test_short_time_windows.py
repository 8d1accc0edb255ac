"""Short time windows at large t, and the deadline inside a nonlinear solve."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.candidate import compute_candidate
from pibls.adaptive.validation.context import ValidationContext
from pibls.problem.forms.compilation import compile_problem
from pibls.runtime.deadline import deadline

t = sp.Symbol("t")
v = sp.Function("v")(t)


@pytest.mark.parametrize("start", [0, 1000])
def test_short_windows_at_large_t_keep_their_accuracy(start: int) -> None:
    """v' = 10⁴ (v - v³) from v = 1/2: windows that are short compared with t are as accurate as at t = 0."""
    problem = pibls.Problem(
        pibls.Interval(t, start, start + 1),
        [v.diff(t) - 10000 * (v - v**3)],
        [pibls.Initial(v, sp.Rational(1, 2))],
    )
    solution = pibls.solve(problem, tol=1e-8)
    T = start + np.concatenate([np.linspace(0, 1e-3, 300), np.linspace(1e-3, 1, 200)])
    exact = 1 / np.sqrt(1 + 3 * np.exp(-20000 * (T - start)))
    assert solution.converged
    assert len(solution.windows) < 40
    assert np.abs(solution(T) - exact).max() <= solution.error.max + 1e4 * 1e-16 * start
    assert solution.error.max <= 1e-8


def test_deadline_interrupts_nonlinear_iteration() -> None:
    """An exception of the deadline check ends the iteration at its next step."""

    class DeadlineError(Exception):
        pass

    def raise_deadline(_: str) -> None:
        raise DeadlineError

    problem = pibls.Problem(
        pibls.Interval(t, 0, 1), [v.diff(t) - v**2], [pibls.Initial(v, sp.Rational(1, 2))]
    )
    context, spec = (
        ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8),
        pibls.Waves(20, scale=5.0),
    )
    with pytest.raises(DeadlineError), deadline(raise_deadline):
        compute_candidate(context, spec, None, None, 0)

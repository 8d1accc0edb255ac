"""The eleven cases: their statement, and the paper's accuracy with the paper's settings."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.measure import errors
from benchmarks.published import allowed

import pibls

FAST = ("TC-1", "TC-2", "TC-3", "TC-5", "TC-8")
NAMES = list(pibls.cases)


def test_there_are_eleven() -> None:
    assert [f"TC-{i}" for i in range(1, 12)] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_statement(name: str) -> None:
    case = pibls.cases[name]
    assert case.problem.is_linear == (name not in ("TC-9", "TC-10", "TC-11"))
    assert case.published.l2_error < case.published.max_error
    assert case.title
    x = np.linspace(0.1, 0.2, 4)
    assert case.exact(*[x] * len(case.problem.coordinates)).shape == (4,)


@pytest.mark.parametrize("name", FAST)
def test_published_settings_reach_the_published_error(name: str) -> None:
    case = pibls.cases[name]
    found = [errors(case, pibls.solve(case.problem, seed=s, **case.published.settings))[0] for s in range(5)]
    assert np.median(found) <= allowed(case.published.max_error)


def test_published_settings_of_burgers() -> None:
    """TC-11 by Algorithm 2, the quickest of the nonlinear ones."""
    case = pibls.cases["TC-11"]
    found = [errors(case, pibls.solve(case.problem, seed=s, **case.published.settings))[0] for s in range(3)]
    assert np.median(found) <= allowed(case.published.max_error)


@pytest.mark.parametrize("name", NAMES)
def test_zero_settings_reach_rounding(name: str) -> None:
    case = pibls.cases[name]
    X = case.problem.domain.interior(1000, np.random.default_rng(0))
    size = np.abs(case.exact(*X.T)).max()
    found = []
    for seed in range(3):
        solution = pibls.solve(case.problem, tol=1e-13, seed=seed)
        found.append(errors(case, solution)[0])
        assert solution.converged
        assert found[-1] <= solution.error.max
    assert max(found) <= 5e-14 * size


def test_an_unknown_case_is_answered_with_the_nearest() -> None:
    with pytest.raises(pibls.ProblemError, match="Did you mean 'TC-11'"):
        pibls.cases["TC11"]

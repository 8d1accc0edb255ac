"""TFC, pyRFM and PyPIELM on small cases, and unit tests of their adapters."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import peers
from benchmarks.peers.adapter import Adapter, Outcome, Setting, Task
from benchmarks.peers.pyrfm_peer import Equation, points_on

import pibls
from pibls.arrays import Array

NAMES = ("tfc", "pyrfm", "pypielm")


def _adapter(name: str) -> Adapter:
    found = peers.adapter(name)
    for package in found.packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: {found.install}")
    return found


def _run(adapter: Adapter, case: str, values: dict[str, Any], tmp_path: Path) -> tuple[float, Outcome]:
    """Run with some of the setting's values replaced; return the largest error at random points."""
    problem_case = pibls.cases[case]
    first = adapter.settings(problem_case)[0]
    X = problem_case.problem.domain.interior(200, np.random.default_rng(5))
    setting = Setting("small", {**first.values, **values})
    outcome = adapter.run(Task(problem_case, setting, 0, X, 1, tmp_path))
    assert outcome.values.shape == (200,)
    assert outcome.seconds > 0
    assert outcome.compile_seconds >= 0
    return float(np.abs(outcome.values - problem_case.exact(*X.T)).max()), outcome


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", list(pibls.cases))
def test_last_setting_of_every_case_is_for_the_table(name: str, case: str) -> None:
    settings = peers.adapter(name).settings(pibls.cases[case])
    assert 3 <= len(settings) <= 6
    assert [s.table for s in settings] == [False] * (len(settings) - 1) + [True]
    assert len({s.label for s in settings}) == len(settings)


@pytest.mark.parametrize("name", NAMES)
def test_adapter_states_installation_and_fairness(name: str) -> None:
    adapter = peers.adapter(name)
    assert adapter.name == name
    assert adapter.install.startswith("pip install")
    assert len(adapter.fairness) > 100


@pytest.mark.parametrize(
    ("case", "values", "tolerance"),
    [
        ("TC-2", {"degree": 16, "points": 30}, 1e-8),
        ("TC-10", {"degree": 14, "points": 28}, 1e-9),
        ("TC-7", {"degree": 10, "points": 14}, 1e-2),
    ],
)
def test_tfc_error_is_small(case: str, values: dict[str, Any], tolerance: float, tmp_path: Path) -> None:
    error, outcome = _run(_adapter("tfc"), case, values, tmp_path)
    assert error < tolerance
    assert outcome.compile_seconds > 0


@pytest.mark.parametrize("case", ["TC-5", "TC-7", "TC-8", "TC-10"])
def test_constrained_expression_meets_conditions_for_any_coefficients(case: str) -> None:
    _adapter("tfc")
    from benchmarks.peers.tfc_peer import constrained, free_function

    problem = pibls.cases[case].problem
    H, _ = free_function(problem, "CP", 6, 8)
    u = constrained(problem, lambda xi, *x: H(*x) @ xi)
    some = np.ones((2, len(problem.coordinates)))
    xi = np.random.default_rng(0).standard_normal(H(*some.T).shape[1])
    checked = 0
    for statement in problem.statements[1:]:
        equation = Equation.of(statement.form)
        if any(sum(alpha) for alpha, _, _ in equation.linear):
            continue
        sites = points_on(problem, statement.region, 5)
        r = equation.rest(*sites[0].T)
        for _, site, a in equation.linear:
            r = r + a(*sites[0].T) * np.asarray(u(xi, *sites[site].T))
        assert np.abs(r).max() < 1e-12 * np.abs(xi).sum()
        checked += 1
    assert checked


@pytest.mark.parametrize(
    ("case", "values", "tolerance"),
    [
        ("TC-2", {"subdomains": 2, "features": 30, "points": 100}, 1e-8),
        ("TC-10", {"subdomains": 1, "features": 30, "points": 60}, 1e-8),
        ("TC-7", {"subdomains": 1, "features": 100, "points": 16}, 1e-2),
    ],
)
def test_pyrfm_error_is_small(case: str, values: dict[str, Any], tolerance: float, tmp_path: Path) -> None:
    error, _ = _run(_adapter("pyrfm"), case, values, tmp_path)
    assert error < tolerance


@pytest.mark.parametrize(
    ("case", "values", "tolerance"),
    [
        ("TC-2", {"features": 30, "points": 60}, 1e-10),
        ("TC-10", {"features": 30, "points": 60}, 1e-10),
        ("TC-7", {"features": 100, "points": 18}, 1e-3),
        ("TC-11", {"features": 100, "points": 18}, 1e-2),
    ],
)
def test_pypielm_error_is_small(case: str, values: dict[str, Any], tolerance: float, tmp_path: Path) -> None:
    error, outcome = _run(_adapter("pypielm"), case, values, tmp_path)
    assert error < tolerance
    linear = pibls.cases[case].problem.is_linear
    assert (outcome.facts["fits"] == 1) == linear
    assert bool(outcome.note) != linear


@pytest.mark.parametrize("case", list(pibls.cases))
def test_translated_equations_vanish_for_the_exact_solution(case: str) -> None:
    problem_case = pibls.cases[case]
    for statement in problem_case.problem.statements:
        equation = Equation.of(statement.form)
        sites = points_on(problem_case.problem, statement.region, 6)
        assert all(np.all(problem_case.problem.domain.contains(X)) for X in sites)
        # Difference quotients at the boundary use points on both sides: the exact solution extends there.
        x = sites[0].T
        r = equation.rest(
            *x, *(_difference(problem_case, sites[0], alpha) for alpha, _ in equation.nonlinear)
        )
        size = np.ones_like(r)
        for alpha, site, a in equation.linear:
            term = a(*x) * _difference(problem_case, sites[site], alpha)
            r, size = r + term, size + np.abs(term)
        assert np.max(np.abs(r) / size) < 1e-5


def _difference(case: Any, X: Array, alpha: tuple[int, ...]) -> Array:
    """∂^α of the exact solution by central differences."""
    h = 1e-4
    if not any(alpha):
        value: Array = case.exact(*X.T)
        return value
    axis = next(i for i, order in enumerate(alpha) if order)
    lower = tuple(order - (i == axis) for i, order in enumerate(alpha))
    step = h * np.eye(len(alpha))[axis]
    return (_difference(case, X + step / 2, lower) - _difference(case, X - step / 2, lower)) / h

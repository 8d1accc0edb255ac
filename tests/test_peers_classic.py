"""The classical peers: Newmark-beta and SciPy's solve_bvp, each on the cases that it supports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from benchmarks import peers
from benchmarks.peers import newmark, scipy_bvp
from benchmarks.peers.adapter import Adapter, CannotError, Setting, Task

import pibls
from pibls.arrays import Array

NEWMARK, BVP = peers.adapter("newmark"), peers.adapter("solve-bvp")


def max_error(adapter: Adapter, name: str, setting: Setting, folder: Path) -> float:
    case = pibls.cases[name]
    X: Array = case.problem.domain.interior(500, np.random.default_rng(3))
    found = adapter.run(Task(case, setting, 0, X, 1, folder))
    assert found.seconds > 0
    return float(np.abs(found.values - case.exact(*X.T)).max())


@pytest.mark.parametrize("adapter", [NEWMARK, BVP], ids=lambda a: a.name)
def test_one_setting_for_the_table(adapter: Adapter) -> None:
    assert adapter.missing() is None
    supported = 0
    for name in pibls.cases:
        try:
            settings = adapter.settings(pibls.cases[name])
        except CannotError:
            continue
        supported += 1
        assert sum(s.table for s in settings) == 1
        assert len({s.label for s in settings}) == len(settings) >= 3
    assert supported == {"newmark": 1, "solve-bvp": 5}[adapter.name]


@pytest.mark.parametrize(("beta", "order"), [(1.0 / 4.0, 2.0), (1.0 / 12.0, 4.0)])
def test_newmark_converges_at_its_order(beta: float, order: float) -> None:
    """Displacement and velocity, at the steps and between them."""
    t = np.linspace(0.0, 2.5, 777)
    errors = []
    for steps in (50, 100, 200):
        motion = newmark.integrate(steps, beta)
        velocity = np.abs(motion.v - np.sin(motion.t) - motion.t * np.cos(motion.t)).max()
        errors.append((np.abs(motion(t) - t * np.sin(t)).max(), velocity))
    rates = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.abs(rates - order).max() < 0.15


def test_newmark_uses_the_source_of_the_case() -> None:
    t = sp.Symbol("t")
    u = t * sp.sin(t)
    f = u.diff(t, 2) + 4 * u + sp.sin(u) / 10
    T = np.linspace(0.0, 2.5, 20)
    np.testing.assert_allclose(newmark.source(T), sp.lambdify(t, f)(T), atol=1e-14)
    np.testing.assert_allclose(newmark.source_rate(T), sp.lambdify(t, f.diff(t))(T), atol=1e-13)


def test_newmark_reaches_the_published_error(tmp_path: Path) -> None:
    case = pibls.cases["TC-10"]
    chosen = next(s for s in NEWMARK.settings(case) if s.table)
    assert max_error(NEWMARK, "TC-10", chosen, tmp_path) == pytest.approx(4.41e-10, rel=0.1)


@pytest.mark.parametrize("name", ["TC-1", "TC-2", "TC-3", "TC-9", "TC-10"])
def test_solve_bvp_meets_its_tolerance(name: str, tmp_path: Path) -> None:
    coarse, fine = (Setting("", {"tol": tol}) for tol in (1e-3, 1e-7))
    first, second = (max_error(BVP, name, setting, tmp_path) for setting in (coarse, fine))
    assert first < 1e-3
    assert second < 1e-8


@pytest.mark.parametrize("name", ["TC-1", "TC-2", "TC-3", "TC-9", "TC-10"])
def test_solve_bvp_uses_the_equation_of_the_case(name: str) -> None:
    """The exact solution satisfies it, and the Jacobian is that of the right-hand side."""
    case = pibls.cases[name]
    problem = scipy_bvp.equation(case)
    x = np.linspace(*problem.interval, 9)[1:-1]
    h = 1e-4 * (problem.interval[1] - problem.interval[0])
    left, u, right = (case.exact(x + s) for s in (-h, 0.0, h))
    slope, curvature = (right - left) / (2 * h), (right - 2 * u + left) / h**2
    y = np.array([u, slope][: problem.components])
    expected = slope if problem.components == 1 else curvature
    np.testing.assert_allclose(problem.fun(x, y)[-1], expected, rtol=0, atol=1e-3 * np.abs(expected).max())
    J = problem.fun_jac(x, y)
    for k in range(problem.components):
        step = np.zeros_like(y)
        step[k] = 1e-6
        difference = (problem.fun(x, y + step) - problem.fun(x, y - step)) / 2e-6
        np.testing.assert_allclose(J[:, k], difference, rtol=0, atol=1e-4)


def test_unsupported_cases_are_explained() -> None:
    with pytest.raises(CannotError, match="ordinary"):
        BVP.settings(pibls.cases["TC-5"])
    with pytest.raises(CannotError, match="equations of motion"):
        NEWMARK.settings(pibls.cases["TC-1"])

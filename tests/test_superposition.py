"""Superposition u(k) = Σ cⱼ(k) u(kⱼ) in sweeps in which only the data change."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.sweeps.superposition import Superposition

x, y, t, k = sp.symbols("x y t k")
u, v, w = sp.Function("u")(x, y), sp.Function("v")(x, t), sp.Function("w")(x)
SQUARE, ROD = pibls.Box({x: (0, 1), y: (0, 1)}), pibls.Interval(x, 0, 1)
LOADED = u.diff(x, 2) + u.diff(y, 2) + k
VALUES = np.linspace(0.5, 3.0, 12)


def problem_with_parameter(domain: Any, equation: Any, *conditions: Any) -> pibls.Problem:
    return pibls.Problem(domain, [equation], list(conditions), parameters={k: 1.0})


HEAT = v.diff(t) - v.diff(x, 2) - k * x
PROBLEMS = {
    "one term": (problem_with_parameter(SQUARE, LOADED, pibls.Dirichlet(u, 0)), 1),
    "two terms": (problem_with_parameter(SQUARE, LOADED, pibls.Dirichlet(u, x * y)), 2),
    "three terms": (problem_with_parameter(ROD, w.diff(x, 2) + k + k**2 * x, pibls.Dirichlet(w, 1)), 3),
    "in time": (
        problem_with_parameter(
            ROD.during(t, 0, 1), HEAT, pibls.Dirichlet(v, 0), pibls.Initial(v, sp.sin(sp.pi * x))
        ),
        2,
    ),
}


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_error_of_superposition_is_below_its_estimate(name: str, tmp_path: Path) -> None:
    problem, terms = PROBLEMS[name]
    superposition = Superposition.of([problem.at(k=float(q)) for q in VALUES])
    assert superposition is not None
    assert len(superposition.solved_indices) == terms
    swept = pibls.sweep(problem, {k: VALUES}, tol=1e-8)
    X = np.random.default_rng(1).random((100, len(problem.coordinates)))
    for i in (0, 4, 11):
        single = pibls.solve(problem.at(k=float(VALUES[i])), tol=1e-10)(*X.T)
        error = float(np.abs(swept[i](*X.T) - single).max())
        assert swept[i].converged
        assert error <= max(swept[i].error.max, 1e-10) <= 1e-8 * max(np.abs(single).max(), 1.0)
    i = next(i for i in range(12) if i not in superposition.solved_indices)
    swept[i].save(tmp_path / "one.pibls")
    assert np.array_equal(pibls.load(tmp_path / "one.pibls")(*X.T), swept[i](*X.T))
    if name == "in time":
        times, errors = swept[i].error.over_time()
        assert times[-1] == pytest.approx(1.0)
        assert 0 < errors.max() <= swept[i].error.max * 1.0001
        assert swept[i].windows


def test_sweep_of_loads_is_cheap() -> None:
    """Without superposition 100 values took 1.1 times as long as 100 solves (corner singularities)."""
    problem, _ = PROBLEMS["one term"]
    pibls.solve(problem)
    start = time.process_time()
    pibls.sweep(problem, {k: np.linspace(0.5, 3.0, 40)})
    sweep_seconds = time.process_time() - start
    for q in (0.7, 1.1):
        pibls.solve(problem.at(k=q))
    solve_seconds = 20 * (time.process_time() - start - sweep_seconds)
    assert sweep_seconds < 0.3 * solve_seconds


def test_problems_without_superposition() -> None:
    """sin kx at twelve values has too many terms; a point load is in no row of the system."""
    wave = problem_with_parameter(ROD, w.diff(x, 2) + sp.sin(3 * k * x), pibls.Dirichlet(w, 0))
    assert Superposition.of([wave.at(k=float(q)) for q in VALUES]) is None
    point = problem_with_parameter(ROD, w.diff(x, 2) + k * sp.DiracDelta(x - 0.3), pibls.Dirichlet(w, 0))
    assert Superposition.of([point.at(k=float(q)) for q in VALUES]) is None
    homogeneous = problem_with_parameter(ROD, w.diff(x, 2) + k, pibls.Dirichlet(w, 0)).at(k=0.0)
    assert Superposition.of([homogeneous] * 4) is None


def test_superposition_with_a_short_pulse() -> None:
    """A pulse of width 1e-4 proportional to k: the terms are found symbolically, not at points."""
    pulse = k * sp.exp(-(((t - 0.503) / 1e-4) ** 2)) * x
    problem = problem_with_parameter(
        ROD.during(t, 0, 1), v.diff(t) - v.diff(x, 2) - x - pulse, pibls.Dirichlet(v, 0), pibls.Initial(v, 0)
    )
    superposition = Superposition.of([problem.at(k=float(q)) for q in VALUES])
    assert superposition is not None
    assert len(superposition.solved_indices) == 2


def test_zero_parameter_value() -> None:
    problem, _ = PROBLEMS["one term"]
    found = pibls.sweep(problem, {k: [0.0, 1.0, 2.0, -1.0]}, tol=1e-6)
    assert all(s.converged for s in found)
    assert found[0](0.5, 0.5) == 0.0
    assert found[3](0.5, 0.5) == pytest.approx(-float(found[1](0.5, 0.5)), rel=1e-9)

"""u(k) = Σ cⱼ(k) u(kⱼ): sweeps of which only the data change, however each is solved."""

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


def posed(domain: Any, equation: Any, *conditions: Any) -> pibls.Problem:
    return pibls.Problem(domain, [equation], list(conditions), parameters={k: 1.0})


HEAT = v.diff(t) - v.diff(x, 2) - k * x
PROBLEMS = {
    "one shape": (posed(SQUARE, LOADED, pibls.Dirichlet(u, 0)), 1),
    "two shapes": (posed(SQUARE, LOADED, pibls.Dirichlet(u, x * y)), 2),
    "squares": (posed(ROD, w.diff(x, 2) + k + k**2 * x, pibls.Dirichlet(w, 1)), 3),
    "in time": (
        posed(ROD.during(t, 0, 1), HEAT, pibls.Dirichlet(v, 0), pibls.Initial(v, sp.sin(sp.pi * x))),
        2,
    ),
}


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_a_sum_is_as_good_as_its_estimate_says(name: str, tmp_path: Path) -> None:
    problem, shapes = PROBLEMS[name]
    plan = Superposition.of([problem.at(k=float(q)) for q in VALUES])
    assert plan is not None
    assert len(plan.solved_indices) == shapes
    swept = pibls.sweep(problem, {k: VALUES}, tol=1e-8)
    X = np.random.default_rng(1).random((100, len(problem.coordinates)))
    for i in (0, 4, 11):
        alone = pibls.solve(problem.at(k=float(VALUES[i])), tol=1e-10)(*X.T)
        off = float(np.abs(swept[i](*X.T) - alone).max())
        assert swept[i].converged
        assert off <= max(swept[i].error.max, 1e-10) <= 1e-8 * max(np.abs(alone).max(), 1.0)
    i = next(i for i in range(12) if i not in plan.solved_indices)
    swept[i].save(tmp_path / "one.pibls")
    assert np.array_equal(pibls.load(tmp_path / "one.pibls")(*X.T), swept[i](*X.T))
    if name == "in time":
        times, errors = swept[i].error.over_time()
        assert times[-1] == pytest.approx(1.0)
        assert 0 < errors.max() <= swept[i].error.max * 1.0001
        assert swept[i].windows


def test_a_sweep_of_loads_beside_corners_costs_next_to_nothing() -> None:
    """100 values took 1.1 times as long as 100 solves: one basis does not serve there."""
    problem, _ = PROBLEMS["one shape"]
    pibls.solve(problem)
    began = time.process_time()
    pibls.sweep(problem, {k: np.linspace(0.5, 3.0, 40)})
    together = time.process_time() - began
    for q in (0.7, 1.1):
        pibls.solve(problem.at(k=q))
    apart = 20 * (time.process_time() - began - together)
    assert together < 0.3 * apart


def test_what_is_no_sum_of_few() -> None:
    """sin kx at twelve values has too many shapes; a load on a point stands in no row."""
    wave = posed(ROD, w.diff(x, 2) + sp.sin(3 * k * x), pibls.Dirichlet(w, 0))
    assert Superposition.of([wave.at(k=float(q)) for q in VALUES]) is None
    point = posed(ROD, w.diff(x, 2) + k * sp.DiracDelta(x - 0.3), pibls.Dirichlet(w, 0))
    assert Superposition.of([point.at(k=float(q)) for q in VALUES]) is None
    nothing = posed(ROD, w.diff(x, 2) + k, pibls.Dirichlet(w, 0)).at(k=0.0)
    assert Superposition.of([nothing] * 4) is None


def test_a_pulse_hides_between_no_points() -> None:
    """A flash of 1e-4 of the time, as strong as k: sums are told by formulas, not at points."""
    flash = k * sp.exp(-(((t - 0.503) / 1e-4) ** 2)) * x
    problem = posed(
        ROD.during(t, 0, 1), v.diff(t) - v.diff(x, 2) - x - flash, pibls.Dirichlet(v, 0), pibls.Initial(v, 0)
    )
    plan = Superposition.of([problem.at(k=float(q)) for q in VALUES])
    assert plan is not None
    assert len(plan.solved_indices) == 2


def test_zero_is_a_value_too() -> None:
    problem, _ = PROBLEMS["one shape"]
    found = pibls.sweep(problem, {k: [0.0, 1.0, 2.0, -1.0]}, tol=1e-6)
    assert all(s.converged for s in found)
    assert found[0](0.5, 0.5) == 0.0
    assert found[3](0.5, 0.5) == pytest.approx(-float(found[1](0.5, 0.5)), rel=1e-9)

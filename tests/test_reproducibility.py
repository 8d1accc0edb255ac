"""The same seed gives the same result, also on a busy machine where run times vary."""

from __future__ import annotations

import time

import numpy as np
import pytest
import sympy as sp

import pibls

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
v = sp.Function("v")(x)


def peak() -> pibls.Problem:
    """A problem for which random features and cells compete."""
    exact = sp.exp(-40 * ((x - 0.3) ** 2 + (y - 0.6) ** 2))
    laplacian = exact.diff(x, 2) + exact.diff(y, 2)
    box = pibls.Box({x: (0, 1), y: (0, 1)})
    return pibls.Problem(box, [u.diff(x, 2) + u.diff(y, 2) - laplacian], [pibls.Dirichlet(u, exact)])


def layer() -> pibls.Problem:
    return pibls.Problem(
        pibls.Interval(x, 0, 1), [-v.diff(x, 2) / 500 + v.diff(x) - 1], [pibls.Dirichlet(v, 0)]
    )


@pytest.mark.parametrize(
    ("problem", "seed"), [(peak(), 0), (layer(), 0), (layer(), 3)], ids=["peak", "layer", "layer, seed 3"]
)
def test_result_does_not_depend_on_run_times(
    problem: pibls.Problem, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = pibls.solve(problem, tol=1e-3, seed=seed)
    rng, delay, real = np.random.default_rng(seed), [0.0], time.perf_counter

    def busy_clock() -> float:
        delay[0] += float(rng.exponential(0.3))
        return real() + delay[0]

    monkeypatch.setattr(time, "perf_counter", busy_clock)
    loaded = pibls.solve(problem, tol=1e-3, seed=seed)
    X = problem.domain.interior(50, np.random.default_rng(1))
    assert np.array_equal(quiet(*X.T), loaded(*X.T))
    assert (quiet.nodes, quiet.error.max) == (loaded.nodes, loaded.error.max)

"""One factorisation for many windows, and Newton's method that stops where a window is resolved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.linalg.patience import asked
from pibls.problem.lowering import lower
from pibls.search.attempt import attempt
from pibls.search.bench import Bench
from pibls.search.chain import Places
from pibls.solver import GaussNewton

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(t)


def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many linear windows are solved, and how many of them with factors that were known."""
    counts = {"all": 0, "known": 0}
    plain = GaussNewton.linear_solve

    def linear_solve(self: GaussNewton, system: Any, factors: Any = None) -> Any:
        counts["all"] += 1
        counts["known"] += factors is not None
        return plain(self, system, factors)

    monkeypatch.setattr(GaussNewton, "linear_solve", linear_solve)
    return counts


@pytest.mark.parametrize(
    ("rate", "source", "most"),
    [(1, sp.S.Zero, 0.3), (1, sp.cos(3 * t), 0.3), (1 + sp.sin(t) ** 2, sp.S.Zero, 1.0)],
    ids=["constant", "a source that changes", "a rate that changes"],
)
def test_factors_serve_all_windows_of_the_same_operator(
    rate: Any, source: Any, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """v'' + 900·rate·v = source over some hundred periods, against values of another tolerance."""
    problem = pibls.Problem(
        pibls.Interval(t, 0, 40),
        [v.diff(t, 2) + 900 * rate * v - source],
        [pibls.Initial(v, 1), pibls.Initial(v.diff(t), 0)],
    )
    counts = counted(monkeypatch)
    monkeypatch.setattr(
        "pibls.search.orbits.setting_of", lambda lowered, e: None
    )  # windows as they are in space
    solution = pibls.solve(problem, tol=1e-8)
    assert solution.converged
    assert len(solution.windows) > 30
    new = counts["all"] - counts["known"]
    assert (new < most * counts["all"]) if most < 1 else (counts["known"] < 0.1 * counts["all"])
    T = np.linspace(0, 40, 300)
    if rate == 1 and source == 0:
        error = float(np.abs(solution(T) - np.cos(30 * T)).max())
    else:
        reference = pibls.solve(problem, tol=1e-11, seed=4)
        error = float(np.abs(solution(T) - reference(T)).max()) - reference.error.max
    assert error <= solution.error.max
    assert error <= 1e-8 * float(np.abs(solution(T)).max())


def test_cells_and_periods_keep_theirs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """u_t + 30 u_x = 0 round a ring, five times: u = sin(x - 30 t)."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 2 * sp.pi).during(t, 0, 1),
        [u.diff(t) + 30 * u.diff(x)],
        [pibls.Periodic(u, x), pibls.Initial(u, sp.sin(x))],
    )
    monkeypatch.setattr(Places, "of", lambda bench: None)  # in waves: moments would keep theirs anyway
    counts = counted(monkeypatch)
    solution = pibls.solve(problem, tol=1e-7)
    assert solution.converged
    assert counts["known"] > 0.5 * counts["all"]
    X = problem.domain.interior(300, np.random.default_rng(0))
    assert np.abs(solution(*X.T) - np.sin(X[:, 0] - 30 * X[:, 1])).max() <= min(1e-7, solution.error.max)


@pytest.mark.parametrize("start", [0, 1000])
def test_short_windows_late_in_time_keep_their_digits(start: int) -> None:
    """v' = 10⁴ (v - v³) from v = 1/2: what is short beside t is resolved as it is at t = 0."""
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


def test_the_time_limit_holds_inside_a_nonlinear_attempt() -> None:
    """A check that raises ends the descent at its next step."""

    class OverError(Exception):
        pass

    def over() -> None:
        raise OverError

    problem = pibls.Problem(
        pibls.Interval(t, 0, 1), [v.diff(t) - v**2], [pibls.Initial(v, sp.Rational(1, 2))]
    )
    bench, spec = Bench.of(lower(problem), problem.domain, 0, 1e-8), pibls.Waves(20, scale=5.0)
    with pytest.raises(OverError), asked(over):
        attempt(bench, spec, None, None, 0)

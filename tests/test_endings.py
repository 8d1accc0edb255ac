"""Honest endings: what `solve` says when there is no solution, too many, or not enough time."""

from __future__ import annotations

import math
import signal
import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.evolutions.well_posedness import short_wave_growth
from pibls.problem.forms.compilation import compile_problem

x, y, t = sp.symbols("x y t")
U = sp.Function("u")


def contradictory() -> dict[str, pibls.Problem]:
    u, v = U(x), U(x, y)
    line, square = pibls.Interval(x, 0, 1), pibls.Box({x: (0, 1), y: (0, 1)})
    return {
        "two values at one end": pibls.Problem(
            line,
            [u.diff(x, 2)],
            [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 1, on=sp.Eq(x, 0)),
             pibls.Dirichlet(u, 0, on=sp.Eq(x, 1))],
        ),
        "too many conditions": pibls.Problem(
            line, [u.diff(x) - u],
            [pibls.Dirichlet(u, 1, on=sp.Eq(x, 0)), pibls.Dirichlet(u, 1, on=sp.Eq(x, 1))],
        ),
        "flux without a source": pibls.Problem(
            square, [v.diff(x, 2) + v.diff(y, 2)],
            [pibls.Neumann(v, 1), pibls.Dirichlet(v, 0, on={x: 0, y: 0})],
        ),
        "a source in a closed box": pibls.Problem(
            square, [v.diff(x, 2) + v.diff(y, 2) - 1], [pibls.Neumann(v, 0)]
        ),
        "resonance": pibls.Problem(
            pibls.Interval(x, 0, sp.pi), [sp.Eq(u.diff(x, 2) + u, sp.sin(x))], [pibls.Dirichlet(u, 0)]
        ),
        "no real root": pibls.Problem(line, [u**2 + 1 + 0 * x], [pibls.Dirichlet(u, 0)]),
    }  # fmt: skip


def undetermined() -> dict[str, pibls.Problem]:
    u, v = U(x), U(x, y)
    line, square = pibls.Interval(x, 0, 1), pibls.Box({x: (0, 1), y: (0, 1)})
    w = U(x, t)
    return {
        "one condition for two": pibls.Problem(
            line, [u.diff(x, 2) - 1], [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0))]
        ),
        "only derivatives": pibls.Problem(
            square, [sp.Eq(v.diff(x, 2) + v.diff(y, 2), 2)],
            [pibls.Neumann(v, sp.Rational(1, 2))],
        ),
        "eigenfunction": pibls.Problem(
            pibls.Interval(x, 0, sp.pi), [u.diff(x, 2) + u],
            [pibls.Condition(u.diff(x), on=sp.Eq(x, sp.pi / 2))],
        ),
        "no start": pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 1), [w.diff(t) - w.diff(x, 2)], [pibls.Dirichlet(w, 0)]
        ),
        "no start, with data": pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 1), [w.diff(t) - w.diff(x, 2)], [pibls.Dirichlet(w, 1 + x)]
        ),
        "no velocity": pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 1), [w.diff(t, 2) - w.diff(x, 2)],
            [pibls.Dirichlet(w, 0), pibls.Initial(w, sp.sin(sp.pi * x))],
        ),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", contradictory())
def test_without_a_solution_it_says_so(name: str, seed: int) -> None:
    problem = contradictory()[name]
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, tol=1e-8, max_nodes=600, seed=seed)
    assert not solution.converged
    # At an eigenvalue a huge multiple of the eigenfunction fits to the rounding of its own terms.
    nonlinear = pibls.Status.STALLED if not problem.is_linear else None
    assert solution.status in (pibls.Status.NO_SOLUTION, nonlinear)


@pytest.mark.parametrize("seed", range(2))
def test_a_blow_up_is_followed_to_where_it_is(seed: int) -> None:
    """u' = u², u(0) = 1: u = 1/(1 - t) until t = 1."""
    u = U(t)
    problem = pibls.Problem(pibls.Interval(t, 0, 2), [u.diff(t) - u**2], [pibls.Initial(u, 1)])
    with pytest.warns(pibls.ConvergenceWarning, match="It ends at"):
        solution = pibls.solve(problem, tol=1e-8, seed=seed)
    assert solution.status is pibls.Status.INCOMPLETE
    until = solution.windows[-1][1]
    assert 0.99 < until < 1.0 + 1e-6
    times = np.linspace(0, 0.9, 50)
    assert np.abs(solution(times) * (1 - times) - 1).max() < 1e-8
    assert np.isnan(solution(1.5))


@pytest.mark.parametrize("seed", range(2))
def test_a_blow_up_is_followed_until_it_happens(seed: int) -> None:
    """u = 1/(1 - t): what there is holds, and the message says where it ends."""
    u = U(t)
    problem = pibls.Problem(pibls.Interval(t, 0, 2), [u.diff(t) - u**2], [pibls.Initial(u, 1)])
    with pytest.warns(pibls.ConvergenceWarning, match="It ends at"):
        solution = pibls.solve(problem, tol=1e-8, max_nodes=600, seed=seed)
    assert not solution.converged
    assert solution.status is pibls.Status.INCOMPLETE
    assert solution.notes["stopped"][0] == pytest.approx(1.0, abs=1e-2)
    s = np.linspace(0, 0.9, 50)
    assert np.abs(solution(s) * (1 - s) - 1).max() < 1e-7


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", undetermined())
def test_with_many_solutions_it_says_so(name: str, seed: int) -> None:
    problem = undetermined()[name]
    with pytest.warns(pibls.ConvergenceWarning, match="under-determined|missing"):
        solution = pibls.solve(problem, tol=1e-8, max_nodes=600, seed=seed)
    assert not solution.converged
    assert solution.status is pibls.Status.UNDETERMINED


def layer(steepness: int) -> pibls.Problem:
    u = U(x, y)
    exact = sp.tanh(steepness * (x + y - 1))
    source = exact.diff(x, 2) + exact.diff(y, 2)
    return pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), source)],
        [pibls.Dirichlet(u, exact)],
    )


def test_node_limit_is_respected_and_warns_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = pibls.solve(layer(10), max_nodes=200)
    assert solution.nodes <= 200**2 // 4  # what products along the axes may have
    assert [w.category for w in caught] == [pibls.ConvergenceWarning]
    assert not solution.converged
    assert solution.error.max > 1e-10
    X = solution.problem.domain.interior(500, np.random.default_rng(0))
    assert np.abs(solution(*X.T) - np.tanh(10 * (X.sum(axis=1) - 1))).max() <= solution.error.max


def test_time_limit_is_respected() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pibls.solve(layer(2), max_nodes=128)  # what is imported and compiled once is not to fill that time
    with pytest.warns(pibls.ConvergenceWarning, match="time limit"):
        solution = pibls.solve(layer(40), tol=1e-13, time_limit=0.5)
    assert solution.status is pibls.Status.TIME_LIMIT
    # No attempt was begun after the limit: every one but the last had ended before it.
    assert all(p.seconds <= 0.5 for p in solution.history[:-1])


def test_rounding_floor() -> None:
    """A tolerance below double precision ends at the floor and says where it lies."""
    case = pibls.cases["TC-5"]
    with pytest.warns(pibls.ConvergenceWarning, match="limited by rounding"):
        solution = pibls.solve(case.problem, tol=1e-17)
    assert solution.status is pibls.Status.ROUNDING_LIMIT
    X = case.problem.domain.interior(1000, np.random.default_rng(0))
    assert np.abs(solution(*X.T) - case.exact(*X.T)).max() <= solution.error.max < 1e-12


def test_interruption_returns_the_best_so_far() -> None:
    seen: list[pibls.Progress] = []

    def stop(progress: pibls.Progress) -> None:
        seen.append(progress)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.warns(pibls.ConvergenceWarning, match="Interrupted"):
        solution = pibls.solve(layer(20), tol=1e-13, callback=stop)
    assert solution.status is pibls.Status.INTERRUPTED
    assert np.isfinite(solution(0.3, 0.4))


def test_a_signal_in_the_middle_of_an_attempt_returns_the_best_so_far() -> None:
    """Sent while the third attempt is being set up; whatever the shell has made of SIGINT before."""
    u, seen = U(x, y), list[pibls.Progress]()

    def edge(x: Any, y: Any) -> Any:
        if len(seen) >= 2:
            signal.raise_signal(signal.SIGINT)
        return np.tanh(20 * (x + y - 1))

    problem = pibls.Problem(layer(20).domain, layer(20).equations, [pibls.Dirichlet(u, edge)])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(pibls.ConvergenceWarning, match="Interrupted"):
            solution = pibls.solve(problem, tol=1e-13, callback=seen.append)
    finally:
        signal.signal(signal.SIGINT, before)
    assert solution.status is pibls.Status.INTERRUPTED
    assert len(solution.history) == len(seen)


def test_callback_and_history() -> None:
    seen: list[pibls.Progress] = []
    solution = pibls.solve(pibls.cases["TC-3"].problem, callback=seen.append)
    assert list(solution.history) == seen
    assert seen[-1].error is not None
    assert seen[-1].error <= 1e-10
    assert [p.nodes for p in seen] == sorted(p.nodes for p in seen)


def test_progress_display_is_silent_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    pibls.solve(pibls.cases["TC-2"].problem, progress=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["TC-2", "TC-8", "TC-11"])
def test_same_seed_same_result(name: str) -> None:
    first, again = (pibls.solve(pibls.cases[name].problem, seed=3) for _ in range(2))
    other = pibls.solve(pibls.cases[name].problem, seed=4)
    assert np.array_equal(first.coefficients, again.coefficients)
    assert not np.array_equal(first.coefficients, other.coefficients)


def test_given_settings_are_used_exactly() -> None:
    case = pibls.cases["TC-2"]
    settings = case.published.settings
    solution = pibls.solve(case.problem, **settings)
    assert solution.nodes == settings["basis"].size
    assert solution.settings["points"] == settings["points"]
    assert solution.error.max > 0  # estimated on demand
    points = pibls.Points(300, 2)
    assert pibls.solve(case.problem, points=points).settings["points"] == points


def test_what_has_no_solution_is_said_soon() -> None:
    """u'' + 5eᵘ = 0 runs away: Newton's method ends at one function, which is none, in any basis."""
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2) + 5 * sp.exp(u), 0)], [pibls.Dirichlet(u, 0)]
    )
    with pytest.warns(pibls.ConvergenceWarning, match="No solution was found: the residual remains large"):
        solution = pibls.solve(problem)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert solution.nodes <= 1024
    assert not math.isfinite(solution.error.max)


def test_a_source_in_a_closed_box_is_no_large_residual() -> None:
    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2), -1)], [pibls.Neumann(u, 0)])
    with pytest.warns(pibls.ConvergenceWarning, match="sources add up to -1"):
        pibls.solve(problem)


def test_a_load_at_a_resonance_is_no_large_residual() -> None:
    u = sp.Function("u")(x)
    equation = sp.Eq(u.diff(x, 2) + sp.pi**2 * u, sp.sin(sp.pi * x))
    with pytest.warns(pibls.ConvergenceWarning, match="grows without bounds"):
        pibls.solve(pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(u, 0)]))


def test_a_beginning_that_is_missing_is_named() -> None:
    w = sp.Function("w")(x, t)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(w.diff(t, 2), w.diff(x, 2))],
        [pibls.Initial(w, sp.sin(sp.pi * x)), pibls.Dirichlet(w, 0)],
    )
    with pytest.warns(
        pibls.ConvergenceWarning, match=r"initial value of Derivative\(w\(x, t\), t\) is not given"
    ):
        pibls.solve(problem)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda u: [sp.Eq(u.diff(x), -u.subs(x, x - 1))], "Delays, and values at other points"),
        (lambda u: [sp.Eq(u.diff(x), sp.nan)], "or with nan, is true or false"),
    ],
)
def test_what_an_equation_is_not(make: Any, words: str) -> None:
    u = sp.Function("u")(x)
    with pytest.raises(pibls.ProblemError, match=words):
        pibls.Problem(pibls.Interval(x, 0, 1), make(u), [pibls.Initial(u, 1)])


def test_several_parts_of_a_boundary_are_joined_by_or() -> None:
    u = sp.Function("u")(x)
    with pytest.raises(pibls.ProblemError, match=r"on=sympy\.Or"):
        pibls.Problem(
            pibls.Interval(x, 0, 1),
            [sp.Eq(u.diff(x, 2), 1)],
            [pibls.Dirichlet(u, 0, on=[sp.Eq(x, 0), sp.Eq(x, 1)])],
        )


@pytest.mark.parametrize("fits", [True, False])
def test_a_beginning_with_more_than_it_needs(fits: bool) -> None:
    """Heat with u_t given at the start besides: what it is anyway is solved, else there is none."""
    w = sp.Function("w")(x, t)
    rate = -(sp.pi**2) * sp.sin(sp.pi * x) if fits else 0
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(w.diff(t), w.diff(x, 2))],
        [pibls.Initial(w, sp.sin(sp.pi * x)), pibls.Initial(w.diff(t), rate), pibls.Dirichlet(w, 0)],
    )
    if fits:
        assert pibls.solve(problem).converged
        return
    with pytest.warns(pibls.ConvergenceWarning, match="may contradict each other"):
        solution = pibls.solve(problem)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert not math.isfinite(solution.error.max)


def unstable() -> dict[str, pibls.Problem]:
    v, w = U(x, y), U(x, t)
    rod = pibls.Interval(x, 0, 1).during(t, 0, sp.Rational(1, 10))
    heat, kink = w.diff(t) - w.diff(x, 2), sp.Abs(x - sp.Rational(1, 2))
    ends = pibls.Dirichlet(v, sp.Rational(1, 2), on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1)))
    one = [pibls.Dirichlet(v, kink, on=sp.Eq(y, 0)), pibls.Neumann(v, 0, on=sp.Eq(y, 0)), ends]
    last = pibls.Condition(sp.Eq(w, x * (1 - x)), on=sp.Eq(t, sp.Rational(1, 10)))
    return {
        "values and slopes on one side": pibls.Problem(
            pibls.Box({x: (0, 1), y: (0, 1)}), [v.diff(x, 2) + v.diff(y, 2)], one
        ),
        "heat backwards": pibls.Problem(rod, [heat], [pibls.Dirichlet(w, 0), last]),
        "heat of the wrong sign": pibls.Problem(
            rod, [w.diff(t) + w.diff(x, 2) / 2 - w], [pibls.Dirichlet(w, 0), pibls.Initial(w, x * (1 - x))]
        ),
    }


@pytest.mark.parametrize("name", unstable())
def test_what_is_unstable_is_called_so(name: str) -> None:
    with pytest.warns(
        pibls.ConvergenceWarning, match="unstable.*a tenth of the width grow by a factor of 1e"
    ):
        solution = pibls.solve(unstable()[name])
    assert solution.status is pibls.Status.UNSTABLE
    assert solution.error.max == np.inf


def test_what_is_stable_is_not_called_unstable() -> None:
    w = U(x, t)
    line = pibls.Interval(x, 0, 1).during(t, 0, 1)
    walls, start = pibls.Dirichlet(w, 0), pibls.Initial(w, sp.sin(sp.pi * x))
    rest, wrap = pibls.Initial(w.diff(t), 0), pibls.Periodic(w, x)
    last = pibls.Condition(sp.Eq(w, sp.sin(sp.pi * x)), on=sp.Eq(t, 1))
    stable: list[tuple[Any, list[Any]]] = [
        (w.diff(t) - w.diff(x, 2) - 1000 * w, [walls, start]),
        (w.diff(t) + w.diff(x, 2) / 9, [walls, last]),
        (w.diff(t, 2) + w.diff(t) - w.diff(x, 2) - w, [walls, start, rest]),
        (w.diff(t, 2) + w.diff(x, 4), [wrap, start, rest]),
        (w.diff(t) + w.diff(x, 2) + w.diff(x, 4) / 1000, [wrap, start]),
        (w.diff(t) + w.diff(x, 3), [wrap, start]),
    ]
    for equation, conditions in stable:
        problem = pibls.Problem(line, [equation], conditions)
        assert short_wave_growth(compile_problem(problem), problem.domain) is None


@pytest.mark.parametrize("told", [0, 1])
def test_what_is_told_where_everything_leaves(told: int) -> None:
    """u_t + u_x = 0: at x = 1 the equation decides, and what is said there fits or does not."""
    w = U(x, t)
    exact = sp.sin(x - t)
    conditions = [pibls.Dirichlet(w, exact, on=sp.Eq(x, 0)), pibls.Initial(w, sp.sin(x))]
    conditions.append(pibls.Dirichlet(w, told * exact, on=sp.Eq(x, 1)))
    problem = pibls.Problem(pibls.Interval(x, 0, 1).during(t, 0, 1), [w.diff(t) + w.diff(x)], conditions)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = pibls.solve(problem, tol=1e-8)
    assert solution.converged == bool(told)
    if not told:
        assert solution.status is pibls.Status.NO_SOLUTION
        assert "on Eq(x, 1) by 8" in str(caught[0].message)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_what_cells_leave_adds_up_at_a_limit(tol: float) -> None:
    # A flux of 1 leaves through 1/300 of a side, beside which u is 2.56, by a series. Each of 2,000 cells
    # loses a little of that flux, and two divisions agreed to 0.04 in a function without it.
    x, y = sp.symbols("x y")
    u = sp.Function("u")(x, y)
    contact = sp.And(sp.Eq(x, 1), y > 0.3141, y < 0.3171)
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [u.diff(x, 2) + u.diff(y, 2)],
        [pibls.Dirichlet(u, 1, on=contact), pibls.Neumann(u, 1, on=sp.Eq(x, 0)), pibls.Neumann(u, 0)],
    )
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, tol=tol)
    assert abs(float(solution(0.9, 0.3141)) - 2.563844) <= solution.error.max

"""Statuses and messages of `solve`: no solution, many solutions, instability and limits."""

from __future__ import annotations

import math
import signal
import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.analysis.well_posedness import short_wave_growth
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
        "one of two conditions": pibls.Problem(
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
        "no initial value": pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 1), [w.diff(t) - w.diff(x, 2)], [pibls.Dirichlet(w, 0)]
        ),
        "no initial value, with data": pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 1), [w.diff(t) - w.diff(x, 2)], [pibls.Dirichlet(w, 1 + x)]
        ),
        "no initial velocity": pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 1), [w.diff(t, 2) - w.diff(x, 2)],
            [pibls.Dirichlet(w, 0), pibls.Initial(w, sp.sin(sp.pi * x))],
        ),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", contradictory())
def test_contradictory_problem_has_status_no_solution(name: str, seed: int) -> None:
    problem = contradictory()[name]
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, tol=1e-8, max_nodes=600, seed=seed)
    assert not solution.converged
    # At an eigenvalue a large multiple of the eigenfunction has a residual at rounding level.
    nonlinear = pibls.Status.STALLED if not problem.is_linear else None
    assert solution.status in (pibls.Status.NO_SOLUTION, nonlinear)


@pytest.mark.parametrize("seed", range(2))
def test_blow_up_is_incomplete_with_last_window(seed: int) -> None:
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
def test_blow_up_time_is_in_the_notes(seed: int) -> None:
    """u = 1/(1 - t): the computed part is accurate, and the message gives its end."""
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
def test_undetermined_problem_has_status_undetermined(name: str, seed: int) -> None:
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
    assert solution.nodes <= 200**2 // 4  # the limit of tensor products
    assert [w.category for w in caught] == [pibls.ConvergenceWarning]
    assert not solution.converged
    assert solution.error.max > 1e-10
    X = solution.problem.domain.interior(500, np.random.default_rng(0))
    assert np.abs(solution(*X.T) - np.tanh(10 * (X.sum(axis=1) - 1))).max() <= solution.error.max


def test_time_limit_is_respected() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pibls.solve(layer(2), max_nodes=128)  # imports and compilation are excluded
    with pytest.warns(pibls.ConvergenceWarning, match="time limit"):
        solution = pibls.solve(layer(40), tol=1e-13, time_limit=0.5)
    assert solution.status is pibls.Status.TIME_LIMIT
    # No candidate was started after the limit: all but the last ended before it.
    assert all(p.seconds <= 0.5 for p in solution.history[:-1])


def test_rounding_limit() -> None:
    """A tolerance below double precision ends at the rounding limit."""
    case = pibls.cases["TC-5"]
    with pytest.warns(pibls.ConvergenceWarning, match="limited by rounding"):
        solution = pibls.solve(case.problem, tol=1e-17)
    assert solution.status is pibls.Status.ROUNDING_LIMIT
    X = case.problem.domain.interior(1000, np.random.default_rng(0))
    assert np.abs(solution(*X.T) - case.exact(*X.T)).max() <= solution.error.max < 1e-12


def test_interruption_returns_best_solution() -> None:
    reports: list[pibls.Progress] = []

    def stop(progress: pibls.Progress) -> None:
        reports.append(progress)
        if len(reports) == 2:
            raise KeyboardInterrupt

    with pytest.warns(pibls.ConvergenceWarning, match="Interrupted"):
        solution = pibls.solve(layer(20), tol=1e-13, callback=stop)
    assert solution.status is pibls.Status.INTERRUPTED
    assert np.isfinite(solution(0.3, 0.4))


def test_signal_during_assembly_returns_best_solution() -> None:
    """Send SIGINT while the third candidate is assembled, independent of the handler of the shell."""
    u, reports = U(x, y), list[pibls.Progress]()

    def edge(x: Any, y: Any) -> Any:
        if len(reports) >= 2:
            signal.raise_signal(signal.SIGINT)
        return np.tanh(20 * (x + y - 1))

    problem = pibls.Problem(layer(20).domain, layer(20).equations, [pibls.Dirichlet(u, edge)])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(pibls.ConvergenceWarning, match="Interrupted"):
            solution = pibls.solve(problem, tol=1e-13, callback=reports.append)
    finally:
        signal.signal(signal.SIGINT, before)
    assert solution.status is pibls.Status.INTERRUPTED
    assert len(solution.history) == len(reports)


def test_callback_and_history() -> None:
    reports: list[pibls.Progress] = []
    solution = pibls.solve(pibls.cases["TC-3"].problem, callback=reports.append)
    assert list(solution.history) == reports
    assert reports[-1].error is not None
    assert reports[-1].error <= 1e-10
    assert [p.nodes for p in reports] == sorted(p.nodes for p in reports)


def test_progress_display_is_silent_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    pibls.solve(pibls.cases["TC-2"].problem, progress=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["TC-2", "TC-8", "TC-11"])
def test_same_seed_same_result(name: str) -> None:
    first, repeated = (pibls.solve(pibls.cases[name].problem, seed=3) for _ in range(2))
    other = pibls.solve(pibls.cases[name].problem, seed=4)
    assert np.array_equal(first.coefficients, repeated.coefficients)
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


def test_problem_without_solution_ends_early() -> None:
    """u'' + 5eᵘ = 0: Newton's method stalls at the same function in every basis."""
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2) + 5 * sp.exp(u), 0)], [pibls.Dirichlet(u, 0)]
    )
    with pytest.warns(pibls.ConvergenceWarning, match="No solution was found: the residual remains large"):
        solution = pibls.solve(problem)
    assert solution.status is pibls.Status.NO_SOLUTION
    assert solution.nodes <= 1024
    assert not math.isfinite(solution.error.max)


def test_message_of_source_with_zero_flux() -> None:
    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2), -1)], [pibls.Neumann(u, 0)])
    with pytest.warns(pibls.ConvergenceWarning, match="sources add up to -1"):
        pibls.solve(problem)


def test_message_of_load_at_resonance() -> None:
    u = sp.Function("u")(x)
    equation = sp.Eq(u.diff(x, 2) + sp.pi**2 * u, sp.sin(sp.pi * x))
    with pytest.warns(pibls.ConvergenceWarning, match="grows without bounds"):
        pibls.solve(pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(u, 0)]))


def test_missing_initial_condition_is_reported() -> None:
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
    ("make", "message"),
    [
        (lambda u: [sp.Eq(u.diff(x), -u.subs(x, x - 1))], "Delays, and values at other points"),
        (lambda u: [sp.Eq(u.diff(x), sp.nan)], "or with nan, is true or false"),
    ],
)
def test_delay_and_nan_equations_are_rejected(make: Any, message: str) -> None:
    u = sp.Function("u")(x)
    with pytest.raises(pibls.ProblemError, match=message):
        pibls.Problem(pibls.Interval(x, 0, 1), make(u), [pibls.Initial(u, 1)])


def test_list_of_boundary_parts_is_rejected() -> None:
    u = sp.Function("u")(x)
    with pytest.raises(pibls.ProblemError, match=r"on=sympy\.Or"):
        pibls.Problem(
            pibls.Interval(x, 0, 1),
            [sp.Eq(u.diff(x, 2), 1)],
            [pibls.Dirichlet(u, 0, on=[sp.Eq(x, 0), sp.Eq(x, 1)])],
        )


@pytest.mark.parametrize("consistent", [True, False])
def test_redundant_initial_condition(consistent: bool) -> None:
    """Heat equation with a redundant u_t at t = 0: solved if consistent, else there is no solution."""
    w = sp.Function("w")(x, t)
    rate = -(sp.pi**2) * sp.sin(sp.pi * x) if consistent else 0
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(w.diff(t), w.diff(x, 2))],
        [pibls.Initial(w, sp.sin(sp.pi * x)), pibls.Initial(w.diff(t), rate), pibls.Dirichlet(w, 0)],
    )
    if consistent:
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
    cauchy_data = [pibls.Dirichlet(v, kink, on=sp.Eq(y, 0)), pibls.Neumann(v, 0, on=sp.Eq(y, 0)), ends]
    final_condition = pibls.Condition(sp.Eq(w, x * (1 - x)), on=sp.Eq(t, sp.Rational(1, 10)))
    return {
        "Cauchy problem of Laplace's equation": pibls.Problem(
            pibls.Box({x: (0, 1), y: (0, 1)}), [v.diff(x, 2) + v.diff(y, 2)], cauchy_data
        ),
        "backward heat equation": pibls.Problem(rod, [heat], [pibls.Dirichlet(w, 0), final_condition]),
        "heat equation of the wrong sign": pibls.Problem(
            rod, [w.diff(t) + w.diff(x, 2) / 2 - w], [pibls.Dirichlet(w, 0), pibls.Initial(w, x * (1 - x))]
        ),
    }


@pytest.mark.parametrize("name", unstable())
def test_ill_posed_problem_has_status_unstable(name: str) -> None:
    with pytest.warns(
        pibls.ConvergenceWarning, match="unstable.*a tenth of the width grow by a factor of 1e"
    ):
        solution = pibls.solve(unstable()[name])
    assert solution.status is pibls.Status.UNSTABLE
    assert solution.error.max == np.inf


def test_well_posed_problems_are_not_unstable() -> None:
    w = U(x, t)
    line = pibls.Interval(x, 0, 1).during(t, 0, 1)
    boundary, initial = pibls.Dirichlet(w, 0), pibls.Initial(w, sp.sin(sp.pi * x))
    at_rest, periodic = pibls.Initial(w.diff(t), 0), pibls.Periodic(w, x)
    final_condition = pibls.Condition(sp.Eq(w, sp.sin(sp.pi * x)), on=sp.Eq(t, 1))
    stable: list[tuple[Any, list[Any]]] = [
        (w.diff(t) - w.diff(x, 2) - 1000 * w, [boundary, initial]),
        (w.diff(t) + w.diff(x, 2) / 9, [boundary, final_condition]),
        (w.diff(t, 2) + w.diff(t) - w.diff(x, 2) - w, [boundary, initial, at_rest]),
        (w.diff(t, 2) + w.diff(x, 4), [periodic, initial, at_rest]),
        (w.diff(t) + w.diff(x, 2) + w.diff(x, 4) / 1000, [periodic, initial]),
        (w.diff(t) + w.diff(x, 3), [periodic, initial]),
    ]
    for equation, conditions in stable:
        problem = pibls.Problem(line, [equation], conditions)
        assert short_wave_growth(compile_problem(problem), problem.domain) is None


@pytest.mark.parametrize("scale", [0, 1])
def test_redundant_outflow_condition(scale: int) -> None:
    """u_t + u_x = 0: the condition at x = 1 is redundant, consistent or contradictory."""
    w = U(x, t)
    exact = sp.sin(x - t)
    conditions = [pibls.Dirichlet(w, exact, on=sp.Eq(x, 0)), pibls.Initial(w, sp.sin(x))]
    conditions.append(pibls.Dirichlet(w, scale * exact, on=sp.Eq(x, 1)))
    problem = pibls.Problem(pibls.Interval(x, 0, 1).during(t, 0, 1), [w.diff(t) + w.diff(x)], conditions)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = pibls.solve(problem, tol=1e-8)
    assert solution.converged == bool(scale)
    if not scale:
        assert solution.status is pibls.Status.NO_SOLUTION
        assert "on Eq(x, 1) by 8" in str(caught[0].message)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_estimate_includes_flux_lost_between_cells(tol: float) -> None:
    # A flux of 1 leaves through 1/300 of a side; beside it u = 2.563844 by a series. Each of 2,000 cells
    # loses a small part of the flux, and two refinements without that flux agreed to 0.04.
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

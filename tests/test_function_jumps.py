"""Jumps and kinks of Python functions: located by sampling, used as window ends, reported if not located."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm

import pibls
from pibls.problem.interfaces.jump_detection import Jumps, find_jumps

t, x = sp.symbols("t x")
u, w, p = sp.Function("u")(t), sp.Function("w")(t), sp.Function("p")(x, t)
Pulse = tuple[float, float, float]
"""Amplitude, start, end."""


def schedule(pulses: Sequence[Pulse]) -> Callable[[Any], Any]:
    def heating(s: Any) -> Any:
        return sum(A * ((s > a) & (s < b)) for A, a, b in pulses) + 0.0 * s

    return heating


def response(pulses: Sequence[Pulse], c: float, s: Any) -> Any:
    """v' = -c v + f, v(0) = 0."""
    return sum(A / c * (np.exp(-c * np.clip(s - b, 0, None)) - np.exp(-c * np.clip(s - a, 0, None)))
               for A, a, b in pulses)  # fmt: skip


def sample_times(pulses: Sequence[Pulse], end: float, count: int) -> Any:
    """Return times in each interval between jumps, refined towards its start."""
    edges = np.unique([0.0, end, *(v for _, a, b in pulses for v in (a, b))])
    inner = edges[:-1, None] + np.diff(edges)[:, None] * np.linspace(0, 1, count) ** 2
    return np.unique(inner.clip(0, end))


def check_error(solution: pibls.Solution, error: float, size: float, rounding: float) -> None:
    """Assert error <= 10 estimate and error <= tol size, up to the effect of rounded jump times."""
    assert solution.converged, solution.message
    assert error <= 10.0 * solution.error.max + rounding
    assert error <= solution.tol * size + rounding


def random_schedule(rng: np.random.Generator, end: float = 20.0) -> list[Pulse]:
    pulses = []
    for _ in range(int(rng.integers(1, 5))):
        width = end * 10 ** rng.uniform(-3.0, -0.4)
        start = rng.uniform(0.0, 1.0) * (end - width)
        amplitude = rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(-2.0, 2.0)
        pulses.append((float(amplitude), float(start), float(start + width)))
    return pulses


def random_power_of_ten(rng: np.random.Generator, low: float, high: float) -> float:
    """Return 10 to a random power between ``low`` and ``high``."""
    return float(10.0 ** rng.uniform(low, high))


def check_scalar(pulses: list[Pulse], c: float, tol: float, initial: float) -> None:
    end = 20.0
    equation = sp.Eq(u.diff(t), -c * u + pibls.known(schedule(pulses), t))
    problem = pibls.Problem(pibls.Interval(t, 0, end), [equation], [pibls.Initial(u, initial)])
    solution = pibls.solve(problem, tol=tol)
    s = sample_times(pulses, end, 40)
    exact = initial * np.exp(-c * s) + response(pulses, c, s)
    size, total = float(np.abs(exact).max()), sum(abs(A) for A, _, _ in pulses)
    check_error(
        solution, float(np.abs(solution(s) - exact).max()), size, 4e-16 * (size + total * (end + 1 / c))
    )


def check_system(pulses: list[Pulse], c: float, d: float, tol: float) -> None:
    end, f = 20.0, schedule(pulses)
    A = np.array([[-c, 0.5 * c], [0.3 * d, -d]])
    equations = [
        sp.Eq(u.diff(t), A[0, 0] * u + A[0, 1] * w + pibls.known(f, t)),
        sp.Eq(w.diff(t), A[1, 0] * u + A[1, 1] * w),
    ]
    conditions = [pibls.Initial(u, 0), pibls.Initial(w, 1)]
    solution = pibls.solve(pibls.Problem(pibls.Interval(t, 0, end), equations, conditions), tol=tol)
    s = sample_times(pulses, end, 8)
    exact, state = [np.array([0.0, 1.0])], np.array([0.0, 1.0])
    for a, b in pairwise(s):
        M = np.zeros((3, 3))
        M[:2, :2], M[0, 2] = A, float(f(0.5 * (a + b)))
        state = (expm(M * (b - a)) @ [*state, 1.0])[:2]
        exact.append(state)
    total = sum(abs(height) for height, _, _ in pulses)
    for unknown, values in zip((u, w), np.array(exact).T, strict=True):
        size = float(np.abs(values).max())
        error = float(np.abs(solution[unknown](s) - values).max())
        slack = 4e-15 * (size + total * (end + 1 / c))  # expm accumulates rounding errors over all intervals
        assert solution.converged, solution.message
        assert error <= 10.0 * solution[unknown].error.max + slack


def check_field(pulses: list[Pulse], k: float, tol: float, kind: str) -> None:
    """u_t = k u_xx + f(t) sin πx, or u = ∫f as boundary value and solution."""
    end, f = 1.0, schedule(pulses)

    def source(a: Any, s: Any) -> Any:
        return f(s) * (np.sin(np.pi * a) if kind == "source" else 1.0)

    def integrated(a: Any, s: Any) -> Any:
        return sum(A * (np.clip(s, b, c) - b) for A, b, c in pulses) + 0.0 * s

    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, end),
        [sp.Eq(p.diff(t), k * p.diff(x, 2) + pibls.known(source, x, t))],
        [pibls.Dirichlet(p, 0 if kind == "source" else integrated), pibls.Initial(p, 0)],
    )
    solution = pibls.solve(problem, tol=tol)
    X, S = np.meshgrid(np.linspace(0, 1, 21), sample_times(pulses, end, 12))
    exact = integrated(X, S)
    if kind == "source":
        exact = response(pulses, k * np.pi**2, S) * np.sin(np.pi * X)
    size, total = float(np.abs(exact).max()), sum(abs(A) for A, _, _ in pulses)
    check_error(solution, float(np.abs(solution(X, S) - exact).max()), size, 4e-15 * (size + total))


def check_random_scalar(seed: int) -> None:
    rng = np.random.default_rng(seed)
    initial = float(rng.choice([0.0, 1.0, -0.3]))
    check_scalar(
        random_schedule(rng),
        random_power_of_ten(rng, -1.0, 1.5),
        random_power_of_ten(rng, -10.0, -2.0),
        initial,
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_schedules(seed: int) -> None:
    check_random_scalar(seed)


@pytest.mark.parametrize("seed", range(100, 400))
def test_hundreds_of_schedules(seed: int) -> None:
    check_random_scalar(seed)


@pytest.mark.parametrize("seed", range(150))
def test_hundreds_of_schedules_of_systems(seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_system(
        random_schedule(rng),
        random_power_of_ten(rng, -1.0, 1.5),
        random_power_of_ten(rng, -1.0, 1.5),
        random_power_of_ten(rng, -10.0, -2.0),
    )


@pytest.mark.parametrize("seed", range(60))
def test_many_schedules_of_fields(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["source", "boundary"]))
    check_field(
        random_schedule(rng, 1.0),
        random_power_of_ten(rng, -2.0, 0.0),
        random_power_of_ten(rng, -8.0, -2.0),
        kind,
    )


@pytest.mark.parametrize("c", [0.1, 10.0])
@pytest.mark.parametrize(
    "pulses",
    [
        [(-1.0, 0.0, 2.0)],
        [(-1.0, 1e-12, 2.0)],
        [(-1.0, 5.364e-12, 2.000000000005364)],
        [(-1.0, 1e-6, 2.0)],
        [(-1.0, 1e-3, 2.0)],
        [(1.0, 18.0, 20.0)],
        [(1.0, 18.0, 19.999999)],
        [(1.0, 18.0, 20.0 - 1e-12)],
        [(0.018, 1.77e-6, 0.654), (-1.0, 0.0, 2.0)],  # two jumps in one sampling interval
        [(-0.02, 7.6e-10, 6.5), (0.54, 5.2e-5, 1.7)],
        [(-0.54, 1.12e-4, 0.63), (-2.4, 5.04e-4, 2.0)],  # one jump masks the other
        [(-1.47, 3.6e-12, 0.2), (-0.28, 8.56e-5, 0.03)],
        [(0.5, 17.0, 19.99999), (1.0, 18.0, 19.9999999), (-2.0, 19.0, 20.0)],
    ],
)
def test_jumps_close_to_the_ends(pulses: list[Pulse], c: float) -> None:
    for tol, initial in ((1e-10, 0.0), (1e-3, 1.0)):
        check_scalar(pulses, c, tol, initial)


@pytest.mark.parametrize(
    ("a", "b", "c", "tol"),
    [(4.174485226364561, 4.97043950617907, 1.3287163620519618, 1e-10), (3.21, 4.87, 0.5, 1e-2)],
)
def test_one_pulse(a: float, b: float, c: float, tol: float) -> None:
    check_scalar([(1.0, a, b)], c, tol, 0.0)


def test_jumps_in_a_system_and_in_fields() -> None:
    check_system([(2.0, 3.1, 3.3), (-1.0, 3.2, 9.0)], 1.3, 0.4, 1e-8)
    for kind in ("source", "boundary"):
        check_field([(1.0, 0.2137, 0.2191), (-0.5, 0.6, 0.83)], 0.1, 1e-6, kind)


def test_time_windows_end_at_jumps_and_the_summary_reports_them() -> None:
    heater = schedule([(1.0, 4.2, 5.3)])
    equation = sp.Eq(u.diff(t), -u + pibls.known(heater, t))
    solution = pibls.solve(pibls.Problem(pibls.Interval(t, 0, 20), [equation], [pibls.Initial(u, 0)]))
    ends = np.array(solution.windows).ravel()
    assert all(np.abs(ends - jump).min() < 1e-14 for jump in (4.2, 5.3))
    assert (
        "The Python function heating jumps at t = 4.2, 5.3, as its samples show; breaks= or a Piecewise"
        in (solution.summary())
    )
    named = sp.Eq(u.diff(t), -u + pibls.known(heater, t, breaks={t: [4.2, 5.3]}))
    exact = pibls.solve(pibls.Problem(pibls.Interval(t, 0, 20), [named], [pibls.Initial(u, 0)]))
    assert exact.converged
    assert "jumps" not in exact.summary()


def noise(s: Any) -> Any:
    return np.modf(np.sin(s * 12.9898e9) * 43758.5453)[0]


@pytest.mark.parametrize(
    "f",
    [noise, lambda s: noise(s) * (s > 0.4), lambda s: np.sign(np.sin(3e4 * s)), lambda s: np.floor(6e3 * s)],
)
@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_jumps_that_cannot_be_located_give_no_estimate(f: Callable[[Any], Any], tol: float) -> None:
    equation = sp.Eq(u.diff(t), -u + pibls.known(f, t))
    problem = pibls.Problem(pibls.Interval(t, 0, 1), [equation], [pibls.Initial(u, 0)])
    with pytest.warns(
        pibls.ConvergenceWarning, match="could not be located.*breaks=.*or write the function as a Piece"
    ):
        solution = pibls.solve(problem, tol=tol)
    assert solution.status is pibls.Status.DISCONTINUOUS_DATA
    assert not solution.converged
    assert solution.error.max == np.inf


def test_reason_to_stop_at_a_jump() -> None:
    from pibls.adaptive.validation.context import ValidationContext
    from pibls.problem.forms.compilation import compile_problem
    from pibls.time.data_monitor import reason_to_stop

    def short_pulse(s: Any) -> Any:
        return np.where((s > 0.5) & (s < 0.50001), 1.0, 0.0)

    problem = pibls.Problem(
        pibls.Interval(t, 0, 1), [sp.Eq(u.diff(t), -u + pibls.known(short_pulse, t))], [pibls.Initial(u, 0)]
    )
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    assert reason_to_stop(context, 0.5, "short") == (
        "the Python function short_pulse jumps there; give the location with breaks=, "
        "or write it as a Piecewise"
    )
    assert reason_to_stop(context, 0.3, "short") == "short"


def test_blow_up_message_and_relative_error() -> None:
    problem = pibls.Problem(pibls.Interval(t, 0, 2), [sp.Eq(u.diff(t), u**2)], [pibls.Initial(u, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem)
    assert solution.status is pibls.Status.INCOMPLETE
    assert "the solution may blow up, or the equation may be singular there" in solution.message
    relative = float(solution.message.split("(")[-2].split(" of max|u|")[0])
    assert relative < 0.1


def located_jumps(f: Callable[[Any], Any], low: float = 0.0, high: float = 1.0) -> Jumps:
    with np.errstate(all="ignore"):
        return find_jumps(f, low, high)


@pytest.mark.parametrize(
    "f",
    [
        lambda s: np.sin(50 * s),
        lambda s: np.sin(3e3 * s),
        lambda s: np.sin(2e4 * s),
        lambda s: np.exp(30 * s),
        lambda s: np.exp(-(((s - 0.3) / 3e-4) ** 2)),
        lambda s: 1 / (1 + (1e3 * (s - 0.5)) ** 2),
        lambda s: 1 + 1e-13 * noise(s),
        lambda s: 0 * s,
    ],
)
def test_smooth_functions_have_no_jumps(f: Callable[[Any], Any]) -> None:
    assert located_jumps(f) == Jumps()


def test_jumps_are_located_to_rounding() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        low, length = float(rng.choice([0.0, -5.0, 1e3])), float(10 ** rng.uniform(-2, 3))
        pulses = [
            (float(rng.normal()), float(a), float(a + length * 10 ** rng.uniform(-3.5, -1)))
            for a in low + length * rng.uniform(0, 0.9, int(rng.integers(1, 6)))
        ]
        f, wave = schedule(pulses), rng.uniform(0, 60) / length

        def with_oscillation(s: Any, f: Callable[[Any], Any] = f, wave: float = wave) -> Any:
            return f(s) + np.sin(wave * s)

        jumps = located_jumps(with_oscillation, low, low + length)
        expected = np.sort([v for _, a, b in pulses for v in (a, b) if v < low + length])
        assert len(jumps.levels) == len(expected)
        assert np.all(np.abs(np.array(jumps.levels) - expected) <= np.spacing(np.abs(expected)))


def test_kinks_of_a_table_and_small_jumps_are_located() -> None:
    knots, values = np.linspace(0, 1, 21), np.random.default_rng(0).normal(size=21)
    table = located_jumps(lambda s: np.interp(s, knots, values))
    assert np.allclose(table.levels, knots[1:-1], rtol=0, atol=1e-12)
    assert not any(table.heights)
    small = located_jumps(lambda s: np.sin(20 * s) + 1e-6 * (s > 0.3))
    assert len(small.levels) == 1
    assert abs(small.levels[0] - 0.3) < 1e-15
    burst = located_jumps(lambda s: 1.0 * (s > 0.3) * (s < 0.31) * (np.sin(6e3 * s + 1) > 0))
    assert len(burst.levels) > 15


def test_functions_of_space_and_time_jump_on_planes() -> None:
    def problem(f: Callable[..., Any]) -> pibls.Problem:
        equation = sp.Eq(p.diff(t), p.diff(x, 2) + pibls.known(f, x, t))
        conditions = [pibls.Dirichlet(p, 0), pibls.Initial(p, 0)]
        return pibls.Problem(pibls.Interval(x, 0, 1).during(t, 0, 1), [equation], conditions)

    localised = problem(lambda a, s: np.exp(-2000 * (a - 0.3) ** 2) * (s > 0.417))
    assert [(b.axis, round(b.level, 12)) for b in localised.breaks.planes] == [(1, 0.417)]
    moving = problem(lambda a, s: 1.0 * (a < 0.2 + 0.6 * s))
    assert not moving.breaks


def test_source_with_jumps_in_space() -> None:
    v = sp.Function("v")(x)
    f = pibls.known(lambda a: 1.0 * (a > 0.3137) * (a < 0.71), x)
    solution = pibls.solve(
        pibls.Problem(pibls.Interval(x, 0, 1), [sp.Eq(v.diff(x, 2), f)], [pibls.Dirichlet(v, 0)])
    )

    def double_integral(s: Any) -> Any:
        return 0.5 * (np.clip(s - 0.3137, 0, None) ** 2 - np.clip(s - 0.71, 0, None) ** 2)

    s = np.linspace(0, 1, 1001)
    assert solution.converged
    assert np.abs(solution(s) - (double_integral(s) - s * double_integral(1.0))).max() < 1e-14

"""Data that are nonzero only in a short time or a small region: they are resolved, not missed."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.time.data_monitor import DataMonitor

x, y, t = sp.symbols("x y t")
v = sp.Function("v")(x, t)
LATE = sp.Rational(503, 100)


def pulse(width: float) -> sp.Expr:
    """A Gaussian pulse at t = 5.03 with the integral √π."""
    return sp.exp(-(((t - LATE) / width) ** 2)) / width


def value_after_pulse(time: float, width: float, initial: float = 1.0) -> float:
    """Return u(time) of u' = -u + pulse, u(0) = initial, for times after the pulse."""
    return initial * math.exp(-time) + math.sqrt(math.pi) * math.exp(-(time - float(LATE)) + width**2 / 4)


@pytest.mark.parametrize("width", [1e-1, 1e-2, 2e-3])
@pytest.mark.parametrize("seed", [0, 1])
def test_short_source_pulse(width: float, seed: int) -> None:
    """A pulse lasting 1e-3 of the time was missed, with status TOLERANCE."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, sp.pi).during(t, 0, 10),
        [v.diff(t) - v.diff(x, 2) - sp.sin(x) * pulse(width)],
        [pibls.Dirichlet(v, 0), pibls.Initial(v, sp.sin(x))],
    )
    solution = pibls.solve(problem, tol=1e-6, seed=seed)
    expected = value_after_pulse(5.5, width)
    assert solution.converged
    assert abs(solution(math.pi / 2, 5.5) - expected) <= min(float(solution.error.max), 3e-6 * expected)


def test_short_boundary_pulse() -> None:
    """u_t = u_xx with a pulse u(0, t): after it the first mode decays."""
    width, c = 0.02, 5.03
    boundary_pulse = sp.exp(-(((t - LATE) / width) ** 2))
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 10),
        [v.diff(t) - v.diff(x, 2)],
        [
            pibls.Dirichlet(v, boundary_pulse, on=sp.Eq(x, 0)),
            pibls.Dirichlet(v, 0, on=sp.Eq(x, 1)),
            pibls.Initial(v, sp.sin(sp.pi * x)),
        ],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-5, time_limit=20)
    # u = w + (1 - x) g, and 1 - x has the sine coefficient 2/π: w has -(2/π) ∫ e^(-π²(t-s)) g'(s) ds.
    late = 5.4
    from_pulse = (
        -(2 / math.pi) * math.sqrt(math.pi) * width * -(math.pi**2) * math.exp(-(math.pi**2) * (late - c))
    )
    from_pulse *= math.exp(math.pi**4 * width**2 / 4)
    first = 2 * np.mean(
        [float(solution(s, late)) * math.sin(math.pi * s) for s in (np.arange(400) + 0.5) / 400]
    )
    expected = from_pulse + math.exp(-(math.pi**2) * late)
    assert abs(first - expected) <= max(2 * float(solution.error.max), 1e-4)
    assert abs(first - expected) < 0.05 * expected or not solution.converged


def test_short_source_pulse_on_a_disk() -> None:
    width = 0.02
    disc = pibls.Disk((x, y), center=(0, 0), radius=1)
    w = sp.Function("w")(x, y, t)
    profile = 1 - x**2 - y**2
    problem = pibls.Problem(
        disc.during(t, 0, 10),
        [w.diff(t) - w.diff(x, 2) - w.diff(y, 2) + w - profile * pulse(width)],
        [pibls.Neumann(w, 0), pibls.Initial(w, 1)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-4, time_limit=30)
    # The mean obeys m' = -m + (1/2) pulse.
    X = disc.interior(4000, np.random.default_rng(0))
    mean = float(np.mean(solution(*X.T, np.full(len(X), 9.0))))
    expected = math.exp(-9.0) + 0.5 * (value_after_pulse(9.0, width) - math.exp(-9.0))
    assert abs(mean - expected) < 1e-2 * expected or not solution.converged


def test_data_monitor_finds_the_worst_resolved_time() -> None:
    times = np.linspace(0.0, 1.0, 1001)
    monitor = DataMonitor(times, np.exp(-(((times - 0.4) / 0.01) ** 2))[None])
    nodes = np.array([0.25, 0.7, 1.0])
    assert monitor.worst_fraction(0.0, 1.0, nodes) == pytest.approx([0.4])
    assert monitor.worst_fraction(1.0, 0.0, nodes) == pytest.approx([0.6])
    assert len(monitor.worst_fraction(0.1, 0.1005, nodes)) == 0
    assert len(DataMonitor(times, np.empty((0, 1001))).worst_fraction(0.0, 1.0, nodes)) == 0


def test_pulse_at_a_single_collocation_time() -> None:
    """A Python function with a pulse of width 1e-5: with only one collocation time in the pulse, the
    spectral tail of the window was zero, and a division by zero ended the solve."""
    source_pulse = pibls.known(lambda s: np.exp(-(((s - 0.81723) / 1e-5) ** 2)) / 1e-5, t)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [v.diff(t) - v.diff(x, 2) / 100 - source_pulse],
        [pibls.Neumann(v, 0), pibls.Initial(v, 0)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-4, time_limit=5)
    assert not solution.converged or abs(float(solution(0.5, 1)) - math.sqrt(math.pi)) < 1e-3


# -- data narrower than the distance of the points --

X = sp.Function("u")(x)


def bump(width: float, at: float = 0.3137) -> sp.Expr:
    """A Gaussian with the integral √π."""
    return sp.exp(-(((x - at) / width) ** 2)) / width


@pytest.mark.parametrize("width", [3e-4, 1e-7])
def test_narrow_coefficient(width: float) -> None:
    """u'' = b u': only sources were searched between the points, and u = x was reported as converged."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [X.diff(x, 2) - bump(width) * X.diff(x)], [pibls.Dirichlet(X, x)]
    )
    solution = pibls.solve(problem, tol=1e-6)
    left, right = 0.3137 * math.exp(-math.sqrt(math.pi) / 2), 0.6863 * math.exp(math.sqrt(math.pi) / 2)
    assert solution.converged
    assert abs(solution(0.3137 - 20 * width) - left / (left + right)) < 50 * width


@pytest.mark.parametrize("width", [2e-3, 1e-6])
def test_pulse_as_factor_of_the_solution(width: float) -> None:
    """u' = pulse u and u' = -pulse u²: the pulse was missed, and u = 1 was reported as converged."""
    u = sp.Function("u")(t)
    for power, expected in ((1, math.exp(math.sqrt(math.pi))), (2, 1 / (1 + math.sqrt(math.pi)))):
        rate = pulse(width) * u if power == 1 else -pulse(width) * u**2
        solution = pibls.solve(
            pibls.Problem(pibls.Interval(t, 0, 10), [u.diff(t) - rate], [pibls.Initial(u, 1)]), tol=1e-8
        )
        assert solution.converged
        assert abs(solution(9.0) - expected) <= 1e-7


@pytest.mark.parametrize("width", [1e-3, 1e-6])
def test_short_flux_pulse(width: float) -> None:
    """∂ₙu at x = 0 is a pulse that the condition points missed; u = 1 was reported as converged."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 10),
        [v.diff(t) - v.diff(x, 2) / 100],
        [
            pibls.Neumann(v, pulse(width), on=sp.Eq(x, 0)),
            pibls.Neumann(v, 0, on=sp.Eq(x, 1)),
            pibls.Initial(v, 1),
        ],
    )
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.converged
    assert abs(float(solution.integral(v, t=10.0)) - 1 - math.sqrt(math.pi) / 100) < 1e-8


def test_narrow_initial_data() -> None:
    """∫ u = √π at t = 0 within a width of 1e-7: u = 0 was reported as converged."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 0.2),
        [v.diff(t) - v.diff(x, 2)],
        [pibls.Initial(v, bump(1e-7)), pibls.Dirichlet(v, 0)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-4, time_limit=20)
    k = math.pi * np.arange(1, 40)
    expected = 2 * math.sqrt(math.pi) * (np.sin(0.3137 * k) * np.sin(0.5 * k) * np.exp(-0.1 * k**2)).sum()
    assert not solution.converged or abs(solution(0.5, 0.1) - expected) < 1e-4


@pytest.mark.parametrize("factor", [1, v])
def test_narrow_source_in_an_evolution(factor: sp.Expr) -> None:
    """A permanent source in 2e-4 of the interval was missed: windows were validated at their own points."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 0.2),
        [v.diff(t) - v.diff(x, 2) + bump(2e-4, 0.777) * factor],
        [pibls.Dirichlet(v, 0), pibls.Initial(v, sp.sin(sp.pi * x))],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-2, time_limit=2)
    assert not solution.converged or abs(solution(0.5, 0.2) - math.exp(-0.2 * math.pi**2)) > 0.02


def test_narrow_source_in_the_plane() -> None:
    """Two zero solutions agree, but the equation does not hold at the source."""
    u = sp.Function("u")(x, y)
    source = sp.exp(-((x - 0.3137) ** 2 + (y - 0.6123) ** 2) * 1e8) * 1e8
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}), [u.diff(x, 2) + u.diff(y, 2) + source], [pibls.Dirichlet(u, 0)]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-3, time_limit=3)
    k = math.pi * np.arange(1, 60)  # series for a point source of strength π
    modes = np.sin(0.7 * k) * np.sin(0.3137 * k) * np.sinh(0.2 * k) * np.sinh(0.3877 * k) / (k * np.sinh(k))
    assert not solution.converged or abs(solution(0.7, 0.2) - 2 * math.pi * modes.sum()) < 1e-3


def test_singular_source_is_not_treated_as_narrow() -> None:
    """u'' = x^(-1/2) is infinite at x = 0: points within rounding of it are not used for validation."""
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [X.diff(x, 2) - x ** sp.Rational(-1, 2)], [pibls.Dirichlet(X, 0)]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=1e-3, time_limit=10)
    assert solution.converged


@pytest.mark.parametrize("width", [1e-3, 1e-6])
@pytest.mark.parametrize("shape", ["bell", "sech", "pole", "step"])
def test_source_narrower_than_the_scan(shape: str, width: float) -> None:
    """u' = -u + f on (0, 100): f was 0 at all 10,000 scanned times, and u = 0 was reported as converged."""
    late, s = 73.123, (t - 73.123) / width
    f, total = {
        "bell": (sp.exp(-(s**2)), math.sqrt(math.pi)),
        "sech": (1 / sp.cosh(s) ** 2, 2.0),
        "pole": (1 / (1 + s**2) ** 2, math.pi / 2),
        "step": (width / (1 + sp.exp(-s)), None),
    }[shape]
    u = sp.Function("u")(t)
    problem = pibls.Problem(pibls.Interval(t, 0, 100), [u.diff(t) + u - f / width], [pibls.Initial(u, 0)])
    solution = pibls.solve(problem, tol=1e-6)
    expected = 1 - math.exp(late - 80) if total is None else total * math.exp(late - 80)
    assert solution.converged
    assert abs(solution(80) - expected) <= float(solution.error.max) + 2 * width**2 * expected


@pytest.mark.parametrize("width", [3e-4, 1e-6])
def test_narrow_load_on_an_interval(width: float) -> None:
    """u'' = -load: width 1e-5 gave NO_SOLUTION, width 1e-6 gave u = 0 as converged."""
    u, c = sp.Function("u")(x), 0.31723
    load = sp.exp(-(((x - c) / width) ** 2)) / (width * sp.sqrt(sp.pi))
    solution = pibls.solve(
        pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + load], [pibls.Dirichlet(u, 0)]), tol=1e-6
    )
    assert solution.converged
    assert abs(solution(0.5) - 0.5 * c) <= solution.error.max


@pytest.mark.parametrize("location", ["source in space", "source in time", "initial data"])
def test_narrow_data_conserve_heat(location: str) -> None:
    """Heat added by a source narrow in space or time, or contained in the initial data, is conserved."""
    c, width = 0.31723, 1e-5
    bell = sp.exp(-(((x - c) / width) ** 2)) / (width * sp.sqrt(sp.pi))
    source = {
        "source in space": bell,
        "source in time": bell.subs(x, t),
        "initial data": sp.S.Zero,
    }[location]
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [v.diff(t) - v.diff(x, 2) - source],
        [pibls.Neumann(v, 0), pibls.Initial(v, 1 + bell if location == "initial data" else 1)],
    )
    solution = pibls.solve(problem, tol=1e-4)
    assert solution.converged
    assert abs(float(solution.integral(v, t=1)) - 2) < 1e-5


def test_narrow_features_of_expressions_are_located() -> None:
    """Planes at the center and the ends of a narrow feature; none for wide or steep smooth functions."""

    def planes(e: sp.Expr) -> list[float]:
        u = sp.Function("u")(x)
        problem = pibls.Problem(pibls.Interval(x, -1, 2), [u.diff(x, 2) - e], [pibls.Dirichlet(u, 0)])
        return [p.level for p in problem.breaks.planes]

    s = (x - sp.Rational(1, 3)) * 10**5
    left, middle, right = planes(sp.exp(-(s**2)))
    assert middle == pytest.approx(1 / 3, abs=1e-12)
    assert left < 1 / 3 - 5e-5
    assert 1 / 3 + 5e-5 < right < 1 / 3 + 5e-4
    assert len(planes(sp.exp(-(s**2)) * sp.cos(x) + x * sp.tanh(s))) == 3 + 2
    assert planes(1 / (1 + s**2))[0] == pytest.approx(1 / 3)
    for wide in (sp.exp(-((s / 1000) ** 2)), sp.exp(-(10**5) * x), sp.sinh(x), sp.tanh(x), 1 / (3 + x), x**3):
        assert not planes(wide)


@pytest.mark.parametrize("width", [1e-3, 2e-3])
def test_narrow_heater_in_an_evolution(width: float) -> None:
    """A rod with a narrow heater: no cell had a point in the heater, and u = 1 was reported as converged."""
    heater = sp.exp(-(((x - 0.70321) / width) ** 2)) / (width * sp.sqrt(sp.pi))
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [v.diff(t) - v.diff(x, 2) - heater],
        [pibls.Neumann(v, 0), pibls.Initial(v, 1)],
    )
    solution = pibls.solve(problem, tol=1e-4)
    assert solution.converged
    assert abs(float(solution.integral(v, t=1)) - 2) < 1e-5


def test_flux_through_a_small_part_of_a_side() -> None:
    w, width = sp.Function("w")(x, y), 1e-4
    inside = sp.And(x > 0.4123 - width, x < 0.4123 + width)
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [w.diff(x, 2) + w.diff(y, 2)],
        [
            pibls.Neumann(w, sp.Piecewise((1 / (2 * width), inside), (0, True)), on=sp.Eq(y, 0)),
            pibls.Dirichlet(w, 0, on=sp.Eq(y, 1)),
            pibls.Neumann(w, 0),
        ],
    )
    n = np.arange(1, 40)
    series = 2 * np.cos(n * np.pi * 0.4123) ** 2 * np.sinh(n * np.pi / 2) / (n * np.pi * np.cosh(n * np.pi))
    assert pibls.solve(problem, tol=1e-3)(0.4123, 0.5) == pytest.approx(0.5 + series.sum(), abs=1e-4)

"""Kinks and jumps that travel: between the lines along which they do, a linear evolution is smooth."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.geometry.subdomains.tiling import Tiling
from pibls.problem.interfaces.characteristics import characteristics_of
from pibls.problem.interfaces.decomposition import subdomain_decomposition

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)
LEFT, RIGHT = sp.Eq(x, 0), sp.Eq(x, 1)
STRING = u.diff(t, 2) - u.diff(x, 2)
STRUCK = sp.Piecewise((1, sp.Abs(x - 0.5) < 0.1), (0, True))
LET_IN = sp.Piecewise((1, (t > 0.5) & (t < 1)), (0, True))
HAT, STILL = pibls.Initial(u, sp.Min(x, 1 - x)), pibls.Initial(u.diff(t), 0)
Exact = Callable[[Any, Any], Any]


def on(length: Any, stop: Any, equations: Any, *conditions: Any) -> pibls.Problem:
    return pibls.Problem(pibls.Interval(x, 0, length).during(t, 0, stop), equations, conditions)


def string(stop: Any, start: Any, rate: Any = 0) -> pibls.Problem:
    return on(
        1, stop, [STRING], pibls.Dirichlet(u, 0), pibls.Initial(u, start), pibls.Initial(u.diff(t), rate)
    )


def thrown_back(f: Any, sign: float = -1.0) -> Any:
    """f on (0, 1), continued as an odd or even function of period 2."""

    def g(z: Any) -> Any:
        z = np.mod(z, 2.0)
        return np.where(z <= 1.0, f(np.minimum(z, 1.0)), sign * f(np.minimum(2.0 - z, 1.0)))

    return g


def travels(f: Any, sign: float = -1.0) -> Exact:
    g = thrown_back(f, sign)
    return lambda X, T: 0.5 * (g(X - T) + g(X + T))


def struck(X: Any, T: Any) -> Any:
    """∫ of a rate of 1 between 0.4 and 0.6."""
    g = thrown_back(lambda z: np.clip(z, 0.4, 0.6) - 0.4, 1.0)
    return 0.5 * (g(X + T) - g(X - T))


def step(z: Any) -> Any:
    return np.where(z > 0, 1.0, 0.0)


PIPE = [u.diff(t) + sp.Float(2.2e9) * v.diff(x), 1000 * v.diff(t) + u.diff(x)]
SPEED = float(np.sqrt(2.2e6))
CABLE = [sp.Float(250e-9) * v.diff(t) + u.diff(x), sp.Float(1e-10) * u.diff(t) + v.diff(x)]
PROBLEMS: dict[str, tuple[pibls.Problem, Exact]] = {
    "a plucked string": (string(1, sp.Min(x, (1 - x) / 3)), travels(lambda z: np.minimum(z, (1 - z) / 3))),
    "a string that begins bent": (string(1, x * (1 - x)), travels(lambda z: z * (1 - z))),
    "a struck string": (string(sp.Rational(1, 3), 0, STRUCK), struck),
    "free ends": (
        on(1, 1, [STRING], pibls.Neumann(u, 0), pibls.Initial(u, x), pibls.Initial(u.diff(t), 0)),
        travels(lambda z: z, 1.0),
    ),
    "a jerked end": (
        on(1, 2, [STRING], pibls.Dirichlet(u, sp.sin(t), on=LEFT), pibls.Dirichlet(u, 0, on=RIGHT),
           pibls.Initial(u, 0), pibls.Initial(u.diff(t), 0)),
        lambda X, T: step(T - X) * np.sin(T - X) - step(T - 2 + X) * np.sin(T - 2 + X),
    ),
    "a step that is carried": (
        on(1, 1, [u.diff(t) + u.diff(x) / 2],
           pibls.Dirichlet(u, 0, on=LEFT), pibls.Initial(u, sp.Heaviside(0.5 - x))),
        lambda X, T: step(X - T / 2) * step(0.5 - X + T / 2),
    ),
    "a pulse that is let in": (
        on(1, 2, [u.diff(t) + u.diff(x) + u / 5],
           pibls.Dirichlet(u, LET_IN, on=LEFT), pibls.Initial(u, 0)),
        lambda X, T: step(T - X - 0.5) * step(1 + X - T) * np.exp(-X / 5),
    ),
    "a valve that is shut": (
        on(1000, 1, PIPE, pibls.Dirichlet(u, 0, on=LEFT), pibls.Dirichlet(v, 0, on=sp.Eq(x, 1000)),
           pibls.Initial(u, 0), pibls.Initial(v, 2)),
        lambda X, T: 2000 * SPEED * (step(T - (1000 - X) / SPEED) - step(T - (1000 + X) / SPEED)),
    ),
    "a cable, in seconds": (
        on(1, sp.Rational(8, 10**9), CABLE, pibls.Dirichlet(u, 1, on=LEFT),
           pibls.Condition(u - 100 * v, on=RIGHT), pibls.Initial(u, 0), pibls.Initial(v, 0)),
        lambda X, T: step(T - 5e-9 * X) + step(T - 5e-9 * (2 - X)) / 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(PROBLEMS))
@pytest.mark.parametrize("seed", [0, 1])
def test_what_travels_has_all_digits(name: str, seed: int) -> None:
    problem, exact = PROBLEMS[name]
    solution = pibls.solve(problem, seed=seed)
    low, high = np.array(problem.domain.bounds, dtype=float).T
    X, T = np.random.default_rng(3).uniform(low, high, (4000, 2)).T
    error = np.abs(solution[u](X, T) - exact(X, T)).max()
    assert solution.converged
    assert error <= max(solution[u].error.max, 1e-13 * np.abs(exact(X, T)).max())
    assert solution[u].error.max <= 1e-10 * np.abs(exact(X, T)).max()


def test_what_is_continuous_across_a_line() -> None:
    """Of a system all but what travels along the line; of one equation of the second order the solution."""
    for name, rows in (("a plucked string", 1), ("a step that is carried", 0), ("a valve that is shut", 1)):
        found = characteristics_of(PROBLEMS[name][0])
        assert found is not None
        assert {len(statements) for _, _, statements in found.between} == {rows}


@pytest.mark.parametrize(
    "problem",
    [
        string(2, sp.sin(sp.pi * x)),
        string(2, sp.exp(-100 * (x - sp.Rational(1, 2)) ** 2)),
        on(1, 1, [u.diff(t) - u.diff(x)], pibls.Periodic(u, x), pibls.Initial(u, sp.cos(2 * sp.pi * x))),
        on(1, 1, [u.diff(t) - u.diff(x, 2)], pibls.Dirichlet(u, 0), HAT),
        on(1, 1, [u.diff(t, 2) + u.diff(x, 2)], pibls.Dirichlet(u, 0), HAT, STILL),
        on(1, 1, [u.diff(t, 2) - (1 + x) * u.diff(x, 2)], pibls.Dirichlet(u, 0), HAT, STILL),
        string(1, sp.Heaviside(x - sp.Rational(1, 2))),
        string(40, sp.Min(x, 1 - x)),
    ],
    ids=["smooth", "nearly fitting", "a ring", "heat", "elliptic", "bent lines", "torn", "long"],
)
def test_what_is_not_divided(problem: pibls.Problem) -> None:
    assert subdomain_decomposition(problem) is None


def test_a_start_fits_an_end_up_to_some_derivative() -> None:
    """sin(t)ᵐ at the end of a string at rest: the m-th rate does not fit; a high one is not seen."""
    at_rest = pibls.Initial(u, 0), pibls.Initial(u.diff(t), 0)
    for m, divided in ((1, True), (2, True), (3, True), (4, False)):
        ends = pibls.Dirichlet(u, sp.sin(t) ** m, on=LEFT), pibls.Dirichlet(u, 0, on=RIGHT)
        found = characteristics_of(on(1, sp.Rational(1, 2), [STRING], *ends, *at_rest))
        assert (found is not None) == divided
        assert found is None or len(found.tiling) == 2  # what leaves the other corner fits


def test_a_kink_where_the_law_is_the_same_is_none() -> None:
    """| |x - 1/2| - 1/10 | bends in three places; 2 |x - 1/2| / |x - 1/2| in none."""
    three = string(sp.Rational(1, 20), sp.Abs(sp.Abs(x - 0.5) - 0.1) - 0.4)
    found = characteristics_of(three)
    assert found is not None
    assert len(found.tiling.chords) == 6
    one = sp.Piecewise((x * (1 - x) ** 3, sp.Abs(x - 0.5) < 0.1), (x * (1 - x) ** 3, True), evaluate=False)
    same = characteristics_of(string(sp.Rational(1, 20), one))
    assert same is None or len(same.tiling.chords) == 2  # those of the corners


def test_polygons_between_chords() -> None:
    domain = pibls.Interval(x, 0, 1e3).during(t, 0, 1e-6)
    lines = [((0.25, 0.0), (1.0, 0.75)), ((0.25, 0.0), (0.0, 0.25)), ((0.0, 0.25), (0.75, 1.0)),
             ((1.0, 0.75), (0.75, 1.0)), ((0.25, 0.0), (1.0, 0.75))]  # fmt: skip
    tiling = Tiling.of(domain, lines)
    assert (len(tiling.chords), len(tiling)) == (4, 5)
    areas = [_area(tile.corners) for tile in tiling.tiles]
    assert sum(areas) == pytest.approx(1.0)
    U = np.random.default_rng(0).random((20000, 2))
    shares = np.bincount(tiling.locate(U * [1e3, 1e-6]), minlength=5) / len(U)
    np.testing.assert_allclose(shares, areas, atol=0.02)
    pairs = [pair for _, pair, _ in tiling.interfaces()]
    assert len(pairs) == len(set(pairs)) == 4
    on_chords = np.array([[500.0, 0.25e-6], [500.0, 0.26e-6]])
    assert tiling.is_on_interface(on_chords).tolist() == [True, False]


def _area(corners: Any) -> float:
    (a, b), (c, d) = corners.T, np.roll(corners, -1, axis=0).T
    return 0.5 * abs(float((a * d - b * c).sum()))


def test_too_rough_for_pieces_is_followed_as_it_was() -> None:
    """u itself jumps in an equation of the second order."""
    jump = string(sp.Rational(1, 4), STRUCK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(jump, tol=1e-3)
    assert not solution.converged


def test_a_start_that_is_nearly_right_is_followed_in_windows() -> None:
    """exp(-100 (x - 1/2)²) has a slope of 1e-9 at a free end: pieces for it resolved no pulse in 13 s."""
    start = pibls.Initial(u, sp.exp(-100 * (x - sp.Rational(1, 2)) ** 2))
    free = on(1, sp.Rational(3, 2), [STRING], pibls.Neumann(u, 0), start, STILL)
    assert subdomain_decomposition(free) is not None
    solution = pibls.solve(free, tol=1e-6)
    X, T = np.random.default_rng(0).uniform((0, 0), (1, 1.5), (1000, 2)).T
    error = np.abs(solution(X, T) - travels(lambda z: np.exp(-100 * (z - 0.5) ** 2), 1.0)(X, T)).max()
    assert solution.converged
    assert solution.windows
    assert error <= solution.error.max <= 1e-6


def test_it_is_saved_loaded_and_differentiated(tmp_path: Path) -> None:
    k = sp.Symbol("k")
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, sp.Rational(1, 2)),
        [STRING + k * u],
        [pibls.Dirichlet(u, 0), HAT, STILL],
        parameters={k: 2.0},
    )
    solution = pibls.solve(problem)
    again = pibls.load(solution.save(tmp_path / "string.pibls"))
    assert again(0.31, 0.42) == solution(0.31, 0.42)
    above, below = (pibls.solve(problem.at(k=2.0 + h))(0.31, 0.42) for h in (1e-4, -1e-4))
    assert solution.sensitivity(k)(0.31, 0.42) == pytest.approx((above - below) / 2e-4, abs=1e-8)
    assert solution.evaluate(u.diff(x), 0.1, 0.2) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(("stop", "pieces", "each"), [(1, 5, 128), (3, 11, 92), (5, 17, 72)])
def test_many_pieces_begin_with_fewer_functions_each(stop: int, pieces: int, each: int) -> None:
    problem = string(stop, sp.Min(x, (1 - x) / 3))
    found = subdomain_decomposition(problem)
    assert found is not None
    assert len(found) == pieces
    solution = pibls.solve(problem, tol=1e-6)
    assert solution.history[0].nodes == pieces * each

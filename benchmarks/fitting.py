"""Coverage of the confidence intervals of `pibls.fit`, and comparison of its optimum with SciPy.

python -m benchmarks.fitting cover [DRAWS [NAME]]     coverage: five problems, or one, 200 noise draws each
python -m benchmarks.fitting peers                    compare with least_squares over solve_ivp
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import pibls

HERE = Path(__file__).resolve().parents[1] / "docs" / "data"
COVERAGE = HERE / "fit_coverage.json"
PEERS = HERE / "fit_peers.json"
ROUNDS = 5
"""Number of alternating timings of pibls and SciPy; the medians are stored."""

x, y, t = sp.symbols("x y t")
a, b, c, D, r = sp.symbols("a b c D r")
U, V = sp.Function("u"), sp.Function("v")


@dataclass(frozen=True)
class TestProblem:
    """A problem with its true parameters, the measured expressions and the noise."""

    name: str
    problem: pibls.Problem
    expressions: tuple[Any, ...]
    points: dict[Any, Any]
    unknown: dict[Any, Any]
    sigma: float
    given: bool
    """Whether σ is passed to the fit."""


def test_problems() -> list[TestProblem]:
    """Return the five test problems."""
    rng = np.random.default_rng(11)
    u, v = U(t), V(t)
    ode = pibls.Problem(
        pibls.Interval(t, 0, 4), [u.diff(t) - a * u * (1 - u / b)], [pibls.Initial(u, c)],
        {a: 1.5, b: 2.0, c: 0.1},
    )  # fmt: skip
    system = pibls.Problem(
        pibls.Interval(t, 0, 6),
        [u.diff(t) - (a * u - u * v), v.diff(t) - (b * u * v - v)],
        [pibls.Initial(u, 1), pibls.Initial(v, c)],
        {a: 1.2, b: 0.8, c: 0.5},
    )
    w = U(x, t)
    heat = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [w.diff(t) - D * w.diff(x, 2) + a * w],
        [pibls.Dirichlet(w, 0), pibls.Initial(w, sp.sin(sp.pi * x) + sp.sin(2 * sp.pi * x) / 2)],
        {D: 0.1, a: 0.5},
    )
    plane = U(x, y)
    X = pibls.Disk((x, y), (0, 0), 1).interior(40, rng)
    steady = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1),
        [plane.diff(x, 2) + a * plane.diff(y, 2) + b * (1 + 3 * x)],
        [pibls.Dirichlet(plane, 0)],
        {a: 2.0, b: 3.0},
    )
    fisher = pibls.Problem(
        pibls.Interval(x, 0, 1).during(t, 0, 1),
        [w.diff(t) - D * w.diff(x, 2) - r * w * (1 - w)],
        [pibls.Neumann(w, 0), pibls.Initial(w, sp.Rational(1, 4) * (1 + sp.cos(sp.pi * x)))],
        {D: 0.1, r: 3.0},
    )
    grid = {x: np.linspace(0.1, 0.9, 8)[:, None], t: np.array([0.25, 0.5, 0.75, 1.0])}
    free: tuple[float, float] = (0.001, 50.0)
    ts = np.linspace(0.2, 4, 20)
    return [
        TestProblem("logistic ODE", ode, (u,), {t: ts}, dict.fromkeys((a, b, c), free), 0.05, False),
        TestProblem("heat, 1D + time", heat, (w,), grid, dict.fromkeys((D, a), free), 0.02, False),
        TestProblem("membrane, 2D steady", steady, (plane,), {x: X[:, 0], y: X[:, 1]},
              dict.fromkeys((a, b), free), 0.02, True),
        TestProblem("Fisher-KPP, nonlinear", fisher, (w,), grid, dict.fromkeys((D, r), free), 0.02, False),
        TestProblem("predator and prey, a system", system, (u, v), {t: 1.5 * ts},
              dict.fromkeys((a, b, c), free), 0.05, True),
    ]  # fmt: skip


def cover(draws: int, only: str = "") -> list[dict[str, Any]]:
    """Return, by problem and parameter, the coverage of the interval and the bias in standard errors."""
    stored = json.loads(COVERAGE.read_text()) if only and COVERAGE.exists() else []
    rows = [row for row in stored if only not in row["problem"]]
    for case in test_problems():
        if only not in case.name:
            continue
        solution = pibls.solve(case.problem, tol=1e-9)
        exact = [solution.evaluate(e, *case.points.values()) for e in case.expressions]
        true = case.problem.parameters
        began = time.process_time()
        covered = dict.fromkeys(case.unknown, 0)
        errors: dict[Any, list[float]] = {k: [] for k in case.unknown}
        for draw in range(draws):
            rng = np.random.default_rng((17, draw))
            data = [
                pibls.Data(e, case.points, v + case.sigma * rng.standard_normal(np.shape(v)),
                           sigma=case.sigma if case.given else None)
                for e, v in zip(case.expressions, exact, strict=True)
            ]  # fmt: skip
            found = pibls.fit(case.problem, data, case.unknown)
            for k in case.unknown:
                low, high = found.interval(k, 0.95)
                covered[k] += low <= true[k] <= high
                errors[k].append(found.values[k] - true[k])
        seconds = (time.process_time() - began) / draws
        for k in case.unknown:
            e = np.array(errors[k])
            bias = float(e.mean() / (e.std(ddof=1) / np.sqrt(draws)))
            rows.append(
                {"problem": case.name, "parameter": str(k), "covered": covered[k] / draws, "bias": bias,
                 "draws": draws, "seconds": seconds}
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def peers() -> list[dict[str, Any]]:
    """Fit the same data by SciPy: least_squares over solve_ivp with finite differences."""
    rows = []
    for case in test_problems():
        simulate = _simulators().get(case.name)
        if simulate is None:
            continue
        solution = pibls.solve(case.problem, tol=1e-10)
        exact = [solution.evaluate(e, *case.points.values()) for e in case.expressions]
        rng = np.random.default_rng(3)
        values = [v + case.sigma * rng.standard_normal(np.shape(v)) for v in exact]
        data = [
            pibls.Data(e, case.points, v, sigma=case.sigma)
            for e, v in zip(case.expressions, values, strict=True)
        ]
        start = {k: 1.3 * case.problem.parameters[k] for k in case.unknown}
        first = list(start.values())
        _scipy(simulate, case, values, first)  # imports are not measured
        pibls.fit(_without_caches(case.problem), data, case.unknown, start=start)
        pibls_times, scipy_times = [], []
        for _ in range(ROUNDS):
            fresh = _without_caches(case.problem)
            began = time.process_time()
            pibls_fit = pibls.fit(fresh, data, case.unknown, start=start, tol=1e-9, tolerance=1e-9)
            middle = time.process_time()
            scipy_fit = _scipy(simulate, case, values, first)
            pibls_times.append(middle - began)
            scipy_times.append(time.process_time() - middle)
        pibls_seconds, scipy_seconds = float(np.median(pibls_times)), float(np.median(scipy_times))
        found = np.array(list(pibls_fit.values.values()))
        rows.append(
            {
                "problem": case.name,
                "difference": float(np.max(np.abs(found / scipy_fit - 1))),
                "seconds": pibls_seconds,
                "scipy": scipy_seconds,
                "ratio": scipy_seconds / pibls_seconds,
            }
        )
        print(rows[-1], flush=True)
    return rows


def _without_caches(problem: pibls.Problem) -> pibls.Problem:
    """Return a copy of the problem without cached results."""
    return pibls.Problem(problem.domain, problem.equations, problem.conditions, problem.parameters)


def _scipy(simulate: Callable[[Any], Any], case: TestProblem, values: list[Any], start: list[float]) -> Any:
    from scipy.optimize import least_squares

    target = np.concatenate([np.ravel(v) for v in values])
    bounds = np.array(list(case.unknown.values())).T
    found = least_squares(
        lambda theta: (simulate(theta) - target) / case.sigma,
        start,
        x_scale=np.abs(start),
        bounds=(bounds[0], bounds[1]),
        diff_step=1e-5,
        jac="3-point",
        xtol=1e-10,
        ftol=1e-13,
        gtol=1e-12,
    )
    return found.x


def _simulators() -> dict[str, Callable[[Any], Any]]:
    """Return functions θ ↦ measured values; PDEs by the method of lines on Chebyshev points."""
    from scipy.integrate import solve_ivp

    ts = np.linspace(0.2, 4, 20)
    tight: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}

    def logistic(theta: Any) -> Any:
        p, q, s = theta
        found = solve_ivp(lambda _, u: p * u * (1 - u / q), (0, 4), [s], t_eval=ts, method="LSODA", **tight)
        return found.y[0]

    def lotka(theta: Any) -> Any:
        p, q, s = theta
        found = solve_ivp(
            lambda _, u: [p * u[0] - u[0] * u[1], q * u[0] * u[1] - u[1]],
            (0, 6), [1, s], t_eval=1.5 * ts, method="LSODA", **tight,
        )  # fmt: skip
        return found.y.ravel()

    n = 20
    s = 0.5 * (1 - np.cos(np.pi * np.arange(n + 1) / n))
    M = _differentiation(s)
    times = np.array([0.25, 0.5, 0.75, 1.0])
    P = _interpolation(s, np.linspace(0.1, 0.9, 8))

    def heat(theta: Any) -> Any:
        d, decay = theta
        L = (d * M @ M - decay * np.eye(n + 1))[1:-1, 1:-1]
        first = np.sin(np.pi * s) + 0.5 * np.sin(2 * np.pi * s)
        found = solve_ivp(lambda _, u: L @ u, (0, 1), first[1:-1], t_eval=times, method="BDF", jac=L, **tight)
        return (P[:, 1:-1] @ found.y).ravel()

    def fisher(theta: Any) -> Any:
        d, rate = theta
        E = M.copy()
        # Zero flux determines the values at the ends from those inside.
        ends = np.linalg.solve(M[np.ix_([0, -1], [0, -1])], -M[[0, -1], 1:-1])
        full = np.zeros((n + 1, n - 1))
        full[1:-1], full[[0, -1]] = np.eye(n - 1), ends
        L = d * (E @ E @ full)[1:-1]
        first = 0.25 * (1 + np.cos(np.pi * s))
        found = solve_ivp(
            lambda _, u: L @ u + rate * u * (1 - u), (0, 1), first[1:-1], t_eval=times, method="BDF",
            jac=lambda _, u: L + np.diag(rate * (1 - 2 * u)), **tight,
        )  # fmt: skip
        return (P @ full @ found.y).ravel()

    return {
        "logistic ODE": logistic,
        "predator and prey, a system": lotka,
        "heat, 1D + time": heat,
        "Fisher-KPP, nonlinear": fisher,
    }


def _weights(s: Any) -> Any:
    return np.array([1.0 / np.prod(si - np.delete(s, i)) for i, si in enumerate(s)])


def _differentiation(s: Any) -> Any:
    w = _weights(s)
    with np.errstate(divide="ignore"):
        M = (w[None, :] / w[:, None]) / (s[:, None] - s[None, :])
    np.fill_diagonal(M, 0.0)
    np.fill_diagonal(M, -M.sum(axis=1))
    return M


def _interpolation(s: Any, at: Any) -> Any:
    w = _weights(s)
    P = w / (at[:, None] - s)
    return P / P.sum(axis=1, keepdims=True)


def main(kind: str = "cover", draws: str = "200", only: str = "") -> None:
    rows, path = (cover(int(draws), only), COVERAGE) if kind == "cover" else (peers(), PEERS)
    path.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

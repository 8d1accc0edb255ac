"""P(θ ∈ [θ̂ ± t s]) = 0.95, and the optimum is SciPy's: what `pibls.fit` claims, counted.

python -m benchmarks.fitting cover [DRAWS [NAME]]     five problems, or one, 200 noise draws each
python -m benchmarks.fitting peers             against least_squares over solve_ivp with differences
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
"""One after the other, of both sides; the medians of their times are told."""

x, y, t = sp.symbols("x y t")
a, b, c, D, r = sp.symbols("a b c D r")
U, V = sp.Function("u"), sp.Function("v")


@dataclass(frozen=True)
class Truth:
    """A problem at its true parameters, what is measured, and how noisily."""

    name: str
    problem: pibls.Problem
    expressions: tuple[Any, ...]
    points: dict[Any, Any]
    unknown: dict[Any, Any]
    sigma: float
    given: bool
    """Whether the fit is told σ."""


def truths() -> list[Truth]:
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
        Truth("logistic ODE", ode, (u,), {t: ts}, dict.fromkeys((a, b, c), free), 0.05, False),
        Truth("heat, 1D + time", heat, (w,), grid, dict.fromkeys((D, a), free), 0.02, False),
        Truth("membrane, 2D steady", steady, (plane,), {x: X[:, 0], y: X[:, 1]},
              dict.fromkeys((a, b), free), 0.02, True),
        Truth("Fisher-KPP, nonlinear", fisher, (w,), grid, dict.fromkeys((D, r), free), 0.02, False),
        Truth("predator and prey, a system", system, (u, v), {t: 1.5 * ts},
              dict.fromkeys((a, b, c), free), 0.05, True),
    ]  # fmt: skip


def cover(draws: int, only: str = "") -> list[dict[str, Any]]:
    """For each problem and parameter: how often the interval holds the truth, and the mean error in its σ."""
    stored = json.loads(COVERAGE.read_text()) if only and COVERAGE.exists() else []
    rows = [row for row in stored if only not in row["problem"]]
    for truth in truths():
        if only not in truth.name:
            continue
        solution = pibls.solve(truth.problem, tol=1e-9)
        exact = [solution.evaluate(e, *truth.points.values()) for e in truth.expressions]
        true = truth.problem.parameters
        began = time.process_time()
        held = dict.fromkeys(truth.unknown, 0)
        errors: dict[Any, list[float]] = {k: [] for k in truth.unknown}
        for draw in range(draws):
            rng = np.random.default_rng((17, draw))
            data = [
                pibls.Data(e, truth.points, v + truth.sigma * rng.standard_normal(np.shape(v)),
                           sigma=truth.sigma if truth.given else None)
                for e, v in zip(truth.expressions, exact, strict=True)
            ]  # fmt: skip
            found = pibls.fit(truth.problem, data, truth.unknown)
            for k in truth.unknown:
                low, high = found.interval(k, 0.95)
                held[k] += low <= true[k] <= high
                errors[k].append(found.values[k] - true[k])
        seconds = (time.process_time() - began) / draws
        for k in truth.unknown:
            e = np.array(errors[k])
            bias = float(e.mean() / (e.std(ddof=1) / np.sqrt(draws)))
            rows.append(
                {"problem": truth.name, "parameter": str(k), "covered": held[k] / draws, "bias": bias,
                 "draws": draws, "seconds": seconds}
            )  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def peers() -> list[dict[str, Any]]:
    """The same data by SciPy: least_squares over solve_ivp, derivatives by differences."""
    rows = []
    for truth in truths():
        simulate = _simulators().get(truth.name)
        if simulate is None:
            continue
        solution = pibls.solve(truth.problem, tol=1e-10)
        exact = [solution.evaluate(e, *truth.points.values()) for e in truth.expressions]
        rng = np.random.default_rng(3)
        values = [v + truth.sigma * rng.standard_normal(np.shape(v)) for v in exact]
        data = [
            pibls.Data(e, truth.points, v, sigma=truth.sigma)
            for e, v in zip(truth.expressions, values, strict=True)
        ]
        start = {k: 1.3 * truth.problem.parameters[k] for k in truth.unknown}
        first = list(start.values())
        _scipy(simulate, truth, values, first)  # what has to be imported is imported
        pibls.fit(_again(truth.problem), data, truth.unknown, start=start)
        mine_took, theirs_took = [], []
        for _ in range(ROUNDS):
            fresh = _again(truth.problem)
            began = time.process_time()
            mine = pibls.fit(fresh, data, truth.unknown, start=start, tol=1e-9, tolerance=1e-9)
            middle = time.process_time()
            theirs = _scipy(simulate, truth, values, first)
            mine_took.append(middle - began)
            theirs_took.append(time.process_time() - middle)
        my_time, their_time = float(np.median(mine_took)), float(np.median(theirs_took))
        found = np.array(list(mine.values.values()))
        rows.append(
            {
                "problem": truth.name,
                "difference": float(np.max(np.abs(found / theirs - 1))),
                "seconds": my_time,
                "scipy": their_time,
                "ratio": their_time / my_time,
            }
        )
        print(rows[-1], flush=True)
    return rows


def _again(problem: pibls.Problem) -> pibls.Problem:
    """The same problem without anything that a fit has kept with it."""
    return pibls.Problem(problem.domain, problem.equations, problem.conditions, problem.parameters)


def _scipy(simulate: Callable[[Any], Any], truth: Truth, values: list[Any], start: list[float]) -> Any:
    from scipy.optimize import least_squares

    target = np.concatenate([np.ravel(v) for v in values])
    bounds = np.array(list(truth.unknown.values())).T
    found = least_squares(
        lambda theta: (simulate(theta) - target) / truth.sigma,
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
    """θ ↦ the values, by the method of lines on Chebyshev points where there is space."""
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
        # No flux: the values at the ends follow from those inside.
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

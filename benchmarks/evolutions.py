"""Initial value problems: error, estimate, windows and seconds against `solve_ivp` at the same error.

python -m benchmarks.evolutions run [NAME …]      solve with seeds 0 to 4 and with the methods of solve_ivp
python -m benchmarks.evolutions table             print the stored results as the table of docs/guide/time.md

An entry of `PROBLEMS` has the problem, a reference and the peers. References are closed formulas or values
with 30 digits from `benchmarks.references`, which is independent of the solver. The time of the peers is that
of the fastest run with at most the error of pibls or, if there is none, of the most accurate run; the table
shows its error. Seconds are CPU seconds, the least of three runs.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import pibls
from benchmarks.references import STORED as REFERENCES

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "evolutions.json"
SEEDS = range(5)
REPEATS = 3
t = sp.Symbol("t")


@dataclass(frozen=True)
class Reference:
    """Reference values, shape (unknowns, n), at points of shape (n, coordinates)."""

    X: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Peer:
    """A method to compare with: its name, and a function that runs it at a relative tolerance.

    The function returns the unknowns at the points of the reference, or None if it fails.
    """

    name: str
    run: Callable[[float, Reference], np.ndarray[Any, Any] | None]
    tolerances: tuple[float, ...] = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13)


@dataclass(frozen=True)
class Evolution:
    """A problem with its reference and peers, as functions that build them when called."""

    name: str
    problem: Callable[[], pibls.Problem]
    reference: Callable[[], Reference]
    peers: Callable[[], Sequence[Peer]] = field(default=lambda: ())
    tol: float = 1e-10


# --- ordinary -------------------------------------------------------------------------------------


def first_order(rates: Callable[..., Sequence[Any]], start: Sequence[Any], stop: float) -> pibls.Problem:
    us = [sp.Function(f"u{i}")(t) for i in range(len(start))]
    equations = [sp.Eq(u.diff(t), f) for u, f in zip(us, rates(*us), strict=True)]
    return pibls.Problem(
        pibls.Interval(t, 0, stop), equations, [pibls.Initial(u, v) for u, v in zip(us, start, strict=True)]
    )


def second_order(
    forces: Callable[..., Sequence[Any]], start: Sequence[Any], rates: Sequence[Any], stop: float
) -> pibls.Problem:
    us = [sp.Function(f"u{i}")(t) for i in range(len(start))]
    found = forces(*us, *(u.diff(t) for u in us))
    conditions = [pibls.Initial(u, v) for u, v in zip(us, start, strict=True)]
    conditions += [pibls.Initial(u.diff(t), v) for u, v in zip(us, rates, strict=True)]
    equations = [sp.Eq(u.diff(t, 2), f) for u, f in zip(us, found, strict=True)]
    return pibls.Problem(pibls.Interval(t, 0, stop), equations, conditions)


def scipy_peers(
    rates: Callable[[float, Any], Sequence[float]], start: Sequence[float], stop: float, stiff: bool = False
) -> Sequence[Peer]:
    """Return the methods of solve_ivp, without explicit methods for stiff problems."""
    from scipy.integrate import solve_ivp

    def peer(method: str, tolerances: tuple[float, ...]) -> Peer:
        def run(tolerance: float, reference: Reference) -> Any:
            where = reference.X[:, 0]
            scale = np.maximum(np.abs(reference.values).max(axis=1), 1e-300)
            atol = np.full(len(start), 1e-2 * tolerance * float(scale.min()))
            found = solve_ivp(rates, (0, stop), start, method=method, rtol=tolerance, atol=atol, t_eval=where)
            return found.y[: len(reference.values)] if found.success else None

        return Peer(method, run, tolerances)

    tight = (1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13)
    implicit = [peer("LSODA", tight), peer("Radau", tight[:4]), peer("BDF", tight[:3])]
    return implicit if stiff else [peer("RK45", tight[:4]), peer("DOP853", tight), *implicit]


@cache
def _references() -> Any:
    return json.loads(REFERENCES.read_text())


def stored_reference(name: str, unknowns: int) -> Callable[[], Reference]:
    """Return a stored reference of `benchmarks.references`; its first components are the unknowns."""

    def build() -> Reference:
        found = _references()[name]
        values = np.array([[float(x) for x in row[:unknowns]] for row in found["values"]]).T
        return Reference(np.array(found["t"])[:, None], values)

    return build


def van_der_pol(mu: int, stop: float) -> Evolution:
    name = f"Van der Pol, mu = {mu}"
    return Evolution(
        name,
        lambda: second_order(lambda u, v: [mu * (1 - u**2) * v - u], [2], [0], stop),
        stored_reference(name, 1),
        lambda: scipy_peers(lambda _, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]], [2, 0], stop, mu > 50),
    )


def lorenz() -> Evolution:
    return Evolution(
        "Lorenz",
        lambda: first_order(
            lambda x, y, z: [10 * (y - x), x * (28 - z) - y, x * y - sp.Rational(8, 3) * z], [1, 1, 1], 15
        ),
        stored_reference("Lorenz", 3),
        lambda: scipy_peers(
            lambda _, y: [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]],
            [1, 1, 1],
            15,
        ),
    )


def lotka_volterra() -> Evolution:
    return Evolution(
        "Lotka-Volterra",
        lambda: first_order(lambda x, y: [x * (1.5 - y), y * (x - 3)], [10, 5], 100),
        stored_reference("Lotka-Volterra", 2),
        lambda: scipy_peers(lambda _, y: [y[0] * (1.5 - y[1]), y[1] * (y[0] - 3)], [10, 5], 100),
    )


def arenstorf() -> Evolution:
    m, stop, rate = 0.012277471, 17.06521656015796, -2.0015851063790824

    def forces(x: Any, y: Any, v: Any, w: Any) -> Sequence[Any]:
        a = ((x + m) ** 2 + y**2) ** sp.Rational(3, 2)
        b = ((x - (1 - m)) ** 2 + y**2) ** sp.Rational(3, 2)
        return [
            x + 2 * w - (1 - m) * (x + m) / a - m * (x - (1 - m)) / b,
            y - 2 * v - (1 - m) * y / a - m * y / b,
        ]

    def rates(_: float, z: Any) -> Sequence[float]:
        x, y, v, w = z
        a, b = (x + m) ** 2 + y * y, (x - (1 - m)) ** 2 + y * y
        a, b = a * math.sqrt(a), b * math.sqrt(b)
        fx = x + 2 * w - (1 - m) * (x + m) / a - m * (x - (1 - m)) / b
        return [v, w, fx, y - 2 * v - (1 - m) * y / a - m * y / b]

    return Evolution(
        "Arenstorf",
        lambda: second_order(forces, [0.994, 0], [0, rate], stop),
        stored_reference("Arenstorf", 2),
        lambda: scipy_peers(rates, [0.994, 0, 0, rate], stop),
    )


def two_bodies(e: float = 0.9, periods: int = 10) -> Evolution:
    stop, rate = 2 * math.pi * periods, math.sqrt((1 + e) / (1 - e))

    def reference() -> Reference:
        import mpmath as mp

        with mp.workdps(40):
            # The orbit of the rounded initial state: its energy, and Kepler's equation.
            r, v = mp.mpf(1 - e), mp.mpf(rate)
            a = 1 / (2 / r - v**2)
            ecc = 1 - r / a
            X = np.linspace(0, stop, 25)[1:]
            values = []
            for s in X:
                M = mp.mpf(float(s)) / mp.power(a, mp.mpf(3) / 2)
                M -= 2 * mp.pi * mp.floor(M / (2 * mp.pi))
                E = mp.findroot(lambda E, M=M: E - ecc * mp.sin(E) - M, mp.pi, tol=1e-35, maxsteps=200)
                values.append([float(a * (mp.cos(E) - ecc)), float(a * mp.sqrt(1 - ecc**2) * mp.sin(E))])
        return Reference(X[:, None], np.array(values).T)

    def forces(x: Any, y: Any, v: Any, w: Any) -> Sequence[Any]:
        r = (x**2 + y**2) ** sp.Rational(3, 2)
        return [-x / r, -y / r]

    def rates(_: float, z: Any) -> Sequence[float]:
        x, y, v, w = z
        r = x * x + y * y
        r *= math.sqrt(r)
        return [v, w, -x / r, -y / r]

    return Evolution(
        f"Two bodies, e = {e:g}",
        lambda: second_order(forces, [1 - e, 0], [0, rate], stop),
        reference,
        lambda: scipy_peers(rates, [1 - e, 0, 0, rate], stop),
    )


def robertson() -> Evolution:
    return Evolution(
        "Robertson",
        lambda: first_order(
            lambda a, b, c: [
                -0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, 3e7 * b**2
            ], [1, 0, 0], 1e4,
        ),
        stored_reference("Robertson", 3),
        lambda: scipy_peers(
            lambda _, y: [-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2,
                          3e7 * y[1] ** 2],
            [1, 0, 0], 1e4, stiff=True,
        ),
    )  # fmt: skip


def hires() -> Evolution:
    def rates(_: float, y: Any) -> Sequence[Any]:
        q = 280 * y[5] * y[7]
        return [
            -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
            1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
            8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
            -q + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
            q - 1.81 * y[6],
            -q + 1.81 * y[6],
        ]

    start = [1, 0, 0, 0, 0, 0, 0, 0.0057]
    return Evolution(
        "HIRES",
        lambda: first_order(lambda *y: rates(0.0, y), start, 321.8122),
        stored_reference("HIRES", 8),
        lambda: scipy_peers(rates, start, 321.8122, stiff=True),
    )


def pendulum(amplitude: float = 3.0, periods: int = 100) -> Evolution:
    from scipy.special import ellipk

    stop = float(4 * periods * ellipk(math.sin(amplitude / 2) ** 2))

    def reference() -> Reference:
        import mpmath as mp

        X = np.linspace(0, stop, 25)[1:]
        with mp.workdps(40):
            m = mp.sin(mp.mpf(amplitude) / 2) ** 2
            K = mp.ellipk(m)
            values = []
            for s in X:
                x = K - mp.mpf(float(s))
                x -= 4 * K * mp.nint(x / (4 * K))
                values.append(float(2 * mp.asin(mp.sqrt(m) * mp.ellipfun("sn", x, m=m))))
        return Reference(X[:, None], np.array([values]))

    return Evolution(
        f"Pendulum to {amplitude:g} rad, {periods} periods",
        lambda: second_order(lambda u, v: [-sp.sin(u)], [amplitude], [0], stop),
        reference,
        lambda: scipy_peers(lambda _, y: [y[1], -math.sin(y[0])], [amplitude, 0.0], stop),
    )


ORDINARY: list[Evolution] = [
    van_der_pol(1, 13.33),
    van_der_pol(5, 23.2),
    van_der_pol(100, 325.7),
    lorenz(),
    lotka_volterra(),
    arenstorf(),
    two_bodies(),
    robertson(),
    hires(),
    pendulum(),
]
PROBLEMS: list[Evolution] = [*ORDINARY]


# --- measuring ------------------------------------------------------------------------------------


def relative_error(values: Any, reference: Reference) -> float:
    """Return the largest error of an unknown relative to its maximum."""
    sizes = np.abs(reference.values).max(axis=1)
    return float((np.abs(values - reference.values).max(axis=1) / sizes).max())


def measure_pibls(
    evolution: Evolution, seed: int, reference: Reference, repeats: int = REPEATS
) -> dict[str, Any]:
    """Measure pibls: error and estimate relative to each unknown's maximum, windows, CPU seconds."""
    seconds = math.inf
    for _ in range(repeats if seed == 0 else 1):
        problem = evolution.problem()
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pibls.ConvergenceWarning)
            solution = pibls.solve(problem, tol=evolution.tol, seed=seed, time_limit=300)
        seconds = min(seconds, time.process_time() - began)
    columns = [reference.X[:, i] for i in range(reference.X.shape[1])]
    values = np.array([solution[u](*columns) for u in problem.unknowns])
    sizes = np.abs(reference.values).max(axis=1)
    estimate = max(solution[u].error.max / s for u, s in zip(problem.unknowns, sizes, strict=True))
    estimate_holds = all(
        np.abs(v - r).max() <= solution[u].error.max
        for u, v, r in zip(problem.unknowns, values, reference.values, strict=True)
    )
    return {
        "seed": seed,
        "error": relative_error(values, reference),
        "estimate": float(estimate),
        "held": estimate_holds,
        "status": solution.status.name,
        "windows": len(solution.windows),
        "seconds": seconds,
    }


def measure_peers(evolution: Evolution, reference: Reference, error: float) -> list[dict[str, Any]]:
    """Run every peer with decreasing tolerance until it is as accurate; return all runs."""
    rows: list[dict[str, Any]] = []
    for peer in evolution.peers():
        for tolerance in peer.tolerances:
            seconds, values = math.inf, None
            for _ in range(REPEATS):
                began = time.process_time()
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    values = peer.run(tolerance, reference)
                seconds = min(seconds, time.process_time() - began)
                if values is None or seconds > 0.2:
                    break
            if values is None:
                continue
            found = {"method": peer.name, "rtol": tolerance, "seconds": seconds}
            found["error"] = relative_error(values, reference)
            rows.append(found)
            if relative_error(values, reference) <= error or seconds > 3.0:
                break
    return rows


def best_run(rows: list[dict[str, Any]], error: float) -> dict[str, Any] | None:
    """Return the fastest run that is as accurate or, if there is none, the most accurate."""
    good = [r for r in rows if r["error"] <= error]
    if good:
        return min(good, key=lambda r: r["seconds"])
    return min(rows, key=lambda r: r["error"]) if rows else None


def run(names: list[str]) -> None:
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pibls.solve(PROBLEMS[0].problem(), tol=1e-4)  # imports are not measured
    for evolution in PROBLEMS:
        if names and not any(n in evolution.name for n in names):
            continue
        reference = evolution.reference()
        rows = [measure_pibls(evolution, seed, reference) for seed in SEEDS]
        error = max(row["error"] for row in rows)
        peers = measure_peers(evolution, reference, error)
        stored[evolution.name] = {"tol": evolution.tol, "ours": rows, "peers": peers}
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
        best = best_run(peers, error)
        print(evolution.name, rows[0], best, flush=True)


def table(problems: Sequence[Evolution] = ORDINARY) -> str:
    """Return the Markdown table of stored results; its last line is the geometric mean of the ratios."""
    stored = json.loads(STORED.read_text())
    lines = [
        "| problem | error | estimate | windows | seconds | best of `solve_ivp`, its error | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    ratios = []
    for found in (stored[e.name] | {"name": e.name} for e in problems if e.name in stored):
        rows = found["ours"]
        error, estimate = max(r["error"] for r in rows), max(r["estimate"] for r in rows)
        best = best_run(found["peers"], error)
        peer_text, ratio = "", ""
        if best is not None:
            ratios.append(rows[0]["seconds"] / best["seconds"])
            peer_text = f"{best['method']} {best['seconds']:.3f} s, {best['error']:.0e}"
            ratio = f"{ratios[-1]:.2f}"
        lines.append(
            f"| {found['name']} | {error:.0e} | {estimate:.0e} | {rows[0]['windows']} "
            f"| {rows[0]['seconds']:.3f} | {peer_text} | {ratio} |"
        )
    if ratios:
        lines.append(f"\nGeometric mean of the ratios: {math.exp(float(np.mean(np.log(ratios)))):.2f}.")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    else:
        print(table())

"""The authors' prediction of the scratch assay, with their settings: docs/data/assay_forward.json.

    python -m benchmarks.assay_forward        # six densities, about a minute

Three solutions of each density are compared with a finite-difference reference and with the measured
replicates: the published settings in µm and hours, the same settings in scaled units, and no settings.
"""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import pibls
from benchmarks.assay_holdout import at, positions, score
from benchmarks.measure import threads
from pibls.arrays import Array
from pibls.cases import assay
from pibls.nonlinear.protocol import Equations, Outcome, cost_of, linear_start

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "assay_forward.json"
UNITS = {"published": (1.0, 1.0, 1.0), "scaled units": (975.0, 24.0, assay.CAPACITY)}
"""Units (length, time, density): as published, and half the length, half the duration, the capacity."""
_CELLS = 1560
"""Intervals of the reference, 1.25 µm each; with 780 it changes by 1e-5 of the maximum."""


def reference(cells: int, intervals: int = _CELLS) -> tuple[Array, Array]:
    """Return x in µm and u(x, t) at t = 0, 12, …, 48 h by central differences in x and LSODA in t."""
    D, r = assay.PUBLISHED[cells]
    x = np.linspace(0.0, 1950.0, intervals + 1)
    rows = assay.all_strips()
    first = rows[(rows[:, 0] == cells) & (rows[:, 2] == 0)]
    h2 = (x[1] - x[0]) ** 2

    def rate(_: float, u: Array) -> Array:
        wide = np.concatenate(([u[1]], u, [u[-2]]))
        spread = D * (wide[2:] - 2 * u + wide[:-2]) / h2
        return np.asarray(spread + r * u * (1 - u / assay.CAPACITY))

    start = np.interp(x, first[:, 1], first[:, 3:].mean(axis=1))
    found = solve_ivp(
        rate, (0, 48), start, "LSODA", (0.0, *assay.TIMES), rtol=1e-8, atol=1e-12, lband=1, uband=1
    )
    return x, np.asarray(found.y.T)


@dataclass
class Recording:
    """A nonlinear method that records ½‖r‖² at u = 0, at the linearised minimum and at its end."""

    method: Any
    losses: dict[str, float] = field(default_factory=dict)

    def solve(self, system: Equations, rng: np.random.Generator) -> Outcome:
        A, b = linear_start(system)
        w = self.method.linear.factor(A).apply(b)
        outcome: Outcome = self.method.solve(system, rng)
        self.losses = {
            "zero": cost_of(system.residual(0.0 * w)),
            "linearised": cost_of(A @ w - b),
            "end": outcome.cost,
        }
        return outcome


def measure(cells: int, name: str) -> dict[str, Any]:
    """Return status, time and errors of one solution against the reference and the data."""
    case = assay.forward(cells, UNITS.get(name, UNITS["scaled units"]))
    settings: dict[str, Any] = {"tol": 1e-2}
    recording = Recording(case.settings["method"])
    if name in UNITS:
        settings = {**case.settings, "method": recording}
    length, hours, density = case.units
    start_time = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(case.problem, **settings)
    seconds = time.process_time() - start_time

    def u(x: Array, t: float) -> Array:
        return density * np.asarray(solution(x / length, np.full(len(x), t / hours)))

    x, exact = reference(cells)
    size = float(exact.max())
    errors = [float(np.abs(u(x, s) - row).max()) / size for s, row in zip((0.0, *assay.TIMES), exact)]
    where = positions(cells)
    return {
        "losses": recording.losses,
        "status": solution.status.name,
        "message": solution.message,
        "seconds": seconds,
        "errors": errors,
        "scores": {f"{s:g}": score(cells, s, u(where, s)) for s in assay.TIMES},
        "rms": {
            f"{s:g}": float(np.sqrt(np.mean((u(where, s) - at(cells, s).mean(axis=1)) ** 2)))
            for s in assay.TIMES
        },
    }


def main() -> None:
    stored: dict[str, Any] = {}
    for cells in assay.INITIAL_CELLS:
        stored[f"{cells}"] = {name: measure(cells, name) for name in (*UNITS, "no settings")}
        STORED.write_text(json.dumps(stored) + "\n")
        for name, one in stored[f"{cells}"].items():
            print(
                cells,
                name,
                one["status"],
                f"{one['seconds']:.1f} s",
                [f"{e:.1e}" for e in one["errors"]],
                flush=True,
            )


if __name__ == "__main__":
    with threads(1):
        main()

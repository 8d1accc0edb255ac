"""Algorithm 2 with two sets of tolerances, side by side: docs/data/tolerances.json.

    python -m benchmarks.tolerances              # TC-10, TC-11, TC-9: some minutes
    python -m benchmarks.tolerances TC-10

``ours``: trust region with 1e-15, loss threshold ‖r‖² < 1e-10, as `case.published.settings`. ``authors``: the
defaults of SciPy, 1e-8, and ½‖r‖² < 1e-3, as in the authors' public code. CPU seconds of one thread, both in
one process; errors on the grid of `benchmarks.worker.grid`.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pibls
from benchmarks.measure import threads
from benchmarks.peers.pibls_peer import warm_up
from benchmarks.worker import errors, grid, held_out

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "tolerances.json"
METHODS = {
    "ours": pibls.NLSQPerturb(delta=0.5, rounds=5),
    "authors": pibls.NLSQPerturb(
        delta=0.5, rounds=5, tolerance=2e-3,
        trust_region=pibls.TrustRegion(ftol=1e-8, xtol=1e-8, gtol=1e-8),
    ),
}  # fmt: skip
SEEDS = {"TC-10": range(3), "TC-11": range(3), "TC-9": range(1)}


def measure(name: str, seed: int, kind: str) -> dict[str, Any]:
    """Solve one case with one set of tolerances; return time and errors."""
    case = pibls.cases[name]
    settings = {**case.published.settings, "method": METHODS[kind]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        began = time.process_time()
        solution = pibls.solve(case.problem, seed=seed, **settings)
        seconds = time.process_time() - began
    X, G = held_out(case), grid(case)
    inside, on_grid = errors(solution(*X.T), case, X), errors(solution(*G.T), case, G)
    return {
        "seed": seed, "seconds": seconds, "status": solution.status.name, "max_error": inside[0],
        "grid_max_error": on_grid[0], "grid_l2_error": on_grid[1], "version": pibls.__version__,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }  # fmt: skip


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text())
    return found


def main(names: list[str]) -> None:
    stored = read() if STORED.exists() else {}
    warm_up()
    for name in names or list(SEEDS):
        stored[name] = {kind: [] for kind in METHODS}
        for seed in SEEDS[name]:
            for kind in METHODS:
                stored[name][kind].append(measure(name, seed, kind))
                print(name, kind, stored[name][kind][-1], flush=True)
                STORED.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    with threads(1):
        main(sys.argv[1:])

"""Problems on shapes, systems and many dimensions: error, estimate and CPU seconds, seeds 0 to 4.

Compared with NGSolve at the required error, meshing included (`benchmarks.shape_peers`), in the same run.

python -m benchmarks.shapes                        # all problems, stored in docs/data/shapes.json
python -m benchmarks.shapes --only Kirsch --seeds 0 --limit 60 --dry
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import pibls
from benchmarks.measure import threads
from benchmarks.shape_peers import time_to_error
from benchmarks.shape_problems import ENTRIES, Entry

OUT = Path(__file__).resolve().parents[1] / "docs" / "data" / "shapes.json"


def measure(entry: Entry, seed: int, limit: float) -> dict[str, Any]:
    """Solve one problem; return its record with the true error of every unknown."""
    problem, references = entry.build()
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(problem, tol=entry.tol, seed=seed, time_limit=limit, **entry.settings)
    seconds = time.process_time() - began
    rng = np.random.default_rng(1234)
    X = np.concatenate([problem.domain.interior(3000, rng), problem.domain.boundary(1000, rng).points])
    errors, relative, estimates = {}, 0.0, {}
    for name, reference in references.items():
        if reference is None:
            continue
        points, values = reference if isinstance(reference, tuple) else (X, reference(*X.T))
        found = np.asarray(solution[name](*points.T))
        errors[name] = float(np.abs(found - values).max())
        relative = max(relative, errors[name] / float(np.abs(values).max()))
        estimates[name] = float(solution[name].error.max)
    return {
        "name": entry.name, "seed": seed, "tol": entry.tol, "goal": entry.goal, "error": relative,
        "holds": all(errors[k] <= estimates[k] for k in errors),
        "ratio": min((estimates[k] / errors[k] for k in errors if errors[k] > 0), default=float("nan")),
        "converged": solution.converged, "status": solution.status.name, "nodes": solution.nodes,
        "cells": len(solution.space.tree) if hasattr(solution.space, "tree") else 1,
        "seconds": seconds,
    }  # fmt: skip


def measure_ngsolve(entry: Entry) -> dict[str, float] | None:
    """Return the result of NGSolve for the same problem, or None."""
    problem, references = entry.build()
    X = np.asarray(problem.domain.interior(2000, np.random.default_rng(1234)), dtype=float)
    at = {
        name: (X, np.asarray(reference(*X.T))) if callable(reference) else reference
        for name, reference in references.items()
        if reference is not None
    }
    return time_to_error(entry.name, entry.goal, at)


def line(run: dict[str, Any]) -> str:
    """Return a run as one line of text."""
    mark = "" if run["error"] <= run["goal"] else " MISSED"
    mark += "" if run["holds"] else " BELOW"
    mark += " FALSE" if run["converged"] and run["error"] > 3 * run["tol"] else ""
    return (
        f"{run['name']:26s} {run['seed']} error {run['error']:.1e} estimate/error {run['ratio']:8.1e} "
        f"{run['status']:12s} {run['nodes']:6d} nodes {run['cells']:4d} cells {run['seconds']:6.1f} s{mark}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", help="part of a problem name")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--limit", type=float, default=60.0, help="time limit of a solve, in seconds")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no run after this time")
    parser.add_argument("--dry", action="store_true", help="do not store results")
    parser.add_argument("--keep", action="store_true", help="keep stored runs of other problems and seeds")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    chosen = [e for e in ENTRIES if not given.only or any(word in e.name for word in given.only)]
    order = [e.name for e in ENTRIES]
    runs: list[dict[str, Any]] = []
    if given.keep and OUT.exists():
        renewed = {(e.name, seed) for e in chosen for seed in given.seeds}
        runs = [run for run in json.loads(OUT.read_text()) if (run["name"], run["seed"]) not in renewed]
    # Seed by seed, so that every problem is run before --minutes are over.
    for number, seed in enumerate(given.seeds):
        for entry in chosen:
            if time.monotonic() - began > 60.0 * given.minutes:
                return
            try:
                run = measure(entry, seed, given.limit)
            except Exception as e:
                print(f"{entry.name:26s} {seed} {type(e).__name__}: {str(e)[:300]}", flush=True)
                continue
            print(line(run), flush=True)
            known = any(r["name"] == entry.name and "ngsolve" in r for r in runs)
            peer = measure_ngsolve(entry) if number == 0 and not known else None
            if peer is not None:
                run["ngsolve"] = peer
                print(f"{'':26s}   NGSolve, order {peer['order']:.0f}: error {peer['error']:.1e}, "
                      f"{peer['seconds']:.2f} s", flush=True)  # fmt: skip
            runs.append(run)
            if not given.dry:
                kept = sorted(runs, key=lambda run: (order.index(run["name"]), run["seed"]))
                OUT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    with threads(1):
        main()

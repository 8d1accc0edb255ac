"""Fingerprints of solutions, to compare the results of two versions of the package bit for bit.

    python -m benchmarks.fingerprints record FILE [--list NAME …] [--only NAME …] [--jobs 2]
    python -m benchmarks.fingerprints compare OLD NEW

`record` solves every problem of the lists "textbook", "fresh", "gallery" and "shapes" with its own tolerance,
seed 0, one BLAS thread and no time limit, each in its own process, and stores a SHA-256 digest of the
values of all unknowns at fixed random points, the error estimate as a hexadecimal float, the number of nodes
and the status. `compare` lists the problems that differ, and prints the geometric mean of the ratios of
processor time, which is not part of a fingerprint. A refactoring must leave no difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LISTS = ("textbook", "fresh", "gallery", "shapes")
POINTS = 200
SECONDS = 300.0
"""Time after which a process is killed; its status is then KILLED."""
RENAMED = {
    "FLOOR": "ROUNDING_LIMIT",
    "ROUGH": "INCOMPATIBLE_DATA",
    "SLOW": "SLOW_CONVERGENCE",
    "STOPPED": "INCOMPLETE",
}
"""Statuses of 0.2.0 and their names since then."""


def stated(entry: Any) -> tuple[Any, dict[str, Any]]:
    """Return a problem of the textbook and fresh lists."""
    return entry.build(), {"tol": entry.tol}


def shape(entry: Any) -> tuple[Any, dict[str, Any]]:
    """Return a problem of the list of shapes."""
    return entry.build()[0], {"tol": entry.tol, **entry.settings}


def problems(name: str) -> Mapping[str, Callable[[], tuple[Any, dict[str, Any]]]]:
    """Return, by name, functions that build a problem and the keyword arguments of `solve`."""
    if name in ("textbook", "fresh"):
        import_module(f"benchmarks.{name}")
        from benchmarks import textbook

        return {e.name: partial(stated, e) for e in textbook.PROBLEMS}
    if name == "shapes":
        from benchmarks.shape_problems import ENTRIES

        return {e.name: partial(shape, e) for e in ENTRIES}
    sys.path.insert(0, str(ROOT / "docs" / "gallery"))
    common: Any = import_module("common")

    def built(example: str) -> tuple[Any, dict[str, Any]]:
        found = common.example(example)
        return found.problem, {"tol": found.tol}

    return {name: partial(built, name) for name in common.names()}


def fingerprint(of_list: str, name: str) -> dict[str, Any]:
    """Solve one problem in this process."""
    import pibls

    problem, settings = problems(of_list)[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        solution = pibls.solve(problem, seed=0, **settings)
        seconds = time.process_time() - start
    X = np.asarray(problem.domain.interior(POINTS, np.random.default_rng(0)), dtype=float)
    digest = hashlib.sha256()
    for unknown in problem.unknowns:
        digest.update(np.ascontiguousarray(solution[unknown](*X.T), dtype=float).tobytes())
    status = solution.status.name
    return {
        "values": digest.hexdigest()[:16],
        "estimate": float(solution.error.max).hex(),
        "nodes": int(solution.nodes),
        "status": RENAMED.get(status, status),
        "seconds": round(seconds, 4),
    }


def alone(of_list: str, name: str) -> dict[str, Any]:
    """Solve one problem in its own process."""
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.fingerprints", "one", of_list, name]
    try:
        run = subprocess.run(
            command, env={**os.environ, **one}, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return {"status": "KILLED"}
    if run.returncode != 0:
        return {"status": "CRASHED", "why": run.stderr.strip()[-400:]}
    row: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
    return row


def record(out: Path, lists: list[str], only: list[str], jobs: int) -> None:
    """Store the fingerprints of all problems that are not stored yet."""
    rows: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    chosen = []
    for of_list in lists:
        listed = subprocess.run(
            [sys.executable, "-m", "benchmarks.fingerprints", "names", of_list],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        chosen += [(of_list, name) for name in json.loads(listed.stdout.strip().splitlines()[-1])]
    chosen = [(a, b) for a, b in chosen if f"{a}: {b}" not in rows and (not only or b in only)]
    with ThreadPoolExecutor(jobs) as pool:
        for (of_list, name), row in zip(chosen, pool.map(lambda task: alone(*task), chosen), strict=True):
            rows[f"{of_list}: {name}"] = row
            out.write_text(json.dumps(rows, indent=1) + "\n")


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return what is compared of a row: no traceback, no seconds."""
    return {key: value for key, value in row.items() if key not in ("why", "seconds")}


def compare(old: Path, new: Path) -> int:
    """Print the problems whose fingerprints differ and return their number."""
    before, after = json.loads(old.read_text()), json.loads(new.read_text())
    both = [name for name in before if name in after]
    unlike = [name for name in both if shown(before[name]) != shown(after[name])]
    for name in unlike:
        print(f"{name}:\n  {before[name]}\n  {after[name]}")
    for missing in sorted(set(before) ^ set(after)):
        print(f"{missing}: in one file only")
    print(f"{len(both) - len(unlike)} of {len(both)} problems are equal bit for bit")
    timed = [name for name in both if before[name].get("seconds") and after[name].get("seconds")]
    if timed:
        ratios = [after[name]["seconds"] / before[name]["seconds"] for name in timed]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"processor time, new / old: geometric mean {mean:.3f} of {len(timed)} problems")
    return len(unlike)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("record", "compare", "one", "names"))
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--list", action="append", choices=LISTS)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    if given.action == "record":
        record(Path(given.arguments[0]), given.list or list(LISTS), given.only, given.jobs)
    elif given.action == "compare":
        sys.exit(compare(*map(Path, given.arguments)) > 0)
    elif given.action == "names":
        print(json.dumps(list(problems(given.arguments[0]))))
    else:
        print(json.dumps(fingerprint(*given.arguments)))


if __name__ == "__main__":
    main()

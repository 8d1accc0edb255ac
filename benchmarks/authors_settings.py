"""The settings of the authors' code: one run of each case, evaluated on the grid of their code.

The results are stored in docs/data/authors.json; benchmarks.pages inserts them into docs/cases.md.

    python benchmarks/authors_settings.py [TC-9 …] [--again]      # missing results only
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import threads
from pibls.arrays import Array
from pibls.cases.case import Case

DATA = Path(__file__).resolve().parents[1] / "docs/data/authors.json"


def grid(case: Case) -> Array:
    """Return the evaluation grid: 10 times the interior points, 1,000 to 5,000, boundary included.

    In two dimensions their code evaluates a random subset of the grid; here the whole grid is used.
    """
    d = len(case.problem.coordinates)
    n = max(1000, min(10 * case.authors.settings["points"].interior, 5000))
    axis = np.linspace(0.0, 1.0, n if d == 1 else math.ceil(math.sqrt(n)))
    low, high = np.array(case.problem.domain.bounds, dtype=float).T
    unit = np.column_stack([g.ravel() for g in np.meshgrid(*[axis] * d)])
    return np.asarray(low + (high - low) * unit)


def measure(case: Case) -> dict[str, Any]:
    """Return maximum and RMS error on their grid and CPU seconds of one run with their seed."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = pibls.solve(case.authors.problem, **case.authors.settings)
    seconds = time.process_time() - began
    X = grid(case).T
    error = np.abs(solution(*X) - case.exact(*X))
    return {
        "max": float(error.max()),
        "rms": float(np.sqrt(np.mean(error**2))),
        "seconds": seconds,
        "status": solution.status.name,
        "steps": solution.steps,
    }


def main(arguments: Sequence[str]) -> None:
    data: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    for name in [a for a in arguments if not a.startswith("-")] or list(pibls.cases):
        if name not in data or "--again" in arguments:
            data[name] = measure(pibls.cases[name])
            ordered = {case: data[case] for case in pibls.cases if case in data}
            DATA.write_text(json.dumps(ordered, indent=1) + "\n")
            print(name, data[name], flush=True)


if __name__ == "__main__":
    with threads(1):
        main(sys.argv[1:])

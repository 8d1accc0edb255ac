"""Solve time at tol = 1e-4 against 1e-10: `python -m benchmarks.tolerance_times`.

TC-4 to TC-8, one thread, in milliseconds of CPU time: medians of 20 alternating solves in a warm process, and
the first solve in a new process, imports included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

import pibls
from benchmarks.measure import threads

CASES = [f"TC-{i}" for i in range(4, 9)]
TOLERANCES = (1e-4, 1e-10)
SOLVES = 20
_COLD = "import pibls, time; pibls.solve(pibls.cases[{!r}].problem, tol={}); print(time.process_time())"


def warm(name: str) -> list[float]:
    """Return the median time for each tolerance; the solves alternate because the load varies."""
    problem = pibls.cases[name].problem
    spent = np.empty((SOLVES + 1, len(TOLERANCES)))
    for i, j in np.ndindex(*spent.shape):
        began = time.process_time()
        pibls.solve(problem, tol=TOLERANCES[j])
        spent[i, j] = time.process_time() - began
    return [float(m) for m in np.median(spent[1:], axis=0)]


def cold(name: str, tol: float) -> float:
    """Return the CPU seconds of a new process, including imports."""
    words = [sys.executable, "-c", _COLD.format(name, tol)]
    # Use cached bytecode, as an installed package does.
    usual = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return float(subprocess.run(words, env={**usual, **one}, capture_output=True, check=True).stdout)


def main() -> None:
    print(f"{'case':>6} {'1e-4':>8} {'1e-10':>8} {'share':>6}   cold, 1e-4 and 1e-10")
    with threads(1):
        for name in CASES:
            loose, tight = warm(name)
            cold(name, TOLERANCES[0])
            first = " ".join(f"{1e3 * cold(name, tol):6.0f}" for tol in TOLERANCES)
            print(f"{name:>6} {1e3 * loose:8.2f} {1e3 * tight:8.2f} {loose / tight:6.2f}   {first}")


if __name__ == "__main__":
    main()

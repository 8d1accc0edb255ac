"""What a loose tolerance costs beside a tight one: `python -m benchmarks.loose`.

TC-4 to TC-8 at tol = 1e-4 and 1e-10, medians of 20 solves each in a warm process, by turns, in milliseconds
of the processor, one thread; and the first solve of each in a process of its own, all imports included.
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
    """The median of so many solves with each tolerance, by turns: a machine is not as busy all the time."""
    problem = pibls.cases[name].problem
    spent = np.empty((SOLVES + 1, len(TOLERANCES)))
    for i, j in np.ndindex(*spent.shape):
        began = time.process_time()
        pibls.solve(problem, tol=TOLERANCES[j])
        spent[i, j] = time.process_time() - began
    return [float(m) for m in np.median(spent[1:], axis=0)]


def cold(name: str, tol: float) -> float:
    """All that a new process takes until its answer."""
    words = [sys.executable, "-c", _COLD.format(name, tol)]
    # What is installed is compiled once, whatever this shell has been told.
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

"""Milliseconds of `pibls.solve(problem, tol=1e-13)` in a fresh process and again: docs/data/cold_warm.json.

    python -m benchmarks.cold_warm          # eleven processes, a minute

``cold``: the first solve of a process that has imported pibls and built the problem; it imports the solver
and
fills the caches of SymPy. ``warm``: the median of five further solves of the same problem with other seeds.
``start``: importing pibls and stating the problem. Processor time of one thread.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "cold_warm.json"
TOLERANCE = 1e-13
WARM = 5


def measured(name: str) -> dict[str, Any]:
    """All of one case, in this process, which must be a fresh one."""
    began = time.process_time()
    import pibls

    problem = pibls.cases[name].problem
    start = time.process_time() - began
    seconds = []
    for seed in range(1 + WARM):
        began = time.process_time()
        pibls.solve(problem, tol=TOLERANCE, seed=seed)
        seconds.append(time.process_time() - began)
    return {
        "start": start,
        "cold": seconds[0],
        "warm": median(seconds[1:]),
        "version": pibls.__version__,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text())
    return found


def main(words: list[str]) -> None:
    if words[:1] == ["--here"]:
        print(json.dumps(measured(words[1])))
        return
    stored = read() if STORED.exists() else {}
    for name in words or [f"TC-{i}" for i in range(1, 12)]:
        told = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold_warm", "--here", name],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        stored[name] = json.loads(told.stdout.splitlines()[-1])
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
        print(name, {k: f"{1000 * stored[name][k]:.0f} ms" for k in ("start", "cold", "warm")}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""CPU time of the first and of later `pibls.solve(problem, tol=1e-13)`: docs/data/cold_warm.json.

    python -m benchmarks.cold_warm          # eleven processes, a minute

``cold``: the first solve of a process that has imported pibls and built the problem; it imports the solver
and fills the caches of SymPy. ``warm``: the median of five further solves of the same problem with other
seeds. ``start``: importing pibls and building the problem. One thread.
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


def measure(name: str) -> dict[str, Any]:
    """Measure one case in this process, which must be a new one."""
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


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--here"]:
        print(json.dumps(measure(arguments[1])))
        return
    stored = read() if STORED.exists() else {}
    for name in arguments or [f"TC-{i}" for i in range(1, 12)]:
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold_warm", "--here", name],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        stored[name] = json.loads(process.stdout.splitlines()[-1])
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
        print(name, {k: f"{1000 * stored[name][k]:.0f} ms" for k in ("start", "cold", "warm")}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

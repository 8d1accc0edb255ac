"""Effect of rounding on the errors of the published PIBLS: docs/data/rounding.json.

    python -m benchmarks.rounding           # five cases, five seeds, three kernels: a minute

The same seeds with the BLAS kernels of three processor types (OPENBLAS_CORETYPE), each in its own process.
They sum in different orders, as different machines do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pibls
from benchmarks.worker import errors, grid

STORED = Path(__file__).resolve().parents[1] / "docs" / "data" / "rounding.json"
KERNELS = ("Prescott", "Sandybridge", "Haswell")
SEEDS = range(5)
CASES = ("TC-1", "TC-2", "TC-3", "TC-6", "TC-8")


def max_errors(name: str) -> list[float]:
    """Return the maximum error on the grid per seed, with the BLAS kernel of this process."""
    case = pibls.cases[name]
    X = grid(case)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        for seed in SEEDS:
            found.append(
                errors(pibls.solve(case.problem, seed=seed, **case.published.settings)(*X.T), case, X)[0]
            )
    return found


def kernel() -> str:
    """Return the kernel that OpenBLAS uses in this process."""
    from threadpoolctl import threadpool_info

    return ", ".join(
        sorted({str(i.get("architecture")) for i in threadpool_info() if i["internal_api"] == "openblas"})
    )


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text())
    return found


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--here"]:
        print(json.dumps({"kernel": kernel(), "errors": {name: max_errors(name) for name in arguments[1:]}}))
        return
    stored: dict[str, Any] = {}
    for wanted in KERNELS:
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.rounding", "--here", *(arguments or CASES)],
            env={**os.environ, "OPENBLAS_CORETYPE": wanted, "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if process.returncode:
            print(wanted, "cannot run here", flush=True)
            continue
        found = json.loads(process.stdout)
        for name, each in found["errors"].items():
            stored.setdefault(name, {})[found["kernel"]] = each
            print(name, found["kernel"], [f"{e:.1e}" for e in each], flush=True)
        STORED.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

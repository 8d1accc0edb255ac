"""The published configuration of each case over five seeds, next to the paper's result.

python benchmarks/published.py [TC-5 …]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, table, threads, timed

SEEDS = range(5)


def error_bound(published: float) -> float:
    """Return the bound for the median: ten times the error of the paper, at least 2e-14."""
    return max(10.0 * published, 2e-14)


def main(names: list[str]) -> None:
    rows = []
    with threads(1):
        for name in names:
            case = pibls.cases[name]
            found, seconds = [], []
            for seed in SEEDS:
                solution, s = timed(
                    lambda case=case, seed=seed: pibls.solve(  # type: ignore[misc]
                        case.problem, seed=seed, **case.published.settings
                    )
                )
                found.append(errors(case, solution))
                seconds.append(s)
            worst = np.max(found, axis=0)
            median = np.median(found, axis=0)
            within_bound = "yes" if median[0] <= error_bound(case.published.max_error) else "NO"
            rows.append(
                (name, f"{median[0]:.1e}", f"{worst[0]:.1e}", f"{median[1]:.1e}",
                 f"{np.median(seconds):.2f}", f"{case.published.max_error:.1e}",
                 f"{case.published.l2_error:.1e}", f"{case.published.seconds:.2f}", within_bound)
            )  # fmt: skip
            print(f"{name} done", file=sys.stderr, flush=True)
    header = ("case", "median max", "worst max", "median L2", "seconds", "paper max", "paper L2",
              "paper s", "within 10x")  # fmt: skip
    print("Published settings, seeds 0-4, one thread; errors on points that were not fitted:\n")
    print(table(header, rows))


if __name__ == "__main__":
    main(sys.argv[1:] or list(pibls.cases))

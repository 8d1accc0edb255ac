"""Default settings against the published settings: accuracy over ten seeds and total time.

Both use `solve`, in one run, with one thread: `solve(problem, tol=1e-13)` and the published basis
and points with LAPACK's gelsd (Algorithm 2 for the nonlinear cases).

    python benchmarks/default_settings.py [TC-5 …]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, table, threads, timed

SEEDS = range(10)


def main(names: list[str]) -> None:
    rows, ratios = [], []
    with threads(1):
        for name in names:
            case = pibls.cases[name]
            X = case.problem.domain.interior(4000, np.random.default_rng(0))
            size = float(np.abs(case.exact(*X.T)).max())
            pibls.solve(case.problem)  # compile the problem once, for both
            found, automatic, published, ratio = [], [], [], []
            for seed in SEEDS:
                solution, seconds = timed(
                    lambda c=case, s=seed: pibls.solve(c.problem, tol=1e-13, seed=s)  # type: ignore[misc]
                )
                automatic.append(seconds)
                found.append(errors(case, solution)[0] / size)
                ratio.append(solution.error.max / (found[-1] * size))
            for seed in range(5 if case.problem.is_linear else 2):
                published.append(
                    timed(
                        lambda c=case, s=seed: pibls.solve(c.problem, seed=s, **c.published.settings)  # type: ignore[misc]
                    )[1]
                )
            ratios.append(float(np.median(automatic) / np.median(published)))
            rows.append(
                (name, f"{np.median(found):.1e}", f"{max(found):.1e}",
                 f"{case.published.max_error / size:.1e}", f"{min(ratio):.1f}",
                 f"{np.median(automatic):.4f}", f"{np.median(published):.4f}", f"{ratios[-1]:.3f}")
            )  # fmt: skip
            print(f"{name} done", file=sys.stderr, flush=True)
    header = (
        "case",
        "median",
        "worst of 10",
        "paper",
        "least estimate/true",
        "seconds",
        "published s",
        "ratio",
    )
    print("solve(problem, tol=1e-13), errors relative to max|u|, against the published settings:\n")
    print(table(header, rows))
    print(f"\ngeometric mean of the time ratios: {np.exp(np.mean(np.log(ratios))):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:] or list(pibls.cases))

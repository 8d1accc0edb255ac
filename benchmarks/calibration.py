"""Calibration of the error estimate: true error against estimate over many problems, seeds, tolerances.

    python -m benchmarks.calibration [--seeds 5]

Writes docs/data/calibration.json and docs/figures/calibration.png, and prints the summary that
docs/trust.md quotes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import validation

from benchmarks.measure import table, threads

ROOT = Path(__file__).resolve().parents[1]
TOLERANCES = (1e-4, 1e-7, 1e-10)
DATA = ROOT / "docs/data/calibration.json"
FIGURE = ROOT / "docs/figures/calibration.png"


def run(chosen: Sequence[validation.Entry], seeds: range) -> list[dict[str, Any]]:
    """Return one record per problem, seed and tolerance; errors are relative to max|u| of all unknowns."""
    out = []
    for entry in chosen:
        for tol, seed in product(TOLERANCES, seeds):
            found = validation.measure(entry, seed, tol=tol)
            size = max(u["size"] for u in found["unknowns"].values())
            out.append(
                {
                    "problem": entry.name, "kind": ", ".join(entry.tags), "tol": tol, "seed": seed,
                    "true": max(u["error"] for u in found["unknowns"].values()) / size,
                    "estimate": found["estimate"] / size,
                    **{key: found[key] for key in ("converged", "status", "nodes", "seconds")},
                }
            )  # fmt: skip
        print(f"{entry.name} done", file=sys.stderr, flush=True)
    return out


def summary(records: list[dict[str, Any]]) -> dict[str, float]:
    """Return how often the estimate holds, its median ratio to the true error, and the median time."""
    true = np.array([r["true"] for r in records])
    estimate = np.array([r["estimate"] for r in records])
    tol = np.array([r["tol"] for r in records])
    converged = np.array([r["converged"] for r in records], dtype=bool)
    return {
        "runs": len(records),
        "problems": len({r["problem"] for r in records}),
        "true <= estimate": float(np.mean(true <= estimate)),
        "median estimate/true": float(np.median(estimate / true)),
        "converged": float(np.mean(converged)),
        "true <= 3 tol when converged": float(np.mean(true[converged] <= 3 * tol[converged])),
        "median seconds": float(np.median([r["seconds"] for r in records])),
    }


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """Draw the estimate against the true error; in points below the diagonal the estimate fails."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
    colours = {1e-4: "#D55E00", 1e-7: "#009E73", 1e-10: "#0072B2"}
    for tol, colour in colours.items():
        chosen = [r for r in records if r["tol"] == tol]
        left.loglog(
            [r["true"] for r in chosen], [r["estimate"] for r in chosen], "o", ms=3.5, alpha=0.55,
            color=colour, mec="none", label=f"tol = {tol:.0e}",
        )  # fmt: skip
        left.axhline(tol, color=colour, lw=0.8, ls=":")
    ends = np.array([1e-16, 1.0])
    left.loglog(ends, ends, color="black", lw=1)
    left.loglog(ends, 30 * ends, color="grey", lw=0.8, ls="--")
    left.text(3e-4, 4e-5, "too optimistic", rotation=40, ha="center", va="center", fontsize=9)
    left.text(2e-7, 3e-5, "30 ×", rotation=40, ha="center", va="center", fontsize=9, color="grey")
    left.set(xlabel="true max error / max|u|", ylabel="estimated max error / max|u|", xlim=ends, ylim=ends)
    left.legend(loc="upper left", frameon=False)
    ratios = np.log10([r["estimate"] / r["true"] for r in records])
    right.hist(ratios, bins=40, color="#56B4E9", edgecolor="white", linewidth=0.4)
    right.axvline(0, color="black", lw=1)
    right.axvline(np.median(ratios), color="#D55E00", lw=1.5)
    right.text(
        np.median(ratios) + 0.1, right.get_ylim()[1] * 0.95, f"median {10 ** np.median(ratios):.1f}",
        color="#D55E00", va="top",
    )  # fmt: skip
    right.set(xlabel="log10 (estimate / true error)", ylabel="runs")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    arguments = parser.parse_args()
    with threads(1):
        records = run(validation.entries(["calibration"]), range(arguments.seeds))
    DATA.parent.mkdir(parents=True, exist_ok=True)
    DATA.write_text("[\n" + ",\n".join(json.dumps(r) for r in records) + "\n]\n")
    draw(records, FIGURE)
    print(table(("figure", "value"), [(k, f"{v:.4g}") for k, v in summary(records).items()]))
    misses = [r for r in records if r["true"] > r["estimate"]]
    rows = [(r["problem"], f"{r['tol']:g}", str(r["seed"]), f"{r['true']:.1e}", f"{r['estimate']:.1e}",
             r["status"]) for r in misses]  # fmt: skip
    if rows:
        print("\nRuns in which the true error was larger than the estimate:\n")
        print(table(("problem", "tol", "seed", "true", "estimate", "status"), rows))
    unfinished = sorted({(r["problem"], r["status"], f"{r['tol']:g}") for r in records if not r["converged"]})
    if unfinished:
        print("\nNot converged:\n")
        print(table(("problem", "status", "tol"), unfinished))


if __name__ == "__main__":
    main()

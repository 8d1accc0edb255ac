"""Out-of-sample test of the error estimate: true error against estimate on problems not used for tuning.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.unseen [--data FILE] [--time-limit SECONDS]

The problems are those of `validation.sets.unseen`. Every run is stored in docs/data/unseen.json (or FILE) at
once, so that an interrupted command can be resumed; delete the file to start again. Prints the figures of
docs/trust.md.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import validation

from benchmarks.measure import table, threads

DATA = Path(__file__).resolve().parents[1] / "docs/data/unseen.json"
TOLERANCES = (1e-4, 1e-7, 1e-10)
SEEDS = (0, 1)
LONG = 40.0  # seconds; after a run that took longer, the smaller tolerances of its problem are skipped

Record = dict[str, Any]


def measure(entry: validation.Entry, tol: float, seed: int, limit: float | None = None) -> Record:
    """Solve once and return the record with the true error; exceptions are recorded too."""
    record: Record = {"problem": entry.name, "kind": ", ".join(entry.tags), "tol": tol, "seed": seed}
    try:
        found = validation.measure(entry, seed, tol=tol, time_limit=limit)
        unknowns = found["unknowns"].values()
    except Exception as error:  # recorded in the report
        return {**record, "status": "RAISED", "converged": False, "message": str(error)[:300]}
    size = max(u["size"] for u in unknowns)
    true, estimate = max(u["error"] for u in unknowns) / size, found["estimate"] / size
    # JSON has no infinity (estimate without a solution, evolution not integrated to its end).
    return {
        **record, "true": true if np.isfinite(true) else None,
        "estimate": estimate if np.isfinite(estimate) else None,
        **{key: found[key] for key in ("status", "converged", "nodes", "seconds")},
        "other": found["solution"] > 0,
    }  # fmt: skip


def save(records: list[Record], data: Path) -> None:
    """Store the records; the file is replaced atomically."""
    data.parent.mkdir(parents=True, exist_ok=True)
    temporary = data.with_suffix(".tmp")
    temporary.write_text("[\n" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in records) + "\n]\n")
    os.replace(temporary, data)


def too_long(entry: validation.Entry, tol: float, records: list[Record]) -> bool:
    """Return whether a larger tolerance of the same problem took longer than LONG."""
    return any(
        r["problem"] == entry.name and r["tol"] > tol and r.get("seconds", 0.0) > LONG for r in records
    )


def run(problems: list[validation.Entry], data: Path = DATA, limit: float | None = None) -> list[Record]:
    """Measure what is not stored yet, with decreasing tolerances."""
    records: list[Record] = json.loads(data.read_text()) if data.exists() else []
    for entry in problems:
        for tol in TOLERANCES:
            for seed in SEEDS if not too_long(entry, tol, records) else ():
                if not any((r["problem"], r["tol"], r["seed"]) == (entry.name, tol, seed) for r in records):
                    records.append(measure(entry, tol, seed, limit))
                    save(records, data)
    return records


def report(problems: list[validation.Entry], records: list[Record]) -> str:
    """Return the summary, then all runs that miss the estimate or the tolerance."""
    done = [{**r, "true": np.nan if r["true"] is None else r["true"]} for r in records if "true" in r]
    # Infinite estimates are counted separately.
    with_estimate = [r for r in done if r["estimate"] is not None]
    held = [r["true"] <= r["estimate"] for r in with_estimate]
    ratios = [r["estimate"] / max(r["true"], 1e-300) for r in with_estimate]
    converged = [r for r in done if r["converged"]]
    within_tolerance = [r["true"] <= 3 * r["tol"] for r in converged]
    skipped = len(SEEDS) * sum(too_long(entry, tol, records) for entry in problems for tol in TOLERANCES)
    figures = [
        ("problems", str(len({r["problem"] for r in records}))),
        ("runs", f"{len(records)} ({skipped} skipped after a run of over {LONG:g} s)"),
        # Often the first basis meets all tolerances: these runs have the same solution.
        ("different solutions", str(len({(r["problem"], r["seed"], r["true"]) for r in done}))),
        ("no estimate (infinite)", str(len(done) - len(with_estimate))),
        ("true error at most the estimate", f"{sum(held)} of {len(with_estimate)}, {np.mean(held):.1%}"),
        ("median of estimate / true error", f"{np.median(ratios):.3g}"),
        ("converged", f"{len(converged)} of {len(records)}, {len(converged) / len(records):.1%}"),
        ("true error at most 3·tol·max|u| when converged",
         f"{sum(within_tolerance)} of {len(converged)}, {np.mean(within_tolerance):.1%}"),
        ("another true solution than the exact one", str(sum(r.get("other", False) for r in done))),
        ("median seconds of a solve", f"{np.median([r['seconds'] for r in done]):.3g}"),
    ]  # fmt: skip
    lists = {
        "True error larger than the estimate": [r for r in with_estimate if not r["true"] <= r["estimate"]],
        "Converged, and true error above 3·tol·max|u|": [
            r for r in converged if not r["true"] <= 3 * r["tol"]
        ],
        "Not converged": [r for r in done if not r["converged"]],
    }
    parts = [table(("figure", "value"), figures)]
    for title, chosen in lists.items():
        rows = [
            (r["problem"], r["kind"], f"{r['tol']:.0e}", str(r["seed"]), f"{r['true']:.1e}",
             f"{r['estimate'] or np.inf:.1e}", f"{r['true'] / (r['estimate'] or np.inf):.2g}", r["status"],
             f"{r['seconds']:.1f}")
            for r in chosen
        ]  # fmt: skip
        header = (
            "problem", "kind", "tol", "seed", "true", "estimate", "true/estimate", "status", "seconds"
        )  # fmt: skip
        parts.append(f"{title}: " + (f"{len(rows)}\n\n" + table(header, rows) if rows else "none"))
    raised = [f"{r['problem']}, tol {r['tol']:g}, seed {r['seed']}: {r['message']}" for r in records
              if r["status"] == "RAISED"]  # fmt: skip
    if raised:
        parts.append("Raised:\n\n" + "\n".join(raised))
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="file of the results")
    parser.add_argument("--time-limit", type=float, help="time limit of a solve, in seconds")
    arguments = parser.parse_args()
    problems = validation.entries(["unseen"])
    with threads(1):
        records = run(problems, arguments.data, arguments.time_limit)
    print(report(problems, records))


if __name__ == "__main__":
    main()

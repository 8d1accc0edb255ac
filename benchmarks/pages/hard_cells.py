"""docs/benchmarks/hard-cells.md, from docs/data/hard_cells.json and docs/data/cell_costs.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks import cell_costs, hard_cells, hard_problems
from benchmarks.measure import table
from benchmarks.pages.text import filled, plain, sci, template

_PER = 1e4
Run = Mapping[str, Any]


def _problems(runs: Sequence[Run], peers: Mapping[str, Any]) -> str:
    rows = []
    for name in dict.fromkeys(r["name"] for r in runs):
        mine = [r for r in runs if r["name"] == name]
        peer = peers.get(name)
        rows.append(
            (name.replace("|", "&#124;"), sci(mine[0]["tol"]), sci(max(r["error"] for r in mine)),
             sci(max(r["estimate"] for r in mine)), f"{sum(r['converged'] for r in mine)} of {len(mine)}",
             f"{median(r['cells'] for r in mine):.0f}", plain(median(r["seconds"] for r in mine)),
             plain(peer["seconds"]) if peer else "")
        )  # fmt: skip
    head = ("problem", "tol", "error", "estimate", "converged", "cells", "seconds", "NGSolve")
    return table(head, rows)


def _coupled(runs: Sequence[Run]) -> str:
    rows = [
        (f"{r['cells']:.0f}", f"{r['functions']:,}", f"{r['direct']:.2f}", f"{r['traces']:.2f}",
         f"{r['direct'] / r['traces']:.1f}", sci(r["apart"]))
        for r in runs
    ]  # fmt: skip
    return table(("cells", "functions", "coupled directly", "coupled by traces", "ratio", "difference"), rows)


def _before(runs: Sequence[Run]) -> str:
    rows = [
        (f"{r['cells']:.0f}", f"{r['functions']:,}", f"{r['before']:.2f}", f"{r['now']:.2f}",
         f"{r['before'] / r['now']:.1f}", sci(r["error_before"]), sci(r["error_now"]))
        for r in runs
    ]  # fmt: skip
    version = runs[0]["version"]
    return table(("cells", "functions", version, "now", "ratio", f"error, {version}", "error, now"), rows)


def _dense(runs: Sequence[Run], dense: Mapping[str, Run]) -> str:
    said = []
    for name, found in dense.items():
        seconds = median(r["seconds"] for r in runs if r["name"] == name)
        said.append(
            f"{name}: one dense basis of {found['functions']:,} random Fourier features takes "
            f"{plain(found['seconds'])} s to {sci(found['error'])}, "
            f"{found['seconds'] / seconds:.0f} times as long."
        )
    return " ".join(said)


def _grown(runs: Sequence[Run]) -> str:
    rows = [
        (f"{r['cells']:,}", f"{r['functions']:,}", f"{r['seconds']:.1f}",
         f"{_solve_memory(r) / 2**30:.3f} GiB", f"{r['held'] / 2**30:.3f} GiB")
        for r in runs
    ]  # fmt: skip
    return table(("cells", "functions", "CPU s", "memory of the process", "traced memory"), rows)


def _solve_memory(run: Run) -> float:
    """Return the peak memory of the process minus its memory after all imports."""
    return float(run["bytes"] - run["empty"])


def _shared(runs: Sequence[Run]) -> str:
    rows = [
        (f"{r['workers']}", sci(r["error"]), sci(r["estimate"]), f"{r['cells']}", f"{r['seconds']:.0f}",
         f"{r['cpu']:.0f}", repr(r["value"]))
        for r in runs
    ]  # fmt: skip
    return table(("workers", "error", "estimate", "cells", "seconds", "CPU s", "u(0.21, 0.32)"), rows)


def blanks(found: Mapping[str, Any], costs: Mapping[str, Any]) -> dict[str, str]:
    order = {name: i for i, name in enumerate(hard_problems.PROBLEMS)}
    runs = sorted((r for r in found["runs"] if r["name"] in order), key=lambda r: order[r["name"]])
    by_cells = {r["cells"]: r for r in costs["grown"]}
    small = next(r for c, r in sorted(by_cells.items()) if c > 100 and 4 * c in by_cells)
    first, large = by_cells[small["cells"] // 4], by_cells[4 * small["cells"]]
    return {
        "table": _problems(runs, found["peers"]),
        "runs": str(len(runs)),
        "held": str(sum(r["error"] <= r["estimate"] for r in runs)),
        "right": str(sum(r["error"] <= r["tol"] for r in runs)),
        "false": str(sum(r["converged"] and r["error"] > 3 * r["tol"] for r in runs)),
        "nodes": str(costs["nodes"]),
        "per": f"{_PER:,.0f}",
        "dense": _dense(runs, found["dense"]),
        "commit": found["commit"],
        "table_before": _before(costs["before"]),
        "table_coupled": _coupled(costs["coupled"]),
        "table_grown": _grown(costs["grown"]),
        "from_cells": f"{small['cells']:,}",
        "to_cells": f"{large['cells']:,}",
        "ratio": f"{large['seconds'] / small['seconds']:.1f}",
        "ratio_bytes": f"{_solve_memory(large) / _solve_memory(small):.2f}",
        "ratio_held": f"{large['held'] / small['held']:.2f}",
        "first_cells": f"{first['cells']:,}",
        "first_ratio": f"{small['seconds'] / first['seconds']:.1f}",
        "first_bytes": f"{_solve_memory(small) / _solve_memory(first):.2f}",
        "first_held": f"{small['held'] / first['held']:.2f}",
        "table_shared": _shared(costs["shared"]),
    }


def text() -> str:
    data = (json.loads(store.read_text(encoding="utf-8")) for store in (hard_cells.STORE, cell_costs.STORE))
    return filled(template("hard_cells"), blanks(*data))

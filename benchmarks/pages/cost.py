"""docs/cost.md, from docs/data/engine.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import engine
from benchmarks.measure import table
from benchmarks.pages.text import filled, sci, template

Run = Mapping[str, float]


def read() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(engine.DATA.read_text(encoding="utf-8"))
    return data


def _memory(count: float) -> str:
    return f"{count / 2**30:.2f} GiB" if count > 2**29 else f"{count / 2**20:.0f} MiB"


def _operations(count: float) -> str:
    return f"{count / 1e9:,.0f}"


def _counted(runs: Sequence[Run]) -> str:
    rows = [
        (f"{r['cells']:,.0f}", _operations(r["operations"]), _memory(r["held"]), _memory(r["largest"]),
         _memory(r["traffic"]), f"{r['tasks']:.0f}")
        for r in runs
        if r["workers"] == min(engine.WORKERS[-1:])
    ]  # fmt: skip
    return table(("cells", "10⁹ operations", "memory", "largest task", "communication", "tasks"), rows)


def _grid(runs: Sequence[Run]) -> str:
    rows = [
        (f"{r['cells']:,.0f}", f"{r['functions']:,.0f}", sci(r["error"]), f"{r['assembly']:.1f}",
         f"{r['cpu']:.1f}", _memory(r["bytes"]))
        for r in runs
    ]  # fmt: skip
    head = ("cells", "functions", "error", "assembly (CPU s)", "total (CPU s)", "peak memory")
    return table(head, rows)


def _on(here: Run, runs: Sequence[Run]) -> str:
    rows = [
        (f"{r.get('workers', 0):.0f}", sci(r["error"]), f"{r['seconds']:.1f}",
         f"{r['cpu'] + r.get('worker_cpu', 0.0):.1f}", f"{r['tasks']:.0f}",
         _memory(r["announced"]) if "announced" in r else "")
        for r in (here, *runs)
    ]  # fmt: skip
    return table(("workers", "error", "seconds", "CPU s", "tasks", "predicted memory per worker"), rows)


def _whole(runs: Sequence[Run]) -> str:
    rows = [
        (
            f"{r['workers']:.0f}",
            sci(r["error"]),
            sci(r["estimate"]),
            f"{r['cells']:.0f}",
            f"{r['seconds']:.1f}",
        )
        for r in runs
    ]
    return table(("workers", "error", "estimate", "cells", "seconds"), rows)


def _cluster(runs: Sequence[Run]) -> str:
    rows = [
        (f"{r['workers']:.0f}", f"{r['tasks']:.0f}", f"{100 * r['longest'] / r['operations']:.0f} %",
         f"{r['operations'] / max(r['longest'], r['operations'] / r['workers']):.1f}", _memory(r["traffic"]))
        for r in runs
    ]  # fmt: skip
    return table(("workers", "tasks", "longest chain", "maximum speed-up", "communication"), rows)


def blanks(data: Mapping[str, Any]) -> dict[str, str]:
    grid, most = data["grid"], max(r["cells"] for r in data["counted"])
    small = next(
        r for r in grid if 4 * r["cells"] in [other["cells"] for other in grid[1:]] and r["cells"] > 100
    )
    large = next(r for r in grid if r["cells"] == 4 * small["cells"])
    one = data["on"][0]
    return {
        "nodes": str(data["nodes"]),
        "table_counted": _counted(data["counted"]),
        "table_grid": _grid(grid),
        "ratio_cpu": f"{large['cpu'] / small['cpu']:.1f}",
        "ratio_bytes": f"{(large['bytes'] - large['empty']) / (small['bytes'] - small['empty']):.1f}",
        "from_cells": f"{small['cells']:,.0f}",
        "to_cells": f"{large['cells']:,.0f}",
        "shared_cells": f"{data['here']['cells']:,.0f}",
        "shared_functions": f"{data['here']['functions']:,.0f}",
        "table_on": _on(data["here"], data["on"]),
        "overhead": f"{(one['cpu'] + one['worker_cpu']) / data['here']['cpu']:.1f}",
        "table_whole": _whole(data["whole"]),
        "cluster_cells": f"{most:,.0f}",
        "table_cluster": _cluster([r for r in data["counted"] if r["cells"] == most]),
    }


def text() -> str:
    return filled(template("cost"), blanks(read()))

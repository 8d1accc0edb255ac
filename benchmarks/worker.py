"""Runs one system on one case in its own process, called by benchmarks.run; prints one JSON line per run."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import platform
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import pibls
from benchmarks import peers, store
from benchmarks.peers.adapter import Adapter, CannotError, Setting, Task
from pibls.arrays import Array
from pibls.cases.case import Case

_POINTS = 4000
_DISTRIBUTIONS = {"skfem": "scikit-fem", "jax": "jax", "torch": "torch"}


def held_out(case: Case) -> Array:
    """Return random interior points, the same for every system and not on the nodes of a mesh."""
    return case.problem.domain.interior(_POINTS, np.random.default_rng(20251115))


def grid(case: Case) -> Array:
    """Return a regular grid that includes the boundary, as fine as the evaluation grid of the authors' code.

    Ten points per collocation point, at least 1000 and at most 5000: 71 × 71 in the plane.
    """
    bounds = np.asarray(case.problem.domain.bounds, dtype=float)
    wanted = max(1000, min(10 * case.published.settings["points"].interior, 5000))
    along = math.ceil(round(wanted ** (1 / len(bounds)), 6))
    axes = [np.linspace(low, high, along) for low, high in bounds]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(bounds))


def errors(values: Array, case: Case, X: Array) -> tuple[float, float]:
    """Return maximum and root mean square of u - u*."""
    e = np.asarray(values, dtype=float).reshape(len(X)) - case.exact(*X.T)
    return float(np.abs(e).max()), float(np.sqrt(np.mean(e**2)))


def versions(packages: Any) -> dict[str, str]:
    """Return the installed versions of Python and of packages."""
    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", *packages):
        try:
            found[name] = metadata.version(_DISTRIBUTIONS.get(name, name))
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return processor, number of cores and operating system."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [x for x in info.read_text().splitlines() if x.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    import os

    return {"processor": model, "cores": os.cpu_count(), "system": platform.system()}


def record(adapter: Adapter, case: str, threads: int, **fields: Any) -> store.Run:
    """Return a run record with the common fields filled in."""
    run: store.Run = {
        "system": adapter.name, "case": case, "setting": "", "table": True, "seed": 0, "status": "ok",
        "max_error": None, "l2_error": None, "grid_max_error": None, "grid_l2_error": None, "seconds": None,
        "compile_seconds": None, "settings": {},
        "facts": {}, "note": "", "versions": versions(adapter.packages), "threads": threads,
        "machine": machine(), "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    run.update(fields)
    run["command"] = f"python -m benchmarks.run --system {adapter.name} --case {case} --full --again"
    return run


def run_setting(
    adapter: Adapter, case: Case, setting: Setting, seed: int, threads: int, scratch: Path
) -> store.Run:
    """Run one setting with one seed and compute its errors."""
    X, G = held_out(case), grid(case)
    fields: dict[str, Any] = {
        "setting": setting.label,
        "table": setting.table,
        "seed": seed,
        "settings": dict(setting.values),
    }
    try:
        out = adapter.run(Task(case, setting, seed, np.concatenate([X, G]), threads, scratch))
    except CannotError as reason:
        return record(adapter, case.name, threads, **fields, status="cannot", note=str(reason))
    except Exception as reason:
        traceback.print_exc()
        note = f"{type(reason).__name__}: {reason}"[:300]
        return record(adapter, case.name, threads, **fields, status="failed", note=note)
    inside, on_grid = errors(out.values[: len(X)], case, X), errors(out.values[len(X) :], case, G)
    return record(
        adapter, case.name, threads, **fields,
        status="capped" if out.capped else "ok",
        max_error=inside[0], l2_error=inside[1], grid_max_error=on_grid[0], grid_l2_error=on_grid[1],
        seconds=float(out.seconds), compile_seconds=float(out.compile_seconds),
        facts=dict(out.facts), note=out.note,
    )  # fmt: skip


def scratch_of(state: Path, system: str, case: str, setting: str, seed: int) -> Path:
    """Return the checkpoint folder of a run; the same when it is resumed."""
    plain = "".join(c if c.isalnum() else "-" for c in setting)
    return state / system / f"{case}.{plain}.{seed}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("system")
    parser.add_argument("case")
    parser.add_argument("--setting")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--done", default="[]", help="JSON list of [setting, seed] pairs to skip")
    parser.add_argument("--state", type=Path, default=store.STATE)
    arguments = parser.parse_args()
    adapter, case = peers.adapter(arguments.system), pibls.cases[arguments.case]
    lines = sys.stdout

    def emit(run: store.Run) -> None:
        print(json.dumps(run, ensure_ascii=False), file=lines, flush=True)

    # Output of other libraries must not mix with the JSON lines.
    with redirect_stdout(sys.stderr):
        run_cell(adapter, case, arguments, emit)


def run_cell(
    adapter: Adapter, case: Case, arguments: argparse.Namespace, emit: Callable[[store.Run], None]
) -> None:
    """Run all requested settings and seeds of a cell."""
    done = {(label, seed) for label, seed in json.loads(arguments.done)}
    absence = adapter.missing()
    if absence is not None:
        note = f"{absence}; {adapter.install}"
        emit(record(adapter, case.name, arguments.threads, status="missing", note=note))
        return
    try:
        settings = adapter.settings(case)
    except CannotError as reason:
        emit(record(adapter, case.name, arguments.threads, status="cannot", note=str(reason)))
        return
    for setting in settings:
        if setting.slow and not arguments.full:
            continue
        if arguments.setting and setting.label != arguments.setting:
            continue
        for seed in setting.seeds:
            if (setting.label, seed) in done:
                continue
            scratch = scratch_of(arguments.state, arguments.system, arguments.case, setting.label, seed)
            scratch.mkdir(parents=True, exist_ok=True)
            emit(run_setting(adapter, case, setting, seed, arguments.threads, scratch))


if __name__ == "__main__":
    main()

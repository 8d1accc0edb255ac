"""Stored results: one JSON file per system and case with a list of runs, rewritten after each run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "data"
STATE = Path(__file__).resolve().parent / "state"
"""Checkpoints of interrupted runs; not in git, deleted once the run is in `RESULTS`."""

Run = dict[str, Any]
"""system, case, setting, table, seed, status ("ok", "capped", "cannot", "failed", "missing"), max_error,
l2_error, grid_max_error, grid_l2_error, seconds, compile_seconds, settings, facts, note, versions, threads,
machine, date, command. Runs before 2026-11-18 have no errors on a grid. ``timed``: version and date of the
seconds, where the errors are newer."""


def path_of(system: str, case: str, folder: Path = RESULTS) -> Path:
    return folder / system / f"{case}.json"


def read(system: str, case: str, folder: Path = RESULTS) -> list[Run]:
    path = path_of(system, case, folder)
    if not path.exists():
        return []
    runs: list[Run] = json.loads(path.read_text())
    return runs


def read_all(folder: Path = RESULTS) -> list[Run]:
    """Return all runs of all systems and cases."""
    runs: list[Run] = []
    for path in sorted(folder.glob("*/*.json")):
        runs.extend(json.loads(path.read_text()))
    return runs


def key(run: Run) -> tuple[str, str, str, int]:
    return run["system"], run["case"], run["setting"], run["seed"]


def add(run: Run, folder: Path = RESULTS) -> None:
    """Store a run, replacing an earlier one with the same setting and seed.

    The file is replaced atomically.
    """
    path = path_of(run["system"], run["case"], folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = [r for r in read(run["system"], run["case"], folder) if key(r) != key(run)]
    if run["status"] in ("ok", "capped"):
        # Drop entries of earlier runs that could not run.
        runs = [r for r in runs if r["status"] in ("ok", "capped", "failed")]
    runs.append(run)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n")
    os.replace(temporary, path)


def with_older_seconds(run: Run, folder: Path = RESULTS) -> Run:
    """Return a new run with the seconds of the stored one, if there is a finished one."""
    for old in read(run["system"], run["case"], folder):
        if key(old) == key(run) and old["seconds"] is not None and run["seconds"] is not None:
            timing = {"version": old["versions"].get("pibls", ""), "date": old["date"]}
            kept = {name: old[name] for name in ("seconds", "compile_seconds", "note")}
            return {**run, **kept, "timed": old.get("timed", timing)}
    return run

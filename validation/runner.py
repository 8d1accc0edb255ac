"""Solve many problems, each in a process of its own, and store their records."""

from __future__ import annotations

import json
import multiprocessing
import pkgutil
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pibls
from validation.entry import Entry
from validation.measure import Record, falsely_converged, measure, solved

KILL_AFTER = 600.0
"""Seconds after which a process is killed; the status is then KILLED."""
NUMERICAL = (
    "adaptive", "analysis", "assembly", "basis", "geometry", "linalg", "nonlinear", "problem", "solution",
    "spaces", "time",
)  # fmt: skip
"""Packages whose modules are imported before processor time is measured."""
Key = tuple[str, str, int]
Task = tuple[Entry, int]


def key(record: Record) -> Key:
    return record["set"], record["name"], record["seed"]


def read(path: Path) -> dict[Key, Record]:
    """Return stored records by set, name and seed."""
    return {key(r): r for r in json.loads(path.read_text(encoding="utf-8"))}


def write(path: Path, records: dict[Key, Record]) -> None:
    path.write_text("[\n" + ",\n".join(json.dumps(r) for r in records.values()) + "\n]\n", encoding="utf-8")


def preload() -> None:
    """Import the numerical modules of pibls, so that processor seconds of a solve contain no imports."""
    for module in pkgutil.walk_packages(pibls.__path__, "pibls."):
        if module.name.split(".")[1] in NUMERICAL:
            import_module(module.name)


def _work(task: Task, time_limit: float | None, report: Connection) -> None:
    entry, seed = task
    try:
        report.send(measure(entry, seed, time_limit=time_limit))
    except Exception as error:
        report.send(_failed(task, "CRASHED", f"{type(error).__name__}: {error}"))


def _failed(task: Task, status: str, message: str = "") -> Record:
    entry, seed = task
    return {
        "set": entry.set, "name": entry.name, "tags": list(entry.tags), "seed": seed, "tol": entry.tol,
        "limit": entry.limit, "has_solution": entry.has_solution, "status": status, "converged": False,
        "message": message[-400:],
    }  # fmt: skip


def solve_all(
    tasks: Sequence[Task], *, jobs: int = 1, time_limit: float | None = None, kill_after: float = KILL_AFTER
) -> Iterator[Record]:
    """Yield the record of each task as soon as it is there, with ``jobs`` processes at a time.

    Each task is solved in a fork of this process, so that no solve sees the caches of another one.
    """
    preload()
    context = multiprocessing.get_context("fork")
    waiting, running = list(tasks), dict[Connection, tuple[Any, Task, float]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            task = waiting.pop(0)
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(task, time_limit, sender))
            process.start()
            sender.close()
            running[receiver] = process, task, time.monotonic()
        first = min(began for _, _, began in running.values())
        ready = wait(list(running), timeout=max(0.0, first + kill_after - time.monotonic()))
        late = [r for r, (_, _, began) in running.items() if time.monotonic() - began > kill_after]
        for receiver in [r for r in running if r in ready or r in late]:
            process, task, _ = running.pop(receiver)
            try:
                record = receiver.recv() if receiver in ready else _failed(task, "KILLED")
            except EOFError:
                record = _failed(task, "CRASHED", "the process ended")
            process.kill()
            process.join()
            yield record


def line(record: Record) -> str:
    """Return a record as one line of a table."""
    marks = ["" if solved(record) else "not solved", "FALSE" if falsely_converged(record) else ""]
    marks += ["estimate below error" if record.get("estimate_below") else ""]
    relative = f"{record['error'] / record['tol']:8.1e}" if "error" in record else " " * 8
    ratio = f"{record['ratio']:8.1e}" if "ratio" in record else " " * 8
    return (
        f"{record['set'][:12]:12s} {record['name'][:34]:34s} {record['seed']:4d} {record['status'][:16]:16s} "
        f"{record['tol']:7.0e} {relative} {ratio} {record.get('nodes', 0):7d} "
        f"{record.get('seconds', 0.0):7.2f}  {', '.join(filter(None, marks))}"
    )


HEADER = (
    f"{'set':12s} {'name':34s} {'seed':>4s} {'status':16s} {'tol':>7s} {'err/tol':>8s} {'est/err':>8s} "
    f"{'nodes':>7s} {'CPU s':>7s}"
)


def summary(records: Sequence[Record]) -> str:
    """Return one line per set: how many are solved, converged, falsely converged, below the error."""
    lines = []
    for name in dict.fromkeys(r["set"] for r in records):
        some = [r for r in records if r["set"] == name]
        lines.append(
            f"{name}: {len(some)} solves, {sum(map(solved, some))} solved, "
            f"{sum(r['converged'] for r in some)} converged, {sum(map(falsely_converged, some))} falsely, "
            f"{sum(bool(r.get('estimate_below')) for r in some)} estimates below the error, "
            f"{sum(r['status'] in ('CRASHED', 'KILLED') for r in some)} crashed or killed, "
            f"{sum(r.get('seconds', 0.0) for r in some):.1f} s"
        )
    return "\n".join(lines)


def run(
    chosen: Sequence[Entry], seeds: Sequence[int] = (0,), *, jobs: int = 1, time_limit: float | None = None,
    kill_after: float = KILL_AFTER, out: Path | None = None, show: Callable[[str], None] = print,
) -> list[Record]:  # fmt: skip
    """Solve the entries with each seed; records of other problems in ``out`` are kept."""
    stored = read(out) if out is not None and out.exists() else {}
    tasks = [(entry, seed) for seed in seeds for entry in chosen]
    records: dict[Key, Record] = {}
    show(HEADER)
    for record in solve_all(tasks, jobs=jobs, time_limit=time_limit, kill_after=kill_after):
        records[key(record)] = stored[key(record)] = record
        show(line(record))
        if out is not None:
            write(out, stored)
    show("\n" + summary(list(records.values())))
    return list(records.values())

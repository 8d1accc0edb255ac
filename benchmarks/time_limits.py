"""Test of time limits and interruptions: wall time of solves that would take longer.

python -m benchmarks.time_limits run [--quick] [NAME …]   each problem × limit × threads × load
python -m benchmarks.time_limits engine [NAME …]          each problem × limit with two Dask worker processes
python -m benchmarks.time_limits interrupt [COUNT]        SIGINT at random times (seeded)
python -m benchmarks.time_limits table                    print the stored results as a table

A limit holds where the wall time is at most 1.3 × limit + 0.3 s, with an engine limit + 2 s; an interruption
is handled in time where `solve` returns or raises within 1 s. Every solve runs in its own process, in which
pibls is imported and the problem built before the measurement starts. "busy": two other processes use the
CPU. Results are stored after each run; stored runs are not repeated.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
from validation.sets.time_limits import PROBLEMS

from benchmarks.store import STATE

STORED = STATE / "time_limits.json"
LIMITS, THREADS, LOADS = (0.5, 2.0, 10.0), (1, 2), ("quiet", "busy")
QUICK = ("cube", "cavity", "many discs", "Gray-Scott", "wave in a room", "Lorenz")
MAX_INTERRUPT_DELAY = 1.0  # largest seconds between SIGINT and the end of the solve
KILL_AFTER = 180.0  # seconds after which a process is killed


def max_wall_time(limit: float) -> float:
    """Return the largest wall time for a time limit."""
    return 1.3 * limit + 0.3


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Yield a Dask client with single-threaded worker processes, or None."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as local, Client(local) as client:
        yield client


def solve_with_cluster(name: str, limit: float | None, workers: int = 0) -> dict[str, Any]:
    """Solve once in this process; SIGINT after the line "begun" interrupts the solve."""
    with cluster(workers) as client:
        return measure(name, limit, client)


def measure(name: str, limit: float | None, client: Any) -> dict[str, Any]:
    """Return status, wall time and processor time of one solve."""
    import pibls

    signal.signal(signal.SIGINT, signal.default_int_handler)
    problem, tol = PROBLEMS[name]()
    print("begun", flush=True)
    began, processor = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = pibls.solve(problem, tol=tol, time_limit=limit, engine=client)
        status = solution.status.name
    except KeyboardInterrupt:
        status = "KeyboardInterrupt"
    stop = time.perf_counter()
    return {"status": status, "wall": stop - began, "processor": time.process_time() - processor}


@contextmanager
def background_load(load: str) -> Iterator[None]:
    """Run two processes that use the CPU if the load is "busy"."""
    count = 2 if load == "busy" else 0
    busy_processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy_processes:
            process.kill()
            process.wait()


def start_solve(name: str, limit: float | None, threads: int, workers: int = 0) -> subprocess.Popen[str]:
    """Start a process and return it when its solve has begun."""
    count = str(threads)
    env = {**os.environ, "OPENBLAS_NUM_THREADS": count, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # use cached bytecode, as an installed package does
    command = [sys.executable, "-m", "benchmarks.time_limits", "solve", name, repr(limit), str(workers)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while (line := process.stdout.readline()) and line.strip() != "begun":
        pass
    return process


def wait_for(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a process and return its record."""
    try:
        out, err = process.communicate(timeout=KILL_AFTER)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"status": "killed", "wall": KILL_AFTER, "processor": float("nan")}
    if not out.strip().endswith("}"):
        why = f"exit code {process.returncode} {err.strip()[-80:]}"
        return {"status": why, "wall": float("nan"), "processor": float("nan")}
    found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return found


def stored() -> dict[str, dict[str, Any]]:
    return json.loads(STORED.read_text()) if STORED.exists() else {}


def store(key: str, row: dict[str, Any]) -> None:
    STORED.parent.mkdir(parents=True, exist_ok=True)
    STORED.write_text(json.dumps({**stored(), key: row}, indent=1) + "\n")


def run(names: Sequence[str], *, quick: bool) -> None:
    """Measure all combinations of problem, limit, threads and load."""
    chosen = names or (QUICK if quick else tuple(PROBLEMS))
    for load, threads, limit, name in product(LOADS, THREADS, LIMITS[:2] if quick else LIMITS, chosen):
        key = f"{name} | {limit:g} s | {threads} | {load}"
        if key in stored():
            continue
        with background_load(load):
            row = wait_for(start_solve(name, limit, threads))
        row["holds"] = row["wall"] <= max_wall_time(limit)
        store(key, row)
        print(line(key, row), flush=True)


def engine(names: Sequence[str]) -> None:
    """Measure with two Dask workers: wall time ≤ limit + 2 s."""
    for limit, name in product(LIMITS, names or tuple(PROBLEMS)):
        key = f"{name} | {limit:g} s | 1 | 2 Dask workers"
        if key in stored():
            continue
        row = wait_for(start_solve(name, limit, 1, workers=2))
        row["holds"] = row["wall"] <= limit + 2.0
        store(key, row)
        print(line(key, row), flush=True)


def interrupt(count: int) -> None:
    """Send SIGINT after a random time of up to ten seconds; half of the runs on a busy machine."""
    rng = np.random.default_rng(25)
    for i in range(count):
        name = str(rng.choice(list(PROBLEMS)))
        after, threads = float(rng.uniform(0.2, 10.0)), int(rng.integers(1, 3))
        load = LOADS[i % 2]
        key = f"SIGINT {i}: {name} | {after:.2f} s | {threads} | {load}"
        if key in stored():
            continue
        with background_load(load):
            process = start_solve(name, None, threads)
            began = time.perf_counter()
            time.sleep(after)
            finished, sent = process.poll() is not None, time.perf_counter() - began
            if not finished:
                process.send_signal(signal.SIGINT)
            row = wait_for(process)
        row["late"] = row["wall"] - sent
        row["holds"] = row["late"] <= MAX_INTERRUPT_DELAY
        store(key, row)
        print(line(key, row), flush=True)


def line(key: str, row: dict[str, Any]) -> str:
    late = f" ({row['late']:+.2f} s)" if "late" in row else ""
    verdict = "holds" if row["holds"] else "LATE"
    return f"| {key} | {row['wall']:.2f} s{late} | {row['processor']:.2f} s | {row['status']} | {verdict} |"


def table() -> str:
    rows = stored()
    out = ["| problem | limit | BLAS threads | load | wall | processor | status | |", "|" + " --- |" * 8]
    out += [line(key, row) for key, row in rows.items()]
    late = sum(not row["holds"] for row in rows.values())
    return "\n".join([*out, "", f"{len(rows) - late} of {len(rows)} hold."])


def main() -> None:
    what, *rest = sys.argv[1:] or ["table"]
    if what == "solve":
        limit = None if rest[1] == "None" else float(rest[1])
        print(json.dumps(solve_with_cluster(rest[0], limit, int(rest[2]))))
    elif what == "run":
        run([name for name in rest if name != "--quick"], quick="--quick" in rest)
    elif what == "engine":
        engine(rest)
    elif what == "interrupt":
        interrupt(int(rest[0]) if rest else 20)
    else:
        print(table())


if __name__ == "__main__":
    main()

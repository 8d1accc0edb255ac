"""Whether time limits hold and interruptions arrive: wall time of solves that would take longer.

python -m benchmarks.time_limits run [--quick] [NAME …]   each problem × limit × threads × load
python -m benchmarks.time_limits engine [NAME …]          each problem × limit with two Dask worker processes
python -m benchmarks.time_limits interrupt [COUNT]        SIGINT at random times (seeded)
python -m benchmarks.time_limits table                    what is stored, as a table

A limit holds where the wall time is at most 1.3 × limit + 0.3 s, with an engine limit + 2 s; an interruption
has arrived where `solve` returns, or raises, within 1 s. Every solve is a process of its own, in which pibls is imported and the
problem stated before the clock starts. "busy": two processes that compute run beside it. Results are
stored after each run, and a run that is stored is not repeated.
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

from benchmarks.store import STATE
from benchmarks.time_limit_problems import PROBLEMS

STORED = STATE / "time_limits.json"
LIMITS, THREADS, LOADS = (0.5, 2.0, 10.0), (1, 2), ("quiet", "busy")
QUICK = ("cube", "cavity", "many discs", "Gray-Scott", "wave in a room", "Lorenz")
ARRIVES = 1.0  # seconds after SIGINT
LONGEST = 180.0  # seconds after which a process is killed


def allowed(limit: float) -> float:
    return 1.3 * limit + 0.3


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A Dask client with worker processes of one thread each, or None."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as local, Client(local) as client:
        yield client


def solved(name: str, limit: float | None, workers: int = 0) -> dict[str, Any]:
    """Solve once in this process; SIGINT at the line "begun" and later reaches the solve."""
    with cluster(workers) as client:
        return measured(name, limit, client)


def measured(name: str, limit: float | None, client: Any) -> dict[str, Any]:
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
    ended = time.perf_counter()
    return {"status": status, "wall": ended - began, "processor": time.process_time() - processor}


@contextmanager
def beside(load: str) -> Iterator[None]:
    """Two processes that compute, or none."""
    count = 2 if load == "busy" else 0
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def started(name: str, limit: float | None, threads: int, workers: int = 0) -> subprocess.Popen[str]:
    """A process that has begun to solve."""
    count = str(threads)
    env = {**os.environ, "OPENBLAS_NUM_THREADS": count, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as where they are installed
    command = [sys.executable, "-m", "benchmarks.time_limits", "solve", name, repr(limit), str(workers)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while (line := process.stdout.readline()) and line.strip() != "begun":
        pass
    return process


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    try:
        out, err = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"status": "killed", "wall": LONGEST, "processor": float("nan")}
    if not out.strip().endswith("}"):
        why = f"exit code {process.returncode} {err.strip()[-80:]}"
        return {"status": why, "wall": float("nan"), "processor": float("nan")}
    found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return found


def stored() -> dict[str, dict[str, Any]]:
    return json.loads(STORED.read_text()) if STORED.exists() else {}


def keep(key: str, row: dict[str, Any]) -> None:
    STORED.parent.mkdir(parents=True, exist_ok=True)
    STORED.write_text(json.dumps({**stored(), key: row}, indent=1) + "\n")


def run(names: Sequence[str], *, quick: bool) -> None:
    chosen = names or (QUICK if quick else tuple(PROBLEMS))
    for load, threads, limit, name in product(LOADS, THREADS, LIMITS[:2] if quick else LIMITS, chosen):
        key = f"{name} | {limit:g} s | {threads} | {load}"
        if key in stored():
            continue
        with beside(load):
            row = ended(started(name, limit, threads))
        row["holds"] = row["wall"] <= allowed(limit)
        keep(key, row)
        print(line(key, row), flush=True)


def engine(names: Sequence[str]) -> None:
    """Two worker processes: wall time ≤ limit + 2 s."""
    for limit, name in product(LIMITS, names or tuple(PROBLEMS)):
        key = f"{name} | {limit:g} s | 1 | 2 Dask workers"
        if key in stored():
            continue
        row = ended(started(name, limit, 1, workers=2))
        row["holds"] = row["wall"] <= limit + 2.0
        keep(key, row)
        print(line(key, row), flush=True)


def interrupt(count: int) -> None:
    """SIGINT after a random time of up to ten seconds; half of them on a busy machine."""
    rng = np.random.default_rng(25)
    for i in range(count):
        name = str(rng.choice(list(PROBLEMS)))
        after, threads = float(rng.uniform(0.2, 10.0)), int(rng.integers(1, 3))
        load = LOADS[i % 2]
        key = f"SIGINT {i}: {name} | {after:.2f} s | {threads} | {load}"
        if key in stored():
            continue
        with beside(load):
            process = started(name, None, threads)
            began = time.perf_counter()
            time.sleep(after)
            finished, sent = process.poll() is not None, time.perf_counter() - began
            if not finished:
                process.send_signal(signal.SIGINT)
            row = ended(process)
        row["late"] = row["wall"] - sent
        row["holds"] = row["late"] <= ARRIVES
        keep(key, row)
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
        print(json.dumps(solved(rest[0], limit, int(rest[2]))))
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

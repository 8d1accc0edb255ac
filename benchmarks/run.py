"""Run the systems of the comparison on the eleven cases; results are stored in docs/benchmarks/data.

python -m benchmarks.run                                    missing results of the quick settings
python -m benchmarks.run --full                             also the slow settings; can be interrupted
python -m benchmarks.run --system fenics-p2 --case TC-5     one cell
python -m benchmarks.run --system pibls --case TC-5 --again one cell, repeated
python -m benchmarks.run --system pibls --again --errors    new errors, stored seconds (for a busy machine)
python -m benchmarks.run --system pinn2 --case TC-5 --setting full --full   hours; resumes when repeated

Long runs write checkpoints to benchmarks/state; the same command resumes from there. Each system and case
runs in its own process, with the number of threads set before any import.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pibls
from benchmarks import peers, store, worker

ROOT = Path(__file__).resolve().parents[1]

_LIMIT = 4 * 3600.0
_PINNED = (
    "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NGS_NUM_THREADS",
)  # fmt: skip


def environment(threads: int) -> dict[str, str]:
    """Return the environment variables with all known thread pools limited."""
    pinned = dict.fromkeys(_PINNED, str(threads))
    # XLA has its own thread pool, independent of OpenMP.
    xla = "--xla_cpu_multi_thread_eigen=" + ("false" if threads == 1 else "true")
    return {**os.environ, **pinned, "XLA_FLAGS": xla, "DDE_BACKEND": "pytorch", "PYTHONPATH": str(ROOT)}


def command(system: str, case: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.worker", system, case, *options]


def runs_of(arguments: argparse.Namespace, system: str, case: str) -> Iterator[store.Run]:
    """Yield the runs of one cell as its process reports them."""
    options = ["--threads", str(arguments.threads), "--state", str(arguments.state)]
    options += ["--full"] if arguments.full else []
    options += ["--setting", arguments.setting] if arguments.setting else []
    if not arguments.again:
        done = [
            [r["setting"], r["seed"]]
            for r in store.read(system, case, arguments.results)
            if r["status"] in ("ok", "capped")
        ]
        options += ["--done", json.dumps(done)]
    process = subprocess.Popen(
        command(system, case, *options), stdout=subprocess.PIPE, text=True, env=environment(arguments.threads)
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
        code = process.wait(timeout=_LIMIT)
    except BaseException:
        process.terminate()
        raise
    if code != 0:
        print(f"{system} {case}: the process ended with code {code}", file=sys.stderr, flush=True)


def run_text(run: store.Run) -> str:
    name = f"{run['system']:16s} {run['case']:6s} {run['setting']:24s} seed {run['seed']}"
    if run["status"] in ("ok", "capped"):
        return f"{name}: {run['max_error']:.1e} in {run['seconds']:.3g} s  {run['note']}"
    return f"{name}: {run['status']}: {run['note']}"


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--system", action="append", choices=list(peers.MODULES))
    parser.add_argument("--case", action="append", choices=list(pibls.cases))
    parser.add_argument("--setting", help="only the setting with this label")
    parser.add_argument("--full", action="store_true", help="also the slow settings")
    parser.add_argument("--again", action="store_true", help="also repeat stored runs")
    parser.add_argument(
        "--errors", action="store_true", help="with --again: new errors, stored seconds (for a busy machine)"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=store.RESULTS)
    parser.add_argument(
        "--state", type=Path, default=store.STATE, help="folder of checkpoints of interrupted runs"
    )
    return parser.parse_args(words)


def delete_checkpoints(run: store.Run, state: Path) -> None:
    """Delete the checkpoints of a stored run."""
    shutil.rmtree(
        worker.scratch_of(state, run["system"], run["case"], run["setting"], run["seed"]), ignore_errors=True
    )


def main(words: list[str] | None = None) -> None:
    arguments = parse_arguments(words)
    # SIGTERM also ends the worker, as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for system in arguments.system or list(peers.MODULES):
        for case in arguments.case or list(pibls.cases):
            for run in runs_of(arguments, system, case):
                kept = store.with_older_seconds(run, arguments.results) if arguments.errors else run
                store.add(kept, arguments.results)
                if run["status"] != "failed":
                    delete_checkpoints(run, arguments.state)
                print(run_text(run), flush=True)


if __name__ == "__main__":
    main()

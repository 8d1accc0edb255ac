"""The command line of the problem lists: list, verify, run, compare."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import validation
from validation.compare import compare
from validation.registry import DEFAULT, SETS, entries
from validation.runner import KILL_AFTER, run
from validation.verify import verify


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    out = argparse.ArgumentParser(
        prog="python -m validation", description=validation.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    actions = out.add_subparsers(dest="action", required=True)
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--set", nargs="+", choices=tuple(SETS), default=[], help="problem sets")
    chosen.add_argument("--only", nargs="+", default=[], help="names of problems")
    chosen.add_argument("--tag", nargs="+", default=[], help="keep problems that have all these tags")
    actions.add_parser("list", parents=[chosen], help="print the problems of the registry")
    actions.add_parser("verify", parents=[chosen], help="check references without the solver")
    solve = actions.add_parser("run", parents=[chosen], help=f"solve (default: {', '.join(DEFAULT)})")
    solve.add_argument("--seeds", type=int, nargs="+", default=[0])
    solve.add_argument("--jobs", type=int, default=1, help="processes at a time")
    solve.add_argument("--time-limit", type=float, help="time_limit of every solve, in seconds")
    solve.add_argument("--kill-after", type=float, default=KILL_AFTER, help="seconds of a process")
    solve.add_argument("--out", type=Path, help="file of the records; those of other problems are kept")
    two = actions.add_parser("compare", help="compare the records of two runs")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    two.add_argument("--all", action="store_true", help="print equal solves too")
    return out


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = parser().parse_args(arguments)
    if given.action == "compare":
        return int(compare(given.old, given.new, everything=given.all) > 0)
    sets = given.set or (DEFAULT if given.action == "run" and not given.only else ())
    found = entries(sets, given.only, given.tag)
    missing = sorted(set(given.only) - {e.name for e in found})
    if missing:
        print(f"no problem {', '.join(missing)}; python -m validation list shows all", file=sys.stderr)
        return 2
    if given.action == "list":
        for e in found:
            print(f"{e.set:12s} {e.name:44s} {e.tol:7.0e}  {', '.join(e.tags)}")
        return 0
    if given.action == "verify":
        return int(not verify(found))
    run(found, given.seeds, jobs=given.jobs, time_limit=given.time_limit, kill_after=given.kill_after,
        out=given.out)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""docs/benchmarks/shapes.md, from docs/data/shapes.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "shapes.json"
INTRODUCTION = """# Shapes and fields

Problems on shapes, for several unknowns and in many dimensions, each with `pibls.solve(problem, tol=tol)`
and nothing else given. Errors are relative to max|u| of each unknown, against exact solutions or NGSolve at
high order; the worst of all seeds. "Estimate / error" is the least of all seeds and unknowns: the estimate
holds where it is at least 1. Seconds are processor time of one thread, the median of all seeds, on a machine
that was busy with other things.

The last column is NGSolve: the processor seconds, meshing included, of the first order of curved elements on
a fixed mesh whose error is within what was wanted; in the same run. It was not asked for an estimate of its
error. Shapes that it has no mesh for here (a level set, a spline) and problems that were not set up for it
have none. The cavities are compared with elements of order 9, graded towards the corners, at 1,073 points
further than 0.1 from the upper ones. Its meshes were not tuned: in the
ball a finer one took 10 s at order 12.

One commit, three processes: seed 0 of everything beside NGSolve, the cavities, and seeds 1 to 4 of what
takes about a second.

"""
TABLE = """| problem | wanted | seeds | worst error | estimate / error | converged | seconds | NGSolve |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def text() -> str:
    """The page."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for run in json.loads(DATA.read_text()):
        runs.setdefault(run["name"], []).append(run)
    rows = [_row(name, found) for name, found in runs.items()]
    everything = [run for found in runs.values() for run in found]
    held = sum(run["holds"] for run in everything)
    false = sum(run["converged"] and run["error"] > 3 * run["tol"] for run in everything)
    close = (
        f"\nOf {len(everything)} runs the estimate was above the error in {held}; {false} were called "
        "converged with an error above three times the tolerance.\n\n"
        "`python -m benchmarks.shapes` measures it anew (`benchmarks/shape_problems.py` has the problems).\n"
    )
    return INTRODUCTION + TABLE + "\n".join(rows) + "\n" + close


def _row(name: str, found: list[dict[str, Any]]) -> str:
    worst = max(run["error"] for run in found)
    seconds = sorted(run["seconds"] for run in found)[len(found) // 2]
    done = sum(run["converged"] for run in found)
    peer = next((run["ngsolve"] for run in found if "ngsolve" in run), None)
    missed = "" if peer is None or peer["error"] <= found[0]["goal"] else f", reaches {peer['error']:.0e}"
    beside = "" if peer is None else f"{peer['seconds']:.2f} s, order {peer['order']:.0f}{missed}"
    ratio = min(run["ratio"] for run in found)
    cells = [
        name, f"{found[0]['goal']:.0e}", str(len(found)), f"{worst:.0e}", f"{ratio:.1f}",
        f"{done} of {len(found)}", f"{seconds:.1f}", beside,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"

"""docs/benchmarks/shapes.md, from docs/data/shapes.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "docs" / "data" / "shapes.json"
INTRODUCTION = """# Shapes, systems and high dimensions

Problems on shapes, with several unknowns and in many dimensions, each solved by `pibls.solve(problem,
tol=tol)` without further settings.

- *Errors* are relative to max|u| of each unknown, against exact solutions or NGSolve at high order; the
  largest of all seeds. The cavities are compared with elements of order 9, graded towards the corners, at
  1,073 points further than 0.1 from the upper corners.
- *Estimate / error* is the smallest of all seeds and unknowns. The estimate holds if it is at least 1.
- *Seconds* are processor time of one thread, the median of all seeds, on a busy machine.
- *NGSolve*: processor seconds, including meshing, of the lowest order of curved elements on a fixed mesh
  whose error is within the required one, in the same run and without an error estimate. The column is empty
  for shapes without a mesh (a level set, a spline) and for problems that were not set up in NGSolve. The
  meshes were not tuned: in the ball a finer mesh took 10 s at order 12.

All runs are of one commit in three processes: seed 0 of all problems together with NGSolve, the cavities,
and seeds 1 to 4 of problems that take about a second.

"""
TABLE = """| problem | required | seeds | worst error | estimate / error | converged | seconds | NGSolve |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def text() -> str:
    """Return the page."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for run in json.loads(DATA.read_text()):
        runs.setdefault(run["name"], []).append(run)
    rows = [_row(name, found) for name, found in runs.items()]
    everything = [run for found in runs.values() for run in found]
    held = sum(run["holds"] for run in everything)
    false = sum(run["converged"] and run["error"] > 3 * run["tol"] for run in everything)
    close = (
        f"\nOf {len(everything)} runs the estimate was above the error in {held}; {false} were reported "
        "as converged with an error above three times the tolerance.\n\n"
        "`python -m benchmarks.shapes` repeats the measurement (problems: `benchmarks/shape_problems.py`).\n"
    )
    return INTRODUCTION + TABLE + "\n".join(rows) + "\n" + close


def _row(name: str, found: list[dict[str, Any]]) -> str:
    worst = max(run["error"] for run in found)
    seconds = sorted(run["seconds"] for run in found)[len(found) // 2]
    done = sum(run["converged"] for run in found)
    peer = next((run["ngsolve"] for run in found if "ngsolve" in run), None)
    missed = "" if peer is None or peer["error"] <= found[0]["goal"] else f", error {peer['error']:.0e}"
    peer_text = "" if peer is None else f"{peer['seconds']:.2f} s, order {peer['order']:.0f}{missed}"
    ratio = min(run["ratio"] for run in found)
    cells = [
        name, f"{found[0]['goal']:.0e}", str(len(found)), f"{worst:.0e}", f"{ratio:.1f}",
        f"{done} of {len(found)}", f"{seconds:.1f}", peer_text,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"

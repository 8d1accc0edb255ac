"""Cost of cell discretizations: CPU seconds and memory, stored in docs/data/cell_costs.json.

- before: the same public call, `solve(problem, basis=Decomposed(…))`, by this version and by a checkout of
  0.1.0, alternately, each in its own process (`benchmarks.decomposed`): CPU seconds per 10,000 functions;
- coupled: cells coupled directly, T₁w₁ = T₂w₂ (as in 0.1.0), and through trace unknowns, both with the
  current QR, in one process;
- grown: 64 to 1,600 cells with the same number of functions in each: CPU seconds and peak memory, of the
  process and, in a second run, traced by Python;
- shared: `solve` for a peak in a disc with zero, one and two local Dask workers.

    git worktree add /tmp/before d685bed
    python -m benchmarks.cell_costs --before /tmp/before [--only before coupled grown shared]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.engine import NODES, cluster_of, run_in_new_process, spaces
from benchmarks.measure import resident, threads
from pibls.adaptive.hybridized import cell_system
from pibls.adaptive.validation.context import ValidationContext
from pibls.basis.scale import scale_for
from pibls.linalg.tree import block_qr
from pibls.linalg.tree.block_sparse import BlockSparseMatrix, RowStrip
from pibls.nonlinear import GaussNewton
from pibls.spaces import CellSpace

STORE = Path(__file__).resolve().parents[1] / "docs" / "data" / "cell_costs.json"
BEFORE = ((8, NODES), (12, NODES), (16, NODES), (8, 2 * NODES))
COUPLED = (8, 12, 16)
GROWN = (8, 16, 32, 40)
WORKERS = (0, 1, 2)
x, y = sp.symbols("x y")


def before(side: int, nodes: int, checkout: Path) -> dict[str, float]:
    """Time `Decomposed` of an older checkout and of this one, alternately: the best of two processes each."""
    scale = scale_for("waves", nodes, 2)
    found: dict[str, list[dict[str, Any]]] = {"before": [], "now": []}
    for _ in range(2):
        for name, root in (("before", checkout), ("now", STORE.parents[2])):
            script = [sys.executable, str(STORE.parents[2] / "benchmarks" / "decomposed.py")]
            command = [*script, str(side), str(nodes), str(scale), "2"]
            variables = {"PYTHONPATH": str(root / "src"), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=os.environ | variables
            )
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
    per = 1e4 / (nodes * side**2)
    out = {
        "cells": side**2,
        "functions": nodes * side**2,
        **{name: per * min(r["seconds"] for r in runs) for name, runs in found.items()},
        **{f"error_{name}": runs[0]["error"] for name, runs in found.items()},
        "version": found["before"][0]["version"],
    }
    print("before", side, nodes, out, flush=True)
    return out


def coupled(side: int) -> dict[str, float]:
    """Time both couplings of side × side cells in one process, and return the difference of the solutions."""
    context, space = spaces(side)
    system = cell_system(context.compiled, context.domain, space)
    with threads(1):
        start = time.process_time()
        J, b = system.linearize(np.empty(0))
        traces = block_qr.factor(J, np.where(J.row_norms > 0, J.row_norms, 1.0), 1e-15)
        w = traces.apply(b)[: space.columns]
        new = time.process_time() - start
        start = time.process_time()
        matrix, target = directly_coupled_system(system, space)
        old = block_qr.factor(matrix, np.where(matrix.row_norms > 0, matrix.row_norms, 1.0), 1e-15)
        v = old.apply(target)
        before = time.process_time() - start
    X = context.comparison_points.even
    derivatives = (pibls.problem.PartialDerivative(0, (0, 0)),)
    apart = np.abs(space.values((X,), derivatives, w) - space.values((X,), derivatives, v)).max()
    per = 1e4 / space.columns
    return {
        "cells": side**2,
        "functions": space.columns,
        "traces": per * new,
        "direct": per * before,
        "apart": float(apart),
    }


def directly_coupled_system(system: Any, space: CellSpace) -> tuple[BlockSparseMatrix, np.ndarray[Any, Any]]:
    """Return the system with T_low w_low - T_high w_high = 0 in place of trace unknowns."""
    (batch,) = system.batches
    strips, targets = list[RowStrip](), list[np.ndarray[Any, Any]]()
    known: dict[int, tuple[int, np.ndarray[Any, Any]]] = {}
    for rows in batch:
        cell, own = rows.cell, rows.system
        strips.append(RowStrip((cell,), (own.linear,)))
        targets.append(-own.constant)
        for strip in rows.face_strips:
            other = known.pop(strip.parts[1], None)
            if other is None:
                known[strip.parts[1]] = (cell, strip.blocks[0])
            else:
                strips.append(RowStrip((other[0], cell), (other[1], -strip.blocks[0])))
                targets.append(np.zeros(len(strip.blocks[0])))
    columns = tuple(np.arange(a, b) for a, b in zip(space.starts[:-1], space.starts[1:], strict=True))
    return BlockSparseMatrix.of(strips, columns), np.concatenate(targets)


def grown(side: int) -> dict[str, float]:
    """Measure one linear solve in side × side cells: CPU seconds and peak memory.

    ``bytes`` is the peak memory of the process, ``empty`` its memory with everything imported and the problem
    compiled, ``seconds`` the best of three more solves, ``held`` the peak traced by Python in a last one.
    """
    import resource
    import tracemalloc

    import pibls.adaptive.cells.strategy  # noqa: F401 - not part of the measurement

    with threads(1):
        context, space = spaces(side)
        empty = resident()
        _solved(context, space)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
        seconds = min(_solved(context, space) for _ in range(3))
        tracemalloc.start()
        _solved(context, space)
        traced = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    found = {"seconds": seconds, "bytes": peak, "empty": empty, "held": traced}
    return {"cells": side**2, "functions": space.columns, **found}


def _solved(context: ValidationContext, space: CellSpace) -> float:
    start = time.process_time()
    system = cell_system(context.compiled, context.domain, space)
    GaussNewton(rounds=0).solve(system, np.random.default_rng(0))
    return time.process_time() - start


def shared(workers: int) -> dict[str, Any]:
    """Measure `solve` for a peak in a disc, which is resolved by cells, with this number of local workers."""
    u = sp.Function("u")(x, y)
    peak = sp.exp(-1000 * ((x - sp.Rational(1, 5)) ** 2 + (y - sp.Rational(3, 10)) ** 2))
    disc = pibls.Disk((x, y), (0, 0), 1)
    equation = sp.Eq(u.diff(x, 2) + u.diff(y, 2), peak.diff(x, 2) + peak.diff(y, 2))
    problem = pibls.Problem(disc, [equation], [pibls.Dirichlet(u, peak)])
    X = np.asarray(disc.interior(4000, np.random.default_rng(1)))
    X = np.concatenate([X, 0.1 * X + np.array([0.2, 0.3])])
    exact = sp.lambdify((x, y), peak)(*X.T)

    def measure(engine: Any) -> dict[str, Any]:
        wall_start, start = time.perf_counter(), time.process_time()
        with warnings.catch_warnings(), threads(1):
            warnings.simplefilter("ignore")
            s = pibls.solve(problem, tol=1e-8, engine=engine)
        return {
            "workers": workers,
            "error": float(np.abs(s(*X.T) - exact).max()),
            "estimate": float(s.error.max),
            "status": s.status.name,
            "cells": int(s.settings.get("cells", 1)),
            "seconds": time.perf_counter() - wall_start,
            "cpu": time.process_time() - start,
            "value": float(s(0.21, 0.32)),
        }

    with cluster_of(workers) as client:
        if client is None:
            return measure(None)
        before = sum(client.run(time.process_time).values())
        found = measure(client)
        found["cpu"] += sum(client.run(time.process_time).values()) - before
        return found


def main() -> None:
    sizes = {"coupled": (coupled, COUPLED), "grown": (grown, GROWN), "shared": (shared, WORKERS)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("one", nargs="*", help="one measurement and its size: printed, not stored")
    parser.add_argument("--before", type=Path, help="a checkout of 0.1.0")
    parser.add_argument("--only", nargs="+", default=["before", *sizes], help="measurements to run")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(sizes[given.one[0]][0](int(given.one[1]))))
        return
    data: dict[str, Any] = json.loads(STORE.read_text(encoding="utf-8")) | {"nodes": NODES}
    if "before" in given.only and given.before is None:
        print("skipped Decomposed of 0.1.0, stored figures kept: pass a checkout of d685bed as --before")
    elif "before" in given.only:
        data["before"] = [before(*size, given.before) for size in BEFORE]
    for kind in [k for k in sizes if k in given.only]:
        data[kind] = [run_in_new_process(__file__, kind, size) for size in sizes[kind][1]]
    STORE.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

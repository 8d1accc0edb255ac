"""What cells cost: the old coupling beside traces, four times the cells, other processes.

Three measurements of issue 12, stored in docs/data/cell_costs.json (`python -m benchmarks.cell_costs`):

- the same cells tied to each other, T₁w₁ = T₂w₂ (as `Decomposed` was, eliminated by minimum degree), and to
  traces of their own: processor seconds of the elimination for each 10,000 functions, in one process;
- four times the cells at the same number of functions in each, from 64 to 1,600 cells: processor seconds;
- one solve through the front door, a peak in a disc, with no, one and two local Dask workers.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.engine import NODES, cluster_of, fresh_of, spaces
from benchmarks.measure import threads
from pibls.linalg import block_qr
from pibls.linalg.blocks import Blocks, Strip
from pibls.search.divided import cell_system
from pibls.solver import GaussNewton
from pibls.space import Cells

STORE = Path(__file__).resolve().parents[1] / "docs" / "data" / "cell_costs.json"
COUPLED = (8, 12, 16)
GROWN = (8, 16, 32, 40)
WORKERS = (0, 1, 2)
x, y = sp.symbols("x y")


def coupled(side: int) -> dict[str, float]:
    """Both couplings of side × side cells, in one process: seconds, and how far apart the solutions are."""
    bench, space = spaces(side)
    system = cell_system(bench.lowered, bench.domain, space)
    with threads(1):
        began = time.process_time()
        J, b = system.linearise(np.empty(0))
        traces = block_qr.factor(J, np.where(J.row_norms > 0, J.row_norms, 1.0), 1e-15)
        w = traces.apply(b)[: space.columns]
        new = time.process_time() - began
        began = time.process_time()
        matrix, target = tied_to_each_other(system, space)
        old = block_qr.factor(matrix, np.where(matrix.row_norms > 0, matrix.row_norms, 1.0), 1e-15)
        v = old.apply(target)
        before = time.process_time() - began
    X = bench.where.even
    jets = (pibls.problem.Jet(0, (0, 0)),)
    apart = np.abs(space.values((X,), jets, w) - space.values((X,), jets, v)).max()
    per = 1e4 / space.columns
    return {
        "cells": side**2,
        "functions": space.columns,
        "traces": per * new,
        "direct": per * before,
        "apart": float(apart),
    }


def tied_to_each_other(system: Any, space: Cells) -> tuple[Blocks, np.ndarray[Any, Any]]:
    """The system with T_low w_low - T_high w_high = 0 in place of the traces."""
    (piece,) = system.pieces
    strips, targets = list[Strip](), list[np.ndarray[Any, Any]]()
    known: dict[int, tuple[int, np.ndarray[Any, Any]]] = {}
    for cell, own, ties in zip(piece.cells, piece.systems, piece.ties, strict=True):
        strips.append(Strip((cell,), (own.linear,)))
        targets.append(-own.constant)
        for tie in ties:
            other = known.pop(tie.parts[1], None)
            if other is None:
                known[tie.parts[1]] = (cell, tie.blocks[0])
            else:
                strips.append(Strip((other[0], cell), (other[1], -tie.blocks[0])))
                targets.append(np.zeros(len(tie.blocks[0])))
    columns = tuple(np.arange(a, b) for a, b in zip(space.starts[:-1], space.starts[1:], strict=True))
    return Blocks(tuple(strips), columns), np.concatenate(targets)


def grown(side: int) -> dict[str, float]:
    """One linear solve in side × side cells."""
    import resource

    bench, space = spaces(side)
    with threads(1):
        began = time.process_time()
        system = cell_system(bench.lowered, bench.domain, space)
        GaussNewton(rounds=0).solve(system, np.random.default_rng(0))
        seconds = time.process_time() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return {"cells": side**2, "functions": space.columns, "seconds": seconds, "bytes": most}


def shared(workers: int) -> dict[str, Any]:
    """The front door: a peak in a disc, which cells resolve, with so many local workers."""
    u = sp.Function("u")(x, y)
    peak = sp.exp(-1000 * ((x - sp.Rational(1, 5)) ** 2 + (y - sp.Rational(3, 10)) ** 2))
    disc = pibls.Disk((x, y), (0, 0), 1)
    equation = sp.Eq(u.diff(x, 2) + u.diff(y, 2), peak.diff(x, 2) + peak.diff(y, 2))
    problem = pibls.Problem(disc, [equation], [pibls.Dirichlet(u, peak)])
    X = np.asarray(disc.interior(4000, np.random.default_rng(1)))
    X = np.concatenate([X, 0.1 * X + np.array([0.2, 0.3])])
    exact = sp.lambdify((x, y), peak)(*X.T)

    def told(engine: Any) -> dict[str, Any]:
        clock, began = time.perf_counter(), time.process_time()
        with warnings.catch_warnings(), threads(1):
            warnings.simplefilter("ignore")
            s = pibls.solve(problem, tol=1e-8, engine=engine)
        return {
            "workers": workers,
            "error": float(np.abs(s(*X.T) - exact).max()),
            "estimate": float(s.error.max),
            "status": s.status.name,
            "cells": int(s.settings.get("cells", 1)),
            "seconds": time.perf_counter() - clock,
            "cpu": time.process_time() - began,
            "value": float(s(0.21, 0.32)),
        }

    with cluster_of(workers) as client:
        if client is None:
            return told(None)
        before = sum(client.run(time.process_time).values())
        found = told(client)
        found["cpu"] += sum(client.run(time.process_time).values()) - before
        return found


def main(words: list[str]) -> None:
    kinds = {"coupled": coupled, "grown": grown, "shared": shared}
    if words:
        print(json.dumps(kinds[words[0]](int(words[1]))))
        return
    data = {
        "nodes": NODES,
        "coupled": [fresh_of(__file__, "coupled", side) for side in COUPLED],
        "grown": [fresh_of(__file__, "grown", side) for side in GROWN],
        "shared": [fresh_of(__file__, "shared", workers) for workers in WORKERS],
    }
    STORE.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Cost of the cell solver in one process and on Dask workers: error, estimate, cells, seconds, memory.

`python benchmarks/engine.py` writes docs/data/engine.json, from which docs/cost.md is generated. Seconds are
wall time; CPU seconds are summed over all processes and depend little on the load of the machine. Numbers of
operations, memory and traffic are computed from the elimination layout without a solve.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import resident
from pibls.adaptive.hybridized import ReferenceCell, cell_system, face_couplings
from pibls.adaptive.validation.context import ValidationContext
from pibls.assembly.hybridized.cell_system import elimination_layout
from pibls.linalg.threads import limit_blas_threads
from pibls.linalg.tree import distributed
from pibls.linalg.tree.engine import LOCAL, EngineProgress, LocalEngine
from pibls.nonlinear import GaussNewton
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import CellSpace, CellTree

DATA = Path(__file__).resolve().parents[1] / "docs" / "data" / "engine.json"
NODES = 64
SIDES = (8, 16, 32, 40)
COUNTED = (8, 16, 32, 64)
SHARED = 24
WORKERS = (1, 2)

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)


def helmholtz() -> tuple[pibls.Problem, Callable[..., Any]]:
    """Return Δu + 25 u = f on the unit square and its exact, smooth, oscillating solution."""
    exact = sp.sin(12 * x + 3 * y) * sp.exp(x * y)
    source = exact.diff(x, 2) + exact.diff(y, 2) + 25 * exact
    equation = sp.Eq(u.diff(x, 2) + u.diff(y, 2) + 25 * u, source)
    problem = pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [equation], [pibls.Dirichlet(u, exact)])
    return problem, sp.lambdify((x, y), exact)


def spaces(side: int) -> tuple[ValidationContext, CellSpace]:
    """Return the validation context and the space of side × side cells for the Helmholtz problem."""
    problem, _ = helmholtz()
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    tree = CellTree.grid(context.box, (side, side))
    return context, ReferenceCell.drawn(NODES, 2, 1.0, context.stream(1, 0)).over(tree, 1)


def grid(side: int, engine: Any = LOCAL) -> dict[str, float]:
    """Measure one linear solve in side × side cells: wall and CPU seconds, error, peak memory."""
    _warm()
    context, space = spaces(side)
    empty = resident()
    wall_start, began = time.perf_counter(), time.process_time()
    with limit_blas_threads(1):
        system = cell_system(context.compiled, context.domain, space, engine)
        assembled = time.process_time() - began
        outcome = GaussNewton(rounds=0).solve(system, np.random.default_rng(0))
    X = context.comparison_points.even
    found = space.values((X,), (PartialDerivative(0, (0, 0)),), outcome.w)[0]
    return {
        "cells": side**2,
        "functions": space.columns,
        "error": float(np.abs(found - helmholtz()[1](*X.T)).max()),
        "seconds": time.perf_counter() - wall_start,
        "cpu": time.process_time() - began,
        "assembly": assembled,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0,
        "empty": empty,
        "tasks": len(system.layout.bundles),
    }


class SplitEngine(LocalEngine):
    """An engine that splits the elimination into tasks for a given number of single-threaded workers."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def limit(self, work: float) -> float:
        return max(work / (distributed._TASKS_PER_THREAD * self.workers), distributed.MIN_TASK_OPERATIONS)


def counted(side: int, workers: int) -> dict[str, float]:
    """Return operations, critical path, memory and traffic of the elimination without solving."""
    context, space = spaces(side)
    _, layout, heights = elimination_layout(
        space, face_couplings(context.compiled, context.domain, space), SplitEngine(workers)
    )
    work, demand = layout.work(heights), layout.memory_demand(heights)
    longest: list[float] = []
    for mine, bundle in zip(work, layout.bundles, strict=True):
        longest.append(mine + max((longest[layout.bundle_of_front[f]] for f in bundle.inputs), default=0.0))
    widths = [sum(b.widths[p] for p in layout.plans[f].neighbours) for b in layout.bundles for f in b.outputs]
    return {
        "cells": side**2,
        "workers": workers,
        "operations": sum(work),
        "longest": max(longest),
        "held": demand.total,
        "largest": demand.largest_task,
        "traffic": sum(8.0 * n * n for n in widths),
        "tasks": len(layout.bundles),
    }


def on_workers(workers: int) -> dict[str, float]:
    """Measure the same grid on Dask workers, with the CPU seconds of the workers."""
    with cluster_of(workers) as client:
        before = sum(client.run(time.process_time).values())
        progress: list[EngineProgress] = []
        found = grid(SHARED, distributed.Distributed(client, progress.append))
        found["worker_cpu"] = sum(client.run(time.process_time).values()) - before
        found["announced"] = max(s.needed_bytes for s in progress)
        return {**found, "workers": workers}


def _warm() -> None:
    """Import the modules that a solve with cells needs."""
    import pibls.adaptive.cells.strategy  # noqa: F401


def default_solve(workers: int) -> dict[str, float]:
    """Measure `solve` with default settings for a peak in a square."""
    peak = sp.exp(-1000 * ((x - sp.Rational(1, 3)) ** 2 + (y - sp.Rational(1, 2)) ** 2))
    equation = sp.Eq(u.diff(x, 2) + u.diff(y, 2), peak.diff(x, 2) + peak.diff(y, 2))
    problem = pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [equation], [pibls.Dirichlet(u, peak)])
    X = np.random.default_rng(1).uniform(size=(2, 4000))
    exact = sp.lambdify((x, y), peak)(*X)

    def measure(engine: Any) -> dict[str, float]:
        wall_start = time.perf_counter()
        s = pibls.solve(problem, tol=1e-8, engine=engine)
        return {
            "workers": workers,
            "error": float(np.abs(s(*X) - exact).max()),
            "estimate": s.error.max,
            "cells": float(s.settings.get("cells", 1)),
            "seconds": time.perf_counter() - wall_start,
            "value": float(s(0.31, 0.52)),
        }

    with cluster_of(workers) as client:
        return measure(client)


@contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """Yield a client of this number of warm workers; None for zero workers."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(_warm)  # imports are not measured
        yield client


def measure_in_new_process(*words: object) -> dict[str, float]:
    """Run a measurement of this module in its own process."""
    return run_in_new_process(__file__, *words)


def run_in_new_process(file: str, *words: object) -> dict[str, Any]:
    """Run a measurement in its own process, so that it has its own peak memory."""
    command = [sys.executable, str(Path(file).resolve()), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(*words, {k: v if isinstance(v, str) else float(f"{v:.3g}") for k, v in found.items()}, flush=True)
    return found


def main(words: list[str]) -> None:
    kinds: dict[str, Callable[..., Any]] = {
        "grid": grid,
        "counted": counted,
        "on": on_workers,
        "whole": default_solve,
    }
    if words:
        print(json.dumps(kinds[words[0]](*map(int, words[1:]))))
        return
    data = {
        "nodes": NODES,
        "grid": [measure_in_new_process("grid", side) for side in SIDES],
        "here": measure_in_new_process("grid", SHARED),
        "on": [measure_in_new_process("on", workers) for workers in WORKERS],
        "whole": [measure_in_new_process("whole", workers) for workers in (0, *WORKERS)],
        "counted": [
            measure_in_new_process("counted", side, workers) for side in COUNTED for workers in (2, 16, 256)
        ],
    }
    DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""TC-5 at equal error: `solve(problem, tol=1e-10)` against NGSolve at order 8.

NGSolve gets the coarsest mesh that reaches the measured error of pibls, found beforehand. Its time includes
mesh generation, assembly and solve on that mesh only; the time of pibls also includes the choice of the
resolution and the error estimate. Two meshes are used: triangles of the mesh generator, as in the tutorials
of NGSolve, and structured quadrilaterals, the fastest we know; both with static condensation. All timings are
warm, with one thread. Requires ngsolve (pip install ngsolve).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, table, threads
from benchmarks.peers.ngsolve_high_order import Data, poisson, rectangles
from benchmarks.peers.plane import Plane, plane_of

ORDER = 8
REPEATS = 15


def structured(plane: Plane, cells: int) -> Any:
    """Return a mesh of cells × cells quadrilaterals."""
    return rectangles(plane, cells, cells)


def generated(plane: Plane, cells: int) -> Any:
    """Return a triangular mesh of the unit square by Netgen."""
    import ngsolve as ng
    from netgen.geom2d import unit_square

    return ng.Mesh(unit_square.GenerateMesh(maxh=1.0 / cells))


def ngsolve_poisson(data: Data, cells: int, make: Callable[[Plane, int], Any]) -> Callable[..., Any]:
    """Solve Δu = f with the data of TC-5 on a mesh of the unit square with h = 1/cells."""
    solution = poisson(make(data.plane, cells), ORDER, data.source, data.given)
    return lambda x, y: np.asarray(solution(solution.space.mesh(x, y))).reshape(-1)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and its CPU seconds, which depend little on the load of the machine."""
    start = time.process_time()
    value = work()
    return value, time.process_time() - start


def ngsolve_seconds(data: Data, cells: int, make: Callable[[Plane, int], Any]) -> float:
    return timed(lambda: ngsolve_poisson(data, cells, make))[1]


def main() -> None:
    try:
        import ngsolve
    except ImportError:
        print("skipped: ngsolve is not installed; install it with: pip install ngsolve")
        return
    case = pibls.cases["TC-5"]
    ngsolve.SetNumThreads(1)
    data = Data(plane_of(case))
    with threads(1):
        pibls.solve(case.problem)
        ours = [timed(lambda s=s: pibls.solve(case.problem, tol=1e-10, seed=s)) for s in range(REPEATS)]  # type: ignore[misc]
        target = float(np.median([errors(case, solution)[0] for solution, _ in ours]))
        seconds = float(np.median([s for _, s in ours]))
        rows = [("pibls, tol=1e-10", f"{target:.1e}", f"{seconds:.4f}", "1")]
        for make in (generated, structured):
            for cells in range(2, 16):
                error = errors(case, ngsolve_poisson(data, cells, make))[0]
                if error <= target:
                    break
            best = float(np.median([ngsolve_seconds(data, cells, make) for _ in range(REPEATS)]))
            name = f"NGSolve, order {ORDER}, {make.__name__}, h = 1/{cells}"
            rows.append((name, f"{error:.1e}", f"{best:.4f}", f"{seconds / best:.2f}"))
    print(table(("solver", "max error", "seconds", "pibls / it"), rows))


if __name__ == "__main__":
    main()

"""TC-5 to the same error: `solve(problem, tol=1e-10)` against NGSolve at order 8.

NGSolve gets the structured mesh that first reaches our measured error, and its time is that of mesh,
assembly and solve on that mesh alone; everything is warmed up, both with one thread. Needs ngsolve
(pip install ngsolve); says so and stops where it is absent.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, table, threads, timed

ORDER = 8
REPEATS = 7


def ngsolve_poisson(cells: int) -> Any:
    """-Δu = -f with the data of TC-5, on cells × cells quadrilaterals."""
    import ngsolve as ng
    from ngsolve.meshes import MakeStructured2DMesh

    mesh = MakeStructured2DMesh(quads=True, nx=cells, ny=cells)
    exact = 0.5 + ng.exp(-2 * ng.x**2 - 4 * ng.y**2)
    source = exact.Diff(ng.x).Diff(ng.x) + exact.Diff(ng.y).Diff(ng.y)
    space = ng.H1(mesh, order=ORDER, dirichlet=".*")
    u, v = space.TnT()
    a = ng.BilinearForm(space, symmetric=True, condense=True)
    a += ng.grad(u) * ng.grad(v) * ng.dx
    f = ng.LinearForm(space)
    f += -source * v * ng.dx(bonus_intorder=4)
    solution = ng.GridFunction(space)
    solution.Set(exact, ng.BND)
    a.Assemble()
    f.Assemble()
    r = f.vec.CreateVector()
    r.data = f.vec - a.mat * solution.vec
    r.data += a.harmonic_extension_trans * r
    inverse = a.mat.Inverse(space.FreeDofs(coupling=True), inverse="sparsecholesky")
    solution.vec.data += inverse * r
    solution.vec.data += a.harmonic_extension * solution.vec
    solution.vec.data += a.inner_solve * r
    return lambda x, y: np.array([solution(mesh(a, b)) for a, b in zip(x, y, strict=True)])


def main() -> None:
    try:
        import ngsolve
    except ImportError:
        print("skipped: ngsolve is not installed here; pip install ngsolve, then run this again")
        return
    case = pibls.cases["TC-5"]
    ngsolve.SetNumThreads(1)
    with threads(1):
        pibls.solve(case.problem)
        ours = [timed(lambda s=s: pibls.solve(case.problem, tol=1e-10, seed=s)) for s in range(REPEATS)]  # type: ignore[misc]
        target = float(np.median([errors(case, solution)[0] for solution, _ in ours]))
        seconds = float(np.median([s for _, s in ours]))
        rows = [("pibls, tol=1e-10", f"{target:.1e}", f"{seconds:.4f}")]
        for cells in range(1, 13):
            error = errors(case, ngsolve_poisson(cells))[0]
            if error <= target or cells == 12:
                best = float(
                    np.median([timed(lambda c=cells: ngsolve_poisson(c))[1] for _ in range(REPEATS)])
                )  # type: ignore[misc]
                rows.append((f"NGSolve, order {ORDER}, {cells} x {cells}", f"{error:.1e}", f"{best:.4f}"))
                break
    print(table(("solver", "max error", "seconds"), rows))
    print(f"\nratio of times: {seconds / best:.2f}")


if __name__ == "__main__":
    main()

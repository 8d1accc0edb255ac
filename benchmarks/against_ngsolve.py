"""TC-5 to the same error: `solve(problem, tol=1e-10)` against NGSolve at order 8.

NGSolve gets the coarsest mesh that reaches our measured error, found beforehand, and its time is that
of mesh, assembly and solve on that mesh alone: it need not find out how fine the mesh must be, nor
estimate its error, both of which are part of our time. Two ways: the mesh generator's triangles, as in
its tutorials, and structured quadrilaterals with static condensation, the fastest we know. Everything
is warmed up, one thread for both. Needs ngsolve (pip install ngsolve); says so where it is absent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, table, threads, timed

ORDER = 8
REPEATS = 7


def structured(cells: int) -> Any:
    from ngsolve.meshes import MakeStructured2DMesh

    return MakeStructured2DMesh(quads=True, nx=cells, ny=cells)


def generated(cells: int) -> Any:
    import ngsolve as ng
    from netgen.geom2d import unit_square

    return ng.Mesh(unit_square.GenerateMesh(maxh=1.0 / cells))


def ngsolve_poisson(cells: int, make: Callable[[int], Any]) -> Any:
    """-Δu = -f with the data of TC-5, on a mesh with sides of 1/cells."""
    import ngsolve as ng

    mesh = make(cells)
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


def seconds_of(cells: int, make: Callable[[int], Any]) -> float:
    return timed(lambda: ngsolve_poisson(cells, make))[1]


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
        rows = [("pibls, tol=1e-10", f"{target:.1e}", f"{seconds:.4f}", "1")]
        for make in (generated, structured):
            for cells in range(2, 16):
                error = errors(case, ngsolve_poisson(cells, make))[0]
                if error <= target:
                    break
            best = float(np.median([seconds_of(cells, make) for _ in range(REPEATS)]))
            name = f"NGSolve, order {ORDER}, {make.__name__}, h = 1/{cells}"
            rows.append((name, f"{error:.1e}", f"{best:.4f}", f"{seconds / best:.2f}"))
    print(table(("solver", "max error", "seconds", "pibls / it"), rows))


if __name__ == "__main__":
    main()

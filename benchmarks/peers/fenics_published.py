"""Reproduction of the FEM results of the paper (docs/benchmarks/fem-and-the-paper.md).

/usr/bin/python3 benchmarks/peers/fenics_published.py

Order 2, the source interpolated in the elements, least squares for steady advection, plain Galerkin and
Crank-Nicolson for advection in time, backward Euler with lagged velocity for Burgers; errors at the nodes
only. Prints each case with the figures of the paper.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import dolfin as df
import numpy as np

# Imported from the folder of this file: the benchmarks package needs pibls, which is not available.
from fenics_equations import EQUATIONS, numbers, symbol  # type: ignore[import-not-found]
from fenics_program import (  # type: ignore[import-not-found]
    Boundary,
    Request,
    Result,
    compile_seconds_of,
    nodal,
    quiet,
    solve,
)

PAPER = {
    "TC-1": (1.78e-07, 1.27e-07), "TC-2": (2.59e-08, 2.00e-08), "TC-3": (1.25e-09, 7.19e-10),
    "TC-4": (2.77e-08, 1.39e-08), "TC-5": (8.97e-10, 3.31e-10), "TC-6": (1.23e-10, 6.43e-11),
    "TC-7": (5.08e-05, 4.22e-02), "TC-8": (1.32e-04, 2.66e-05), "TC-9": (5.38e-08, 6.66e-07),
    "TC-11": (4.93e-02, 2.04e-02),
}  # fmt: skip


def lagged(elements: int, steps: int) -> Any:
    """Solve Burgers' equation by (u - u₀)/dt + u₀ u' - u''/100 = f: first order in time, no Newton."""
    equation = EQUATIONS["TC-11"]
    mesh = df.UnitIntervalMesh(elements)
    V = df.FunctionSpace(mesh, "P", 2)
    old, u, v, now = df.Function(V), df.TrialFunction(V), df.TestFunction(V), df.Constant(0.0)
    dt, f = equation.end / steps, symbol(equation.source, mesh, now)
    X, rule = V.tabulate_dof_coordinates(), df.dx(metadata={"quadrature_degree": 8})
    old.vector().set_local(np.array(numbers(equation.exact, X)))
    a, b = df.system(((u - old) / dt * v + old * u.dx(0) * v + u.dx(0) * v.dx(0) / 100 - f * v) * rule)
    edge = Boundary(equation, V, df.DomainBoundary())
    times, history = np.linspace(0.0, equation.end, steps + 1), [old.vector().get_local()]
    for when in times[1:]:
        now.assign(when)
        condition = df.DirichletBC(V, edge.at(when), df.DomainBoundary())
        A, B = df.assemble_system(a, b, condition)
        df.LUSolver(A, "umfpack").solve(old.vector(), B)
        history.append(old.vector().get_local())
    return Result(V, times, np.array(history), {})


def requests() -> list[Any]:
    """Return the runs: 20,000 elements or 150 × 150 as in the paper; TC-9 agrees only with order 1."""
    found_requests = []
    for case, equation in EQUATIONS.items():
        n = 150 if equation.end or len(equation.box) == 2 else 20000
        found_requests.append(Request(case, 2, n, 150 if equation.end else 0, stages=1, published=True))
    return [*found_requests, Request("TC-9", 1, 20000)]


def main() -> None:
    quiet()
    sys.stdout.write("case    paper max  here       paper L2   here       mean sq.   seconds\n")
    for request in requests():
        equation = EQUATIONS[request.case]
        if request.case == "TC-11":
            began = time.perf_counter()
            result, label = lagged(150, 72), "72 lagged steps"
        else:
            compile_seconds_of(equation, request)
            began, label = time.perf_counter(), f"order {request.order}"
            result = solve(equation, request)
        seconds, found, paper = time.perf_counter() - began, nodal(equation, result), PAPER[request.case]
        sys.stdout.write(
            f"{request.case:6s}  {paper[0]:.2e}   {found['nodal_max_error']:.2e}   {paper[1]:.2e}   "
            f"{found['nodal_l2_norm']:.2e}   {found['nodal_rms_error']:.2e}   {seconds:.2f}  {label}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()

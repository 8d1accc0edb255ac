"""Time and error of a solve with `Decomposed`, by the version of pibls on the path; printed as JSON.

Uses only the public interface of 0.1.0, so that `benchmarks.cell_costs` can compare an older checkout with
this one:

    PYTHONPATH=/path/to/checkout/src python benchmarks/decomposed.py SIDE NODES SCALE REPEATS
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
import sympy as sp

import pibls
from pibls import Decomposed, Waves

x, y = sp.symbols("x y")
u, exact = sp.Function("u")(x, y), sp.sin(12 * x + 3 * y) * sp.exp(x * y)
_ROWS, _EDGE = 2, 18  # points per function, and points on one edge of a cell


def timed_solve(side: int, nodes: int, scale: float) -> tuple[pibls.Solution, float]:
    """Solve Δu + 25 u = f in side × side cells; also return the CPU seconds of the call."""
    left, right = (w.diff(x, 2) + w.diff(y, 2) + 25 * w for w in (u, exact))
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    problem = pibls.Problem(square, [sp.Eq(left, right)], [pibls.Dirichlet(u, exact)])
    edge = _EDGE * side
    points = pibls.Points(_ROWS * nodes * side**2, 4 * edge, edge, rule="sobol", boundary_rule="chebyshev")
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = pibls.solve(
            problem,
            basis=Decomposed((side, side), Waves(nodes, scale)),
            points=points,
            method=pibls.GaussNewton(rounds=0),
        )
    return solution, time.process_time() - began


def main(side: int, nodes: int, scale: float, repeats: int) -> None:
    timed_solve(2, nodes, scale)  # imports and compilation are not measured
    X = np.random.default_rng(1).random((2, 4000))
    runs = [timed_solve(side, nodes, scale) for _ in range(repeats)]
    error = np.abs(runs[0][0](*X) - sp.lambdify((x, y), exact)(*X)).max()
    found = {"seconds": min(s for _, s in runs), "error": float(error), "version": pibls.__version__}
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))

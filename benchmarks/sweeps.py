"""Time of a sweep relative to separate solves: `python -m benchmarks.sweeps`.

-Δu = (1 + k²) f, where only the right-hand side depends on k, and Δu + k u = …, where the operator does.
"""

from __future__ import annotations

import time

import numpy as np
import sympy as sp

import pibls

x, y, k = sp.symbols("x y k")
u = sp.Function("u")(x, y)
WAVE = sp.sin(k * x) * sp.cos(y)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
PROBLEMS = {
    "operator": sp.diff(u, x, 2) + sp.diff(u, y, 2) + k * u - (k - k**2 - 1) * WAVE,
    "right-hand side": sp.diff(u, x, 2) + sp.diff(u, y, 2) + (1 + k**2) * WAVE,
}


def main() -> None:
    """Print median and largest of five ratios, each of two consecutive measurements."""
    values = np.linspace(1.0, 3.0, 100)
    for name, equation in PROBLEMS.items():
        problem = pibls.Problem(SQUARE, [equation], [pibls.Dirichlet(u, WAVE)], parameters={k: 1.0})
        pibls.solve(problem)
        shares = []
        for _ in range(5):
            began = time.process_time()
            for value in values[::10]:
                pibls.solve(problem.at(k=value))
            apart = 10 * (time.process_time() - began)
            began = time.process_time()
            pibls.sweep(problem, {k: values})
            shares.append((time.process_time() - began) / apart)
        print(f"{name:>16}: {np.median(shares):.3f} of 100 solves (worst {max(shares):.3f})")


if __name__ == "__main__":
    main()

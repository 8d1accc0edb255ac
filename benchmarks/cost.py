"""Time and memory of import, assembly and factorisation for TC-5 at the published size.

Ratios within the same run, one thread: import of pibls to import of sympy, assembly to factorisation, peak
memory to the assembled matrix.
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import table, threads, timed
from pibls.assembly.points import place
from pibls.assembly.system import assemble
from pibls.geometry import box_of
from pibls.problem.forms.compilation import compile_problem


def import_seconds(module: str, repeats: int = 7) -> float:
    """Return the fastest of several imports, each in a new interpreter."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            for _ in range(repeats)]  # fmt: skip
    return min(float(r.stdout) for r in runs)


def tc5() -> dict[str, float]:
    """Return seconds of assembly and of each factorisation, and peak memory per matrix size, for TC-5."""
    case = pibls.cases["TC-5"]
    settings = case.published.settings
    compiled = compile_problem(case.problem)
    rng = np.random.default_rng(0)
    basis = settings["basis"].draw(box_of(case.problem.domain), rng)
    points = place(compiled, case.problem.domain, settings["points"], rng)
    assemble(compiled, points, basis)
    assembly = min(timed(lambda: assemble(compiled, points, basis))[1] for _ in range(5))
    system = assemble(compiled, points, basis)
    b = -system.constant
    out = {"assembly": assembly}
    for name, solver in (("gelsd", pibls.SVD()), ("pivoted QR", pibls.PivotedQR())):
        out[name] = min(timed(lambda s=solver: s.factor(system.linear).apply(b))[1] for _ in range(3))  # type: ignore[misc]
    for name, method in (
        ("gelsd", pibls.LeastSquares()),
        ("pivoted QR", pibls.LeastSquares(pibls.PivotedQR())),
    ):
        tracemalloc.start()
        pibls.solve(case.problem, basis=settings["basis"], points=settings["points"], method=method)
        out[f"memory, {name}"] = tracemalloc.get_traced_memory()[1] / system.linear.nbytes
        tracemalloc.stop()
    return out


def main() -> None:
    with threads(1):
        cost = tc5()
    ours, peer = import_seconds("pibls"), import_seconds("sympy")
    rows = [
        ("assembly / gelsd", f"{cost['assembly']:.3f} s / {cost['gelsd']:.3f} s",
         f"{cost['assembly'] / cost['gelsd']:.3f}", "0.4"),
        ("assembly / pivoted QR", f"{cost['assembly']:.3f} s / {cost['pivoted QR']:.3f} s",
         f"{cost['assembly'] / cost['pivoted QR']:.3f}", "0.4"),
        ("peak memory / matrix, gelsd", "", f"{cost['memory, gelsd']:.2f}", "5"),
        ("peak memory / matrix, pivoted QR", "", f"{cost['memory, pivoted QR']:.2f}", "5"),
        ("import pibls / import sympy", f"{ours:.3f} s / {peer:.3f} s", f"{ours / peer:.2f}", "1.5"),
    ]  # fmt: skip
    print("TC-5 at the published size, one thread:\n")
    print(table(("what", "measured", "ratio", "at most"), rows))


if __name__ == "__main__":
    main()

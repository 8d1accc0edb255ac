"""`make demo`: solve some of the paper's cases, print the table, draw solutions and errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pibls
from benchmarks.measure import errors, table, timed
from pibls.cases.case import Case

NAMES = ("TC-1", "TC-3", "TC-5", "TC-7", "TC-8", "TC-9", "TC-10", "TC-11")
DRAWN = ("TC-3", "TC-5", "TC-9", "TC-11")
PICTURE = Path("demo/cases.png")


def draw(case: Case, solution: pibls.Solution, axes: Any) -> None:
    """Solution on the left axis, error on the right one."""
    names = [str(c) for c in case.problem.coordinates]
    grids = [np.linspace(a, b, 400 if len(names) == 1 else 120) for a, b in case.problem.domain.bounds]
    X = np.meshgrid(*grids, indexing="ij")
    u = solution(*X)
    e = np.abs(u - case.exact(*X))
    left, right = axes
    if len(names) == 1:
        left.plot(X[0], u, color="#0072B2")
        right.semilogy(X[0], np.maximum(e, 1e-17), color="#D55E00")
        for ax, label in ((left, "u"), (right, "|error|")):
            ax.set(xlabel=names[0], ylabel=label)
    else:
        for ax, values, label, colours in (
            (left, u, "u", "viridis"),
            (right, np.log10(np.maximum(e, 1e-17)), "log10 |error|", "cividis"),
        ):
            mesh = ax.pcolormesh(*X, values, cmap=colours, shading="gouraud", rasterized=True)
            ax.figure.colorbar(mesh, ax=ax, label=label)
            ax.set(xlabel=names[0], ylabel=names[1])
    left.set_title(f"{case.name}: {case.title}", loc="left", fontsize=10)
    right.set_title(f"max |error| = {e.max():.1e}", loc="left", fontsize=10)


def main() -> None:
    rows = []
    figure, axes = plt.subplots(len(DRAWN), 2, figsize=(10, 2.7 * len(DRAWN)), layout="constrained")
    for name in NAMES:
        case = pibls.cases[name]
        solution, seconds = timed(lambda case=case: pibls.solve(case.problem, tol=1e-13))  # type: ignore[misc]
        largest, mean = errors(case, solution)
        paper = case.published
        rows.append(
            (name, case.title, f"{largest:.1e}", f"{mean:.1e}", f"{seconds:.3f}",
             f"{paper.max_error:.1e}", f"{paper.l2_error:.1e}", f"{paper.seconds:.2f}")
        )  # fmt: skip
        if name in DRAWN:
            draw(case, solution, axes[DRAWN.index(name)])
    header = ("case", "problem", "max error", "L2 error", "seconds", "paper max", "paper L2", "paper s")
    print("pibls.solve(problem, tol=1e-13), nothing else given; errors on points that were not fitted:\n")
    print(table(header, rows))
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)
    print(f"\nSolutions and errors are drawn in {PICTURE}.")


if __name__ == "__main__":
    main()

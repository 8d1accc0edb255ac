"""The figure at the top of the README: a few lines of Python and the solution they compute.

python benchmarks/hero_figure.py      # docs/figures/hero.png, about ten seconds

The code in the figure is the code that is run, and the numbers are those of that run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.sensitivity import paper_style

ROOT = Path(__file__).resolve().parents[1]
FIGURE = ROOT / "docs/figures/hero.png"
CODE = """\
x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)

problem = pibls.Problem(
    domain=pibls.Box({x: (0, 1), y: (0, 1)}),
    equations=[u.diff(x, 2) + u.diff(y, 2) + 400*u],
    conditions=[pibls.Dirichlet(u, sp.cos(12*x + 16*y) + sp.sin(20*x))],
)
solution = pibls.solve(problem)
"""
INK, PAPER, ACCENT, SOFT = "#1d2430", "#f6f7f9", "#4051b5", "#5d6675"


def run_code() -> dict[str, Any]:
    """Run the code of the figure and return its namespace."""
    import sympy as sp

    import pibls

    namespace: dict[str, Any] = {"sp": sp, "pibls": pibls}
    exec(CODE, namespace)  # the constant above
    return namespace


def draw(path: Path = FIGURE) -> None:
    plt = paper_style()
    namespace = run_code()
    solution, (x, y) = namespace["solution"], (namespace["x"], namespace["y"])
    sp = namespace["sp"]
    # The boundary data solve the equation inside, so the exact solution is known.
    exact = sp.lambdify((x, y), sp.cos(12 * x + 16 * y) + sp.sin(20 * x))
    side = np.linspace(0.0, 1.0, 241)
    X, Y = np.meshgrid(side, side, indexing="ij")
    u = solution(X, Y)
    error = float(np.abs(u - exact(X, Y)).max())
    figure = plt.figure(figsize=(12.4, 4.6), facecolor=PAPER)
    left = figure.add_axes((0.025, 0.06, 0.5, 0.88))
    left.set_axis_off()
    left.text(0.0, 0.97, "Write the equation.", fontsize=19, color=INK, weight="bold", va="top")
    left.text(0.0, 0.80, CODE, fontsize=10.2, family="monospace", color=INK, va="top", linespacing=1.5)
    caption = (
        f"{solution.nodes} functions · estimated error {solution.error.max:.0e} · true error {error:.0e}"
    )
    left.text(0.0, 0.10, caption, fontsize=12.5, color=ACCENT, weight="bold", va="top")
    left.text(0.0, 0.02, "no mesh · no training · no tuning", fontsize=11, color=SOFT, va="top")
    right = figure.add_axes((0.55, 0.02, 0.44, 0.98), projection="3d", facecolor=PAPER)
    right.plot_surface(X, Y, u, cmap="viridis", rcount=180, ccount=180, linewidth=0, antialiased=False)
    right.set_axis_off()
    right.set_box_aspect((1, 1, 0.42), zoom=1.12)
    right.view_init(elev=42, azim=-60)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, facecolor=PAPER)
    plt.close(figure)


if __name__ == "__main__":
    draw()
    print(f"drawn in {FIGURE}")

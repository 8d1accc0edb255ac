r"""Diagram of the method: x → [Z | H] → û = A w → residuals → least squares → w.

Drawn into docs/figures/framework.png:

python benchmarks/framework_figure.py
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.sensitivity import BLUE, GREEN, GREY, ORANGE, RED, paper_style

FIGURE = Path(__file__).resolve().parents[1] / "docs/figures/framework.png"
_FIXED = "#c9c9c9"


def _nodes(ax: Any, x: float, heights: Sequence[float], colour: str) -> None:
    from matplotlib.patches import Circle

    for y in heights:
        ax.add_patch(Circle((x, y), 0.105, facecolor=colour, edgecolor="white", linewidth=1.2, zorder=3))


def _lines(ax: Any, x0: float, left: Sequence[float], x1: float, right: Sequence[float], **look: Any) -> None:
    for a in left:
        for b in right:
            ax.plot([x0, x1], [a, b], zorder=1, **look)


def _box(ax: Any, x: float, y: float, text: str, colour: str, width: float, height: float = 0.62) -> None:
    from matplotlib.patches import FancyBboxPatch

    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0.03,rounding_size=0.1",
            facecolor="white", edgecolor=colour, linewidth=1.4, zorder=2,
        )
    )  # fmt: skip
    ax.text(x, y, text, ha="center", va="center", fontsize=10, zorder=4, linespacing=1.35)


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], **look: Any) -> None:
    style = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0, **look}
    ax.annotate("", end, start, arrowprops=style, zorder=2)


def draw(path: Path = FIGURE) -> None:
    """Draw the diagram from left to right; fixed random weights are grey, solved weights red."""
    plt = paper_style()
    figure, ax = plt.subplots(figsize=(11.4, 5.6), layout="constrained")
    features, enhancement = (2.5, 2.1, 1.7, 1.3, 0.9, 0.5), (-0.35, -0.75, -1.15, -1.55)
    fixed = {"color": _FIXED, "linewidth": 0.7}
    _lines(ax, 0.6, (1.8, 1.2), 2.2, features, **fixed)
    for y in features:  # into the second layer
        _lines(ax, 2.2, (y,), 3.5, enhancement, color="#e2e2e2", linewidth=0.6)
    _nodes(ax, 0.6, (1.8, 1.2), GREY)
    _nodes(ax, 2.2, features, BLUE)
    _nodes(ax, 3.5, enhancement, GREEN)
    for y in features:
        ax.plot([2.2, 5.0], [y, 0.45], color=RED, alpha=0.35, linewidth=0.8, zorder=1)
    for y in enhancement:
        ax.plot([3.5, 5.0], [y, 0.45], color=RED, alpha=0.35, linewidth=0.8, zorder=1)
    ax.text(0.6, 2.2, "coordinates\n$x$, mapped to $[-1,1]^D$", ha="center", va="bottom", fontsize=9)
    ax.text(2.2, 2.75, "feature nodes, $n \\times k$\n$Z=\\varphi(xW_e+\\beta_e)$", ha="center", va="bottom")
    ax.text(3.5, -1.85, "enhancement nodes, $m \\times q$\n$H=\\xi(ZW_h+\\beta_h)$", ha="center", va="top")
    ax.text(
        4.2, 1.95, "output weights $w$:\nthe only unknowns", color=RED, ha="center", va="bottom", fontsize=9
    )
    ax.text(1.05, 0.2, "random, fixed", color="#8a8a8a", ha="center", fontsize=9)
    _box(ax, 5.45, 0.45, "$\\hat u = A\\,w$\n$A=[\\,Z\\mid H\\,]$", GREY, 0.95, 0.8)
    _box(
        ax,
        7.05,
        0.45,
        "exact derivatives\n$\\partial^\\alpha \\hat u = (\\partial^\\alpha A)\\,w$",
        BLUE,
        1.6,
        0.8,
    )
    _arrow(ax, (5.97, 0.45), (6.2, 0.45))
    rows = (
        (1.75, "$\\mathcal{N}[\\hat u]-f$\nat points inside"),
        (0.45, "$\\mathcal{B}[\\hat u]-g$\non the boundary"),
        (-0.85, "$\\mathcal{I}[\\hat u]-s$\nat the start"),
    )
    for y, text in rows:
        _box(ax, 8.95, y, text, ORANGE, 1.35, 0.8)
        _arrow(ax, (7.9, 0.45 + 0.16 * (y - 0.45)), (8.23, y))
        _arrow(ax, (9.67, y), (10.0, 0.45 + 0.16 * (y - 0.45)))
    _box(ax, 10.95, 0.45, "least squares\n$\\min_w \\|r(w)\\|_2^2$", RED, 1.75, 0.85)
    ax.text(
        10.95, -0.15, "linear: one solve\nnonlinear: a few", ha="center", va="top", fontsize=9, color=GREY
    )
    _arrow(ax, (11.2, 0.95), (4.98, 2.25), color=RED, connectionstyle="arc3,rad=0.42", linewidth=1.2)
    ax.set(xlim=(-0.3, 11.95), ylim=(-2.6, 3.5))
    ax.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    draw()
    print(f"drawn in {FIGURE}")

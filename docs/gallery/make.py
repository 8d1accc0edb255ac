"""Generate the figures and the page of the gallery: figures/NAME.png and index.md.

python docs/gallery/make.py            solve all examples, then write figures and page
python docs/gallery/make.py --page     write the page only, from the stored figures and errors

The thumbnails figures/small/NAME.png are made from the figures.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import common
import matplotlib as mpl
import numpy as np

mpl.use("Agg")

import matplotlib.pyplot as plt

from pibls.text.typeset import equation_latex

FIGURES = common.HERE / "figures"
MEASURED = FIGURES / "measured.json"
INTRODUCTION = """# Gallery

The gallery contains examples from many fields. Each example is one script that is also a test: `python
docs/gallery/NAME.py` solves the problem, compares it with the exact solution and shows the plot, and
`tests/test_gallery.py` checks that the true error is within the tolerance and the estimate. All examples
are solved by `pibls.solve(problem, tol=tol)` without further settings. The same problem is available as a
problem file for `pibls solve NAME.toml`. Problems and tolerances were chosen such that each example takes
less than a second of processor time; see [limitations](../limits.md) for problems that take longer. For
parameter estimation from measured data see [the scratch assay](../migrating_cells.md).

"""
TABLE = """| problem | tol | true error | estimated error | nodes |
| --- | --- | --- | --- | --- |
"""
WIDTH = 300
"""Pixels of a thumbnail."""
HEIGHT = round(0.78 * WIDTH)
MULTI_PANEL_ASPECT = 1.8
"""Aspect ratio from which a figure has several panels."""


def measure(name: str) -> dict[str, float]:
    """Solve one example, write its figure, and return its errors relative to max|u|."""
    example = common.example(name)
    solution = example.solve()
    measured = common.true_error(example, solution)
    figure = common.draw(example, solution)
    figure.savefig(FIGURES / f"{name}.png", dpi=144, bbox_inches="tight")
    plt.close(figure)
    write_animation(example, solution)
    return {
        "tol": example.tol,
        "error": measured.error / measured.magnitude,
        "estimate": solution.error.max / measured.magnitude,
        "nodes": solution.nodes,
    }


def write_animation(example: common.Example, solution: Any) -> None:
    """Write the animation, if the example defines one."""
    if example.animation is not None:
        path = FIGURES / f"{example.name}.gif"
        solution.animate(path, **{"frames": 40, "fps": 12, "dpi": 64, **example.animation})


def thumbnail(name: str) -> None:
    """Write a thumbnail of the figure, or of its first panel, in a common size."""
    from PIL import Image

    with Image.open(FIGURES / f"{name}.png") as picture:
        whole = picture.convert("RGB")
    whole = whole.crop((0, 0, first_panel(whole), whole.height))
    share = min(WIDTH / whole.width, HEIGHT / whole.height)
    size = (round(share * whole.width), round(share * whole.height))
    small = Image.new("RGB", (WIDTH, HEIGHT), "white")
    at = ((WIDTH - size[0]) // 2, (HEIGHT - size[1]) // 2)
    small.paste(whole.resize(size, Image.Resampling.LANCZOS), at)
    (FIGURES / "small").mkdir(exist_ok=True)
    small.quantize(96).save(FIGURES / "small" / f"{name}.png", optimize=True)


def first_panel(picture: Any) -> int:
    """Return the column where the first panel ends: the middle of the widest white gap."""
    if picture.width < MULTI_PANEL_ASPECT * picture.height:
        return int(picture.width)
    blank = np.asarray(picture).min(axis=(0, 2)) > 250
    low, high = int(0.2 * picture.width), int(0.6 * picture.width)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], blank[low:high], [False]]).astype(int)))
    gaps = edges.reshape(-1, 2)
    if not len(gaps):
        return int(picture.width)
    widest = gaps[int(np.argmax(gaps[:, 1] - gaps[:, 0]))]
    return low + int(widest.mean())


def thumbnails(examples: list[common.Example]) -> str:
    """Return a row of thumbnails with links to their examples."""
    links = [
        f'[![{one.title}](figures/small/{one.name}.png){{ width="150" title="{one.title}" }}]'
        f"(#{one.name.replace('_', '-')})"
        for one in examples
    ]
    return "\n".join(links) + "\n\n"


def page(measured: dict[str, dict[str, float]]) -> str:
    """Return the page of the gallery: thumbnails, a table, and a section for each example."""
    examples = [common.example(name) for name in common.names()]
    rows, parts = [], []
    for one in examples:
        m = measured[one.name]
        anchor = one.name.replace("_", "-")
        errors = f"{m['error']:.0e} | {m['estimate']:.0e}"
        rows.append(f"| [{one.title}](#{anchor}) | {m['tol']:.0e} | {errors} | {m['nodes']} |")
        links = f"[{one.name}.py]({one.name}.py)"
        if one.toml.exists():
            links += f", [{one.name}.toml]({one.name}.toml)"
        parts.append(
            f"## {one.title} {{ #{anchor} }}\n\n{_description(one)}\n\n"
            f"![{one.title}](figures/{one.name}.png)\n\n{_animation(one)}{links}\n"
        )
    note = "\nErrors are maxima over 2000 fresh points, relative to max|u|; seed 0.\n\n"
    top = INTRODUCTION + thumbnails(examples) + TABLE
    return top + "\n".join(rows) + "\n" + note + "\n".join(parts)


def _animation(one: common.Example) -> str:
    return "" if one.animation is None else f"![{one.title}, animation](figures/{one.name}.gif)\n\n"


def _description(one: common.Example) -> str:
    """Return the equations of the problem and the text of the docstring."""
    _, _, rest = one.text.partition("\n\n")
    formulas = "\n\n".join(f"$$\n{equation_latex(e)}\n$$" for e in one.problem.equations)
    return f"{formulas}\n\n{_escaped(rest.strip())}"


def _escaped(text: str) -> str:
    return text.replace("_", "\\_").replace("|", "\\|").replace("*", "\\*")


def main(*arguments: str) -> None:
    FIGURES.mkdir(exist_ok=True)
    if "--page" in arguments:
        measured = json.loads(MEASURED.read_text())
    else:
        measured = {name: measure(name) for name in common.names()}
        MEASURED.write_text(json.dumps(measured, indent=1) + "\n")
    for name in common.names():
        thumbnail(name)
    (common.HERE / "index.md").write_text(page(measured), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

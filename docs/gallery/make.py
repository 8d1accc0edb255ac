"""figures/NAME.png and index.md: the gallery's pictures and its page, made again from the files.

python docs/gallery/make.py            all of it
python docs/gallery/make.py --page     the page only, from the pictures and figures that are there

small/NAME.png are the thumbnails at the top of the page, made of the pictures.
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

Problems from many fields, each one file that is example, test and figure at once: `python
docs/gallery/NAME.py` solves it, compares with the exact solution and shows the picture, and
`tests/test_gallery.py` asserts that the true error keeps the tolerance and the estimate. Each is solved by
`pibls.solve(problem, tol=tol)` with nothing else given, and stands beside the same problem as a problem file
for `pibls solve NAME.toml`, which gives the same numbers. The problems and their tolerances were chosen so
that each takes less than a second of processor time; [what it is not good for](../limits.md) says what does
not. Measured data, and the parameters behind them, have [a page of their
own](../migrating_cells.md).

"""
TABLE = """| problem | tol | true error | estimated | nodes |
| --- | --- | --- | --- | --- |
"""
WIDTH = 300
HEIGHT = round(0.78 * WIDTH)
WIDE = 1.8  # times as wide as high: several panels
"""Pixels of a thumbnail."""


def measure(name: str) -> dict[str, float]:
    """Solve one, draw it into its file, and say how well it went (errors relative to max|u|)."""
    example = common.example(name)
    solution = example.solve()
    verdict = common.judge(example, solution)
    figure = common.draw(example, solution)
    figure.savefig(FIGURES / f"{name}.png", dpi=144, bbox_inches="tight")
    plt.close(figure)
    film(example, solution)
    return {
        "tol": example.tol,
        "error": verdict.error / verdict.size,
        "estimate": solution.error.max / verdict.size,
        "nodes": solution.nodes,
    }


def film(example: common.Example, solution: Any) -> None:
    """The film beside it, where the file asks for one."""
    if example.film is not None:
        path = FIGURES / f"{example.name}.gif"
        solution.animate(path, **{"frames": 40, "fps": 12, "dpi": 64, **example.film})


def thumbnail(name: str) -> None:
    """The picture, or its first panel where it has several, on a canvas that is the same for all."""
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
    """Where the first panel of a wide picture ends: in the middle of its widest white gap."""
    if picture.width < WIDE * picture.height:
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
    """A row of small pictures that lead to their problems."""
    links = [
        f'[![{one.title}](figures/small/{one.name}.png){{ width="150" title="{one.title}" }}]'
        f"(#{one.name.replace('_', '-')})"
        for one in examples
    ]
    return "\n".join(links) + "\n\n"


def page(measured: dict[str, dict[str, float]]) -> str:
    """The page of the gallery: a table, then each problem with its code and picture."""
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
            f"## {one.title} {{ #{anchor} }}\n\n{_described(one)}\n\n"
            f"![{one.title}](figures/{one.name}.png)\n\n{_film(one)}{links}\n"
        )
    note = "\nErrors are maxima over 2000 fresh points, relative to max|u|; seed 0.\n\n"
    top = INTRODUCTION + thumbnails(examples) + TABLE
    return top + "\n".join(rows) + "\n" + note + "\n".join(parts)


def _film(one: common.Example) -> str:
    return "" if one.film is None else f"![{one.title}, as a film](figures/{one.name}.gif)\n\n"


def _described(one: common.Example) -> str:
    """The equations as the problem has them, and what its docstring says of them."""
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

"""The generated table of README.md, from stored runs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pibls
from benchmarks import cold_warm
from benchmarks.pages.cases import marked, results
from benchmarks.pages.reading import ALL, Cells, on_grid, paper
from benchmarks.pages.text import names, plain, span
from benchmarks.report_tables import Summary, table

FILE = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- table of the cases: written by benchmarks.pages -->", "<!-- end of the table -->"


def cases_table(found: Sequence[Summary]) -> str:
    """Return a row for each case: the error without settings, that of the paper, cold and warm times."""
    cells = Cells(found)
    rows = []
    for name in ALL:
        case = pibls.cases[name]
        mine, _, paper = results(cells, case)
        times = [plain(1000 * cold_warm.read()[name][k]) for k in ("cold", "warm")]
        rows.append([name, case.title, *marked((mine, paper)), *times])
    header = ["case", "problem", "`pibls`, max error", "paper, max error", "ms, first solve", "ms, repeated"]
    return table(header, rows)


def sentence(found: Sequence[Summary]) -> str:
    """Return the caption of the table, with the cases for which the error of the paper is smaller."""
    cells = Cells(found)
    below = [c for c in ALL if paper("PIBLS", c)[0] < on_grid(cells("pibls", c))]
    timed = cold_warm.read()
    date = max(one["date"] for one in timed.values())[:10]
    caption = (
        "Errors are medians over five seeds on a grid that includes the boundary, as in the paper, from the "
        "stored runs of [the comparison](docs/benchmarks/report.md); the smaller error is bold. Times are "
        f"processor time of one thread on a busy machine, {date}. The first solve of a process includes the "
        "import of the solver and fills the caches of SymPy; `import pibls` and the construction of the "
        f"problem take {span(one['start'] for one in timed.values())} s before it."
    )
    if below:
        caption += f" On {names(below)} the error of the paper is smaller, at the level of rounding."
    return textwrap.fill(caption, 110)


def text(found: Sequence[Summary]) -> str:
    before = FILE.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(before):
        raise ValueError(f"README.md has no {BEGIN}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{cases_table(found)}\n\n{sentence(found)}\n\n{END}", before)

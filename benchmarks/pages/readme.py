"""The table in README.md, between its marks, from the stored runs; the rest of the file stays."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pibls
from benchmarks.pages.cases import marked, results
from benchmarks.pages.reading import ALL, Cells, paper
from benchmarks.pages.text import names, plain
from benchmarks.report_tables import Summary, table

FILE = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- table of the cases: written by benchmarks.pages -->", "<!-- end of the table -->"


def cases_table(found: Sequence[Summary]) -> str:
    """All eleven: our error without settings, the paper's, and our milliseconds."""
    cells = Cells(found)
    rows = []
    for name in ALL:
        case = pibls.cases[name]
        mine, _, paper = results(cells, case)
        milliseconds = plain(1000 * cells("pibls", name).seconds)
        rows.append([name, case.title, *marked((mine, paper)), milliseconds])
    return table(["case", "problem", "`pibls`, max error", "paper, max error", "milliseconds"], rows)


def sentence(found: Sequence[Summary]) -> str:
    """What the table is, and where the paper's error is the smaller one."""
    cells = Cells(found)
    below = [c for c in ALL if paper("PIBLS", c)[0] < cells("pibls", c).max_error]
    told = (
        "Medians over five seeds on points that were not fitted, processor time of one thread, from the "
        "stored runs of [the comparison](docs/benchmarks/report.md); the smaller error is bold."
    )
    if below:
        told += f" On {names(below)} the paper's is the smaller one, at the level of rounding."
    return textwrap.fill(told, 110)


def text(found: Sequence[Summary]) -> str:
    before = FILE.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not pattern.search(before):
        raise ValueError(f"README.md has no {BEGIN}")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{cases_table(found)}\n\n{sentence(found)}\n\n{END}", before)

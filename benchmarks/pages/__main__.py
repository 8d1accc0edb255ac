"""All pages that are made from stored data, written: `python -m benchmarks.pages`.

docs/ablation.md, docs/sensitivity.md, docs/cost.md, docs/theory.md, docs/cases.md, docs/paper.md, the
reading, the PIELM page, those on shapes and on hard problems, the scratch assay, the report, the table of the
README, what docs/fit.md says about peers and docs/trust.md about two lists of problems. Nothing is solved or
measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import report, report_tables, store
from benchmarks.pages import (
    ablation,
    assay,
    cases,
    checklist,
    claims,
    cost,
    fit,
    hard_cells,
    lists,
    pielm,
    reading,
    readme,
    sensitivity,
    shapes,
    theory,
)

ROOT = Path(__file__).resolve().parents[2]


def pages() -> dict[str, Callable[[], str]]:
    """Where each page goes, and how its text is made."""
    found = report_tables.summaries(store.read_all())
    return {
        "docs/ablation.md": ablation.text,
        "docs/sensitivity.md": sensitivity.text,
        "docs/cost.md": cost.text,
        "docs/benchmarks/hard-cells.md": hard_cells.text,
        "docs/benchmarks/shapes.md": shapes.text,
        "docs/theory.md": theory.text,
        "docs/fit.md": fit.text,
        "docs/migrating_cells.md": assay.text,
        "docs/trust.md": lists.text,
        "docs/cases.md": lambda: cases.text(found),
        "docs/paper.md": lambda: checklist.text(found),
        "docs/benchmarks/claims.md": lambda: claims.text(found),
        "docs/benchmarks/reading.md": lambda: reading.text(found),
        "docs/benchmarks/pielm-and-the-paper.md": lambda: pielm.text(found),
        "README.md": lambda: readme.text(found),
    }


def main(words: list[str]) -> None:
    for name, made in pages().items():
        if not words or any(word in name for word in words):
            (ROOT / name).write_text(made(), encoding="utf-8")
            print(f"written: {name}")
    if not words or "report" in words:
        report.main([])


if __name__ == "__main__":
    main(sys.argv[1:])

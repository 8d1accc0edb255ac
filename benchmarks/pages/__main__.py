"""Write all pages that are generated from stored data: `python -m benchmarks.pages`.

docs/ablation.md, docs/sensitivity.md, docs/cost.md, docs/theory.md, docs/cases.md, docs/paper.md, the section
"Reading" of the report, the pages on PIELM, shapes, hard problems and the scratch assay, the report, the
table of the README, and the generated parts of docs/fit.md and docs/trust.md. Nothing is solved or measured.
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
    pielm,
    problem_lists,
    reading,
    readme,
    sensitivity,
    shapes,
    theory,
)

ROOT = Path(__file__).resolve().parents[2]


def pages() -> dict[str, Callable[[], str]]:
    """Return the functions that generate the pages, by file."""
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
        "docs/trust.md": problem_lists.text,
        "docs/cases.md": lambda: cases.text(found),
        "docs/paper.md": lambda: checklist.text(found),
        "docs/benchmarks/claims.md": lambda: claims.text(found),
        "docs/benchmarks/reading.md": lambda: reading.text(found),
        "docs/benchmarks/pielm-and-the-paper.md": lambda: pielm.text(found),
        "README.md": lambda: readme.text(found),
    }


def main(selected: list[str]) -> None:
    for name, generate in pages().items():
        if not selected or any(part in name for part in selected):
            (ROOT / name).write_text(generate(), encoding="utf-8")
            print(f"written: {name}")
    if not selected or "report" in selected:
        report.main([])


if __name__ == "__main__":
    main(sys.argv[1:])

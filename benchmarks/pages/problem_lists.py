"""The generated tables of two problem lists in docs/trust.md, from stored runs."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from validation.measure import falsely_converged, solved

from benchmarks.pages.text import names
from benchmarks.report_tables import table

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILE = DOCS / "trust.md"
LISTS = {"textbook": "the list of the textbook", "fresh": "the fresh list"}
GROUPS = {
    "ode": "ordinary differential equations",
    "bvp": "boundary value problems on an interval",
    "elliptic": "elliptic",
    "plane": "two dimensions",
    "shape": "shapes",
    "evolution": "evolutions",
    "solid": "three dimensions and more",
    "ill-posed": "ill-posed",
}

Run = dict[str, Any]


def stored(name: str) -> list[Run]:
    found: list[Run] = json.loads((DOCS / "data" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def results(runs: Sequence[Run]) -> str:
    """Return a table with a row for each group, and the names of the problems that were not solved."""
    rows = []
    for group in dict.fromkeys(r["tags"][0] for r in runs):
        some = [r for r in runs if r["tags"][0] == group]
        remark = " (detected)" if group == "ill-posed" else ""
        converged = sum(bool(r["converged"]) for r in some)
        below = sum(bool(r.get("estimate_below")) for r in some)
        rows.append(
            [GROUPS[group], str(len(some)), f"{sum(map(solved, some))}{remark}", str(converged), str(below)]
        )
    head = ["", "problems", "solved to the required accuracy", "converged", "estimate below the true error"]
    left = [r["name"] for r in runs if not solved(r)]
    wrong = [r["name"] for r in runs if r.get("estimate_below")]
    false = [r["name"] for r in runs if falsely_converged(r)]
    text = f"Not solved within the time limit: {names(left)}. " if left else "All problems were solved. "
    text += f"The estimate was below the true error for {names(wrong)}. " if wrong else ""
    text += (
        f"Reported as converged with a wrong result: {names(false)}."
        if false
        else "No wrong result was reported as converged."
    )
    return f"{table(head, rows)}\n\n{textwrap.fill(text, 110)}"


def text() -> str:
    page = FILE.read_text(encoding="utf-8")
    for name, what in LISTS.items():
        begin, end = f"<!-- {what}: written by benchmarks.pages -->", f"<!-- end of {what} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(page):
            raise ValueError(f"docs/trust.md has no {begin}")
        section = f"{begin}\n\n{results(stored(name))}\n\n{end}"
        before, after = pattern.split(page, maxsplit=1)
        page = before + section + after
    return page

"""docs/paper.md: places of everything in the paper, from docs/data/checklist.json."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.pages import claims
from benchmarks.pages.reading import ALL, Cells
from benchmarks.pages.text import filled, names, span, template
from benchmarks.report_tables import Summary, grid_gaps, table

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs/data/checklist.json"
PAGE = ROOT / "docs/paper.md"


def read() -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
    return parts


def slug(heading: str) -> str:
    """Return the anchor of a heading in MkDocs, explicit with { #name } or generated."""
    given = re.search(r"\{\s*#([\w-]+)\s*\}\s*$", heading)
    if given:
        return given[1]
    plain = re.sub(r"[^\w\s-]", "", heading.strip().lower())
    return re.sub(r"[\s-]+", "-", plain).strip("-")


def absent(place: str) -> str | None:
    """Return an error message for a missing ``file``, ``file.py::name`` or ``file.md#heading``, else None."""
    path, _, name = place.partition("::")
    path, _, anchor = path.partition("#")
    file = ROOT / path
    if not file.is_file():
        return f"{place}: there is no {path}"
    if name and not re.search(rf"^\s*(class|def) {re.escape(name)}\b", file.read_text("utf-8"), re.MULTILINE):
        return f"{place}: {path} has no {name}"
    if anchor:
        headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
        if anchor not in {slug(h) for h in headings}:
            return f"{place}: {path} has no such heading"
    return None


def link(place: str, page: Path = PAGE) -> str:
    """Return a place in docs/ as link from the page, other places as code."""
    path, _, anchor = place.partition("#")
    short = Path(path).name
    if path.startswith("docs/"):
        target = os.path.relpath(ROOT / path, page.parent) + (f"#{anchor}" if anchor else "")
        return f"[{short}]({target})"
    return f"`{place.removeprefix('src/')}`"


def parts() -> str:
    texts = []
    for part in read():
        rows = [
            [
                one["item"],
                "; ".join(x for x in (one["what"], one["note"]) if x).replace("|", "\\|"),
                ", ".join(map(link, one["code"])),
                ", ".join(map(link, one["tests"])),
                ", ".join(map(link, one["docs"])),
            ]
            for one in part["items"]
        ]
        texts += [f"## {part['part']}", table(["in the paper", "content", "code", "tests", "pages"], rows)]
    return "\n\n".join(texts)


def text(found: Sequence[Summary]) -> str:
    claims_table = table(claims.HEADER, claims.rows(found, link))
    return filled(template("checklist"), {"parts": parts(), "claims": claims_table, "stored": stored(found)})


def stored(found: Sequence[Summary]) -> str:
    """Return a paragraph on which cells of PINN #2 are complete or capped, and on versions."""
    cells, titles = Cells(found), {n: peers.adapter(n).title for n in peers.MODULES}
    complete = [c for c in ALL if cells.has("pinn2", c) and not cells("pinn2", c).capped]
    capped = [c for c in ALL if cells.has("pinn2", c) and cells("pinn2", c).capped]
    seeds = {len(cells("pinn2", c).finished) for c in ALL}
    runs = [r for c in ALL for r in cells("pibls-published", c).finished]
    timed = sorted({r.get("timed", {}).get("version", r["versions"]["pibls"]) for r in runs})
    errors = sorted({r["versions"]["pibls"] for r in runs})
    return " ".join(
        [
            f"PINN #2 is stored at full length on {names(complete)}, with {span(seeds)} seed each; on",
            f"{names(capped)} only runs that were stopped at a time limit are stored; they are marked.",
            "Errors on the grid of the paper, which includes the boundary, are not stored for",
            f"{grid_gaps(found, titles)}; these runs were not repeated on this machine. Errors of PIBLS as",
            f"published are from version {names(errors)}. Its times are from version {names(timed)} on a",
            "machine with less load, since times under load are longer.",
        ]
    )

"""docs/paper.md: what of the paper is answered where, from docs/data/checklist.json."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from benchmarks.pages.text import filled, template
from benchmarks.report_tables import table

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs/data/checklist.json"
PAGE = ROOT / "docs/paper.md"


def read() -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
    return parts


def slug(heading: str) -> str:
    """The anchor that MkDocs gives to a heading, or the one it is given with { #name }."""
    given = re.search(r"\{\s*#([\w-]+)\s*\}\s*$", heading)
    if given:
        return given[1]
    plain = re.sub(r"[^\w\s-]", "", heading.strip().lower())
    return re.sub(r"[\s-]+", "-", plain).strip("-")


def absent(place: str) -> str | None:
    """What is wrong with ``file``, ``file.py::name`` or ``file.md#heading``; None if it is there."""
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


def link(place: str) -> str:
    """A place in docs/ as a link from the page; elsewhere its name."""
    path, _, anchor = place.partition("#")
    short = Path(path).name
    if path.startswith("docs/"):
        target = os.path.relpath(ROOT / path, PAGE.parent) + (f"#{anchor}" if anchor else "")
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
        texts += [f"## {part['part']}", table(["in the paper", "what", "code", "tests", "pages"], rows)]
    return "\n\n".join(texts)


def text() -> str:
    return filled(template("checklist"), {"parts": parts()})

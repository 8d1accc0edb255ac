"""Vocabulary: replaced terms are not used any more, neither in names nor in the documentation."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "pibls").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if "benchmarks" not in p.parts),
]

BANNED_IN_NAMES = {
    "anew", "beginning", "beginnings", "bench", "benches", "doors", "orbit", "orbits", "patience", "rooms",
    "strand", "strands", "surplus", "told", "trifle", "trifles", "untold", "wander", "wanders",
}  # fmt: skip
"""Parts of identifiers and of module names: `told_twice` and `OrbitPlan` have one each."""
BANNED_NAMES = {
    "Attempt", "Easing", "Followed", "InMoments", "InRooms", "Jet", "Kick", "Lattice", "Levered", "Offer",
    "Plan", "Search", "Strand", "Wedge", "Whole", "asked", "go_on", "hear_of", "is_bare",
}  # fmt: skip
"""Whole identifiers."""
BANNED_PHRASES = (
    "beginnings that do not fit",
    "is promised from",
    "kinks that travel",
    "cells that close a scratch",
    "a word on what the data cannot tell",
    "neighbours err alike",
    "held at moments",
    "what cells leave",
    "to be had",
    "has the last word",
    "have the last word",
    "in its middle",
    "take what there is",
    "against its arrow",
    "told beyond",
    "told twice",
)
"""Phrases of comments, docstrings, messages and pages, each with a replacement in the vocabulary."""
UNINFORMATIVE_TESTS = {
    "again",
    "ways",
    "course",
    "told_beyond",
    "more",
    "misc",
    "various",
    "things",
    "pieces",
}


def parts(name: str) -> set[str]:
    """The words of an identifier, in lower case."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return {word.lower() for word in words}


def identifiers(path: Path) -> set[str]:
    """Names that a module defines: its own, and of classes, functions, parameters, fields, variables."""
    found = {path.stem}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def prose(path: Path) -> str:
    """Comments and string literals of a module as one line."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    wanted = [t.string for t in tokens if t.type in (tokenize.COMMENT, tokenize.STRING)]
    return " ".join(" ".join(wanted).split()).lower()


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_names_in_the_package(path: Path) -> None:
    names = identifiers(path)
    assert not {name for name in names if parts(name) & BANNED_IN_NAMES}
    assert not names & BANNED_NAMES


@pytest.mark.parametrize("path", TESTS, ids=lambda p: p.name)
def test_names_in_tests(path: Path) -> None:
    if path == Path(__file__):
        return
    assert path.stem.removeprefix("test_") not in UNINFORMATIVE_TESTS
    # A problem may be about orbits of planets or about rooms, so these words are allowed in tests.
    banned = BANNED_IN_NAMES - {"orbit", "orbits", "rooms", "doors", "beginning"}
    assert not {name for name in identifiers(path) if parts(name) & banned}


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda p: str(p.relative_to(ROOT)))
def test_phrases_in_comments_and_pages(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    text = prose(path) if path.suffix == ".py" else " ".join(text.split()).lower()
    assert not [phrase for phrase in BANNED_PHRASES if phrase in text]


def test_banned_terms_are_detected(tmp_path: Path) -> None:
    module = tmp_path / "orbits.py"
    module.write_text("def told_twice(asked):\n    '''What is told\n    twice.'''\n    Room.beginning = 1\n")
    assert {"orbits", "told_twice", "asked", "beginning"} <= identifiers(module)
    assert parts("OrbitPlan") == {"orbit", "plan"}
    assert "told twice" in prose(module)

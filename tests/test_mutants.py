"""The list of changes for `make mutants`: each applies, and gives Python that differs."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from benchmarks.mutations import LINES, mutants, thresholds

import pibls

SOURCE = Path(pibls.__file__).parent


def test_every_change_gives_another_program() -> None:
    found, lost = mutants(SOURCE)
    assert len(found) >= 40
    assert len(lost) <= 5, f"renew these in benchmarks/mutations.py: {lost}"
    assert len(found) + len(lost) > len(LINES)
    parsed = cache(lambda text: ast.dump(ast.parse(text)))
    for mutant in found:
        source = (SOURCE / mutant.file).read_text(encoding="utf-8")
        assert parsed(mutant.applied(source)) != parsed(source), mutant.name


def test_every_field_of_the_thresholds_is_changed() -> None:
    text = "\n".join(
        [
            '"""Größen."""',
            "class Thresholds:",
            "    soft: float = 1e-7",
            '    """why"""',
            "    widths: tuple[int, ...] = (4, 80)",
            "",
        ]
    )
    found = list(thresholds("search/thresholds.py", text))
    assert [m.name for m in found] == [
        *("soft = 0.0001", "soft = 1e-10"),
        *("widths[0] = 126", "widths[0] = 1", "widths[1] = 2530", "widths[1] = 3"),
    ]
    assert "soft: float = 0.0001\n" in found[0].applied(text)

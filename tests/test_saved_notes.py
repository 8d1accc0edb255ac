"""Notes of saved solutions, which messages use: validated on loading, and unchanged by saving."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pibls
from pibls.solution.notes import Notes
from tests.saved_solutions import HEADER_START, small_solution


def file_with_notes(file: Path, notes: dict[str, Any], status: str) -> Path:
    small_solution().save(file)
    data = file.read_bytes()
    signature, version, length = HEADER_START.unpack(data[: HEADER_START.size])
    header = json.loads(data[HEADER_START.size : HEADER_START.size + length])
    header["notes"], header["status"] = notes, status
    text = json.dumps(header).encode("ascii")
    body = HEADER_START.pack(signature, version, len(text)) + text + data[HEADER_START.size + length : -32]
    file.write_bytes(body + hashlib.sha256(body).digest())
    return file


@pytest.mark.parametrize(
    ("notes", "status", "match"),
    [
        ({"stopped": 3.0}, "INCOMPLETE", "notes, stopped: a number and text"),
        ({"stopped": ["soon", "why"]}, "INCOMPLETE", "notes, stopped: a number and text"),
        ({"promised": "later"}, "TOLERANCE", "notes, promised: a number"),
        ({"promised": True}, "TOLERANCE", "notes, promised: a number"),
        ({"lost": "x"}, "TOLERANCE", "notes, lost: a number or null"),
        ({"lost": 10**400}, "TOLERANCE", "notes, lost: a number or null"),
        ({"layers": [1.0, 2.0]}, "TOLERANCE", "notes, layers: pairs of numbers"),
        ({"told": "text"}, "NO_SOLUTION", "notes, told: a table of numbers"),
        ({"imbalance": ["u", 1.0]}, "NO_SOLUTION", "notes, imbalance: text and two numbers"),
        ({"growth": None}, "UNSTABLE", "notes, growth: a number"),
        ({}, "UNSTABLE", "notes: growth, which the status UNSTABLE requires"),
        ({"cell_errors": "many"}, "TOLERANCE", "notes, cell_errors: an array"),
        ({"function_jumps": [["f", "x", "y"]]}, "TOLERANCE", "notes, function_jumps: lists of a name"),
    ],
)
def test_notes_of_wrong_type_are_rejected(
    tmp_path: Path, notes: dict[str, Any], status: str, match: str
) -> None:
    with pytest.raises(pibls.ProblemError, match=match):
        pibls.load(file_with_notes(tmp_path / "a.pibls", notes, status))


def test_table_in_the_notes_is_saved(tmp_path: Path) -> None:
    """Violated redundant conditions: the message of the loaded solution raised an AttributeError."""
    notes: Notes = {"told": {"Dirichlet u": 0.25, "Neumann u": 1e-3}}
    solution = replace(small_solution(), status=pibls.Status.NO_SOLUTION, notes=notes)
    solution.save(tmp_path / "a.pibls")
    loaded = pibls.load(tmp_path / "a.pibls")
    assert loaded.notes == notes
    assert loaded.message == solution.message
    assert "Dirichlet u by 2.5e-01, Neumann u by 1.0e-03" in loaded.message

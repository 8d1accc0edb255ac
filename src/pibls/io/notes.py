"""Notes of a solution as JSON: strings, numbers, arrays, and tuples and tables of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from pibls.io.record import Json, Record, damaged_file, json_number
from pibls.io.serialization import Reader, Writer
from pibls.solution.notes import Notes

_MAX_DEPTH = 8


def _is_number(value: object) -> bool:
    is_real = isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)
    return is_real and not isinstance(value, bool)


def _is_row(value: object, *kinds: Callable[[object], bool]) -> bool:
    if not isinstance(value, tuple) or len(value) != len(kinds):
        return False
    return all(is_valid(v) for is_valid, v in zip(kinds, value, strict=True))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_numbers(value: object) -> bool:
    is_table = isinstance(value, np.ndarray) and value.ndim == 1
    return is_table or (isinstance(value, tuple) and all(map(_is_number, value)))


_REQUIRED_TYPES: dict[str, tuple[Callable[[object], bool], str]] = {
    "growth": (_is_number, "a number"),
    "promised": (_is_number, "a number"),
    "lost": (lambda v: v is None or _is_number(v), "a number or null"),
    "engine": (_is_text, "text"),
    "stopped": (lambda v: _is_row(v, _is_number, _is_text), "a number and text"),
    "imbalance": (lambda v: _is_row(v, _is_text, _is_number, _is_number), "text and two numbers"),
    "told": (lambda v: isinstance(v, dict) and all(map(_is_number, v.values())), "a table of numbers"),
    "layers": (
        lambda v: isinstance(v, tuple) and all(_is_row(w, _is_number, _is_number) for w in v),
        "pairs of numbers",
    ),
    "function_jumps": (
        lambda v: isinstance(v, tuple) and all(_is_row(w, _is_text, _is_text, _are_numbers) for w in v),
        "lists of a name, a coordinate and numbers",
    ),
    "cell_errors": (lambda v: isinstance(v, np.ndarray), "an array"),
}
"""Notes that messages use → a check of the type, and its description."""


def write_note(value: object, writer: Writer, depth: int = 0) -> Json:
    """Return a note as JSON; other objects as their ``repr``."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"number": json_number(float(value))}
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "fiub":
        return {"array": writer.array(value.astype(np.float64, copy=False))}
    return _write_nested(value, writer, depth) if depth < _MAX_DEPTH else repr(value)


def _write_nested(value: object, writer: Writer, depth: int) -> Json:
    """Return a tuple or a table of notes as JSON; other objects as their ``repr``."""
    if isinstance(value, (tuple, list)):
        return [write_note(v, writer, depth + 1) for v in value]
    if isinstance(value, Mapping):
        return {"table": {str(k): write_note(v, writer, depth + 1) for k, v in value.items()}}
    return repr(value)


def read_notes(record: Record, reader: Reader) -> Notes:
    """Read all notes and check the types of those that messages use."""
    notes = {key: read_note(record, key, reader) for key in record.values}
    for key, (is_valid, expected) in _REQUIRED_TYPES.items():
        if key in notes and not is_valid(notes[key]):
            raise record.error_at(key, expected)
    return cast(Notes, notes)


def read_note(record: Record, key: str, reader: Reader, depth: int = 0) -> object:
    """Read the note under this key."""
    value = record.values[key]
    if isinstance(value, list):
        if depth == _MAX_DEPTH:
            raise damaged_file(record.file, f"notes nested at most {_MAX_DEPTH} deep", "deeper ones")
        inner = Record(record.file, f"{record.name}, {key}", {str(i): v for i, v in enumerate(value)})
        return tuple(read_note(inner, k, reader, depth + 1) for k in inner.values)
    if isinstance(value, dict):
        inner = record.record(key)
        if "table" in value:
            if depth == _MAX_DEPTH:
                raise damaged_file(record.file, f"notes nested at most {_MAX_DEPTH} deep", "deeper ones")
            entries = inner.record("table")
            return {k: read_note(entries, k, reader, depth + 1) for k in entries.values}
        return reader.array(inner, "array") if "array" in value else inner.number("number")
    return value

"""What else is to be said about a solution ↔ JSON: words, numbers, arrays, and tuples of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pibls.io.record import Record, damaged, plain
from pibls.io.records import Reader, Writer

_MAX_DEPTH = 8


def write_note(value: Any, writer: Writer, depth: int = 0) -> Any:
    """A note as JSON; what is no plain value is kept as the text that Python shows for it."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"number": plain(float(value))}
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "fiub":
        return {"array": writer.array(value.astype(np.float64, copy=False))}
    if isinstance(value, (tuple, list)) and depth < _MAX_DEPTH:
        return [write_note(v, writer, depth + 1) for v in value]
    return repr(value)


def read_note(record: Record, key: str, reader: Reader, depth: int = 0) -> Any:
    """The note under this key."""
    value = record.values[key]
    if isinstance(value, list):
        if depth == _MAX_DEPTH:
            raise damaged(record.file, f"notes with at most {_MAX_DEPTH} levels", "more")
        inner = Record(record.file, f"{record.name}, {key}", {str(i): v for i, v in enumerate(value)})
        return tuple(read_note(inner, k, reader, depth + 1) for k in inner.values)
    if isinstance(value, dict):
        inner = record.record(key)
        return reader.array(inner, "array") if "array" in value else inner.number("number")
    return value

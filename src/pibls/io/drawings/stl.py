"""Reader of ASCII and binary STL files."""

from __future__ import annotations

import re

import numpy as np

from pibls.arrays import Array
from pibls.io.drawings.rings import unreadable_drawing

_VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)")
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def stl_triangles(content: bytes, path: str) -> Array:
    """Return the corners of all triangles, shape (T, 3, 3)."""
    if len(content) >= 84:
        count = int.from_bytes(content[80:84], "little")
        if len(content) == 84 + count * _RECORD.itemsize:
            return np.frombuffer(content, _RECORD, offset=84)["corners"].astype(float)
    try:
        found = np.array([[float(v) for v in match] for match in _VERTEX.findall(content)])
    except ValueError as problem:
        raise unreadable_drawing(path, f"not STL ({problem})") from None
    if not len(found) or len(found) % 3:
        raise unreadable_drawing(path, "not STL: no triangles", "Export the surface as STL again.")
    return found.reshape(-1, 3, 3)

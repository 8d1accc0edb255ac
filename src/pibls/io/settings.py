"""[solve] and [output]: how a file wants its problem solved, and what it wants written."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from pibls.io.document import Document, kind_of
from pibls.io.places import Path

OUTPUTS: dict[str, tuple[str, ...]] = {
    "solution": (".pibls",),
    "picture": (".png", ".pdf", ".svg", ".gif", ".mp4"),
    "table": (".csv",),
    "vtk": (".vti", ".vtu", ".pvd"),
    "netcdf": (".nc",),
}
"""What [output] may ask for, and how such files are called."""
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_ .-]*(?:/[A-Za-z0-9][A-Za-z0-9_ .-]*)*", re.ASCII)


def read_settings(doc: Document) -> dict[str, Any]:
    table = doc.table(("solve",), doc.values.get("solve", {}), ("tol", "seed", "max_nodes", "time_limit"))
    out: dict[str, Any] = {}
    for key, value in table.items():
        path: Path = ("solve", key)
        whole = key in ("seed", "max_nodes")
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, Decimal)):
            usual = {"tol": "1e-8", "seed": "0", "max_nodes": "4000", "time_limit": "60"}[key]
            raise doc.refusal(
                path, "a whole number" if whole else "a number", kind_of(value), f"Write {key} = {usual}."
            )
        low, high = {"tol": (0, 1), "seed": (-1, 2**63), "max_nodes": (1, 10**9), "time_limit": (0, 10**9)}[
            key
        ]
        if not low < value < high:
            raise doc.refusal(path, f"a number above {low} and below {high}", str(value)[:40], "Change it.")
        out[key] = value if whole else float(value)
    return out


def read_outputs(doc: Document) -> dict[str, str]:
    table = doc.table(("output",), doc.values.get("output", {}), OUTPUTS)
    for key, value in table.items():
        path: Path = ("output", key)
        name = doc.string(path, value)
        # A file from a stranger must not write wherever it likes.
        if not _FILE_NAME.fullmatch(name) or ".." in name or len(name) > 200:
            remedy = "Write letters, digits, _ and -, without .. and a leading /."
            raise doc.refusal(path, "a file name below the folder of this file", f"'{name[:64]}'", remedy)
        if not name.lower().endswith(OUTPUTS[key]):
            raise doc.refusal(
                path, f"a name that ends in {' or '.join(OUTPUTS[key])}", f"'{name[:64]}'", "Rename it."
            )
    return dict(table)

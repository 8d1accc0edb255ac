"""The sections [solve] and [output] of a problem file: arguments of `solve`, and paths of output files.

Output paths must be relative, stay in the folder of the problem file, and have a suffix of their kind.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from pibls.io.offsets import KeyPath
from pibls.io.toml_document import Document, describe

OUTPUTS: dict[str, tuple[str, ...]] = {
    "solution": (".pibls",),
    "picture": (".png", ".pdf", ".svg", ".gif", ".mp4"),
    "table": (".csv",),
    "vtk": (".vti", ".vtu", ".pvd"),
    "netcdf": (".nc",),
}
"""Kinds of output in [output] → valid suffixes."""
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_ .-]*(?:/[A-Za-z0-9][A-Za-z0-9_ .-]*)*", re.ASCII)


def read_settings(doc: Document) -> dict[str, Any]:
    """Read the keyword arguments of `pibls.solve` from [solve]."""
    table = doc.table(("solve",), doc.values.get("solve", {}), ("tol", "seed", "max_nodes", "time_limit"))
    out: dict[str, Any] = {}
    for key, value in table.items():
        path: KeyPath = ("solve", key)
        is_integer = key in ("seed", "max_nodes")
        if isinstance(value, bool) or not isinstance(value, int if is_integer else (int, Decimal)):
            usual = {"tol": "1e-8", "seed": "0", "max_nodes": "4000", "time_limit": "60"}[key]
            raise doc.error_at(
                path,
                "a whole number" if is_integer else "a number",
                describe(value),
                f"Write {key} = {usual}.",
            )
        low, high = {"tol": (0, 1), "seed": (-1, 2**63), "max_nodes": (1, 10**9), "time_limit": (0, 10**9)}[
            key
        ]
        if not low < value < high:
            raise doc.error_at(
                path,
                f"a number above {low} and below {high}",
                str(value)[:40],
                "Choose a value in this range.",
            )
        out[key] = value if is_integer else float(value)
    return out


def read_outputs(doc: Document) -> dict[str, str]:
    """Read the paths of the output files from [output]."""
    table = doc.table(("output",), doc.values.get("output", {}), OUTPUTS)
    out: dict[str, str] = {}
    for key, value in table.items():
        path: KeyPath = ("output", key)
        name = doc.string(path, value)
        # A file of unknown origin must not write outside its folder.
        if not _FILE_NAME.fullmatch(name) or ".." in name or len(name) > 200:
            remedy = "Use letters, digits, _ and -, without .. and a leading /."
            raise doc.error_at(path, "a path inside the folder of this file", f"'{name[:64]}'", remedy)
        if not name.lower().endswith(OUTPUTS[key]):
            raise doc.error_at(
                path, f"a file name ending in {' or '.join(OUTPUTS[key])}", f"'{name[:64]}'", "Rename it."
            )
        out[key] = name
    return out

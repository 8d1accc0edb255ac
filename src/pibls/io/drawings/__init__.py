"""Shapes from the files of other programs: DXF, SVG and GeoJSON outlines, STL surfaces."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sympy as sp

from pibls.errors import ProblemError
from pibls.geometry import Solid
from pibls.io.drawings.dxf import dxf_rings
from pibls.io.drawings.geojson import geojson_rings
from pibls.io.drawings.rings import Rings, area_of
from pibls.io.drawings.stl import stl_triangles
from pibls.io.drawings.svg import svg_rings

OUTLINES: dict[str, Callable[[bytes, str], Rings]] = {
    ".dxf": dxf_rings,
    ".svg": svg_rings,
    ".geojson": geojson_rings,
    ".json": geojson_rings,
}
"""What reads closed lines from the bytes of a file, by how the file is called."""

MAX_BYTES = 200_000_000


def read_shape(path: Any, coordinates: Any = None) -> Any:
    """A shape from a drawing: closed lines of a DXF, SVG or GeoJSON file, the triangles of an STL file.

    A line inside another one is a hole; lines beside each other are parts of one shape. Circles and arcs are
    taken as polygons of many sides. An SVG file is turned the right way up: its y-axis points downwards.

    Parameters
    ----------
    path
        The file.
    coordinates
        The symbols of the shape, by default those called x, y and z.
    """
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise ProblemError(
            "read_shape(path)",
            expected="the name of a file",
            got=repr(path)[:80],
            remedy='Write "plate.dxf", or a pathlib.Path.',
        )
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (*OUTLINES, ".stl"):
        raise ProblemError(
            "read_shape(path)",
            expected=f"a file called *{', *'.join((*OUTLINES, '.stl'))}",
            got=str(path),
            remedy="Save the drawing in one of these formats.",
        )
    try:
        if file.stat().st_size > MAX_BYTES:
            raise OSError(f"larger than {MAX_BYTES} bytes")
        content = file.read_bytes()
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        raise ProblemError(
            "read_shape(path)",
            expected="a file that can be read",
            got=f"{str(path)[:200]}: {getattr(problem, 'strerror', None) or problem}",
            remedy="Check the name and the rights of the file.",
        ) from None
    if kind == ".stl":
        symbols = coordinates if coordinates is not None else sp.symbols("x y z")
        return Solid(symbols, stl_triangles(content, str(path)))
    symbols = coordinates if coordinates is not None else sp.symbols("x y")
    return area_of(OUTLINES[kind](content, str(path)), symbols, str(path))

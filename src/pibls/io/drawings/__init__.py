"""Import of shapes from drawings: DXF, SVG and GeoJSON outlines, STL surfaces."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import sympy as sp

from pibls.errors import ProblemError, failure_reason
from pibls.expressions import Coordinate
from pibls.geometry import Solid
from pibls.io.drawings.dxf import dxf_rings
from pibls.io.drawings.geojson import geojson_rings
from pibls.io.drawings.rings import Rings, shape_from_rings
from pibls.io.drawings.stl import stl_triangles
from pibls.io.drawings.svg import svg_rings

if TYPE_CHECKING:
    from os import PathLike

    from pibls.geometry.shape import Shape

OUTLINES: dict[str, Callable[[bytes, str], Rings]] = {
    ".dxf": dxf_rings,
    ".svg": svg_rings,
    ".geojson": geojson_rings,
    ".json": geojson_rings,
}
"""Suffix of a file → function that reads closed lines from its bytes."""

MAX_BYTES = 200_000_000
"""Maximum size of a file."""


def read_shape(path: str | PathLike[str], coordinates: Sequence[Coordinate] | None = None) -> Shape:
    """Read a shape from a drawing: closed lines of a DXF, SVG or GeoJSON file, or triangles of an STL file.

    A line inside another one is a hole; disjoint lines are parts of one shape. Circles and arcs are
    approximated by polygons with many sides. The y-axis of an SVG file, which points downwards, is reversed.

    Parameters
    ----------
    path
        The file.
    coordinates
        The symbols of the coordinates; the default is x, y and z.
    """
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise ProblemError(
            "read_shape(path)",
            expected="a file name",
            got=repr(path)[:80],
            remedy='Write "plate.dxf", or a pathlib.Path.',
        )
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (*OUTLINES, ".stl"):
        raise ProblemError(
            "read_shape(path)",
            expected=f"a file named *{', *'.join((*OUTLINES, '.stl'))}",
            got=str(path),
            remedy="Save the drawing in one of these formats.",
        )
    try:
        if file.stat().st_size > MAX_BYTES:
            raise OSError(f"larger than {MAX_BYTES} bytes")
        content = file.read_bytes()
    except (OSError, ValueError) as problem:  # ValueError: NUL character in the path
        raise ProblemError(
            "read_shape(path)",
            expected="a file that can be read",
            got=f"{str(path)[:200]}: {failure_reason(problem)}",
            remedy="Check the path and the permissions of the file.",
        ) from None
    if kind == ".stl":
        symbols = coordinates if coordinates is not None else sp.symbols("x y z")
        return Solid(symbols, stl_triangles(content, str(path)))
    symbols = coordinates if coordinates is not None else sp.symbols("x y")
    return shape_from_rings(OUTLINES[kind](content, str(path)), symbols, str(path))

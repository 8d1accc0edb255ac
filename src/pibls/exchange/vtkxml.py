"""Writers of the XML formats of VTK: image data, unstructured grids, time series.

Arrays are inline base64, little-endian, each preceded by its length as 64-bit integer: the simplest binary
encoding, which every reader of the format supports.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array

_TYPES = {np.dtype("<f8"): "Float64", np.dtype("<i8"): "Int64", np.dtype("u1"): "UInt8"}


@dataclass(frozen=True)
class RegularGrid:
    """A regular grid in up to three dimensions; the first coordinate of the values runs fastest."""

    origin: tuple[float, float, float]
    spacing: tuple[float, float, float]
    counts: tuple[int, int, int]
    suffix: str = ".vti"

    def write(self, path: Path, values: Mapping[str, Array], metadata: Mapping[str, str | float]) -> None:
        extent = " ".join(f"0 {n - 1}" for n in self.counts)
        root, body = _root("ImageData", metadata)
        body.set("WholeExtent", extent)
        body.set("Origin", _numbers(self.origin))
        body.set("Spacing", _numbers(self.spacing))
        piece = ET.SubElement(body, "Piece", Extent=extent)
        _point_data(piece, values)
        _save(root, path)


@dataclass(frozen=True)
class Mesh:
    """Cells of one VTK cell type ``kind`` over points of shape (n, 3)."""

    points: Array
    cells: npt.NDArray[np.intp]
    kind: int
    suffix: str = ".vtu"

    def write(self, path: Path, values: Mapping[str, Array], metadata: Mapping[str, str | float]) -> None:
        root, body = _root("UnstructuredGrid", metadata)
        m, k = self.cells.shape
        piece = ET.SubElement(body, "Piece", NumberOfPoints=str(len(self.points)), NumberOfCells=str(m))
        _point_data(piece, values)
        _array(ET.SubElement(piece, "Points"), "Points", self.points)
        cells = ET.SubElement(piece, "Cells")
        _array(cells, "connectivity", self.cells.ravel().astype("<i8"))
        _array(cells, "offsets", k * np.arange(1, m + 1, dtype="<i8"))
        _array(cells, "types", np.full(m, self.kind, dtype="u1"))
        _save(root, path)


def write_series(path: Path, files: Sequence[tuple[float, str]]) -> None:
    """Write a .pvd file, which lists the file of each time."""
    root = ET.Element("VTKFile", type="Collection", version="1.0", byte_order="LittleEndian")
    collection = ET.SubElement(root, "Collection")
    for t, name in files:
        ET.SubElement(collection, "DataSet", timestep=repr(float(t)), part="0", file=name)
    _save(root, path)


def _root(kind: str, metadata: Mapping[str, str | float]) -> tuple[ET.Element, ET.Element]:
    """Return root and body of a file, with numbers as field data and strings as a comment.

    Not all readers support string arrays.
    """
    root = ET.Element("VTKFile", type=kind, version="1.0", byte_order="LittleEndian", header_type="UInt64")
    words = [f"{name}: {value}" for name, value in metadata.items() if isinstance(value, str)]
    root.append(ET.Comment(f" {' | '.join(words)} ".replace("--", "- -")))
    body = ET.SubElement(root, kind)
    field = ET.SubElement(body, "FieldData")
    for name, value in metadata.items():
        if not isinstance(value, str):
            _array(field, name, np.array([value], dtype="<f8"), tuples=1)
    return root, body


def _point_data(piece: ET.Element, values: Mapping[str, Array]) -> None:
    data = ET.SubElement(piece, "PointData")
    for name, array in values.items():
        _array(data, name, array)


def _array(parent: ET.Element, name: str, values: npt.NDArray[Any], tuples: int | None = None) -> None:
    values = np.ascontiguousarray(values)
    element = ET.SubElement(
        parent, "DataArray", type=_TYPES[values.dtype.newbyteorder("<")], Name=name, format="binary"
    )
    if values.ndim == 2:
        element.set("NumberOfComponents", str(values.shape[1]))
    if tuples is not None:
        element.set("NumberOfTuples", str(tuples))
    data = values.astype(values.dtype.newbyteorder("<")).tobytes()
    element.text = base64.b64encode(np.uint64(len(data)).astype("<u8").tobytes() + data).decode()


def _numbers(values: Sequence[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


def _save(root: ET.Element, path: Path) -> None:
    ET.indent(root)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)

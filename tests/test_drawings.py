"""Shapes from DXF, SVG, GeoJSON and STL files."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.geometry import faces_of

x, y = sp.symbols("x y")
SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
HOLE = [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]
TRIANGLE = [[6, 0], [7, 0], [7, 1], [6, 0]]


def write_file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def area(shape: Any) -> float:
    low, high = np.array(shape.bounds).T
    X = np.random.default_rng(0).uniform(low, high, (200_000, len(low)))
    return float(np.mean(shape.contains(X)) * np.prod(high - low))


def test_read_geojson(tmp_path: Path) -> None:
    polygon = {"type": "Polygon", "coordinates": [SQUARE, HOLE]}
    shape = pibls.read_shape(write_file(tmp_path, "a.geojson", json.dumps(polygon)))
    assert isinstance(shape, pibls.Polygon)
    assert len(shape.holes) == 1
    assert shape.coordinates == (x, y)
    several = {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "geometry": {"type": "MultiPolygon", "coordinates": [[SQUARE, HOLE], [TRIANGLE]]},
            },
            {"type": "Feature", "geometry": {"type": "Point", "coordinates": [0, 0]}},
        ],
    }
    p, q = sp.symbols("p q")
    shape = pibls.read_shape(write_file(tmp_path, "b.json", json.dumps(several)), (p, q))
    assert shape.coordinates == (p, q)
    assert area(shape) == pytest.approx(15.5, rel=0.02)


def groups(*pairs: tuple[int, object]) -> str:
    return "\n".join(f"{code}\n{value}" for code, value in pairs) + "\n"


def test_read_dxf(tmp_path: Path) -> None:
    corners = [pair for px, py in SQUARE[:-1] for pair in ((10, px), (20, py))]
    lines = [
        (0, "LINE"), (10, 6), (20, 0), (11, 8), (21, 0),
        (0, "ARC"), (10, 7), (20, 0), (40, 1), (50, 0), (51, 180),
    ]  # fmt: skip
    text = groups(
        (0, "SECTION"), (2, "ENTITIES"), (0, "LWPOLYLINE"), (70, 1), *corners,
        (0, "CIRCLE"), (10, 2), (20, 2), (40, 1), *lines, (0, "ENDSEC"), (0, "EOF"),
    )  # fmt: skip
    shape = pibls.read_shape(write_file(tmp_path, "plate.dxf", text))
    assert area(shape) == pytest.approx(16 - math.pi + math.pi / 2, rel=0.02)
    assert len(faces_of(shape)) < 10  # a circle is one face, not 256
    bulged = groups(
        (0, "POLYLINE"), (70, 1),
        (0, "VERTEX"), (10, 0), (20, 0), (42, 1), (0, "VERTEX"), (10, 2), (20, 0), (42, 1), (0, "SEQEND"),
    )  # fmt: skip
    assert area(pibls.read_shape(write_file(tmp_path, "disc.DXF", bulged))) == pytest.approx(
        math.pi, rel=0.02
    )


def test_read_svg(tmp_path: Path) -> None:
    text = """<svg xmlns="http://www.w3.org/2000/svg" width="20"><g transform="translate(1,0) scale(2)">
    <path d="M0 0 h4 v4 h-4 z M1,1 C1,1.5 1,2 1,2 L2 2 Q2 1.5 2 1 Z"/></g>
    <circle cx="15" cy="0" r="1"/><rect x="20" y="0" width="1" height="2"/>
    <polygon points="30,0 31,0 31,1"/><path d="M 40 0 A 1 1 0 0 1 42 0 A 1 1 0 1 1 40 0"/>
    <defs><rect width="99" height="99"/></defs></svg>"""
    shape = pibls.read_shape(write_file(tmp_path, "a.svg", text))
    assert area(shape) == pytest.approx(4 * 15 + math.pi + 2 + 0.5 + math.pi, rel=0.03)
    assert shape.bounds[1][0] == pytest.approx(-8.0)  # y points upwards


def test_read_stl(tmp_path: Path) -> None:
    P = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    triangles = [P[list(i)] for i in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))]
    vertices = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {a} {b} {c}\n" for a, b, c in triangle)
        + "endloop\nendfacet\n"
        for triangle in triangles
    )
    text = pibls.read_shape(write_file(tmp_path, "a.stl", f"solid a\n{vertices}endsolid a\n"))
    raw = b" " * 80 + struct.pack("<I", 4)
    for triangle in triangles:
        raw += struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0)
    binary = pibls.read_shape(write_file(tmp_path, "b.stl", raw))
    for solid in (text, binary):
        assert area(solid) == pytest.approx(1 / 6, rel=0.03)
        assert len(cast(pibls.Solid, solid).triangles) == 4


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", r"read_shape\(path\): expected a file named \*\.dxf"),
        ("a.geojson", "{", r"not GeoJSON"),
        ("a.geojson", '{"type": "Point", "coordinates": [0, 0]}', r"no closed line"),
        (
            "a.geojson",
            '{"type": "Polygon", "coordinates": [[[0, 0], [1, 0]]]}',
            r"outline 1: expected at least 3",
        ),
        ("a.svg", "<svg>", r"not SVG"),
        ("a.svg", "<svg><path d='M0 0 L1 1 L0'/></svg>", r"not SVG"),
        ("a.svg", "<svg><path d='M0 0 L1 1 L0 1'/></svg>", r"no closed line"),
        ("a.svg", "<!DOCTYPE s [<!ENTITY a 'b'>]><svg/>", r"entity declarations"),
        ("a.dxf", "AutoCAD Binary DXF", r"a binary DXF file"),
        ("a.dxf", "hello\nworld\n", r"not DXF"),
        ("a.dxf", "", r"no closed line"),
        ("a.stl", "solid a", r"not STL: no triangles"),
        ("a.stl", "vertex 0 0 zero", r"not STL \("),
    ],
)
def test_invalid_file_is_rejected(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(pibls.ProblemError, match=message):
        pibls.read_shape(write_file(tmp_path, name, content))


def test_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(pibls.ProblemError, match=r"a file that can be read, got .*No such file"):
        pibls.read_shape(tmp_path / "none.svg")

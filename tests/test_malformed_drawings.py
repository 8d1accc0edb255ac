"""Malformed or malicious drawings, and other encodings: read, or rejected with a ProblemError."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import pibls

RECT = '<rect width="2" height="1"/>'
ENTITY = '<?xml version="1.0"{}?><!DOCTYPE svg [<!ENTITY a "1">]><svg><rect width="&a;" height="1"/></svg>'


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_rejected(path: Path, match: str) -> None:
    with pytest.raises(pibls.ProblemError, match=match):
        pibls.read_shape(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16le", "utf-16be", "latin-1"])
def test_entities_are_rejected_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    declared = f' encoding="{encoding}"' if encoding != "utf-8" else ""
    assert_rejected(write(tmp_path, "a.svg", ENTITY.format(declared).encode(encoding)), "entity declarations")


def test_parameter_and_external_entities_are_rejected(tmp_path: Path) -> None:
    for declaration in ('% a "b"', 'a SYSTEM "file:///etc/passwd"', 'a PUBLIC "b" "c"'):
        text = f"<!DOCTYPE svg [<!ENTITY {declaration}>]><svg>{RECT}</svg>"
        assert_rejected(write(tmp_path, "a.svg", text.encode("utf-16")), "entity declarations")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_svg_in_other_encodings_is_read(tmp_path: Path, encoding: str) -> None:
    doctype = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/svg11.dtd">'
    shape = pibls.read_shape(write(tmp_path, "a.svg", f"{doctype}<svg>{RECT}</svg>".encode(encoding)))
    assert shape.bounds == ((0.0, 2.0), (-1.0, 0.0))


def test_unknown_encoding_is_rejected(tmp_path: Path) -> None:
    for name in ("no-such", "shift-jis", "utf-7"):
        text = f'<?xml version="1.0" encoding="{name}"?><svg>{RECT}</svg>'
        assert_rejected(write(tmp_path, "a.svg", text), "not SVG")


def test_nested_groups_are_read_to_any_depth(tmp_path: Path) -> None:
    n = 5000
    group = '<g transform="translate(1,0)">' * n + RECT + "</g>" * n
    shape = pibls.read_shape(write(tmp_path, "a.svg", f"<svg>{group}</svg>"))
    assert shape.bounds == ((5000.0, 5002.0), (-1.0, 0.0))


def test_definitions_in_nested_groups_are_not_drawn(tmp_path: Path) -> None:
    text = f"<svg><defs><g>{RECT}<clipPath>{RECT}</clipPath></g>{RECT}</defs><g>{RECT}</g></svg>"
    assert isinstance(pibls.read_shape(write(tmp_path, "a.svg", text)), pibls.Polygon)


def test_long_malformed_transform_is_parsed_fast(tmp_path: Path) -> None:
    for text in ("a" * 200_000, "a(" * 100_000):
        path = write(tmp_path, "a.svg", f'<svg><g transform="{text}">{RECT}</g></svg>')
        assert pibls.read_shape(path).bounds[0] == (0.0, 2.0)


@pytest.mark.parametrize(
    ("element", "match"),
    [
        ('<rect width="1e999" height="1"/>', "not finite or too large"),
        ('<rect width="1e200" height="1"/>', r"expected a number between -1e\+70 and 1e\+70, got 1e\+200"),
        ('<rect width="1e-200" height="1e-200"/>', r"a size from 1e-70 to 1e\+70, got 1e-200"),
        ('<path d="M0 0 L1 0 L1 1 L1 0 Z"/>', "enclose an area, got a line that runs back along itself"),
        ('<path d="M0 0 L1 0 L2 0 Z"/>', "intersect or touch itself|enclose an area"),
        ('<polygon points="0,0 4,0 4,4 0,4"/><polygon points="1,1 9,1 9,2"/>', "a hole inside the outline"),
        ('<g transform="matrix(1 2)"/>', "not SVG"),
        ('<g transform="translate()"/>', "not SVG"),
    ],
)
def test_invalid_svg_elements_are_rejected(tmp_path: Path, element: str, match: str) -> None:
    assert_rejected(write(tmp_path, "a.svg", f"<svg>{element}</svg>"), match)


def dxf(*pairs: tuple[int, object]) -> str:
    return "\n".join(f"{code}\n{value}" for code, value in pairs) + "\n"


@pytest.mark.parametrize(
    ("pairs", "match"),
    [
        ([(0, "CIRCLE"), (10, 0), (20, 0), (40, "inf")], "finite numbers"),
        ([(0, "CIRCLE"), (10, 0), (20, 0)], "finite numbers"),
        ([(0, "CIRCLE"), (10, 0), (20, 0), (40, 0)], "at least 3 different points"),
        ([(0, "CIRCLE"), (10, 0), (20, 0), (40, "1e300")], r"between -1e\+70 and 1e\+70"),
        ([(0, "ARC"), (10, 0), (20, 0), (40, 1), (50, "inf"), (51, 5)], "not finite|not DXF"),
        ([(0, "LINE"), (10, 0), (20, 0), (11, 1)], "not finite"),
        (
            [(0, "LWPOLYLINE"), (70, 1), (10, 0), (20, 0), (42, "1e300"), (10, 1), (20, 0), (42, 1)],
            r"not DXF|finite|between|size",
        ),
        ([(0, "LWPOLYLINE"), (70, 1), (10, 0), (20, 0), (10, 1), (20, 0)], "at least 3 different points"),
        ([(0, "LWPOLYLINE"), (70, "one")], "not DXF"),
    ],
)
def test_malformed_dxf_is_rejected(tmp_path: Path, pairs: list[tuple[int, object]], match: str) -> None:
    assert_rejected(write(tmp_path, "a.dxf", dxf(*pairs)), match)


def test_arc_with_large_angles(tmp_path: Path) -> None:
    line = [(0, "LINE"), (10, 1), (20, 0), (11, -1), (21, 0)]
    arc = [(0, "ARC"), (10, 0), (20, 0), (40, 1), (50, 360e9), (51, 360e9 + 180)]
    shape = cast(pibls.Polygon, pibls.read_shape(write(tmp_path, "a.dxf", dxf(*line, *arc))))
    assert len(shape.vertices) == 129
    np.testing.assert_allclose(shape.bounds, [(-1, 1), (0, 1)], atol=1e-4)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ({"type": "Polygon", "coordinates": [[[0, 0], [10**400, 0], [1, 1]]]}, "not GeoJSON"),
        ({"type": "Polygon", "coordinates": [[[0, 0], [1]]]}, "not GeoJSON"),
        ({"type": "Polygon", "coordinates": [[[0], [1], [2]]]}, "a list of points"),
        ({"type": "Feature", "geometry": None}, "no closed line"),
        ([], "not GeoJSON"),
        (None, "no closed line"),
    ],
)
def test_malformed_geojson_is_rejected(tmp_path: Path, data: object, match: str) -> None:
    assert_rejected(write(tmp_path, "a.geojson", json.dumps(data)), match)


def test_deeply_nested_geojson_is_rejected(tmp_path: Path) -> None:
    assert_rejected(write(tmp_path, "a.geojson", "[" * 100_000), "not GeoJSON")
    inner = '{"type": "GeometryCollection", "geometries": ['
    assert_rejected(write(tmp_path, "a.geojson", inner * 3000 + "]}" * 3000), "not GeoJSON")


def stl(triangles: object) -> str:
    corners = np.asarray(triangles, dtype=float).reshape(-1, 3)
    return "solid a\n" + "".join(f"vertex {a!r} {b!r} {c!r}\n" for a, b, c in corners.tolist())


P = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TETRAHEDRON = P[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]


@pytest.mark.parametrize(
    ("triangles", "match"),
    [
        (np.zeros((4, 3, 3)), r"a size from 1e-70 to 1e\+70, got 0"),
        (TETRAHEDRON * 1e200, r"between -1e\+70 and 1e\+70"),
        (TETRAHEDRON * 1e-200, r"a size from 1e-70"),
        (TETRAHEDRON * (1, 1, 0), "encloses a volume"),
        (np.tile([[[0, 0, 0], [1, 0, 0], [2, 0, 0]]], (5, 1, 1)), "encloses a volume, got 0 triangles"),
        (TETRAHEDRON[:3], "at least four triangles"),
        (np.concatenate([TETRAHEDRON[:3], TETRAHEDRON[:1]]), "a closed surface"),
        (np.where(TETRAHEDRON == 1, np.nan, TETRAHEDRON), "finite numbers"),
    ],
)
def test_malformed_stl_is_rejected(tmp_path: Path, triangles: object, match: str) -> None:
    assert_rejected(write(tmp_path, "a.stl", stl(triangles)), match)


def test_solid_far_from_the_origin() -> None:
    symbols = sp.symbols("x y z")
    far = pibls.Solid(symbols, TETRAHEDRON + 1e6)
    assert len(far.triangles) == 4
    with pytest.raises(pibls.ProblemError, match="a closed surface"):
        pibls.Solid(symbols, np.concatenate([TETRAHEDRON[:3], TETRAHEDRON[:1]]) + 1e12)


def test_truncated_binary_stl_is_rejected(tmp_path: Path) -> None:
    raw = b" " * 80 + struct.pack("<I", 4) + b"\0" * 199
    assert_rejected(write(tmp_path, "a.stl", raw), "not STL: no triangles")


def test_invalid_triangles_are_rejected() -> None:
    invalid: tuple[Any, ...] = ([[1, 2], [3]], "text", None, [[["a"]]])
    for triangles in invalid:
        with pytest.raises(pibls.ProblemError, match=r"finite numbers in an array of shape \(T, 3, 3\)"):
            pibls.Solid(sp.symbols("x y z"), triangles)


def test_ragged_holes_are_rejected() -> None:
    with pytest.raises(pibls.ProblemError, match="a list of points"):
        pibls.Polygon(sp.symbols("x y"), [(0, 0), (1, 0), (0, 1)], [[(0, 0), (1,)]])

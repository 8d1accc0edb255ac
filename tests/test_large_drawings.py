"""Drawings with thousands of lines are read in a time that is not quadratic in their number."""

from __future__ import annotations

import json
import math
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.geometry import faces_of
from pibls.geometry.checks.vertices import without_slits
from pibls.io.drawings.rings import join_lines

LIMIT = (
    20.0  # processor seconds; each takes about 1 s, and took more than a minute with a quadratic algorithm
)


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content)
    return path


def read_in_time(path: Path) -> Any:
    start = time.process_time()
    shape = pibls.read_shape(path)
    assert time.process_time() - start < LIMIT
    return shape


def square(a: float, b: float, side: float) -> list[list[float]]:
    return [[a, b], [a + side, b], [a + side, b + side], [a, b + side], [a, b]]


def test_thousands_of_svg_rectangles(tmp_path: Path) -> None:
    corners = [(3 * (i % 60), 3 * (i // 60)) for i in range(2400)]
    rects = "".join(f'<rect x="{a}" y="{b}" width="2" height="2"/>' for a, b in corners)
    shape = read_in_time(write(tmp_path, "a.svg", f"<svg>{rects}</svg>"))
    assert len(shape.parts) == 2400
    assert shape.bounds == ((0.0, 179.0), (-119.0, 0.0))
    X = np.random.default_rng(0).uniform((0, -119), (179, 0), (2000, 2))
    expected = (X[:, 0] % 3 <= 2) & (-X[:, 1] % 3 <= 2)
    np.testing.assert_array_equal(shape.contains(X), expected)


def test_thousands_of_dxf_lines_in_one_ring(tmp_path: Path) -> None:
    n, rng = 10_000, random.Random(0)
    radius = [2 + math.sin(40 * math.pi * i / n) for i in range(n)]
    P = [(r * math.cos(2 * math.pi * i / n), r * math.sin(2 * math.pi * i / n)) for i, r in enumerate(radius)]
    lines = []
    for i in rng.sample(range(n), n):
        a, b = (P[i], P[(i + 1) % n])[:: rng.choice((1, -1))]
        lines.append(f"0\nLINE\n10\n{a[0]!r}\n20\n{a[1]!r}\n11\n{b[0]!r}\n21\n{b[1]!r}\n")
    shape = read_in_time(write(tmp_path, "a.dxf", "".join(lines)))
    assert len(shape.vertices) == n
    x, y = np.array(shape.vertices).T
    area = 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)
    assert area == pytest.approx(math.pi * 4.5, rel=1e-5)  # ∫ (2 + sin 20φ)²/2 dφ


@pytest.mark.parametrize("kind", ["holes", "adjacent", "nested"])
def test_thousands_of_geojson_rings(tmp_path: Path, kind: str) -> None:
    n = 1500
    if kind == "nested":
        rings = [square(i, i, 2 * (n - i)) for i in range(n)]
    else:
        rings = [square(3 * (i % 40), 3 * (i // 40), 2) for i in range(n)]
    if kind == "holes":
        rings = [square(-1, -1, 125), *rings]
    shape = read_in_time(
        write(tmp_path, "a.geojson", json.dumps({"type": "MultiPolygon", "coordinates": [rings]}))
    )
    if kind == "holes":
        assert len(shape.holes) == n
    elif kind == "adjacent":
        assert len(shape.parts) == n
    else:
        assert [len(p.holes) for p in shape.parts] == [1] * (n // 2)
        X = n + np.array([[-n + 0.5, 0.0], [-n + 1.5, 0.0], [-n + 2.5, 0.0]])
        np.testing.assert_array_equal(shape.contains(X), [True, False, True])


def test_boundary_length_of_many_parts_with_one_overlap(tmp_path: Path) -> None:
    rings = [square(3 * (i % 20), 3 * (i // 20), 2) for i in range(300)]
    rings.append(square(2.5, 0.5, 1.0))  # overlaps the second: only their sides are cut
    text = json.dumps({"type": "MultiPolygon", "coordinates": [[ring] for ring in rings]})
    start = time.process_time()
    shape = pibls.read_shape(write(tmp_path, "a.geojson", text))
    length = sum(face.measure(np.ones(2)) for face in faces_of(shape))
    assert time.process_time() - start < LIMIT
    assert length == pytest.approx(300 * 8 + 4 - 3, rel=1e-9)  # lengths 1 and 2 are inside


def test_closed_line_with_an_open_line_ending_at_it() -> None:
    ring = np.array(square(0, 0, 1), dtype=float)
    leader = np.array([[-1.0, -1.0], [0.0, 0.0]])
    (found,) = join_lines([leader, ring], "a.dxf")
    np.testing.assert_array_equal(found, ring[:-1])


def test_rounded_line_ends_are_joined() -> None:
    gap = 4e-7
    lines = [[[0, 0], [1, gap]], [[0, 1], [gap, -gap]], [[1 + gap, 0], [1, 1]], [[gap, 1], [1, 1 - gap]]]
    (found,) = join_lines([np.array(line, dtype=float) for line in lines], "a.dxf")
    assert len(found) == 4


def test_slits_are_removed_for_every_start_vertex() -> None:
    square_with_slit = np.array([[0, 0], [1, 0], [0.5, 0.5], [0.2, 0.5], [0.5, 0.5], [1, 0], [1, 1], [0, 1]])
    expected = {(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)}
    for k in range(len(square_with_slit)):
        without_slit = without_slits(np.roll(square_with_slit, k, axis=0))
        assert len(without_slit) == 4
        assert set(map(tuple, without_slit.tolist())) == expected


def test_outline_that_retraces_itself_is_rejected() -> None:
    with pytest.raises(pibls.ProblemError, match="got a line that runs back along itself"):
        pibls.Polygon(sp.symbols("x y"), [(0, 0), (1, 0), (2, 1), (1, 0)])

"""Drawings for the fuzz run: valid, randomly generated and mutated ones."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

NUMBERS = (
    "0",
    "1",
    "-1",
    "0.5",
    "1e-9",
    "1e9",
    "1e30",
    "1e308",
    "1e999",
    "-1e200",
    "nan",
    "inf",
    "",
    "x",
    "1e-320",
    "0x10",
    "1_0",
    "٣",
    "9" * 400,
    "1.5.2",
    "--1",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    10**6,
    10**30,
    10**400,
    0.5,
    -1e308,
    "",
    "nan",
    "inf",
    "u",
    "x" * 300,
    [],
    [0],
    [[]],
    {},
    {"kind": "waves"},
    {"array": 0},
    {"number": "nan"},
    {"table": {"u": "v"}},
    [1, "a"],
    ["a", 1, 2],
)


def number(rng: random.Random) -> str:
    """Return a random number as text, in one of 100 cases an unusual one."""
    return (
        rng.choice(NUMBERS)
        if rng.random() < 0.01
        else f"{rng.choice((1, 1, 1, 10)) * rng.uniform(-2, 2):.3g}"
    )


def svg(rng: random.Random) -> bytes:
    """Return an SVG file of random groups, transforms and elements, sometimes malformed."""
    names = ("translate", "scale", "rotate", "matrix", "skewX", "")

    def element(depth: int) -> str:
        kind = rng.choice(("rect", "circle", "ellipse", "polygon", "polyline", "path", "g", "defs", "text"))
        keys = ("x", "y", "width", "height", "r", "rx", "ry", "cx", "cy")
        given = " ".join(f'{k}="{number(rng)}"' for k in keys if rng.random() < 0.7)
        if rng.random() < 0.3:
            values = ",".join(number(rng) for _ in range(rng.randrange(7)))
            given += f' transform="{rng.choice(names)}({values})"'
        if kind in ("polygon", "polyline"):
            given += f' points="{" ".join(number(rng) for _ in range(rng.randrange(12)))}"'
        if kind == "path":
            parts = (
                rng.choice("MLHVCSQTAZmlhvcsqtaz") + " ".join(number(rng) for _ in range(rng.randrange(8)))
                for _ in range(rng.randrange(9))
            )
            given += f' d="M0 0 {" ".join(parts)} {rng.choice(("Z", ""))}"'
        inner = "".join(element(depth - 1) for _ in range(rng.randrange(3))) if depth else ""
        return f"<{kind} {given}>{inner}</{kind}>"

    head = rng.choice(("", "", '<?xml version="1.0"?>', '<!DOCTYPE svg [<!ENTITY a "b">]>'))
    text = f"{head}<svg>{''.join(element(3) for _ in range(rng.randrange(1, 5)))}</svg>"
    return text.encode(rng.choice(("utf-8", "utf-8", "utf-16", "latin-1")), errors="replace")


def dxf(rng: random.Random) -> bytes:
    """Return a DXF file of random entities; some group codes are missing or invalid."""
    out = []
    for _ in range(rng.randrange(1, 12)):
        kind = rng.choice(("LINE", "ARC", "CIRCLE", "LWPOLYLINE", "POLYLINE", "VERTEX", "SEQEND", "TEXT"))
        out.append(f"0\n{kind}")
        for code in rng.choices((10, 20, 11, 21, 40, 42, 50, 51, 70), k=rng.randrange(10)):
            out.append(f"{code}\n{rng.choice(('0', '1')) if code == 70 else number(rng)}")
    return "\n".join(out).encode()


def geojson(rng: random.Random) -> bytes:
    """Return a GeoJSON file of random polygons, features and collections."""

    def coordinate() -> Any:
        return rng.choice(VALUES) if rng.random() < 0.02 else round(rng.uniform(-2, 2), 2)

    def ring() -> Any:
        if rng.random() < 0.05:
            return rng.choice(VALUES)
        if rng.random() < 0.6:
            a, b, s = coordinate(), coordinate(), coordinate()
            try:
                return [[a, b], [a + s, b], [a + s, b + s], [a, b + s], [a, b]]
            except (TypeError, OverflowError):
                return a
        return [[coordinate(), coordinate()] for _ in range(rng.randrange(8))]

    def thing(depth: int) -> Any:
        kind = rng.choice(
            ("Polygon", "MultiPolygon", "Feature", "FeatureCollection", "GeometryCollection", "Point")
        )
        inner = [thing(depth - 1) for _ in range(rng.randrange(3))] if depth else []
        rings = [ring() for _ in range(rng.randrange(4))]
        data = {
            "type": kind,
            "coordinates": [rings] if kind == "MultiPolygon" else rings,
            "features": inner,
            "geometries": inner,
            "geometry": inner[0] if inner else None,
        }
        if rng.random() < 0.1:
            data[rng.choice(list(data))] = rng.choice(VALUES)
        return data

    return json.dumps(thing(3)).encode()


def stl(rng: random.Random) -> bytes:
    """Return an STL file of a random tetrahedron, sometimes damaged, as text or binary."""
    P = np.array(
        [
            [rng.choice((0, 1, 1e-9, 1e20, 1e160)) if rng.random() < 0.1 else rng.random() for _ in range(3)]
            for _ in range(4)
        ]
    )
    T = P[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    for _ in range(rng.choice((0, 0, 1, 2))):
        T[rng.randrange(4), rng.randrange(3), rng.randrange(3)] = float(
            rng.choice((0.0, np.nan, np.inf, 1e300, 2.0))
        )
    if rng.random() < 0.5:
        with np.errstate(all="ignore"):
            flat = np.zeros((4, 12), dtype="<f4")
            flat[:, 3:] = T.reshape(4, 9)
        return (
            b" " * 80
            + struct.pack("<I", rng.choice((4, 4, 4, 3, 0)))
            + b"".join(r.tobytes() + b"\0\0" for r in flat)
        )
    return "".join(f"vertex {a} {b} {c}\n" for a, b, c in T.reshape(-1, 3)).encode()


DRAWINGS: dict[str, Callable[[random.Random], bytes]] = {
    ".svg": svg,
    ".dxf": dxf,
    ".geojson": geojson,
    ".stl": stl,
}


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes after random deletions, duplications, insertions and replacements."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0:
                del out[at : at + rng.randrange(20)]
            case 1:
                out[at:at] = out[at : at + rng.randrange(40)]
            case 2:
                out[at:at] = rng.choice(NUMBERS).encode()
            case 3:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case _:
                out = out[:at] if rng.random() < 0.2 else out
    return bytes(out)


def valid_drawings() -> dict[str, list[bytes]]:
    """Return valid drawings to mutate: random ones are mostly rejected."""
    ring = "".join(
        f"0\nLINE\n10\n{a}\n20\n{b}\n11\n{c}\n21\n{d}\n"
        for a, b, c, d in ((0, 0, 4, 0), (4, 0, 4, 4), (0, 4, 4, 4), (0, 0, 0, 4))
    )
    P = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)[
        [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
    ]
    square, hole = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]], [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]
    return {
        ".svg": [
            b'<svg><g transform="translate(1,2) rotate(30)"><rect x="0" y="0" width="4" height="4"/></g>'
            b'<circle cx="9" cy="9" r="1.5"/></svg>',
            b'<svg><path d="M0 0 h9 v9 h-9 z M1,1 C1,1.5 1,2 1,2 L2 2 Q2 1.5 2 1 Z"/>'
            b'<ellipse rx="1" ry="2" cx="15"/></svg>',
        ],
        ".dxf": [
            ring.encode() + b"0\nCIRCLE\n10\n2\n20\n2\n40\n1\n",
            b"0\nLWPOLYLINE\n70\n1\n10\n0\n20\n0\n42\n1\n10\n2\n20\n0\n42\n0.5\n",
        ],
        ".geojson": [
            json.dumps({"type": "Polygon", "coordinates": [square, hole]}).encode(),
            json.dumps(
                {"type": "MultiPolygon", "coordinates": [[hole], [[[5, 0], [6, 0], [6, 1]]]]}
            ).encode(),
        ],
        ".stl": ["".join(f"vertex {a} {b} {c}\n" for a, b, c in P).encode()],
    }

"""Damaged and forged files are rejected, without executing code and without exhausting memory."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pibls
from pibls.basis import FeatureBasis
from pibls.io.container import MAX_HEADER, SIGNATURE, VERSION
from pibls.spaces import Decomposed, TimeWindows
from tests.saved_solutions import HEADER_START, assert_same_solution, small_solution, solve_quietly

# --- damage ---------------------------------------------------------------------------------------


def test_every_bit_flip_is_rejected(file: Path) -> None:
    """Flip each bit of each byte, and all bits of a byte."""
    data = file.read_bytes()
    assert len(data) < 2000
    descriptor = os.open(file, os.O_RDWR)
    try:
        for i, byte in enumerate(data):
            for change in (1, 2, 4, 8, 16, 32, 64, 128, 255):
                os.pwrite(descriptor, bytes([byte ^ change]), i)
                with pytest.raises(pibls.ProblemError):
                    pibls.load(file)
            os.pwrite(descriptor, data[i : i + 1], i)
    finally:
        os.close(descriptor)
    pibls.load(file)


def test_every_truncation_is_rejected(file: Path) -> None:
    data = file.read_bytes()
    for n in reversed(range(len(data))):
        os.truncate(file, n)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    file.write_bytes(data[8:])
    with pytest.raises(pibls.ProblemError, match="expected a solution file of pibls"):
        pibls.load(file)


@pytest.mark.parametrize("trailing", [b"\0", b"x" * 8, b"\0" * 64])
def test_trailing_bytes_are_rejected(file: Path, trailing: bytes) -> None:
    file.write_bytes(file.read_bytes() + trailing)
    with pytest.raises(pibls.ProblemError, match=r"match their checksum.*damaged or truncated"):
        pibls.load(file)


def test_zeroed_and_swapped_blocks_are_rejected(file: Path) -> None:
    data = file.read_bytes()
    for start in range(0, len(data) - 16, 8):
        first, second = data[start : start + 8], data[start + 8 : start + 16]
        for middle in (second + first, bytes(16)):
            changed = data[:start] + middle + data[start + 16 :]
            if changed != data:
                file.write_bytes(changed)
                with pytest.raises(pibls.ProblemError):
                    pibls.load(file)


def test_transfer_in_text_mode_is_recognised(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n"))
    with pytest.raises(pibls.ProblemError, match="transferred in text mode"):
        pibls.load(file)


# --- forged files with a valid checksum -----------------------------------------------------------


def parts_of(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the header and the bytes of the arrays."""
    data = path.read_bytes()
    length = HEADER_START.unpack(data[: HEADER_START.size])[2]
    return json.loads(data[HEADER_START.size : HEADER_START.size + length]), data[
        HEADER_START.size + length : -32
    ]


def forge(
    path: Path, header: Any, arrays: bytes, *, version: int = VERSION, length: int | None = None
) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = HEADER_START.pack(SIGNATURE, version, len(text) if length is None else length) + text + arrays
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


def test_forged_file_without_changes_loads(file: Path) -> None:
    assert_same_solution(pibls.load(forge(file, *parts_of(file))), small_solution())


@pytest.mark.parametrize("version", [0, 1, 2, 3, 5, 2**32 - 1])
def test_other_version_is_rejected(file: Path, version: int) -> None:
    forge(file, *parts_of(file), version=version)
    with pytest.raises(
        pibls.ProblemError,
        match=rf"expected version 4 .* got version {version}\. (Update|It was written by an older) pibls",
    ):
        pibls.load(file)


Change = Callable[[dict[str, Any]], Any]
INVALID_HEADERS: dict[str, tuple[Change, str]] = {
    "no problem": (lambda h: h.pop("problem"), "problem: text, got nothing"),
    "other unknowns": (lambda h: h.update(unknowns="v"), "unknowns: u, as in the problem"),
    "no space": (lambda h: h.pop("space"), "a table for space"),
    "an unknown kind of space": (lambda h: h["space"].update(kind="waves"), "one of whole, cells, windows"),
    "no basis": (lambda h: h["space"].pop("bases"), "a table for bases"),
    "an unused basis": (lambda h: h["space"]["bases"].update(order=[]), "each saved object at least once"),
    "a missing basis": (
        lambda h: h["space"]["bases"].update(order=[1]),
        "whole numbers from 0 to 0",
    ),
    "no bases": (lambda h: h.update(space=_space([])), "whole numbers from 0 to -1"),
    "a basis for one more unknown": (
        lambda h: h["space"]["bases"].update(order=[0, 0]),
        r"a space for 1 unknown\(s\), as in the problem, got for 2",
    ),
    "windows of bases": (lambda h: h.update(space=_windows(_basis(h))), "one of whole, cells, windows"),
    "nested windows": (
        lambda h: h.update(space=_nested_windows(h["space"], 17)),
        "nested at most 16 deep",
    ),
    "cells of cells": (
        lambda h: h.update(space=_cells(_cells(h["space"]))),
        "parts of another type",
    ),
    "a tree with a missing child": (
        lambda h: h.update(space=_cells(h["space"], [1, 0])),
        "two halves",
    ),
    "a tree with an extra leaf": (lambda h: h.update(space=_cells(h["space"], [1, 0, 0, 0])), "one tree"),
    "no tree": (lambda h: h.update(space=_cells(h["space"], [])), "1 splits, one for each level"),
    "a tree split along a missing coordinate": (
        lambda h: h.update(space=_cells(h["space"], [2, 0, 0])),
        "whole numbers from 0 to 1",
    ),
    "an estimate with a non-Boolean flag": (lambda h: h["error"].update(checked=1), "checked: true or false"),
    "an estimate without numbers": (lambda h: h["error"].pop("max"), "max: a number"),
    "nested estimates": (lambda h: h.update(error=_estimates(17)), "nested at most 16 deep"),
    "a history of strings": (lambda h: h.update(history=["a"]), r"a table for history\[1\]"),
    "no notes": (lambda h: h.pop("notes"), "a table for notes"),
    "an unknown kind of note": (lambda h: h["notes"].update(a={"eval": "1"}), "number: a number"),
    "nested notes": (lambda h: h["notes"].update(_nested("parts", 30)), "nested at most 8 deep"),
    "no arrays": (lambda h: h.pop("arrays"), "arrays: a list, got nothing"),
    "an unknown kind of basis": (lambda h: _basis(h).update(kind="os.system"), "waves, features, broad"),
    "an unknown activation": (lambda h: _as_features(h, "eval"), "activation: one of tanh"),
    "an array used twice": (lambda h: _basis(h).update(half=1), "only arrays that are used, got 1 unused"),
    "an unused array": (
        lambda h: h["arrays"].append([0]),
        "only arrays that are used, got 1 unused",
    ),
    "a missing array": (
        lambda h: h.update(weights=99),
        "an array, below 4, got 99",
    ),
    "a negative array": (lambda h: h.update(weights=-1), "a whole number from 0"),
    "weights of another length": (
        lambda h: (h["arrays"].__setitem__(0, [1, 1]), h["arrays"].__setitem__(3, [5])),
        r"weights: an array \(2\), got \(5,\)",
    ),
    "another dimension": (lambda h: h["arrays"].__setitem__(0, [2, 1]), r"frequencies: an array \(1, any\)"),
    "much more data than in the file": (
        lambda h: h["arrays"].__setitem__(0, [1, 10**12]),
        "whole numbers from 0 to 64",
    ),
    "slightly more data than in the file": (
        lambda h: h["arrays"].__setitem__(0, [1, 3]),
        "64 bytes .* 72 declared",
    ),
    "slightly less data than in the file": (
        lambda h: h["arrays"].__setitem__(0, [1, 1]),
        "64 bytes .* 56 declared",
    ),
    "a negative size": (lambda h: h["arrays"].__setitem__(0, [-1, -2]), "whole numbers"),
    "a size as a string": (lambda h: h["arrays"].__setitem__(0, ["2", 1]), "whole numbers"),
    "a Boolean size": (lambda h: h["arrays"].__setitem__(0, [True, 2]), "whole numbers"),
    "too many axes": (lambda h: h["arrays"].__setitem__(0, [1, 2, 1, 1, 1]), "one to 4 axes"),
    "an extra axis": (
        lambda h: h["arrays"].__setitem__(0, [1, 2, 1]),
        r"\(1, any\), got \(1, 2, 1\)",
    ),
    "a shape as a number": (lambda h: h["arrays"].__setitem__(0, 2), "shape: a list"),
    "another order": (lambda h: h.update(fortran="O"), "fortran: a list"),
    "the order of another array": (lambda h: h.update(fortran=[9]), "whole numbers from 0 to 3"),
    "another status": (lambda h: h.update(status="__class__"), "status: one of TOLERANCE"),
    "no residuals": (lambda h: h.update(residuals=[]), "residuals with unique names"),
    "residuals with the same name": (
        lambda h: h["residuals"].append(h["residuals"][0]),
        "residuals with unique names",
    ),
    "a string instead of a number": (lambda h: h.update(tol="1e-3; import os"), "tol: a number"),
    "a negative seed": (lambda h: h.update(seed=-1), "seed: a whole number"),
    "a Boolean seed": (lambda h: h.update(seed=True), "seed: a whole number"),
    "an unknown class": (
        lambda h: h["settings"].update(basis={"class": "Popen", "args": "ls"}),
        "class: one of Annular, Broad",
    ),
    "a class with an unknown argument": (
        lambda h: h["settings"].update(basis={"class": "Waves", "nodes": 4, "scale": 1.0, "shell": True}),
        "valid settings of Waves",
    ),
    "a class with an invalid value": (
        lambda h: h["settings"]["basis"].update(scale=-1.0),
        "valid settings of Waves",
    ),
    "nested settings": (
        lambda h: h["settings"].update(basis=_nested("parts", 100)),
        "settings nested at most",
    ),
    "nested bases": (lambda h: h.update(space=_space([_deep(17)])), "nested at most 16 deep"),
    "an empty joined basis": (
        lambda h: h.update(space=_space([{"kind": "joined", "parts": []}])),
        "parts: at least one",
    ),
    "a problem that is not TOML": (lambda h: h.update(problem="rm -rf /"), "valid TOML"),
    "code in the problem": (
        lambda h: h.update(problem=h["problem"].replace("u_x", "__import__('os').system('ls')")),
        "problem",
    ),
}


def _basis(header: dict[str, Any]) -> Any:
    return header["space"]["bases"]["once"][0]


def _space(bases: list[Any]) -> dict[str, Any]:
    return {"kind": "whole", "bases": {"order": [0], "once": bases}}


def _windows(part: Any) -> dict[str, Any]:
    return {"kind": "windows", "axis": 0, "edges": 3, "parts": [part]}


def _nested_windows(part: Any, depth: int) -> Any:
    for _ in range(depth):
        part = _windows(part)
    return part


def _cells(part: Any, axes: list[int] | None = None) -> dict[str, Any]:
    """Two cells; the arrays of the frequencies serve as the box and the split level."""
    tree = {"kind": "tree", "box": 0, "root": {"axes": [1, 0, 0] if axes is None else axes, "levels": 1}}
    return {"kind": "cells", "tree": tree, "parts": [part, part]}


def _estimates(depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {
        "kind": "estimate",
        "max": 1.0,
        "l2": 1.0,
        "checked": True,
        "each": [],
        "history": None,
    }
    for _ in range(depth):
        out = {**out, "each": [out]}
    return out


def _as_features(header: dict[str, Any], activation: str) -> None:
    """Reinterpret the same eight numbers as a basis of two features."""
    layer = {"kind": "layer", "weights": 0, "biases": 1, "centre": 2, "half": 3, "activation": activation}
    arrays = [[1, 2], [2], [1], [1], [2]]
    header.update(space=_space([{"kind": "features", "layer": layer}]), weights=4, arrays=arrays)


def _nested(key: str, depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return {"class": "Joined", key: value}


def _deep(depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": "waves", "frequencies": 0, "centre": 1, "half": 2}
    for _ in range(depth):
        out = {"kind": "joined", "parts": [out]}
    return out


@pytest.mark.parametrize(("change", "message"), INVALID_HEADERS.values(), ids=INVALID_HEADERS)
def test_invalid_header_is_rejected(file: Path, change: Change, message: str) -> None:
    header, arrays = parts_of(file)
    change(header)
    forge(file, header, arrays)
    with pytest.raises(pibls.ProblemError, match=message) as error_info:
        pibls.load(file)
    assert str(file) in str(error_info.value)


def test_valid_change_of_the_basis_loads(file: Path) -> None:
    header, arrays = parts_of(file)
    _as_features(header, "tanh")
    space: Any = pibls.load(forge(file, header, arrays)).space
    assert isinstance(space.bases[0], FeatureBasis)


INVALID_CELLS: dict[str, tuple[Change, str]] = {
    "nothing changed": (lambda h: None, ""),
    "a missing cell": (lambda h: h["space"]["parts"].pop(), "1 parts for 2 cells"),
    "no cells": (lambda h: h["space"].update(parts=[]), "parts: at least one"),
    "no tree": (lambda h: h["space"].pop("tree"), "a table for tree"),
    "no split": (lambda h: h["space"]["tree"]["root"].update(axes=[0]), "1 splits, one for each level"),
    "an extra split": (
        lambda h: h["space"]["tree"]["root"].update(axes=[1, 1, 0, 0, 0]),
        "1 splits, one for each level",
    ),
    "splits as strings": (
        lambda h: h["space"]["tree"]["root"].update(axes=["a"]),
        "axes: whole numbers from 0 to 1",
    ),
    "a box of another dimension": (
        lambda h: h["arrays"].__setitem__(h["space"]["tree"]["box"], [2, 1]),
        r"box: an array \(1, 2\), got \(2, 1\)",
    ),
    "parts for different numbers of unknowns": (
        lambda h: h["space"]["parts"][0]["bases"].update(order=[0, 0]),
        "parts for different numbers of unknowns",
    ),
}


@pytest.mark.parametrize(("change", "message"), INVALID_CELLS.values(), ids=INVALID_CELLS)
def test_invalid_cells_are_rejected(tmp_path: Path, change: Change, message: str) -> None:
    solution = solve_quietly(small_solution().problem, Decomposed((2,), pibls.Waves(4, scale=1.0)))
    path = solution.save(tmp_path / "cells.pibls")
    header, arrays = parts_of(path)
    change(header)
    forge(path, header, arrays)
    if not message:
        assert_same_solution(pibls.load(path), solution)
        return
    with pytest.raises(pibls.ProblemError, match=message):
        pibls.load(path)


def test_empty_cells_are_rejected(tmp_path: Path) -> None:
    solution = solve_quietly(small_solution().problem, Decomposed((2,), pibls.Waves(4, scale=1.0)))
    path = solution.save(tmp_path / "cells.pibls")
    header, arrays = parts_of(path)
    tree = header["space"]["tree"]
    assert (tree["box"], tree["root"]["levels"]) == (0, 1)
    for level in (0.0, 1.0, 2.0, float("nan"), float("inf")):
        forge(path, header, arrays[:16] + struct.pack("<d", level) + arrays[24:])
        with pytest.raises(pibls.ProblemError, match="cells of zero size"):
            pibls.load(path)


def test_too_deep_tree_is_rejected(file: Path) -> None:
    """Ten thousand nested splits are rejected without a stack overflow."""
    header, arrays = parts_of(file)
    levels = 0.5 ** np.arange(1, 10_001)
    header["space"] = _cells(header["space"], [1] * 10_000 + [0] * 10_001)
    header["space"]["tree"].update(box=4)
    header["space"]["tree"]["root"].update(levels=5)
    header["arrays"] += [[1, 2], [10_000]]
    forge(file, header, arrays + struct.pack("<2d", 0.0, 1.0) + levels.tobytes())
    with pytest.raises(pibls.ProblemError, match="cells split at most 256 times"):
        pibls.load(file)


def test_window_edges_must_increase(file: Path) -> None:
    header, arrays = parts_of(file)
    header["space"] = _windows(header["space"])
    header["space"].update(edges=4)
    header["arrays"].append([2])
    space = pibls.load(forge(file, header, arrays + struct.pack("<2d", 0.0, 1.0))).space
    assert isinstance(space, TimeWindows)
    header["space"] = {**header["space"], "parts": [header["space"]]}
    forge(file, header, arrays + struct.pack("<2d", 0.0, 1.0))
    with pytest.raises(pibls.ProblemError, match="parts of another type"):
        pibls.load(file)
    header["space"] = header["space"]["parts"][0]
    for edges in ((0.0, 0.0), (1.0, 0.0), (0.0, float("nan")), (0.0, float("inf"))):
        forge(file, header, arrays + struct.pack("<2d", *edges))
        with pytest.raises(pibls.ProblemError, match="edges that do not increase"):
            pibls.load(file)
    header["space"].update(axis=1)
    forge(file, header, arrays + struct.pack("<2d", 0.0, 1.0))
    with pytest.raises(pibls.ProblemError, match=r"1 parts and 2 edges along coordinate 2 of 1"):
        pibls.load(file)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"tol": NaN}',
        b"\xff\xfe",
        '{"tol": "θ"}'.encode(),
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"[" * 5000 + b"]" * 5000,
        b"9" * 10_000,
        pickle.dumps({"a": 1}),
    ],
    ids=range(12),
)
def test_header_that_is_not_json_is_rejected(file: Path, text: bytes) -> None:
    forge(file, text, parts_of(file)[1])
    with pytest.raises(pibls.ProblemError, match=r"a JSON header|a table for header|damaged"):
        pibls.load(file)


@pytest.mark.parametrize("length", [0, 1, MAX_HEADER, MAX_HEADER + 1, 2**63, 2**64 - 1])
def test_wrong_header_length_is_rejected(file: Path, length: int) -> None:
    forge(file, *parts_of(file), length=length)
    with pytest.raises(pibls.ProblemError):
        pibls.load(file)


def test_random_change_of_the_header_loads_or_is_rejected(file: Path) -> None:
    """Replace random entries of the header, with a valid checksum."""
    header, arrays = parts_of(file)
    rng = random.Random(7)
    junk: list[Any] = [
        None,
        True,
        -1,
        0,
        1,
        3,
        10**30,
        1.5,
        -1e308,
        "",
        "inf",
        "x",
        [],
        {},
        [[]],
        [0, 1],
        {"class": "Waves"},
    ]
    rejected = 0
    for _ in range(120):
        changed = copy.deepcopy(header)
        for _ in range(rng.randint(1, 2)):
            node: Any = changed
            while True:
                keys = list(node) if isinstance(node, dict) else range(len(node))
                if not keys:
                    break
                key = rng.choice(list(keys))
                if isinstance(node[key], (dict, list)) and rng.random() < 0.8:
                    node = node[key]
                    continue
                if isinstance(node, dict) and rng.random() < 0.2:
                    del node[key]
                else:
                    node[key] = copy.deepcopy(rng.choice(junk))
                break
        forge(file, changed, arrays)
        try:
            assert np.shape(pibls.load(file)(np.linspace(0, 1, 3))) == (3,)
        except pibls.ProblemError:
            rejected += 1
    assert 30 < rejected < 120

"""Damaged, forged and foreign files: refused, never executed, and without exhausting memory."""

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


def test_every_byte_counts(file: Path) -> None:
    """Each bit of each byte, and all of them at once."""
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


def test_every_truncation_is_refused(file: Path) -> None:
    data = file.read_bytes()
    for n in reversed(range(len(data))):
        os.truncate(file, n)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    file.write_bytes(data[8:])
    with pytest.raises(pibls.ProblemError, match="expected a solution file of pibls"):
        pibls.load(file)


@pytest.mark.parametrize("more", [b"\0", b"x" * 8, b"\0" * 64])
def test_something_behind_the_end_is_refused(file: Path, more: bytes) -> None:
    file.write_bytes(file.read_bytes() + more)
    with pytest.raises(pibls.ProblemError, match=r"match their checksum.*damaged or truncated"):
        pibls.load(file)


def test_blocks_of_zeros_and_swaps_are_refused(file: Path) -> None:
    data = file.read_bytes()
    for start in range(0, len(data) - 16, 8):
        first, second = data[start : start + 8], data[start + 8 : start + 16]
        for middle in (second + first, bytes(16)):
            changed = data[:start] + middle + data[start + 16 :]
            if changed != data:
                file.write_bytes(changed)
                with pytest.raises(pibls.ProblemError):
                    pibls.load(file)


def test_a_transfer_as_text_is_recognised(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n"))
    with pytest.raises(pibls.ProblemError, match="transferred in text mode"):
        pibls.load(file)


# --- files that are wrong, but whose checksum is right --------------------------------------------


def parts_of(path: Path) -> tuple[dict[str, Any], bytes]:
    """Header and bytes of the arrays."""
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


def test_a_forgery_without_changes_loads(file: Path) -> None:
    assert_same_solution(pibls.load(forge(file, *parts_of(file))), small_solution())


@pytest.mark.parametrize("version", [0, 1, 2, 3, 5, 2**32 - 1])
def test_another_version_is_refused(file: Path, version: int) -> None:
    forge(file, *parts_of(file), version=version)
    with pytest.raises(
        pibls.ProblemError,
        match=rf"expected version 4 .* got version {version}\. (Update|It was written by an older) pibls",
    ):
        pibls.load(file)


Change = Callable[[dict[str, Any]], Any]
WRONG: dict[str, tuple[Change, str]] = {
    "no problem": (lambda h: h.pop("problem"), "problem: text, got nothing"),
    "other unknowns": (lambda h: h.update(unknowns="v"), "unknowns: u, as in the problem"),
    "no space": (lambda h: h.pop("space"), "a table for space"),
    "a space of another kind": (lambda h: h["space"].update(kind="waves"), "one of whole, cells, windows"),
    "no basis": (lambda h: h["space"].pop("bases"), "a table for bases"),
    "a basis for nobody": (lambda h: h["space"]["bases"].update(order=[]), "each saved object at least once"),
    "a basis that is not there": (
        lambda h: h["space"]["bases"].update(order=[1]),
        "whole numbers from 0 to 0",
    ),
    "no bases": (lambda h: h.update(space=_space([])), "whole numbers from 0 to -1"),
    "a basis for one more unknown": (
        lambda h: h["space"]["bases"].update(order=[0, 0]),
        r"a space for 1 unknown\(s\), as in the problem, got for 2",
    ),
    "windows of bases": (lambda h: h.update(space=_windows(_basis(h))), "one of whole, cells, windows"),
    "a thousand windows inside each other": (
        lambda h: h.update(space=_inside_each_other(h["space"], 17)),
        "nested at most 16 deep",
    ),
    "cells of cells": (
        lambda h: h.update(space=_cells(_cells(h["space"]))),
        "parts of another type",
    ),
    "a tree with nothing below a division": (
        lambda h: h.update(space=_cells(h["space"], [1, 0])),
        "two halves",
    ),
    "a tree with a leaf too many": (lambda h: h.update(space=_cells(h["space"], [1, 0, 0, 0])), "one tree"),
    "no tree": (lambda h: h.update(space=_cells(h["space"], [])), "1 splits, one for each level"),
    "a tree across another coordinate": (
        lambda h: h.update(space=_cells(h["space"], [2, 0, 0])),
        "whole numbers from 0 to 1",
    ),
    "an estimate that may be one": (lambda h: h["error"].update(checked=1), "checked: true or false"),
    "an estimate without numbers": (lambda h: h["error"].pop("max"), "max: a number"),
    "estimates inside each other": (lambda h: h.update(error=_estimates(17)), "nested at most 16 deep"),
    "a history of words": (lambda h: h.update(history=["a"]), r"a table for history\[1\]"),
    "no notes": (lambda h: h.pop("notes"), "a table for notes"),
    "a note of another kind": (lambda h: h["notes"].update(a={"eval": "1"}), "number: a number"),
    "notes inside each other": (lambda h: h["notes"].update(_nested("parts", 30)), "nested at most 8 deep"),
    "no arrays": (lambda h: h.pop("arrays"), "arrays: a list, got nothing"),
    "a basis of another kind": (lambda h: _basis(h).update(kind="os.system"), "waves, features, broad"),
    "an activation of another kind": (lambda h: _as_features(h, "eval"), "activation: one of tanh"),
    "an array used twice": (lambda h: _basis(h).update(half=1), "only arrays that are used, got 1 unused"),
    "an array unused": (
        lambda h: h["arrays"].append([0]),
        "only arrays that are used, got 1 unused",
    ),
    "an array that is not there": (
        lambda h: h.update(weights=99),
        "an array, below 4, got 99",
    ),
    "a negative array": (lambda h: h.update(weights=-1), "a whole number from 0"),
    "weights of another length": (
        lambda h: (h["arrays"].__setitem__(0, [1, 1]), h["arrays"].__setitem__(3, [5])),
        r"weights: an array \(2\), got \(5,\)",
    ),
    "another dimension": (lambda h: h["arrays"].__setitem__(0, [2, 1]), r"frequencies: an array \(1, any\)"),
    "more than there is": (lambda h: h["arrays"].__setitem__(0, [1, 10**12]), "whole numbers from 0 to 64"),
    "a little more than there is": (lambda h: h["arrays"].__setitem__(0, [1, 3]), "64 bytes .* 72 declared"),
    "a little less than there is": (lambda h: h["arrays"].__setitem__(0, [1, 1]), "64 bytes .* 56 declared"),
    "a size below zero": (lambda h: h["arrays"].__setitem__(0, [-1, -2]), "whole numbers"),
    "a size that is no number": (lambda h: h["arrays"].__setitem__(0, ["2", 1]), "whole numbers"),
    "a size that is true": (lambda h: h["arrays"].__setitem__(0, [True, 2]), "whole numbers"),
    "too many axes": (lambda h: h["arrays"].__setitem__(0, [1, 2, 1, 1, 1]), "one to 4 axes"),
    "an axis too many": (
        lambda h: h["arrays"].__setitem__(0, [1, 2, 1]),
        r"\(1, any\), got \(1, 2, 1\)",
    ),
    "a shape that is a number": (lambda h: h["arrays"].__setitem__(0, 2), "shape: a list"),
    "another order": (lambda h: h.update(fortran="O"), "fortran: a list"),
    "the order of another array": (lambda h: h.update(fortran=[9]), "whole numbers from 0 to 3"),
    "another status": (lambda h: h.update(status="__class__"), "status: one of TOLERANCE"),
    "no residuals": (lambda h: h.update(residuals=[]), "residuals with unique names"),
    "residuals of one name": (
        lambda h: h["residuals"].append(h["residuals"][0]),
        "residuals with unique names",
    ),
    "a word for a number": (lambda h: h.update(tol="1e-3; import os"), "tol: a number"),
    "a seed below zero": (lambda h: h.update(seed=-1), "seed: a whole number"),
    "a seed that is true": (lambda h: h.update(seed=True), "seed: a whole number"),
    "a class of another kind": (
        lambda h: h["settings"].update(basis={"class": "Popen", "args": "ls"}),
        "class: one of Annular, Broad",
    ),
    "a class with other words": (
        lambda h: h["settings"].update(basis={"class": "Waves", "nodes": 4, "scale": 1.0, "shell": True}),
        "valid settings of Waves",
    ),
    "a class with other values": (
        lambda h: h["settings"]["basis"].update(scale=-1.0),
        "valid settings of Waves",
    ),
    "settings inside each other": (
        lambda h: h["settings"].update(basis=_nested("parts", 100)),
        "settings nested at most",
    ),
    "bases inside each other": (lambda h: h.update(space=_space([_deep(17)])), "nested at most 16 deep"),
    "nothing joined": (
        lambda h: h.update(space=_space([{"kind": "joined", "parts": []}])),
        "parts: at least one",
    ),
    "another problem": (lambda h: h.update(problem="rm -rf /"), "valid TOML"),
    "code for a problem": (
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


def _inside_each_other(part: Any, depth: int) -> Any:
    for _ in range(depth):
        part = _windows(part)
    return part


def _cells(part: Any, axes: list[int] | None = None) -> dict[str, Any]:
    """Two cells; the frequencies are the ends of the box, and its middle the level between them."""
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
    """The same eight numbers as another basis, of two features."""
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


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_a_header_that_makes_no_sense_is_refused(file: Path, change: Change, message: str) -> None:
    header, arrays = parts_of(file)
    change(header)
    forge(file, header, arrays)
    with pytest.raises(pibls.ProblemError, match=message) as refusal:
        pibls.load(file)
    assert str(file) in str(refusal.value)


def test_the_same_numbers_as_another_basis(file: Path) -> None:
    header, arrays = parts_of(file)
    _as_features(header, "tanh")
    space: Any = pibls.load(forge(file, header, arrays)).space
    assert isinstance(space.bases[0], FeatureBasis)


CELLS: dict[str, tuple[Change, str]] = {
    "nothing changed": (lambda h: None, ""),
    "a cell too few": (lambda h: h["space"]["parts"].pop(), "1 parts for 2 cells"),
    "no cells": (lambda h: h["space"].update(parts=[]), "parts: at least one"),
    "no tree": (lambda h: h["space"].pop("tree"), "a table for tree"),
    "no division": (lambda h: h["space"]["tree"]["root"].update(axes=[0]), "1 splits, one for each level"),
    "a division more": (
        lambda h: h["space"]["tree"]["root"].update(axes=[1, 1, 0, 0, 0]),
        "1 splits, one for each level",
    ),
    "divisions that are words": (
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


@pytest.mark.parametrize(("change", "message"), CELLS.values(), ids=CELLS)
def test_cells_that_make_no_sense_are_refused(tmp_path: Path, change: Change, message: str) -> None:
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


def test_cells_must_have_an_inside(tmp_path: Path) -> None:
    solution = solve_quietly(small_solution().problem, Decomposed((2,), pibls.Waves(4, scale=1.0)))
    path = solution.save(tmp_path / "cells.pibls")
    header, arrays = parts_of(path)
    tree = header["space"]["tree"]
    assert (tree["box"], tree["root"]["levels"]) == (0, 1)
    for level in (0.0, 1.0, 2.0, float("nan"), float("inf")):
        forge(path, header, arrays[:16] + struct.pack("<d", level) + arrays[24:])
        with pytest.raises(pibls.ProblemError, match="cells of zero size"):
            pibls.load(path)


def test_a_tree_is_not_deeper_than_halving_can_give(file: Path) -> None:
    """Ten thousand divisions inside each other: refused, not a stack that overflows."""
    header, arrays = parts_of(file)
    levels = 0.5 ** np.arange(1, 10_001)
    header["space"] = _cells(header["space"], [1] * 10_000 + [0] * 10_001)
    header["space"]["tree"].update(box=4)
    header["space"]["tree"]["root"].update(levels=5)
    header["arrays"] += [[1, 2], [10_000]]
    forge(file, header, arrays + struct.pack("<2d", 0.0, 1.0) + levels.tobytes())
    with pytest.raises(pibls.ProblemError, match="cells split at most 256 times"):
        pibls.load(file)


def test_windows_must_ascend(file: Path) -> None:
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
def test_a_header_that_is_no_header_is_refused(file: Path, text: bytes) -> None:
    forge(file, text, parts_of(file)[1])
    with pytest.raises(pibls.ProblemError, match=r"a JSON header|a table for header|damaged"):
        pibls.load(file)


@pytest.mark.parametrize("length", [0, 1, MAX_HEADER, MAX_HEADER + 1, 2**63, 2**64 - 1])
def test_a_header_of_another_length_is_refused(file: Path, length: int) -> None:
    forge(file, *parts_of(file), length=length)
    with pytest.raises(pibls.ProblemError):
        pibls.load(file)


def test_any_change_of_the_header_loads_or_is_refused(file: Path) -> None:
    """Leaves and branches replaced at random, with the checksum made right again."""
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
    refused = 0
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
            refused += 1
    assert 30 < refused < 120

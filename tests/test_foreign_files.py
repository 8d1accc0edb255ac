"""Files of others, and what reading them takes of memory."""

from __future__ import annotations

import io
import json
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pibls
from pibls.io.container import MAX_FILE, SIGNATURE, VERSION
from tests.saved_solutions import HEADER_START, small_solution
from tests.test_damaged_files import forge, parts_of

# --- memory ---------------------------------------------------------------------------------------


def peak_of_refusal(path: Path) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(pibls.ProblemError):
            pibls.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", [[1, 10**9], [10**9, 1], [2**31, 2**31], [2**62, 8], [1, 10**300]])
def test_oversized_arrays_are_not_allocated(file: Path, shape: list[int]) -> None:
    header, arrays = parts_of(file)
    header["arrays"][0] = shape
    assert peak_of_refusal(forge(file, header, arrays)) < 2_000_000


def test_many_arrays_that_together_are_too_large_are_not_allocated(file: Path) -> None:
    header, arrays = parts_of(file)
    header["arrays"] += [[64, 64]] * 1000
    assert peak_of_refusal(forge(file, header, arrays)) < 2_000_000


def test_a_giant_file_is_not_read(file: Path) -> None:
    os.truncate(file, MAX_FILE + 1)  # it takes no room on disk
    assert peak_of_refusal(file) < 1_000_000


def test_a_long_foreign_file_is_not_read(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"\0")
    os.truncate(foreign, MAX_FILE // 2)
    assert peak_of_refusal(foreign) < 1_000_000


def test_a_header_that_claims_the_whole_file_is_bounded(file: Path) -> None:
    data = HEADER_START.pack(SIGNATURE, VERSION, 2**40)
    file.write_bytes(data)
    os.truncate(file, MAX_FILE // 2)
    assert peak_of_refusal(file) < 1_000_000


# --- foreign files --------------------------------------------------------------------------------


class Payload:
    """What a pickle would do when it is opened."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def test_nothing_is_executed(file: Path, tmp_path: Path) -> None:
    marker = tmp_path / "touched"
    bomb = pickle.dumps(Payload(marker))
    objects = np.array([Payload(marker)], dtype=object)
    header, arrays = parts_of(file)
    good = file.read_bytes()
    attempts = [
        bomb,
        pickle.dumps(Payload(marker), protocol=0),
        pickle.dumps(Payload(marker), protocol=2),
        npy(objects),
        npz(a=objects),
        zipped(data=bomb, **{"archive/data.pkl": bomb}),
        SIGNATURE + bomb,
        good + bomb,
        good[: HEADER_START.size] + bomb,
    ]
    for data in attempts:
        file.write_bytes(data)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    for forged in (bomb, json.dumps({**header, "problem": bomb.decode("latin-1")}).encode()):
        forge(file, forged, arrays)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    # As an array it is but numbers.
    numbers = bomb[: len(arrays)] + arrays[len(bomb) :]
    assert pibls.load(forge(file, header, numbers)).coefficients.shape == small_solution().coefficients.shape
    assert not marker.exists()
    pickle.loads(bomb)
    assert marker.exists(), "the payload works where it is let"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (zipped(a=b"1"), "a zip archive"),
        (npz(a=np.ones(3)), "a zip archive"),
        (npy(np.ones(3)), "a NumPy array file"),
        (pickle.dumps([1]), "a Python pickle"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"\x1f\x8b\x08", "a gzip file"),
        (b"", "an empty file"),
        (b"\0" * 100, "a file of another format"),
        (b"\x89PNG\r\n\x1a\n", "a file of another format"),
        (b'title = "Poisson"\n', "a file of another format"),
    ],
    ids=range(10),
)
def test_a_foreign_file_is_named(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "foreign.pibls"
    path.write_bytes(data)
    match = rf"foreign.pibls: expected a solution file of pibls, got {kind}"
    with pytest.raises(pibls.ProblemError, match=match):
        pibls.load(path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        pibls.ProblemError, match=r"nothing.pibls: expected a file that can be read, got No such"
    ):
        pibls.load(tmp_path / "nothing.pibls")
    with pytest.raises(pibls.ProblemError, match="a folder or device"):
        pibls.load(tmp_path)
    with pytest.raises(pibls.ProblemError, match="embedded null"):
        pibls.load("a\0b")
    for path in (None, 3, b"a", ""):
        with pytest.raises(pibls.ProblemError, match=r"pibls.load\(path\): expected a file name"):
            pibls.load(path)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(pibls.ProblemError, match="a folder or device"):
        pibls.load(tmp_path / "pipe")

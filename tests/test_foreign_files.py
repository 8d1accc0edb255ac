"""Files of other formats are rejected without executing code and without allocating much memory."""

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


def peak_memory_of_rejection(path: Path) -> int:
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
    assert peak_memory_of_rejection(forge(file, header, arrays)) < 2_000_000


def test_many_arrays_of_too_large_total_size_are_not_allocated(file: Path) -> None:
    header, arrays = parts_of(file)
    header["arrays"] += [[64, 64]] * 1000
    assert peak_memory_of_rejection(forge(file, header, arrays)) < 2_000_000


def test_oversized_file_is_not_read(file: Path) -> None:
    os.truncate(file, MAX_FILE + 1)  # a sparse file
    assert peak_memory_of_rejection(file) < 1_000_000


def test_large_foreign_file_is_not_read(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"\0")
    os.truncate(foreign, MAX_FILE // 2)
    assert peak_memory_of_rejection(foreign) < 1_000_000


def test_header_length_is_bounded(file: Path) -> None:
    data = HEADER_START.pack(SIGNATURE, VERSION, 2**40)
    file.write_bytes(data)
    os.truncate(file, MAX_FILE // 2)
    assert peak_memory_of_rejection(file) < 1_000_000


# --- foreign files --------------------------------------------------------------------------------


class Payload:
    """An object whose unpickling creates the file `marker`."""

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
    payload = pickle.dumps(Payload(marker))
    objects = np.array([Payload(marker)], dtype=object)
    header, arrays = parts_of(file)
    good = file.read_bytes()
    contents = [
        payload,
        pickle.dumps(Payload(marker), protocol=0),
        pickle.dumps(Payload(marker), protocol=2),
        npy(objects),
        npz(a=objects),
        zipped(data=payload, **{"archive/data.pkl": payload}),
        SIGNATURE + payload,
        good + payload,
        good[: HEADER_START.size] + payload,
    ]
    for data in contents:
        file.write_bytes(data)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    for forged in (payload, json.dumps({**header, "problem": payload.decode("latin-1")}).encode()):
        forge(file, forged, arrays)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    # Inside an array the payload is only numbers.
    numbers = payload[: len(arrays)] + arrays[len(payload) :]
    assert pibls.load(forge(file, header, numbers)).coefficients.shape == small_solution().coefficients.shape
    assert not marker.exists()
    pickle.loads(payload)
    assert marker.exists(), "the payload works when it is unpickled"


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
def test_format_of_a_foreign_file_is_named(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "foreign.pibls"
    path.write_bytes(data)
    match = rf"foreign.pibls: expected a solution file of pibls, got {kind}"
    with pytest.raises(pibls.ProblemError, match=match):
        pibls.load(path)


def test_unreadable_paths_are_rejected(tmp_path: Path) -> None:
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
def test_pipe_is_rejected_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(pibls.ProblemError, match="a folder or device"):
        pibls.load(tmp_path / "pipe")

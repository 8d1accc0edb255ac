r"""signature | version | length | header | numbers | SHA-256: one file, every byte of it under a checksum.

    8 bytes   \x89pibls\r\n: damaged by any transfer that takes the file for text
    4 bytes   version of the format
    8 bytes   length of the header
    header    JSON in ASCII; its "arrays" lists the shapes, its "fortran" those that lie column by column
    numbers   all arrays, one after another, as float64
    32 bytes  SHA-256 of everything before

All integers are little-endian. Nothing in such a file is ever executed, and nothing is allocated for what
it declares before that has been compared with the size that it has.

Why not .npz with a JSON member and a digest: a zip archive has fields that no digest inside it covers
(names, dates, two tables of contents) and members that unpack to any size, NumPy allocates what a member
declares before it looks, and 5,000 arrays take 1.2 s to write and 3.5 s to read; here 0.07 s and 0.13 s.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.io.atomic import write_whole
from pibls.io.record import Record, damaged
from pibls.io.records import MAX_AXES

SIGNATURE = b"\x89pibls\r\n"
VERSION = 4
"""2: weights of the named unknowns, in their order. 3: records (`records`), arrays that may be shared.
4: spaces (a basis for each unknown, cells, windows), estimates with all that they know, notes."""
MAX_FILE = 1 << 32
"""Bytes of a file."""
MAX_HEADER = 1 << 25
"""Bytes of a header: a hundred thousand arrays."""

_START = struct.Struct("<8sIQ")
_DIGEST = hashlib.sha256().digest_size
_NUMBER = np.dtype("<f8")
_FOREIGN = {
    b"PK": "a zip archive (an .npz file is one too)",
    b"\x93NUMPY": "an array file of NumPy",
    b"\x89HDF": "an HDF5 file",
    b"CDF": "a NetCDF file",
    b"\x1f\x8b": "a file packed by gzip",
    b"\x80": "a Python pickle, which pibls never opens",
    SIGNATURE[:6]: "a solution file that was transferred as text",
}


@dataclass(frozen=True)
class Container:
    """What a file held."""

    header: Record
    arrays: tuple[Array, ...]


def write_container(path: Path, header: Mapping[str, Any], arrays: Sequence[Array], argument: str) -> None:
    """Write a file, whole or not at all."""
    # How an array lies in memory is kept: products with it round the same way only then.
    fortran = [i for i, a in enumerate(arrays) if a.flags.f_contiguous and not a.flags.c_contiguous]
    columns = set(fortran)
    listed = {**header, "arrays": [list(a.shape) for a in arrays], "fortran": fortran}
    text = json.dumps(listed, allow_nan=False, separators=(",", ":")).encode("ascii")
    size = _START.size + len(text) + sum(a.nbytes for a in arrays) + _DIGEST
    for what, got, most in (("header", len(text), MAX_HEADER), ("file", size, MAX_FILE)):
        if got > most:
            raise ProblemError(
                argument,
                expected=f"a solution whose {what} has at most {most} bytes",
                got=got,
                remedy="Fewer cells or nodes make it smaller.",
            )
    flat = [a.ravel("F" if i in columns else "C").astype(_NUMBER, copy=False) for i, a in enumerate(arrays)]
    numbers = np.concatenate(flat) if flat else np.empty(0, _NUMBER)
    start = _START.pack(SIGNATURE, VERSION, len(text)) + text
    digest = hashlib.sha256(start)
    digest.update(numbers.data)
    write_whole(path, (start, numbers.data, digest.digest()), argument)


def read_container(path: Path) -> Container:
    """The header and the arrays of a file; raises a `ProblemError` where it is damaged or foreign."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _unreadable(path, "a folder or device")
        with open(path, "rb") as file:
            return _read(file, str(path))
    except (OSError, ValueError) as problem:
        if isinstance(problem, ProblemError):
            raise
        raise _unreadable(path, getattr(problem, "strerror", None) or str(problem)) from None


def _unreadable(path: Path, got: str) -> ProblemError:
    return ProblemError(str(path), expected="a file that can be read", got=got, remedy="Check the name.")


def _read(file: BufferedReader, name: str) -> Container:
    start = file.read(_START.size)
    length = _check_start(start, os.fstat(file.fileno()).st_size, name)
    body = memoryview(file.read())
    digest = hashlib.sha256(start)
    digest.update(body[:-_DIGEST])
    if digest.digest() != body[-_DIGEST:]:
        raise damaged(name, "contents that agree with their checksum", "others")
    header = Record(name, "header", _parsed(bytes(body[:length]), name))
    return Container(header, _arrays(header, body[length:-_DIGEST]))


def _check_start(start: bytes, size: int, name: str) -> int:
    """The length of the header, if this is a file of ours and as long as it must be."""
    if not start.startswith(SIGNATURE):
        kinds = (kind for first, kind in _FOREIGN.items() if start.startswith(first))
        raise ProblemError(
            name,
            expected="a solution file of pibls",
            got=next(kinds, "another kind of file") if start else "an empty file",
            remedy="Only what solution.save(path) has written can be loaded.",
        )
    if len(start) < _START.size:
        raise damaged(name, f"at least {_START.size} bytes", f"{size}")
    _, version, length = _START.unpack(start)
    if version != VERSION:
        older = "It is of an older pibls: solve and save again, or load it with that one"
        raise ProblemError(
            name,
            expected=f"version {VERSION} of the file format",
            got=f"version {version}",
            remedy=f"{older if version < VERSION else 'Update pibls'}; or the file is damaged.",
        )
    if size > MAX_FILE:
        raise damaged(name, f"at most {MAX_FILE} bytes", f"{size}")
    if length > MAX_HEADER:
        raise damaged(name, f"a header of at most {MAX_HEADER} bytes", f"{length} declared")
    if _START.size + length + _DIGEST > size:
        raise damaged(name, f"at least {_START.size + length + _DIGEST} bytes", f"{size}")
    return int(length)


def _parsed(data: bytes, name: str) -> Any:
    try:
        return json.loads(data.decode("ascii"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise damaged(name, "a header in JSON", str(problem)[:80] or "none") from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _arrays(header: Record, data: memoryview) -> tuple[Array, ...]:
    shapes = [Record(header.file, "arrays", {"shape": s}) for s in header.entries("arrays")]
    wholes = [tuple(s.wholes("shape", most=len(data))) for s in shapes]
    if not all(1 <= len(shape) <= MAX_AXES for shape in wholes):
        raise header.refusal("arrays", f"one to {MAX_AXES} axes each")
    fortran = set(header.wholes("fortran", most=max(len(wholes) - 1, 0)))
    counts = [prod(shape) for shape in wholes]
    if _NUMBER.itemsize * sum(counts) != len(data):
        declared = f"{_NUMBER.itemsize * sum(counts)} declared"
        raise damaged(header.file, f"{len(data)} bytes of arrays, as many as it has", declared)
    numbers = np.frombuffer(data, _NUMBER)
    ends = np.cumsum([0, *counts])
    return tuple(
        # Copies lie in memory as they did when they were new.
        np.array(numbers[ends[i] : ends[i + 1]], dtype=np.float64).reshape(
            s, order="F" if i in fortran else "C"
        )
        for i, s in enumerate(wholes)
    )

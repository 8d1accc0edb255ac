r"""Binary container of a saved solution: a JSON header and float64 arrays, with a checksum.

signature | version | length | header | numbers | SHA-256

    8 bytes   signature \x89pibls\r\n, which any transfer in text mode damages
    4 bytes   version of the format
    8 bytes   length of the header
    header    JSON in ASCII; "arrays" lists the shapes, "fortran" the arrays in column-major order
    numbers   all arrays, one after another, as float64
    32 bytes  SHA-256 of everything before it

All integers are little-endian. Nothing in the file is ever executed, and declared sizes are compared with the
size of the file before memory is allocated.

An .npz file with a JSON member and a digest is not used: a zip archive has fields that no digest inside it
covers (names, dates, two directories) and members that unpack to any size, NumPy allocates the declared size
unchecked, and 5,000 arrays take 1.2 s to write and 3.5 s to read, here 0.07 s and 0.13 s.
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
from typing import NoReturn

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError, failure_reason
from pibls.io.atomic import write_atomically
from pibls.io.record import Json, Record, damaged_file
from pibls.io.serialization import MAX_AXES

SIGNATURE = b"\x89pibls\r\n"
VERSION = 4
"""2: coefficients by unknown. 3: records (`serialization`), shared arrays. 4: spaces (a basis per unknown,
cells, time windows), complete error estimates, notes."""
MAX_FILE = 1 << 32
"""Maximum number of bytes of a file."""
MAX_HEADER = 1 << 25
"""Maximum number of bytes of a header, enough for a hundred thousand arrays."""

_PREFIX = struct.Struct("<8sIQ")
_DIGEST = hashlib.sha256().digest_size
_NUMBER = np.dtype("<f8")
_OTHER_FORMATS = {
    b"PK": "a zip archive (an .npz file is one too)",
    b"\x93NUMPY": "a NumPy array file",
    b"\x89HDF": "an HDF5 file",
    b"CDF": "a NetCDF file",
    b"\x1f\x8b": "a gzip file",
    b"\x80": "a Python pickle, which pibls never loads",
    SIGNATURE[:6]: "a solution file that was transferred in text mode",
}


@dataclass(frozen=True)
class Container:
    """The contents of a file."""

    header: Record
    arrays: tuple[Array, ...]


def write_container(path: Path, header: Mapping[str, object], arrays: Sequence[Array], argument: str) -> None:
    """Write a file atomically."""
    # The memory order of arrays is kept, since the rounding of products depends on it.
    fortran = [i for i, a in enumerate(arrays) if a.flags.f_contiguous and not a.flags.c_contiguous]
    columns = set(fortran)
    complete_header = {**header, "arrays": [list(a.shape) for a in arrays], "fortran": fortran}
    text = json.dumps(complete_header, allow_nan=False, separators=(",", ":")).encode("ascii")
    size = _PREFIX.size + len(text) + sum(a.nbytes for a in arrays) + _DIGEST
    for what, got, limit in (("header", len(text), MAX_HEADER), ("file", size, MAX_FILE)):
        if got > limit:
            raise ProblemError(
                argument,
                expected=f"a solution whose {what} has at most {limit} bytes",
                got=got,
                remedy="Solve with fewer cells or basis functions.",
            )
    flat = [a.ravel("F" if i in columns else "C").astype(_NUMBER, copy=False) for i, a in enumerate(arrays)]
    numbers = np.concatenate(flat) if flat else np.empty(0, _NUMBER)
    start = _PREFIX.pack(SIGNATURE, VERSION, len(text)) + text
    digest = hashlib.sha256(start)
    digest.update(numbers.data)
    write_atomically(path, (start, numbers.data, digest.digest()), argument)


def read_container(path: Path) -> Container:
    """Return the header and arrays of a file; raises `ProblemError` if it is damaged or of another format."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _unreadable(path, "a folder or device")
        with open(path, "rb") as file:
            return _read(file, str(path))
    except (OSError, ValueError) as problem:
        if isinstance(problem, ProblemError):
            raise
        raise _unreadable(path, failure_reason(problem)) from None


def _unreadable(path: Path, got: str) -> ProblemError:
    return ProblemError(str(path), expected="a file that can be read", got=got, remedy="Check the name.")


def _read(file: BufferedReader, name: str) -> Container:
    start = file.read(_PREFIX.size)
    length = _check_start(start, os.fstat(file.fileno()).st_size, name)
    body = memoryview(file.read())
    digest = hashlib.sha256(start)
    digest.update(body[:-_DIGEST])
    if digest.digest() != body[-_DIGEST:]:
        raise damaged_file(name, "contents that match their checksum", "a mismatch")
    header = Record(name, "header", _parsed(bytes(body[:length]), name))
    return Container(header, _arrays(header, body[length:-_DIGEST]))


def _check_start(start: bytes, size: int, name: str) -> int:
    """Check signature, version and size of a file; return the length of the header."""
    if not start.startswith(SIGNATURE):
        kinds = (kind for prefix, kind in _OTHER_FORMATS.items() if start.startswith(prefix))
        raise ProblemError(
            name,
            expected="a solution file of pibls",
            got=next(kinds, "a file of another format") if start else "an empty file",
            remedy="Load a file that solution.save(path) wrote.",
        )
    if len(start) < _PREFIX.size:
        raise damaged_file(name, f"at least {_PREFIX.size} bytes", f"{size}")
    _, version, length = _PREFIX.unpack(start)
    if version != VERSION:
        older = "It was written by an older pibls: solve and save again, or load it with that version"
        raise ProblemError(
            name,
            expected=f"version {VERSION} of the file format",
            got=f"version {version}",
            remedy=f"{older if version < VERSION else 'Update pibls'}. Otherwise the file is damaged.",
        )
    if size > MAX_FILE:
        raise damaged_file(name, f"at most {MAX_FILE} bytes", f"{size}")
    if length > MAX_HEADER:
        raise damaged_file(name, f"a header of at most {MAX_HEADER} bytes", f"{length} declared")
    if _PREFIX.size + length + _DIGEST > size:
        raise damaged_file(name, f"at least {_PREFIX.size + length + _DIGEST} bytes", f"{size}")
    return int(length)


def _parsed(data: bytes, name: str) -> Json:
    try:
        found: Json = json.loads(data.decode("ascii"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise damaged_file(name, "a JSON header", str(problem)[:80] or "none") from None
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _arrays(header: Record, data: memoryview) -> tuple[Array, ...]:
    records = [Record(header.file, "arrays", {"shape": s}) for s in header.entries("arrays")]
    shapes = [tuple(r.integers("shape", maximum=len(data))) for r in records]
    if not all(1 <= len(shape) <= MAX_AXES for shape in shapes):
        raise header.error_at("arrays", f"arrays with one to {MAX_AXES} axes")
    fortran = set(header.integers("fortran", maximum=max(len(shapes) - 1, 0)))
    counts = [prod(shape) for shape in shapes]
    if _NUMBER.itemsize * sum(counts) != len(data):
        declared = f"{_NUMBER.itemsize * sum(counts)} declared"
        raise damaged_file(header.file, f"arrays of {len(data)} bytes in total", declared)
    numbers = np.frombuffer(data, _NUMBER)
    ends = np.cumsum([0, *counts])
    return tuple(
        # Copies, in the original memory order.
        np.array(numbers[ends[i] : ends[i + 1]], dtype=np.float64).reshape(
            s, order="F" if i in fortran else "C"
        )
        for i, s in enumerate(shapes)
    )

r"""signature | version | length | header | arrays | SHA-256: one file, every byte of it under a checksum.

    8 bytes   \x89pibls\r\n: damaged by any transfer that takes the file for text
    4 bytes   version of the format
    8 bytes   length of the header
    header    JSON in ASCII, filled up with spaces so that the arrays begin at a multiple of 8
    arrays    float64, one after another, as the header's "arrays" lists them (shape and order)
    32 bytes  SHA-256 of everything before

All numbers are little-endian. Nothing in such a file is ever executed, and nothing is allocated for what
it declares before that has been compared with the size that it has.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.io.record import Record, damaged

SIGNATURE = b"\x89pibls\r\n"
VERSION = 2
"""2: the weights are those of the named unknowns, in their order."""
MAX_FILE = 1 << 32
"""Bytes of a file."""
MAX_HEADER = 1 << 22
"""Bytes of a header."""

_START = struct.Struct("<8sIQ")
_DIGEST = hashlib.sha256().digest_size
_CHUNK = 1 << 20
_NUMBER = np.dtype("<f8")
_Order: TypeAlias = Literal["C", "F"]
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


# --- writing --------------------------------------------------------------------------------------


def write_container(path: Path, header: Mapping[str, Any], arrays: Sequence[Array], argument: str) -> None:
    """Write a file, whole or not at all: under another name first, and then in the place of an old one."""
    start = _start(header, arrays, argument)
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        mode = _mode(target)
        part = target.with_name(f".pibls-{secrets.token_hex(8)}")
        try:
            with open(part, "xb") as file:
                _write(file, start, arrays)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(part, mode)
            os.replace(part, target)
        except BaseException:  # an interruption too leaves nothing behind
            with suppress(OSError):
                part.unlink()
            raise
    except (OSError, ValueError) as problem:
        raise ProblemError(
            argument,
            expected="a file that can be written",
            got=f"{path}: {getattr(problem, 'strerror', None) or problem}",
            remedy="Choose another place; an older file there is unchanged.",
        ) from None


def _mode(target: Path) -> int | None:
    """The permissions of the file that is to be replaced, None where there is none.

    Only a file that may be written is: a device or a pipe would be gone, and stay so.
    """
    try:
        found = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise ValueError("a folder, a device or a pipe")
    if not found & 0o222:
        raise ValueError("a file that is read-only")
    return stat.S_IMODE(found)


def _start(header: Mapping[str, Any], arrays: Sequence[Array], argument: str) -> bytes:
    table = [{"shape": list(a.shape), "order": _order(a)} for a in arrays]
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":"))
    text += " " * (-(_START.size + len(text)) % _NUMBER.itemsize)
    size = _START.size + len(text) + sum(a.nbytes for a in arrays) + _DIGEST
    for what, got, most in (("header", len(text), MAX_HEADER), ("file", size, MAX_FILE)):
        if got > most:
            raise ProblemError(
                argument,
                expected=f"a solution whose {what} has at most {most} bytes",
                got=got,
                remedy="Fewer cells or nodes make it smaller.",
            )
    return _START.pack(SIGNATURE, VERSION, len(text)) + text.encode("ascii")


def _order(array: Array) -> _Order:
    """How it lies in memory: products with it round the same way only if that is kept."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _write(file: BinaryIO, start: bytes, arrays: Sequence[Array]) -> None:
    digest = hashlib.sha256(start)
    file.write(start)
    for array in arrays:
        data = array.astype(_NUMBER, copy=False).tobytes(_order(array))
        digest.update(data)
        file.write(data)
    file.write(digest.digest())


# --- reading --------------------------------------------------------------------------------------


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
    size = os.fstat(file.fileno()).st_size
    length = _check_start(file.read(_START.size), size, name)
    _check_digest(file, size, name)
    file.seek(_START.size)
    header = Record(name, "header", _parsed(file.read(length), name))
    room = size - _START.size - length - _DIGEST
    shapes = list(_table(header, room))
    declared = _NUMBER.itemsize * sum(prod(shape) for shape, _ in shapes)
    if declared != room:
        raise damaged(name, f"{room} bytes of arrays, as many as it has", f"{declared} declared")
    return Container(header, tuple(_array(file, shape, order, name) for shape, order in shapes))


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
        raise ProblemError(
            name,
            expected=f"version {VERSION} of the file format",
            got=f"version {version}",
            remedy="Update pibls, or save the solution again with this version; or the file is damaged.",
        )
    if size > MAX_FILE:
        raise damaged(name, f"at most {MAX_FILE} bytes", f"{size}")
    if length > MAX_HEADER:
        raise damaged(name, f"a header of at most {MAX_HEADER} bytes", f"{length} declared")
    if _START.size + length + _DIGEST > size:
        raise damaged(name, f"at least {_START.size + length + _DIGEST} bytes", f"{size}")
    return int(length)


def _check_digest(file: BufferedReader, size: int, name: str) -> None:
    file.seek(0)
    digest = hashlib.sha256()
    left = size - _DIGEST
    while left > 0:
        chunk = file.read(min(_CHUNK, left))
        if not chunk:
            break
        digest.update(chunk)
        left -= len(chunk)
    if left or digest.digest() != file.read(_DIGEST):
        raise damaged(name, "contents that agree with their checksum", "others")


def _parsed(data: bytes, name: str) -> Any:
    try:
        return json.loads(data.decode("ascii"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise damaged(name, "a header in JSON", str(problem)[:80] or "none") from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _table(header: Record, room: int) -> Iterator[tuple[tuple[int, ...], _Order]]:
    for array in header.records("arrays"):
        shape = tuple(array.wholes("shape", most=room))
        order = array.text("order")
        if not 1 <= len(shape) <= 2 or order not in ("C", "F"):
            raise array.refusal("order", "C or F, and one or two axes")
        yield shape, "C" if order == "C" else "F"


def _array(file: BufferedReader, shape: tuple[int, ...], order: _Order, name: str) -> Array:
    data = np.empty(prod(shape), dtype=_NUMBER)
    if data.nbytes and file.readinto(data.data.cast("B")) != data.nbytes:
        raise damaged(name, "an array of the declared size", "the end of the file")
    return np.asarray(data.astype(np.float64, copy=False).reshape(shape, order=order))

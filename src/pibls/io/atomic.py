"""A file is written whole or not at all: under another name first, and then in the place of an old one."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pibls.errors import ProblemError


def write_whole(path: Path, parts: Iterable[bytes | memoryview], argument: str) -> None:
    """Write these parts, one after another; an interruption too leaves nothing behind."""
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        mode = _mode(target)
        part = target.with_name(f".pibls-{secrets.token_hex(8)}")
        try:
            with open(part, "xb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(part, mode)
            os.replace(part, target)
        except BaseException:
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

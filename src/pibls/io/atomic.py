"""Atomic writing: a file is written under a temporary name and then renamed."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pibls.errors import ProblemError, failure_reason


def write_atomically(path: Path, parts: Iterable[bytes | memoryview], argument: str) -> None:
    """Write the parts one after another; after an error or interruption the old file is unchanged."""
    try:
        target = Path(os.path.realpath(path))  # a symbolic link is kept
        mode = _mode(target)
        temporary = target.with_name(f".pibls-{secrets.token_hex(8)}")
        try:
            with open(temporary, "xb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except (OSError, ValueError) as problem:
        raise ProblemError(
            argument,
            expected="a file that can be written",
            got=f"{path}: {failure_reason(problem)}",
            remedy="Choose another path; an existing file is unchanged.",
        ) from None


def _mode(target: Path) -> int | None:
    """Return the permissions of the file to be replaced; None if it does not exist.

    Only a writable regular file is accepted: renaming would replace a device or a pipe.
    """
    try:
        found = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise ValueError("a folder, a device or a pipe")
    if not found & 0o222:
        raise ValueError("a read-only file")
    return stat.S_IMODE(found)

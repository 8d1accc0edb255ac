"""How a command ends: exit codes that scripts can rely on, and errors without a traceback."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType
from typing import Any, NoReturn

import typer
from rich.console import Console

from pibls.errors import PiblsError


class Exit(IntEnum):
    """What the shell is told."""

    CONVERGED = 0
    NOT_CONVERGED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130
    TERMINATED = 143


class RefusedError(PiblsError):
    """Something about the command line; the text is the whole message."""


out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def leave(code: Exit) -> NoReturn:
    raise typer.Exit(int(code))


def leave_interrupted(message: str) -> NoReturn:
    """Say what was kept, and end with the code of the signal: 130 after SIGINT, 143 after SIGTERM."""
    err.print(message, markup=False)
    leave(Exit.TERMINATED if _terminated else Exit.INTERRUPTED)


_terminated: list[int] = []
"""The SIGTERM that has come, if one has."""


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    """A batch system's SIGTERM does what Ctrl-C does."""
    _terminated.append(number)
    raise KeyboardInterrupt


def refuse(message: str) -> NoReturn:
    """Say what is wrong with the input and end with code 2."""
    err.print(f"error: {message}", markup=False)
    leave(Exit.BAD_INPUT)


def nearest(word: str, valid: list[str]) -> str:
    """The words to choose from, the nearest first if one is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, valid, n=1, cutoff=0.5)
    meant = f" Did you mean {close[0]}?" if close else ""
    return f"{meant} There are: {', '.join(valid)}."


@contextmanager
def explained(*, as_json_too: bool = False, interrupted: str = "interrupted") -> Iterator[None]:
    """Our own errors explain themselves; a traceback would only hide that.

    With ``as_json_too`` an error is also a line of JSON on the standard output.
    """
    try:
        yield
    except PiblsError as problem:
        message = str(problem)
    except OSError as problem:
        message = f"{problem.filename or 'standard output'}: {problem.strerror}"
    except KeyboardInterrupt:
        leave_interrupted(interrupted)
    else:
        return
    if as_json_too:
        as_json({"error": message})
    refuse(message)


@contextmanager
def heard() -> Iterator[None]:
    """The whole command: it ends quietly when its reader goes away, and with a word when the disk is full.

    Solutions are on the disk before anything is printed about them.
    """
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as problem:
        # Python flushes once more at its end, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"error: standard output: {problem.strerror}\n")
        raise SystemExit(int(Exit.BAD_INPUT)) from None


def as_json(value: Any) -> None:
    """One line for machines; what is not finite becomes null, as JSON knows no infinity."""
    typer.echo(json.dumps(_finite(value), ensure_ascii=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value

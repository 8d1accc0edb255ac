"""Exit codes, error messages without a traceback, and signal handling of the commands."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType
from typing import NoReturn

import typer
from rich.console import Console

from pibls.errors import PiblsError


class Exit(IntEnum):
    """Exit codes of the process."""

    CONVERGED = 0
    NOT_CONVERGED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130
    TERMINATED = 143


class UsageError(PiblsError):
    """An error in the arguments of the command line; the text is the complete message."""


out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def exit_with(code: Exit) -> NoReturn:
    """Exit with this code."""
    raise typer.Exit(int(code))


def exit_interrupted(message: str) -> NoReturn:
    """Print the message and exit with the code of the signal: 130 after SIGINT, 143 after SIGTERM."""
    err.print(message, markup=False)
    exit_with(Exit.TERMINATED if _sigterms else Exit.INTERRUPTED)


_sigterms: list[int] = []
"""The SIGTERM signals received."""


def _on_sigterm(number: int, frame: FrameType | None) -> NoReturn:
    """Treat SIGTERM, which batch systems send, like Ctrl-C."""
    _sigterms.append(number)
    raise KeyboardInterrupt


def fail(message: str) -> NoReturn:
    """Print an error message and exit with code 2."""
    err.print(f"error: {message}", markup=False)
    exit_with(Exit.BAD_INPUT)


def did_you_mean(word: str, valid: list[str]) -> str:
    """Return the valid words as a sentence, preceded by the nearest one if one is similar."""
    from difflib import get_close_matches

    close = get_close_matches(word, valid, n=1, cutoff=0.5)
    suggestion = f" Did you mean {close[0]}?" if close else ""
    return f"{suggestion} Valid are {', '.join(valid)}."


@contextmanager
def report_errors(*, also_json: bool = False, interrupted: str = "interrupted") -> Iterator[None]:
    """Print errors of pibls and of the operating system without traceback and exit with code 2.

    With ``also_json`` the message is also printed as a line of JSON on standard output. ``interrupted`` is
    the message after Ctrl-C.
    """
    try:
        yield
    except PiblsError as problem:
        message = str(problem)
    except OSError as problem:
        message = f"{problem.filename or 'standard output'}: {problem.strerror}"
    except KeyboardInterrupt:
        exit_interrupted(interrupted)
    else:
        return
    if also_json:
        print_json({"error": message})
    fail(message)


@contextmanager
def handle_signals() -> Iterator[None]:
    """Run a command with its signal handlers.

    The process exits silently when its standard output is closed (SIGPIPE), and with a message when writing
    to it fails, for example because the disk is full. Solutions are saved before anything is printed.
    """
    if sys.platform != "win32":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, _on_sigterm)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as problem:
        # Python flushes standard output again at exit, which would raise the same error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"error: standard output: {problem.strerror}\n")
        raise SystemExit(int(Exit.BAD_INPUT)) from None


def print_json(value: object) -> None:
    """Print a value as one line of JSON; numbers that are not finite become null."""
    typer.echo(json.dumps(_replace_non_finite(value), ensure_ascii=False))


def _replace_non_finite(value: object) -> object:
    if isinstance(value, dict):
        return {k: _replace_non_finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_non_finite(v) for v in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value

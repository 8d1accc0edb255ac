"""How a command ends: exit codes that scripts can rely on, and errors without a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
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


out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def leave(code: Exit) -> NoReturn:
    raise typer.Exit(int(code))


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
def explained() -> Iterator[None]:
    """Our own errors explain themselves; a traceback would only hide that."""
    try:
        yield
    except PiblsError as problem:
        refuse(str(problem))
    except OSError as problem:
        refuse(f"{problem.filename}: {problem.strerror}")
    except KeyboardInterrupt:
        err.print("interrupted before there was a first solution: nothing to save")
        leave(Exit.INTERRUPTED)


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

"""Whether there is still time: asked on the way of whatever may take long, whoever runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pibls.interruption import raise_lost

_check: ContextVar[Callable[[str], None] | None] = ContextVar("pibls_patience", default=None)


class OutOfTimeError(Exception):
    """The time limit has come in the middle of something."""


def go_on(step: str = "") -> None:
    """Nothing, as long as there is time; else what `asked` was given raises.

    ``step``: what is about to be done, which will take about as long as it did the last times.
    """
    raise_lost()
    check = _check.get()
    if check is not None:
        check(step)


def check_deadline() -> None:
    """Between two parts of a step: raise where the time is over, or an interruption was lost."""
    go_on()


@contextmanager
def asked(check: Callable[[str], None] | None) -> Iterator[None]:
    """A context in which `go_on` calls ``check``; None: whatever is done there may take its time."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)

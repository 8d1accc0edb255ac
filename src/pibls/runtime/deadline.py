"""Deadline of the current computation, checked inside everything that may take long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pibls.runtime.interruption import raise_pending_interrupt

_check: ContextVar[Callable[[str], None] | None] = ContextVar("pibls_deadline", default=None)


class OutOfTimeError(Exception):
    """The time limit was reached during a computation."""


def check_deadline(step: str = "") -> None:
    """Raise where the time limit is exceeded or an interruption by a signal is pending.

    ``step`` names the computation that is about to start. Its duration is predicted from earlier calls with
    the same name, and the check passed to `deadline` may raise before a step that would not end in time. An
    empty name marks a point between two parts of a step.
    """
    raise_pending_interrupt()
    check = _check.get()
    if check is not None:
        check(step)


@contextmanager
def deadline(check: Callable[[str], None] | None) -> Iterator[None]:
    """Context in which `check_deadline` calls ``check(step)``; with None there is no time limit."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)

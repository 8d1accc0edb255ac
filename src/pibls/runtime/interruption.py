"""Interruption by a signal that is not lost.

Python runs a signal handler between two arbitrary instructions. In a finalizer, a weakref callback or a
callback from C, the exception that the handler raises is printed and dropped. While a solve runs, the
exception is also stored, and the next check of the deadline raises it again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_pending: BaseException | None = None
"""The exception raised by the last handler, until it is caught."""
_depth = 0
"""Number of nested solves in the main thread."""


@contextmanager
def keep_interrupts() -> Iterator[None]:
    """Context in which no exception raised by a signal handler is lost.

    The installed handlers are called as before and are restored afterwards. A handler that does not raise
    interrupts nothing. Python runs handlers in the main thread: other threads are not affected.
    """
    global _depth, _pending
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wrapped = _wrap_handlers() if _depth == 0 else {}
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            _pending = None
        for number, (mine, before) in wrapped.items():
            if signal.getsignal(number) is mine:  # unless it was replaced meanwhile
                signal.signal(number, before)


def raise_pending_interrupt() -> None:
    """Raise the stored exception of a signal handler, if there is one; only in the main thread."""
    if _pending is not None and threading.current_thread() is threading.main_thread():
        raise _pending.with_traceback(None)


def clear_pending_interrupt() -> None:
    """Clear the stored exception after it was caught."""
    global _pending
    _pending = None


def _wrap_handlers() -> dict[signal.Signals, tuple[Any, Any]]:
    """Install handlers that store exceptions, and return each with the one that it calls."""
    out: dict[signal.Signals, tuple[Any, Any]] = {}
    for number in _SIGNALS:
        before = signal.getsignal(number)
        if not callable(before):  # ignored, default, or not installed by Python
            continue
        mine = _keeping_handler(before)
        try:
            signal.signal(number, mine)
        except ValueError:  # main thread of a subinterpreter
            continue
        out[number] = mine, before
    return out


def _keeping_handler(
    before: Callable[[int, FrameType | None], object],
) -> Callable[[int, FrameType | None], None]:
    def handler(number: int, frame: FrameType | None) -> None:
        global _pending
        try:
            before(number, frame)
        except BaseException as raised:
            _pending = raised
            raise

    return handler

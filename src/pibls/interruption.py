"""Interruption by a signal, kept until it is delivered.

Python runs a signal handler between two instructions, wherever they are. Where that is a finalizer, a weakref
callback or a callback from C, the exception that the handler raises is printed and dropped. While a solve
runs, the exception is kept too, and the next check of the deadline raises it again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_lost: BaseException | None = None
"""The exception of the last handler that raised one, until it is delivered."""
_depth = 0
"""Solves of the main thread that run inside each other."""


@contextmanager
def signals_kept() -> Iterator[None]:
    """A context in which no exception that a signal handler raises is lost.

    The handlers that are there are called as before, and stand again afterwards. A handler that does not
    raise interrupts nothing. Python runs handlers in the main thread: in any other nothing is changed.
    """
    global _depth, _lost
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wrapped = _wrap() if _depth == 0 else {}
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            _lost = None
        for number, (mine, before) in wrapped.items():
            if signal.getsignal(number) is mine:  # unless someone has set another one since
                signal.signal(number, before)


def raise_lost() -> None:
    """Raise what a handler raised and nobody has caught yet; nothing in a thread that runs no handlers."""
    if _lost is not None and threading.current_thread() is threading.main_thread():
        raise _lost.with_traceback(None)


def delivered() -> None:
    """Say that the exception has arrived: what follows is not interrupted by it again."""
    global _lost
    _lost = None


def _wrap() -> dict[signal.Signals, tuple[Any, Any]]:
    """The handlers that keep what they raise, each with the one that it calls."""
    out: dict[signal.Signals, tuple[Any, Any]] = {}
    for number in _SIGNALS:
        before = signal.getsignal(number)
        if not callable(before):  # ignored, left to the system, or not Python's
            continue
        mine = _keeping(before)
        try:
            signal.signal(number, mine)
        except ValueError:  # the main thread of a subinterpreter
            continue
        out[number] = mine, before
    return out


def _keeping(before: Callable[[int, FrameType | None], Any]) -> Callable[[int, FrameType | None], None]:
    def handler(number: int, frame: FrameType | None) -> None:
        global _lost
        try:
            before(number, frame)
        except BaseException as raised:
            _lost = raised
            raise

    return handler

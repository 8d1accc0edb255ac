"""A budget of work: SymPy simplifies while it builds, and nobody can say beforehand for how long.

|p(x, y)| of a polynomial with a thousand terms keeps SymPy busy for minutes. The limits on numbers and
sizes do not see that; a budget of Python calls does, and unlike a clock it gives the same answer on
every machine. Single operations that are long by themselves (powers of long numbers) make no calls:
those the limits refuse.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from types import FrameType
from typing import Any


class ExhaustedError(BaseException):
    """The budget is spent. Not an `Exception`, so that no handler inside SymPy takes it for its own."""


class _Meter:
    """Counts calls down to nothing; a profile hook."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        self.left -= 1
        # Raised while a generator is thrown away, it would be lost, and this hook with it.
        if self.left < 0 and not frame.f_code.co_flags & CO_GENERATOR:
            raise ExhaustedError


@contextmanager
def limited(calls: int) -> Iterator[None]:
    """Raise `ExhaustedError` when the block makes more than so many calls and returns.

    A block within a block takes from the budget of both.

    Under a profiler the block runs without a limit: Python has one hook for both.

    >>> with limited(1000):
    ...     sum(map(abs, range(5)))
    10
    """
    before = sys.getprofile()
    if before is not None and not isinstance(before, _Meter):
        yield
        return
    meter = _Meter(calls if before is None else min(calls, max(before.left, 0)))
    allowed = meter.left
    sys.setprofile(meter)
    try:
        yield
    finally:
        sys.setprofile(before)
        if before is not None:
            before.left -= allowed - meter.left

r"""Continuation: a family of problems P(s), 0 < s ≤ 1, each solved from the solution of the one before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pibls.runtime.deadline import check_deadline

S = TypeVar("S")
_FIRST_STEP = 1.0 / 8.0
_MIN_STEP_SHARE = 1.0 / 16.0  # of the first step


def follow(solve: Callable[[float, S], S | None], start: S, step: float = _FIRST_STEP) -> tuple[float, S]:
    """Return the largest s that was reached, and the solution there.

    ``solve(s, before)`` returns the solution of P(s) starting from that of an earlier problem, or None if it
    finds none. The step is halved after a failure and doubled after two successes in a row. At a fold, where
    the branch of solutions ends, it becomes too short, and the continuation ends.
    """
    s, found, grows, shortest = 0.0, start, True, _MIN_STEP_SHARE * step
    while s < 1.0 and step >= shortest:
        check_deadline(__name__)
        aim = min(s + step, 1.0)
        new = solve(aim, found)
        if new is None:
            step, grows = 0.5 * (aim - s), False
            continue
        s, found = aim, new
        step, grows = (2.0 * step if grows else step), True
    return s, found

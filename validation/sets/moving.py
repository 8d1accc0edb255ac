"""Time-dependent partial differential equations."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.moving import PROBLEMS

from validation.entry import Entry
from validation.sets.evolutions import from_evolutions


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    return from_evolutions(PROBLEMS, "moving")

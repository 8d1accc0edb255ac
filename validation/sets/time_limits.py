"""Problems that take longer than a few seconds and have no reference, to test time limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.time_limit_problems import PROBLEMS

import pibls
from validation.entry import Entry, References


def _problem(make: Callable[[], tuple[pibls.Problem, float]]) -> pibls.Problem:
    return make()[0]


def _no_references() -> References:
    return {}


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for name, make in PROBLEMS.items():
        yield Entry(
            name=name,
            set="time_limits",
            build=partial(_problem, make),
            references=_no_references,
            tol=make()[1],
        )

"""114 textbook problems from many fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks import textbook

import pibls
from pibls.arrays import Array
from validation.entry import Entry

STATED = tuple(textbook.PROBLEMS)


def _references(stated: textbook.Entry) -> dict[str, Any]:
    return dict(stated.reference)


def _alternatives(stated: textbook.Entry) -> tuple[Any, ...]:
    return tuple(stated.also)


def _points(stated: textbook.Entry, problem: pibls.Problem, seed: int) -> Array:
    bounds = stated.recorded.bounds
    return np.column_stack(textbook.sample(bounds, 3000 if len(bounds) < 3 else 1500, seed + 100))


def _check(stated: textbook.Entry) -> textbook.Check:
    return textbook._check(stated)


def entry(stated: textbook.Entry, name_of_set: str) -> Entry:
    """Return a stated problem as an entry of the registry."""
    return Entry(
        name=stated.name,
        set=name_of_set,
        build=stated.build,
        references=partial(_references, stated),
        tol=stated.tol,
        tags=(stated.group, stated.field, *stated.tags),
        has_solution=stated.expected == "converged",
        alternatives=partial(_alternatives, stated),
        accuracy=stated.accuracy,
        points=partial(_points, stated),
        verify=partial(_check, stated),
    )


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    return (entry(stated, "textbook") for stated in STATED)

"""72 further textbook problems, written without knowledge of the solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from benchmarks import textbook

import pibls
from pibls.arrays import Array
from validation.entry import Entry
from validation.sets.textbook import entry

fresh: Any = import_module("benchmarks.fresh")  # after validation.sets.textbook, whose list it clears
STATED = tuple(textbook.PROBLEMS)


def _points(stated: textbook.Entry, problem: pibls.Problem, seed: int) -> Array:
    recorded: Any = stated.recorded
    count = 3000 if len(recorded.bounds) < 3 else 1500
    if isinstance(recorded, fresh.ShapedRecorded):
        return np.column_stack(fresh.shape_points(recorded, count, seed + 100))
    return np.column_stack(textbook.sample(recorded.bounds, count, seed + 100))


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for stated in STATED:
        yield replace(entry(stated, "fresh"), points=partial(_points, stated))

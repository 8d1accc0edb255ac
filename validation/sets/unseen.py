"""Problems that were not used for tuning: the out-of-sample test of the error estimate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.problems import Known
from benchmarks.unseen import fresh_points, other_solutions, unseen_problems

import pibls
from pibls.arrays import Array
from validation.entry import Entry, References
from validation.sets.calibration import from_known


def _points(known: Known, problem: pibls.Problem, seed: int) -> Array:
    return fresh_points(known)


def _alternatives(known: Known) -> Sequence[References]:
    (name,) = (str(u.func) for u in known.exact) if len(known.exact) == 1 else (None,)
    return [{name: f} for f in other_solutions(known.name)] if name else ()


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for known in unseen_problems():
        entry = from_known(known, "unseen", partial(_points, known))
        yield replace(entry, alternatives=partial(_alternatives, known))

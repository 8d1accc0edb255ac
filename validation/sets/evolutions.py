"""Initial value problems for ordinary differential equations, with stored references of 30 digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.evolutions import ORDINARY, Evolution

from validation.entry import Entry, References, Samples


def _references(evolution: Evolution) -> References:
    reference = evolution.reference()
    names = [str(u.func) for u in evolution.problem().unknowns]
    return {n: Samples(reference.X, v) for n, v in zip(names, reference.values, strict=True)}


def from_evolutions(evolutions: Sequence[Evolution], name_of_set: str) -> Iterator[Entry]:
    """Yield entries for problems whose references are values at points."""
    for evolution in evolutions:
        yield Entry(
            name=evolution.name,
            set=name_of_set,
            build=evolution.problem,
            references=partial(_references, evolution),
            tol=evolution.tol,
            tags=("evolution",),
        )


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    return from_evolutions(ORDINARY, "evolutions")

"""The problem sets by name. A set is a function that returns its entries and is called when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module

from validation.entry import Entry

SETS: dict[str, str] = {
    "textbook": "validation.textbook",
    "fresh": "validation.fresh",
    **{
        name: f"validation.sets.{name}"
        for name in (
            "gallery", "shapes", "hard_cells", "evolutions", "moving", "calibration", "unseen", "time_limits",
            "layers",
        )
    },
}  # fmt: skip
"""The module of each set; it defines `entries()`."""
DEFAULT = ("textbook", "fresh", "gallery", "shapes")
"""The sets that a run measures if none is named: some minutes."""


@cache
def of_set(name: str) -> tuple[Entry, ...]:
    """Return the entries of one set in a fixed order."""
    if name not in SETS:
        raise KeyError(f"no set {name!r}; there are {', '.join(SETS)}")
    load: Callable[[], Iterable[Entry]] = import_module(SETS[name]).entries
    found = tuple(load())
    twice = {e.name for e in found if [f.name for f in found].count(e.name) > 1}
    if twice:
        raise ValueError(f"set {name!r} has several problems named {', '.join(sorted(twice))}")
    return found


def entries(sets: Sequence[str] = (), only: Sequence[str] = (), tags: Sequence[str] = ()) -> list[Entry]:
    """Return the entries of the named sets (all by default).

    ``only`` keeps entries with one of these names, and ``tags`` those that have all of these tags.
    """
    found = [entry for name in sets or SETS for entry in of_set(name)]
    if only:
        found = [e for e in found if e.name in only]
    return [e for e in found if set(tags) <= set(e.tags)]

"""Objects ↔ plain words and a list of arrays, by a table of known classes (`known`).

A record is {"kind": word, attribute: value, …}; an array in it is a number, its place in the list. An
array that several objects share is kept once, and is one again when they are read. Only classes of the
table are made, only from the attributes that the table names: nothing in a record is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.io.entries import Entry
from pibls.io.record import Record, damaged

MAX_DEPTH = 16
"""Objects inside each other."""
MAX_AXES = 4
"""Axes of an array."""

Check = Callable[[Any, int], str | None]
"""What is wrong with an object in d dimensions whose parts are right by themselves; None if nothing is."""


@dataclass(frozen=True)
class Kind:
    """How a class is kept: its word and role, and its attributes, which its constructor takes by name."""

    word: str
    cls: type
    role: str
    entries: Mapping[str, Entry]
    check: Check | None = None


class Table:
    """The classes that may be written and read."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self.kinds = tuple(kinds)
        self.by_word = {k.word: k for k in self.kinds}
        # Exactly these classes: a subclass may do something else with the same arrays.
        self.by_class = {k.cls: k for k in self.kinds}

    def words(self, role: str) -> str:
        """The words of a role, for messages."""
        return ", ".join(k.word for k in self.kinds if k.role == role)


class Writer:
    """Takes objects apart."""

    def __init__(self, table: Table, argument: str) -> None:
        self.arrays: list[Array] = []
        self._table = table
        self._argument = argument
        self._numbers: dict[int, int] = {}
        self._depth = 0

    def array(self, values: Any) -> int:
        """Keep an array; its number."""
        kept = np.asarray(values)
        if kept.dtype != np.float64 or not 1 <= kept.ndim <= MAX_AXES:
            expected = f"arrays of float64 with one to {MAX_AXES} axes"
            raise self.refusal(expected, f"{kept.dtype}, shape {kept.shape}")
        # By identity; what is kept here stays alive, so that no number is given twice.
        number = self._numbers.setdefault(id(kept), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(kept)
        return number

    def part(self, value: Any, role: str) -> dict[str, Any]:
        """The record of an object."""
        kind = self._table.by_class.get(type(value))
        if kind is None or kind.role != role:
            raise self.refusal(f"a {role} of pibls", f"one of the class {type(value).__name__}")
        if self._depth == MAX_DEPTH:
            raise self.refusal(f"at most {MAX_DEPTH} objects inside each other", "more")
        self._depth += 1
        record = {name: entry.write(getattr(value, name), self) for name, entry in kind.entries.items()}
        self._depth -= 1
        return {"kind": kind.word, **record}

    def refusal(self, expected: str, got: str) -> ProblemError:
        """The error about something that cannot be kept."""
        return ProblemError(
            self._argument,
            expected=expected,
            got=got,
            remedy="A file holds no code, so a class of your own cannot be saved: save the values, "
            "with solution.to_csv(path) or solution.to_xarray().",
        )


class Reader:
    """Puts objects together again; every array is used, and has the shape that it must have."""

    def __init__(self, table: Table, arrays: Sequence[Array], dimension: int) -> None:
        self._table = table
        self._arrays = arrays
        self._unused = set(range(len(arrays)))
        self._dimension = dimension
        self._depth = 0

    def array(self, record: Record, key: str) -> Array:
        """The array of that number."""
        number = record.whole(key)
        if number >= len(self._arrays):
            raise record.refusal(key, f"the number of an array, below {len(self._arrays)}")
        self._unused.discard(number)
        return self._arrays[number]

    def part(self, record: Record, role: str) -> Any:
        """The object of a record."""
        kind = self._table.by_word.get(record.text("kind"))
        if kind is None or kind.role != role:
            raise record.refusal("kind", f"one of {self._table.words(role)}")
        if self._depth == MAX_DEPTH:
            raise damaged(record.file, f"at most {MAX_DEPTH} objects inside each other", "more")
        self._depth += 1
        axes = {"d": self._dimension}
        values = {name: entry.read(record, name, self, axes) for name, entry in kind.entries.items()}
        self._depth -= 1
        try:
            made = kind.cls(**values)
            wrong = kind.check(made, self._dimension) if kind.check else None
        except (ProblemError, TypeError, ValueError) as problem:
            wrong = str(problem)[:120]
        if wrong:
            raise damaged(record.file, f"{record.name}: {kind.word} that fit together", wrong)
        return made

    def in_space(self) -> Reader:
        """The same for objects without the last coordinate, the time."""
        other = copy(self)  # the arrays that are not used yet are those of both
        other._dimension -= 1
        return other

    def finish(self, file: str) -> None:
        """Raise if arrays are left over."""
        if self._unused:
            raise damaged(file, "a use for every array", f"{len(self._unused)} without")

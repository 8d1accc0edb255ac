"""What an object of a file is made of: arrays, other objects, numbers, words. One class per kind of entry.

An entry turns a value into JSON and back. Reading checks before it believes: the kind of each value, the
shape of each array. Axes are letters, and one letter is one length within an object; ``d`` is the number
of coordinates, everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pibls.io.record import Record, damaged, plain

if TYPE_CHECKING:
    from pibls.io.records import Reader, Writer


class Entry(Protocol):
    """One attribute of an object."""

    def write(self, value: Any, writer: Writer) -> Any:
        """The value as JSON; arrays are handed to the writer."""

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        """The value under this key; lengths of axes are noted in ``axes``."""


@dataclass(frozen=True)
class Numbers:
    """A float64 array; ``Numbers("d n")`` has two axes, ``*`` is any length."""

    axes: str

    def write(self, value: Any, writer: Writer) -> int:
        return writer.array(value)

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        found = reader.array(record, key)
        names = self.axes.split()
        lengths = dict(axes)
        if len(names) == found.ndim and all(
            name == "*" or lengths.setdefault(name, int(name) if name.isdigit() else n) == n
            for name, n in zip(names, found.shape, strict=True)
        ):
            axes.update(lengths)
            return found
        words = ", ".join(name if name.isdigit() else str(axes.get(name, "any")) for name in names)
        raise damaged(record.file, f"{record.name}, {key}: an array ({words})", f"{found.shape}")


@dataclass(frozen=True)
class Nested:
    """Another object, of a class that has this role; of a solution in time, it may be one ``in_space``."""

    role: str
    in_space: bool = False

    def write(self, value: Any, writer: Writer) -> Any:
        return writer.part(value, self.role)

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        return (reader.in_space() if self.in_space else reader).part(record.record(key), self.role)


@dataclass(frozen=True)
class Several:
    """A tuple of one kind of entry, with at least so many."""

    entry: Entry
    least: int = 1

    def write(self, value: Any, writer: Writer) -> list[Any]:
        return [self.entry.write(v, writer) for v in value]

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> tuple[Any, ...]:
        values = record.entries(key)
        if len(values) < self.least:
            raise record.refusal(key, "at least one")
        named = ((f"{key}[{i + 1}]", v) for i, v in enumerate(values))
        return tuple(
            self.entry.read(Record(record.file, record.name, {n: v}), n, reader, axes) for n, v in named
        )


@dataclass(frozen=True)
class NestedTuple:
    """A tuple of objects, some of which may be one and the same: kept once, and one again when read."""

    role: str

    def write(self, value: Any, writer: Writer) -> dict[str, Any]:
        numbers: dict[int, int] = {}
        order = [numbers.setdefault(id(v), len(numbers)) for v in value]
        once = [value[order.index(i)] for i in range(len(numbers))]
        return {"order": order, "once": [writer.part(v, self.role) for v in once]}

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> tuple[Any, ...]:
        inner = record.record(key)
        once = [reader.part(r, self.role) for r in inner.records("once")]
        order = inner.wholes("order", most=len(once) - 1)
        if sorted(set(order)) != list(range(len(once))) or not once:
            raise inner.refusal("order", "each of those that are kept")
        return tuple(once[i] for i in order)


@dataclass(frozen=True)
class Word:
    """One of some objects that have names."""

    table: Mapping[str, Any]

    what: str = "a word"

    def name(self, value: Any) -> str | None:
        """The name of an object; None for one that is not in the table."""
        for name, known in self.table.items():
            # Those without settings are all alike; sine and cosine differ by theirs.
            if type(value) is type(known) and vars(value) == vars(known):
                return name
        return None

    def write(self, value: Any, writer: Writer) -> str:
        name = self.name(value)
        if name is None:
            got = f"one of the class {type(value).__name__}"
            raise writer.refusal(f"{self.what} of pibls ({', '.join(self.table)})", got)
        return name

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        name = record.text(key)
        if name not in self.table:
            raise record.refusal(key, f"one of {', '.join(self.table)}")
        return self.table[name]


@dataclass(frozen=True)
class Plain:
    """A value that JSON has, or nearly so: how it is written, and how a record gives it."""

    written: Callable[[Any], Any]
    taken: Callable[[Record, str], Any]

    def write(self, value: Any, writer: Writer) -> Any:
        return self.written(value)

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        return self.taken(record, key)


NATURAL = Plain(int, Record.whole)
"""A whole number of at least 0."""
REAL = Plain(plain, Record.number)
"""A number, infinities and NaN included."""
FLAG = Plain(bool, Record.flag)
"""Yes or no."""
TEXT = Plain(str, Record.text)
"""Words of any kind."""


@dataclass(frozen=True)
class Floats:
    """A tuple of numbers, or of tuples of them: an array in the file, or null for none."""

    axes: str

    def write(self, value: Any, writer: Writer) -> int | None:
        return writer.array(np.array(value, dtype=np.float64)) if len(value) else None

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> tuple[Any, ...]:
        if key in record.values and record.values[key] is None:
            return ()
        found = Numbers(self.axes).read(record, key, reader, axes).tolist()
        return tuple(tuple(v) if isinstance(v, list) else v for v in found)


@dataclass(frozen=True)
class Maybe:
    """An entry, or None."""

    entry: Entry

    def write(self, value: Any, writer: Writer) -> Any:
        return None if value is None else self.entry.write(value, writer)

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        if key in record.values and record.values[key] is None:
            return None
        return self.entry.read(record, key, reader, axes)

"""Codecs for the attributes of saved objects: arrays, nested objects, numbers, names.

A codec converts a value to JSON and back. Reading checks the type of each value and the shape of each array.
Axes of arrays are denoted by letters: within an object one letter is one length, and ``d`` is the number of
coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.io.record import Json, Record, damaged_file, json_number

if TYPE_CHECKING:
    from pibls.io.serialization import Reader, Writer


class FieldCodec(Protocol):
    """Writes and reads one attribute of an object."""

    def write(self, value: Any, writer: Writer) -> Json:
        """Return the value as JSON; arrays are passed to the writer."""

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        """Return the value under this key; the lengths of axes are added to ``axes``."""


@dataclass(frozen=True)
class FloatArray:
    """A float64 array; ``FloatArray("d n")`` has two axes, ``*`` is an axis of any length."""

    axes: str

    def write(self, value: npt.ArrayLike, writer: Writer) -> int:
        return writer.array(value)

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Array:
        found = reader.array(record, key)
        names = self.axes.split()
        lengths = dict(axes)
        if len(names) == found.ndim and all(
            name == "*" or lengths.setdefault(name, int(name) if name.isdigit() else n) == n
            for name, n in zip(names, found.shape, strict=True)
        ):
            axes.update(lengths)
            return found
        lengths_text = ", ".join(name if name.isdigit() else str(axes.get(name, "any")) for name in names)
        raise damaged_file(record.file, f"{record.name}, {key}: an array ({lengths_text})", f"{found.shape}")


@dataclass(frozen=True)
class Nested:
    """A nested object of a class with this role; with ``in_space`` it has no time coordinate."""

    role: str
    in_space: bool = False

    def write(self, value: object, writer: Writer) -> Json:
        return writer.write_object(value, self.role)

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> object:
        return (reader.in_space() if self.in_space else reader).read_object(record.record(key), self.role)


@dataclass(frozen=True)
class TupleOf:
    """A tuple of values with the same codec, with at least ``least`` of them."""

    codec: FieldCodec
    least: int = 1

    def write(self, value: Iterable[object], writer: Writer) -> list[Json]:
        return [self.codec.write(v, writer) for v in value]

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> tuple[object, ...]:
        values = record.entries(key)
        if len(values) < self.least:
            raise record.error_at(key, "at least one entry")
        named = ((f"{key}[{i + 1}]", v) for i, v in enumerate(values))
        return tuple(
            self.codec.read(Record(record.file, record.name, {n: v}), n, reader, axes) for n, v in named
        )


@dataclass(frozen=True)
class SharedTuple:
    """A tuple of objects, some of which may be identical: each is saved once, and shared again when read."""

    role: str

    def write(self, value: Sequence[object], writer: Writer) -> dict[str, Json]:
        numbers: dict[int, int] = {}
        order = [numbers.setdefault(id(v), len(numbers)) for v in value]
        unique = [value[order.index(i)] for i in range(len(numbers))]
        return {"order": [*order], "once": [writer.write_object(v, self.role) for v in unique]}

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> tuple[object, ...]:
        inner = record.record(key)
        unique = [reader.read_object(r, self.role) for r in inner.records("once")]
        order = inner.integers("order", maximum=len(unique) - 1)
        if sorted(set(order)) != list(range(len(unique))) or not unique:
            raise inner.error_at("order", "each saved object at least once")
        return tuple(unique[i] for i in order)


@dataclass(frozen=True)
class NamedObject:
    """An object of a table of named objects, saved by its name."""

    table: Mapping[str, Any]

    what: str = "a name"

    def name(self, value: object) -> str | None:
        """Return the name of an object; None if it is not in the table."""
        for name, known in self.table.items():
            # Compared by class and settings: sine and cosine differ only in their settings.
            if type(value) is type(known) and vars(value) == vars(known):
                return name
        return None

    def write(self, value: object, writer: Writer) -> str:
        name = self.name(value)
        if name is None:
            got = f"an object of class {type(value).__name__}"
            raise writer.error(f"{self.what} of pibls ({', '.join(self.table)})", got)
        return name

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        name = record.text(key)
        if name not in self.table:
            raise record.error_at(key, f"one of {', '.join(self.table)}")
        return self.table[name]


@dataclass(frozen=True)
class JsonValue:
    """A JSON value, given by the functions that write it and read it from a record."""

    to_json: Callable[[Any], Json]
    from_record: Callable[[Record, str], Any]

    def write(self, value: Any, writer: Writer) -> Json:
        return self.to_json(value)

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> Any:
        return self.from_record(record, key)


NATURAL = JsonValue(int, Record.integer)
"""A non-negative integer."""
REAL = JsonValue(json_number, Record.number)
"""A number, infinities and NaN included."""
FLAG = JsonValue(bool, Record.flag)
"""True or False."""
TEXT = JsonValue(str, Record.text)
"""A string."""


@dataclass(frozen=True)
class FloatTuple:
    """A tuple of numbers or of tuples of numbers: an array in the file, or null if it is empty."""

    axes: str

    def write(self, value: Sequence[float] | Sequence[Sequence[float]], writer: Writer) -> int | None:
        return writer.array(np.array(value, dtype=np.float64)) if len(value) else None

    def read(
        self, record: Record, key: str, reader: Reader, axes: dict[str, int]
    ) -> tuple[float | tuple[float, ...], ...]:
        if key in record.values and record.values[key] is None:
            return ()
        found = FloatArray(self.axes).read(record, key, reader, axes).tolist()
        return tuple(tuple(v) if isinstance(v, list) else v for v in found)


@dataclass(frozen=True)
class Nullable:
    """A value with its codec, or None."""

    codec: FieldCodec

    def write(self, value: object, writer: Writer) -> Json:
        return None if value is None else self.codec.write(value, writer)

    def read(self, record: Record, key: str, reader: Reader, axes: dict[str, int]) -> object:
        if key in record.values and record.values[key] is None:
            return None
        return self.codec.read(record, key, reader, axes)

"""Conversion of objects to JSON records and a list of arrays, and back.

A record is {"kind": name, key: value, …}; an array is represented by its index in the list. An array that
several objects share is saved once, and shared again when they are read. Only classes of a registry
(`saved_classes`) are created, from the attributes that it lists: nothing in a record is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.io.field_codecs import FieldCodec
from pibls.io.record import Json, Record, damaged_file

MAX_DEPTH = 16
"""Maximum nesting depth of objects."""
MAX_AXES = 4
"""Maximum number of axes of an array."""

Check = Callable[[Any, int], str | None]
"""Describes what is inconsistent in an object in d dimensions whose parts are valid; None if nothing is."""


@dataclass(frozen=True)
class RecordType:
    """How a class is saved: its name in the file, its role, and codecs of its constructor arguments."""

    name: str
    cls: type
    role: str
    codecs: Mapping[str, FieldCodec]
    check: Check | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Key in the file → attribute of the class, where the two have different names."""

    def attribute(self, key: str) -> str:
        """The attribute of the class that is saved under this key."""
        return self.attributes.get(key, key)


class TypeRegistry:
    """The classes that can be saved and loaded."""

    def __init__(self, record_types: Iterable[RecordType]) -> None:
        self.record_types = tuple(record_types)
        self.by_name = {k.name: k for k in self.record_types}
        # Exactly these classes: a subclass may use the same arrays differently.
        self.by_class = {k.cls: k for k in self.record_types}

    def names(self, role: str) -> str:
        """Return the names of a role, for messages."""
        return ", ".join(k.name for k in self.record_types if k.role == role)


class Writer:
    """Converts objects to records and collects their arrays."""

    def __init__(self, registry: TypeRegistry, argument: str) -> None:
        self.arrays: list[Array] = []
        self._registry = registry
        self._argument = argument
        self._indices: dict[int, int] = {}
        self._depth = 0

    def array(self, values: npt.ArrayLike) -> int:
        """Add an array to the list and return its index."""
        array_to_save = np.asarray(values)
        if array_to_save.dtype != np.float64 or not 1 <= array_to_save.ndim <= MAX_AXES:
            expected = f"arrays of float64 with one to {MAX_AXES} axes"
            raise self.error(expected, f"{array_to_save.dtype}, shape {array_to_save.shape}")
        # By identity, which is safe because the arrays in the list stay alive.
        number = self._indices.setdefault(id(array_to_save), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array_to_save)
        return number

    def write_object(self, value: object, role: str) -> dict[str, Json]:
        """Return the record of an object."""
        record_type = self._registry.by_class.get(type(value))
        if record_type is None or record_type.role != role:
            raise self.error(f"a {role} of pibls", f"an object of class {type(value).__name__}")
        if self._depth == MAX_DEPTH:
            raise self.error(f"objects nested at most {MAX_DEPTH} deep", "deeper nesting")
        self._depth += 1
        record = {
            key: codec.write(getattr(value, record_type.attribute(key)), self)
            for key, codec in record_type.codecs.items()
        }
        self._depth -= 1
        return {"kind": record_type.name, **record}

    def error(self, expected: str, got: str) -> ProblemError:
        """Return the error about an object that cannot be saved."""
        return ProblemError(
            self._argument,
            expected=expected,
            got=got,
            remedy="A file contains no code, so user-defined classes cannot be saved: save the values, "
            "with solution.to_csv(path) or solution.to_xarray().",
        )


class Reader:
    """Creates objects from records; checks that each array is used and has the right shape."""

    def __init__(self, registry: TypeRegistry, arrays: Sequence[Array], dimension: int) -> None:
        self._registry = registry
        self._arrays = arrays
        self._unused = set(range(len(arrays)))
        self._dimension = dimension
        self._depth = 0

    def array(self, record: Record, key: str) -> Array:
        """Return the array whose index is stored under this key."""
        number = record.integer(key)
        if number >= len(self._arrays):
            raise record.error_at(key, f"the index of an array, below {len(self._arrays)}")
        self._unused.discard(number)
        return self._arrays[number]

    def read_object(self, record: Record, role: str) -> Any:
        """Return the object of a record."""
        record_type = self._registry.by_name.get(record.text("kind"))
        if record_type is None or record_type.role != role:
            raise record.error_at("kind", f"one of {self._registry.names(role)}")
        if self._depth == MAX_DEPTH:
            raise damaged_file(record.file, f"objects nested at most {MAX_DEPTH} deep", "deeper nesting")
        self._depth += 1
        axes = {"d": self._dimension}
        values = {
            record_type.attribute(key): codec.read(record, key, self, axes)
            for key, codec in record_type.codecs.items()
        }
        self._depth -= 1
        try:
            created = record_type.cls(**values)
            wrong = record_type.check(created, self._dimension) if record_type.check else None
        except (ProblemError, TypeError, ValueError) as problem:
            wrong = str(problem)[:120]
        if wrong:
            raise damaged_file(
                record.file, f"{record.name}: consistent contents of {record_type.name}", wrong
            )
        return created

    def in_space(self) -> Reader:
        """Return a reader for objects without the last coordinate, the time."""
        other = copy(self)  # a shallow copy: both share the set of unused arrays
        other._dimension -= 1
        return other

    def finish(self, file: str) -> None:
        """Raise an error if some arrays were not used."""
        if self._unused:
            raise damaged_file(file, "only arrays that are used", f"{len(self._unused)} unused")

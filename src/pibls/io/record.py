"""Access to the JSON header of a saved file, with a type check for each entry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias, TypeGuard

from pibls.errors import ProblemError
from pibls.text.errors import printable

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A JSON value."""

_NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def damaged_file(file: str, expected: str, got: str) -> ProblemError:
    """Return the error for a solution file with invalid contents."""
    remedy = "The file is damaged or truncated: restore it from a copy, or solve and save again."
    return ProblemError(file, expected=expected, got=got, remedy=remedy)


def json_number(number: float) -> float | str:
    """Return a number for JSON: infinities and NaN as strings."""
    value = float(number)
    return value if math.isfinite(value) else str(value)


class Record:
    """A JSON object with a name for messages; the methods return entries of the requested type."""

    def __init__(self, file: str, name: str, values: Json) -> None:
        if not isinstance(values, dict):
            raise damaged_file(file, f"a table for {name}", _describe(values))
        self.file = file
        self.name = name
        self.values: Mapping[str, Json] = values

    def error_at(self, key: str, expected: str) -> ProblemError:
        """Return the error about one entry."""
        got = _describe(self.values[key]) if key in self.values else "nothing"
        return damaged_file(self.file, f"{self.name}, {key}: {expected}", got)

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.error_at(key, "text")
        return value

    def number(self, key: str) -> float:
        """Return a float; infinities and NaN are saved as strings."""
        value = self.values.get(key)
        if isinstance(value, str) and value in _NON_FINITE:
            return _NON_FINITE[value]
        if not isinstance(value, float):
            raise self.error_at(key, "a number")
        return value

    def flag(self, key: str) -> bool:
        """Return a boolean."""
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.error_at(key, "true or false")
        return value

    def integer(self, key: str, *, maximum: int | None = None) -> int:
        """Return a non-negative integer."""
        value = self.values.get(key)
        if not _is_integer(value, maximum):
            raise self.error_at(
                key, f"a whole number from 0{f' to {maximum}' if maximum is not None else ''}"
            )
        return int(value)

    def integers(self, key: str, *, maximum: int) -> list[int]:
        """Return a list of non-negative integers."""
        values = self.entries(key)
        integers = [v for v in values if _is_integer(v, maximum)]
        if len(integers) < len(values):
            raise self.error_at(key, f"whole numbers from 0 to {maximum}")
        return integers

    def entries(self, key: str) -> list[Json]:
        """Return a list."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.error_at(key, "a list")
        return value

    def record(self, key: str) -> Record:
        """Return a nested object."""
        return Record(self.file, key, self.values.get(key))

    def records(self, key: str) -> list[Record]:
        """Return a list of nested objects."""
        return [Record(self.file, f"{key}[{i + 1}]", v) for i, v in enumerate(self.entries(key))]


def _is_integer(value: Json, maximum: int | None) -> TypeGuard[int]:
    return type(value) is int and value >= 0 and (maximum is None or value <= maximum)


def _describe(value: Json) -> str:
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return printable(str(value)[:40]) if value is not None else "nothing"

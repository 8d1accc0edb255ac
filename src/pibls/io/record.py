"""{"tol": 1e-10, …}: the entries of a file's header, each checked for its kind when it is taken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pibls.errors import ProblemError
from pibls.text.pointing import printable

_SPELLED = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def damaged(file: str, expected: str, got: str) -> ProblemError:
    """The error for a file that is one of ours, but not as we write them."""
    remedy = "The file is damaged or cut off: take a copy, or solve and save again."
    return ProblemError(file, expected=expected, got=got, remedy=remedy)


def plain(number: float) -> float | str:
    """A number as JSON can hold it: infinities and NaN as words."""
    value = float(number)
    return value if math.isfinite(value) else str(value)


class Record:
    """A JSON object with a name for messages."""

    def __init__(self, file: str, name: str, values: Any) -> None:
        if not isinstance(values, dict):
            raise damaged(file, f"{name} to be a table", _shown(values))
        self.file = file
        self.name = name
        self.values: Mapping[str, Any] = values

    def refusal(self, key: str, expected: str) -> ProblemError:
        """The error about one entry."""
        got = _shown(self.values[key]) if key in self.values else "nothing"
        return damaged(self.file, f"{self.name}, {key}: {expected}", got)

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.refusal(key, "text")
        return value

    def number(self, key: str) -> float:
        value = self.values.get(key)
        if isinstance(value, str) and value in _SPELLED:
            return _SPELLED[value]
        if not isinstance(value, float):
            raise self.refusal(key, "a number")
        return value

    def flag(self, key: str) -> bool:
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.refusal(key, "true or false")
        return value

    def whole(self, key: str, *, most: int | None = None) -> int:
        """A whole number of at least 0."""
        value = self.values.get(key)
        if not _is_whole(value, most):
            raise self.refusal(key, f"a whole number from 0{f' to {most}' if most is not None else ''}")
        return int(value)  # type: ignore[arg-type]

    def wholes(self, key: str, *, most: int) -> list[int]:
        """Some of them."""
        values = self.entries(key)
        if not all(_is_whole(v, most) for v in values):
            raise self.refusal(key, f"whole numbers from 0 to {most}")
        return values

    def entries(self, key: str) -> list[Any]:
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.refusal(key, "a list")
        return value

    def record(self, key: str) -> Record:
        return Record(self.file, key, self.values.get(key))

    def records(self, key: str) -> list[Record]:
        return [Record(self.file, f"{key}[{i + 1}]", v) for i, v in enumerate(self.entries(key))]


def _is_whole(value: Any, most: int | None) -> bool:
    return type(value) is int and value >= 0 and (most is None or value <= most)


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    return printable(str(value)[:40]) if value is not None else "nothing"

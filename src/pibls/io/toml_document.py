"""A parsed TOML document whose errors refer to lines and columns of the file.

Decimals are read exactly; the size and the nesting of the file are limited.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TypeAlias

from pibls.errors import ProblemError
from pibls.io.offsets import MAX_NESTING, KeyPath, NestingError, Offsets, scan
from pibls.text import TextError, did_you_mean
from pibls.text.errors import printable

MAX_FILE = 1_000_000
"""Maximum number of characters of a problem file."""

TomlValue: TypeAlias = (
    "bool | int | Decimal | str | date | time | datetime | list[TomlValue] | dict[str, TomlValue] | None"
)
"""A value of a parsed file; None stands for an absent key."""

_TYPE_NAMES: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a number",
    Decimal: "a number",
    list: "a list",
}


@dataclass(frozen=True)
class Document:
    """A parsed file: its name, its values (decimals exact) and their offsets in the text."""

    file: str
    values: Mapping[str, TomlValue]
    offsets: Offsets

    def error_at(
        self, path: KeyPath, expected: str, got: str, remedy: str, *, key: bool = False
    ) -> TextError:
        """Return an error that points at a value, or at a key."""
        offset = self.offsets.key(path) if key else self.offsets.value(path)
        return self.error_at_offset(offset, self.name(path), expected, got, remedy)

    def error_at_offset(self, offset: int, argument: str, expected: str, got: str, remedy: str) -> TextError:
        """Return an error that points at an offset of the text."""
        line, column = self.offsets.line_column(offset)
        text = self.offsets.text.split("\n")[line - 1].rstrip("\r")
        return TextError(
            argument,
            expected=expected,
            got=got,
            remedy=remedy,
            text=text,
            at=column - 1,
            file=self.file,
            origin=(line, 1),
        )

    @contextmanager
    def locate_errors(self, path: KeyPath, *, key: bool = False) -> Iterator[None]:
        """Convert errors raised in the block to errors at this value (or key) of the file."""
        try:
            yield
        except ProblemError as error:
            located = isinstance(error, TextError) and error.file == self.file
            raise error if located else self.located_error(error, path, key=key) from None

    def located_error(self, error: ProblemError, path: KeyPath, *, key: bool = False) -> TextError:
        """Return an error about one value (or key) as an error at its position in the file."""
        if isinstance(error, TextError):
            start = self.offsets.value(path)
            if self.offsets.has_no_escapes(start, len(error.text)):
                return error.within(self.name(path), self.file, self.offsets.line_column(start))
            offset = self.offsets.character_offset(start, error.at)
            return self.error_at_offset(offset, self.name(path), error.expected, error.got, error.remedy)
        offset = self.offsets.key(path) if key else self.offsets.value(path)
        return self.error_at_offset(offset, error.argument, error.expected, error.got, error.in_file)

    def name(self, path: KeyPath) -> str:
        """Return the name of a path for messages, such as conditions[1].value; lists count from 1."""
        out = ""
        for part in path:
            out += f"[{part + 1}]" if isinstance(part, int) else f"{'.' * bool(out)}{printable(part)}"
        return out or "file"

    def table(
        self, path: KeyPath, value: TomlValue | Mapping[str, TomlValue], allowed: Iterable[str] | None = None
    ) -> Mapping[str, TomlValue]:
        """Check that a value is a table with allowed keys only, and return it."""
        if not isinstance(value, dict):
            raise self.error_at(path, "a table", describe(value), "Write it as a section [name].")
        if allowed is not None:
            valid = list(allowed)
            for key in value:
                if key not in valid:
                    remedy = did_you_mean(key, valid) + f"Valid keys are {', '.join(valid)}."
                    raise self.error_at((*path, key), "a valid key", f"'{key[:64]}'", remedy, key=True)
        return value

    def string(self, path: KeyPath, value: TomlValue) -> str:
        """Check that a value is a string, and return it."""
        if not isinstance(value, str):
            raise self.error_at(path, "a string", describe(value), "Write it in quotes.")
        return value


def describe(value: TomlValue | Mapping[str, TomlValue]) -> str:
    """Describe the type of a value for messages."""
    if isinstance(value, dict):
        return "a table"
    kind = _TYPE_NAMES.get(type(value), f"a {type(value).__name__}")
    if value == []:
        return "an empty list"
    return kind if isinstance(value, list) else f"{kind}, {str(value)[:40]}"


def parse_document(text: str, file: str) -> Document:
    """Parse a TOML text; raises `TextError` if it is invalid."""
    if len(text) > MAX_FILE:
        raise ProblemError(
            file, expected=f"at most {MAX_FILE} characters", got=len(text), remedy="Shorten the file."
        )
    empty = Document(file, {}, Offsets(text))
    try:
        offsets = scan(text)
        values = tomllib.loads(text, parse_float=Decimal)
    except NestingError as problem:
        expected = f"at most {MAX_NESTING} levels of lists, tables and dotted keys"
        raise empty.error_at_offset(
            problem.args[0], "file", expected, "deeper nesting", "Flatten it."
        ) from None
    except tomllib.TOMLDecodeError as problem:
        offset = _offset(str(problem), text)
        reason = str(problem).partition(" (at")[0]
        remedy = "Write strings in quotes, lists in [ ], and each key once."
        raise empty.error_at_offset(offset, "file", "valid TOML", reason, remedy) from None
    except (ValueError, ArithmeticError) as problem:  # numbers that Python does not convert
        raise empty.error_at_offset(0, "file", "shorter numbers", str(problem)[:80], "Shorten it.") from None
    except RecursionError:
        raise empty.error_at_offset(0, "file", "a flat TOML file", "deep nesting", "Flatten it.") from None
    return Document(file, values, offsets)


def _offset(message: str, text: str) -> int:
    """Return the offset from a message of tomllib: (at line 3, column 7)."""
    _, _, place = message.partition("(at line ")
    line, _, column = place.rstrip(")").partition(", column ")
    if not (line.isdecimal() and column.isdecimal()):
        return len(text)
    rows = text.split("\n")
    return sum(len(row) + 1 for row in rows[: int(line) - 1]) + int(column) - 1

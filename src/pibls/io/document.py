"""A TOML text with its values, and errors that point into it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pibls.errors import ProblemError
from pibls.io.places import MAX_NESTING, NestingError, Offsets, Path, scan
from pibls.text import TextError, nearest
from pibls.text.pointing import printable

MAX_FILE = 1_000_000
"""Characters of a problem file."""

_KINDS = {str: "text", bool: "true or false", int: "a number", Decimal: "a number", list: "a list"}


@dataclass(frozen=True)
class Document:
    """A parsed file: its name, its values (decimals exact), and where they stand."""

    file: str
    values: Mapping[str, Any]
    places: Offsets

    def refusal(self, path: Path, expected: str, got: str, remedy: str, *, key: bool = False) -> TextError:
        """An error that points at a value, or at a key."""
        offset = self.places.key(path) if key else self.places.value(path)
        return self._error(offset, self.name(path), expected, got, remedy)

    def _error(self, offset: int, argument: str, expected: str, got: str, remedy: str) -> TextError:
        line, column = self.places.line_column(offset)
        text = self.places.text.split("\n")[line - 1].rstrip("\r")
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
    def at(self, path: Path, *, key: bool = False) -> Iterator[None]:
        """Errors about one value (or key) are told of this file, unless they point into it already."""
        try:
            yield
        except ProblemError as error:
            located = isinstance(error, TextError) and error.file == self.file
            raise error if located else self.within(error, path, key=key) from None

    def within(self, error: ProblemError, path: Path, *, key: bool = False) -> TextError:
        """An error about one value (or key), told of this file."""
        if isinstance(error, TextError):
            start = self.places.value(path)
            if self.places.is_plain(start, len(error.text)):
                return error.within(self.name(path), self.file, self.places.line_column(start))
            offset = self.places.inside(start, error.at)
            return self._error(offset, self.name(path), error.expected, error.got, error.remedy)
        offset = self.places.key(path) if key else self.places.value(path)
        return self._error(offset, error.argument, error.expected, error.got, error.in_file)

    def name(self, path: Path) -> str:
        """conditions[1].value, as it is called in messages; lists count from 1."""
        out = ""
        for part in path:
            out += f"[{part + 1}]" if isinstance(part, int) else f"{'.' * bool(out)}{printable(part)}"
        return out or "file"

    def table(self, path: Path, value: Any, allowed: Iterable[str] | None = None) -> Mapping[str, Any]:
        """A table, whose keys must be among the allowed ones."""
        if not isinstance(value, dict):
            raise self.refusal(path, "a table", kind_of(value), "Write it as a section of its own, [name].")
        if allowed is not None:
            valid = list(allowed)
            for key in value:
                if key not in valid:
                    remedy = nearest(key, valid) + f"Valid are {', '.join(valid)}."
                    raise self.refusal(
                        (*path, key), "a key that has a meaning here", f"'{key[:64]}'", remedy, key=True
                    )
        return value

    def string(self, path: Path, value: Any) -> str:
        """A piece of text."""
        if not isinstance(value, str):
            raise self.refusal(path, "text in quotes", kind_of(value), "Write it in quotes.")
        return value


def kind_of(value: Any) -> str:
    """A value in words, for messages."""
    if isinstance(value, dict):
        return "a table"
    kind = _KINDS.get(type(value), f"a {type(value).__name__}")
    if value == []:
        return "an empty list"
    return kind if isinstance(value, list) else f"{kind}, {str(value)[:40]}"


def document(text: str, file: str) -> Document:
    """The document of a TOML text; raises `TextError` where it is not one."""
    if len(text) > MAX_FILE:
        raise ProblemError(
            file, expected=f"at most {MAX_FILE} characters", got=len(text), remedy="Write a shorter file."
        )
    empty = Document(file, {}, Offsets(text))
    try:
        places = scan(text)
        values = tomllib.loads(text, parse_float=Decimal)
    except NestingError as problem:
        expected = f"at most {MAX_NESTING} levels of lists, tables and dotted keys"
        raise empty._error(problem.args[0], "file", expected, "more", "Flatten it.") from None
    except tomllib.TOMLDecodeError as problem:
        offset = _offset(str(problem), text)
        reason = str(problem).partition(" (at")[0]
        remedy = "Text stands in quotes, lists in [ ], and each key once."
        raise empty._error(offset, "file", "a TOML file", reason, remedy) from None
    except (ValueError, ArithmeticError) as problem:  # numbers that Python will not convert
        raise empty._error(0, "file", "numbers of a usual length", str(problem)[:80], "Shorten it.") from None
    except RecursionError:
        raise empty._error(0, "file", "a flat TOML file", "deep nesting", "Flatten it.") from None
    return Document(file, values, places)


def _offset(message: str, text: str) -> int:
    """The place that Python's reader names: (at line 3, column 7)."""
    _, _, place = message.partition("(at line ")
    line, _, column = place.rstrip(")").partition(", column ")
    if not (line.isdecimal() and column.isdecimal()):
        return len(text)
    rows = text.split("\n")
    return sum(len(row) + 1 for row in rows[: int(line) - 1]) + int(column) - 1

"""Offsets of keys and values in a TOML text.

tomllib returns values without positions, and its time grows with the square of the length of a dotted key.
The text is therefore scanned once beforehand: offsets are recorded, and deep nesting, which no problem file
needs, is rejected. A syntax error ends the scan; tomllib then reports it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

MAX_NESTING = 8
"""Maximum nesting depth of arrays and tables, and maximum number of parts of a dotted key."""

KeyPath: TypeAlias = tuple[str | int, ...]
"""Path of keys and list indices to a value: ("conditions", 0, "value")."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_INLINE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_LONG = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_LINE_CONTINUATION = re.compile(r"\\[ \t]*\r?\n\s*")
"""A backslash at the end of a line, which continues the string."""
_SCALAR = re.compile(r"[^\s,\]}#=]+(?: [0-9:.]+[^\s,\]}#=]*)?")


class NestingError(Exception):
    """The text is nested too deeply; the argument is the offset."""


class _InvalidTomlError(Exception):
    """Invalid TOML, which ends the scan."""


@dataclass
class Offsets:
    """Offsets in a text: path → offset of the key, and of the first character of the value."""

    text: str
    keys: dict[KeyPath, int] = field(default_factory=dict)
    values: dict[KeyPath, int] = field(default_factory=dict)

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, counted from 1."""
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def key(self, path: KeyPath) -> int:
        """Return the offset of a key, or of its nearest recorded parent."""
        while path and path not in self.keys and path not in self.values:
            path = path[:-1]
        return self.keys.get(path, self.values.get(path, 0))

    def value(self, path: KeyPath) -> int:
        """Return the offset of a value, or of its nearest recorded parent."""
        return self.values[path] if path in self.values else self.key(path)

    def has_no_escapes(self, start: int, length: int) -> bool:
        """Whether the text of this length contains no escape sequences."""
        return "\\" not in self.text[start : start + length] or self.text[start - 1] == "'"

    def character_offset(self, start: int, at: int) -> int:
        """Return the offset of character ``at`` of a string that starts at ``start``, skipping escapes."""
        offset = start
        for _ in range(at):
            while (joined := _LINE_CONTINUATION.match(self.text, offset)) is not None:
                offset = joined.end()
            escape = _ESCAPE.match(self.text, offset)
            offset = escape.end() if escape is not None else offset + 1
        return min(offset, len(self.text))


def scan(text: str) -> Offsets:
    """Return the offsets of a TOML text.

    >>> offsets = scan('title = "Heat"\\n[domain]\\nx = [0, 1]')
    >>> offsets.line_column(offsets.value(("domain", "x", 1)))
    (3, 9)
    """
    scanner = _Scanner(text)
    with suppress(_InvalidTomlError):
        scanner.document()
    return scanner.offsets


class _Scanner:
    def __init__(self, text: str) -> None:
        self.offsets = Offsets(text)
        self._text = text
        self._at = 0
        self._repeats: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self._skip(_BLANK)
            if self._at >= len(self._text):
                return
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table, 0)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()

    def _expect(self, sign: str) -> None:
        if not self._text.startswith(sign, self._at):
            raise _InvalidTomlError
        self._at += len(sign)

    def _header(self) -> KeyPath:
        start, double = self._at, self._text.startswith("[[", self._at)
        self._at += 2 if double else 1
        path = self._resolved(self._key())
        self._expect("]]" if double else "]")
        if double:
            self._repeats[path] = self._repeats.get(path, -1) + 1
            path = (*path, self._repeats[path])
        self.offsets.keys.setdefault(path, start)
        return path

    def _resolved(self, names: KeyPath) -> KeyPath:
        """Resolve [a.b] after [[a]], which refers to the last a."""
        path: KeyPath = ()
        for i, name in enumerate(names):
            path = (*path, name)
            if path in self._repeats and i < len(names) - 1:
                path = (*path, self._repeats[path])
        return path

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self._skip(_INLINE)
            match = _BARE_KEY.match(self._text, self._at) or _QUOTED.match(self._text, self._at)
            if match is None:
                raise _InvalidTomlError
            parts.append(match.group().strip("\"'"))
            if len(parts) > MAX_NESTING:
                raise NestingError(self._at)
            self._at = match.end()
            self._skip(_INLINE)
            if not self._text.startswith(".", self._at):
                return tuple(parts)
            self._at += 1

    def _pair(self, table: KeyPath, depth: int) -> None:
        self._skip(_INLINE)
        start = self._at
        path = (*table, *self._key())
        self.offsets.keys.setdefault(path, start)
        self._expect("=")
        self._value(path, depth)

    def _value(self, path: KeyPath, depth: int) -> None:
        if depth > MAX_NESTING:
            raise NestingError(self._at)
        self._skip(_INLINE)
        first = self._text[self._at : self._at + 1]
        self.offsets.values.setdefault(path, self._at)
        if first == "[":
            self._array(path, depth)
        elif first == "{":
            self._inline_table(path, depth)
        elif first in ('"', "'"):
            self._string(path)
        else:
            self._take(_SCALAR)

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _InvalidTomlError
        self._at = match.end()
        return match.group()

    def _string(self, path: KeyPath) -> None:
        start = self._at
        if self._text.startswith(('"""', "'''"), start):
            self._take(_LONG)
            start += 3
            for ending in ("\r\n", "\n"):  # a newline directly after the quotes is not part of the string
                if self._text.startswith(ending, start):
                    start += len(ending)
                    break
        else:
            self._take(_QUOTED)
            start += 1
        self.offsets.values[path] = start

    def _array(self, path: KeyPath, depth: int) -> None:
        self._at += 1
        index = 0
        while True:
            self._skip(_BLANK)
            if self._text.startswith("]", self._at):
                break
            self._value((*path, index), depth + 1)
            index += 1
            self._skip(_BLANK)
            if not self._text.startswith("]", self._at):
                self._expect(",")
        self._at += 1

    def _inline_table(self, path: KeyPath, depth: int) -> None:
        self._at += 1
        self._skip(_INLINE)
        while not self._text.startswith("}", self._at):
            self._pair(path, depth + 1)
            self._skip(_INLINE)
            if not self._text.startswith("}", self._at):
                self._expect(",")
        self._at += 1

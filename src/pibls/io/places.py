"""Where in a TOML text each value stands.

Python's reader gives values without places, and takes a time that grows with the square of a dotted
key's length. So the text is scanned once beforehand: places are noted, and nesting that no problem file
needs is refused. A slip in the syntax ends the scan; Python's reader then finds and names it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

MAX_NESTING = 8
"""Arrays and tables inside each other, and parts of a dotted key."""

Path: TypeAlias = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_INLINE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_LONG = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_JOINED = re.compile(r"\\[ \t]*\r?\n\s*")
"""A backslash at the end of a line, which continues it."""
_SCALAR = re.compile(r"[^\s,\]}#=]+(?: [0-9:.]+[^\s,\]}#=]*)?")


class NestingError(Exception):
    """Nested too deeply; the argument is the offset."""


class _Stop(Exception):  # noqa: N818 - the end of the scan, not an error
    """Something that is not TOML."""


@dataclass
class Offsets:
    """Path → offset of a key, and of the first character of a value."""

    text: str
    keys: dict[Path, int] = field(default_factory=dict)
    values: dict[Path, int] = field(default_factory=dict)

    def line_column(self, offset: int) -> tuple[int, int]:
        """Both counted from 1."""
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def key(self, path: Path) -> int:
        """The offset of a key, or of the nearest thing that holds it."""
        while path and path not in self.keys and path not in self.values:
            path = path[:-1]
        return self.keys.get(path, self.values.get(path, 0))

    def value(self, path: Path) -> int:
        """The offset of a value, or of the nearest thing that holds it."""
        return self.values[path] if path in self.values else self.key(path)

    def is_plain(self, start: int, length: int) -> bool:
        """Whether a text of that length stands in the file as it is, without escapes."""
        return "\\" not in self.text[start : start + length] or self.text[start - 1] == "'"

    def inside(self, start: int, at: int) -> int:
        """The offset of a character of a string that begins at ``start`` and may hold escapes."""
        offset = start
        for _ in range(at):
            while (joined := _JOINED.match(self.text, offset)) is not None:
                offset = joined.end()
            escape = _ESCAPE.match(self.text, offset)
            offset = escape.end() if escape is not None else offset + 1
        return min(offset, len(self.text))


def scan(text: str) -> Offsets:
    """The places of a TOML text.

    >>> places = scan('title = "Heat"\\n[domain]\\nx = [0, 1]')
    >>> places.line_column(places.value(("domain", "x", 1)))
    (3, 9)
    """
    scanner = _Scanner(text)
    with suppress(_Stop):
        scanner.document()
    return scanner.places


class _Scanner:
    def __init__(self, text: str) -> None:
        self.places = Offsets(text)
        self._text = text
        self._at = 0
        self._repeats: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
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
            raise _Stop
        self._at += len(sign)

    def _header(self) -> Path:
        start, double = self._at, self._text.startswith("[[", self._at)
        self._at += 2 if double else 1
        path = self._resolved(self._key())
        self._expect("]]" if double else "]")
        if double:
            self._repeats[path] = self._repeats.get(path, -1) + 1
            path = (*path, self._repeats[path])
        self.places.keys.setdefault(path, start)
        return path

    def _resolved(self, names: Path) -> Path:
        """[a.b] below [[a]] speaks of the last a."""
        path: Path = ()
        for i, name in enumerate(names):
            path = (*path, name)
            if path in self._repeats and i < len(names) - 1:
                path = (*path, self._repeats[path])
        return path

    def _key(self) -> Path:
        parts: list[str] = []
        while True:
            self._skip(_INLINE)
            match = _BARE.match(self._text, self._at) or _QUOTED.match(self._text, self._at)
            if match is None:
                raise _Stop
            parts.append(match.group().strip("\"'"))
            if len(parts) > MAX_NESTING:
                raise NestingError(self._at)
            self._at = match.end()
            self._skip(_INLINE)
            if not self._text.startswith(".", self._at):
                return tuple(parts)
            self._at += 1

    def _pair(self, table: Path, depth: int) -> None:
        self._skip(_INLINE)
        start = self._at
        path = (*table, *self._key())
        self.places.keys.setdefault(path, start)
        self._expect("=")
        self._value(path, depth)

    def _value(self, path: Path, depth: int) -> None:
        if depth > MAX_NESTING:
            raise NestingError(self._at)
        self._skip(_INLINE)
        first = self._text[self._at : self._at + 1]
        self.places.values.setdefault(path, self._at)
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
            raise _Stop
        self._at = match.end()
        return match.group()

    def _string(self, path: Path) -> None:
        start = self._at
        if self._text.startswith(('"""', "'''"), start):
            self._take(_LONG)
            start += 3
            for ending in ("\r\n", "\n"):  # a newline right behind the quotes is not part of the text
                if self._text.startswith(ending, start):
                    start += len(ending)
                    break
        else:
            self._take(_QUOTED)
            start += 1
        self.places.values[path] = start

    def _array(self, path: Path, depth: int) -> None:
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

    def _inline_table(self, path: Path, depth: int) -> None:
        self._at += 1
        self._skip(_INLINE)
        while not self._text.startswith("}", self._at):
            self._pair(path, depth + 1)
            self._skip(_INLINE)
            if not self._text.startswith("}", self._at):
                self._expect(",")
        self._at += 1

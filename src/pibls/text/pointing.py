"""Errors that point: what was expected, what came, the remedy, and the place with a caret under it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pibls.errors import ProblemError

_WINDOW = 60
"""Characters of the line that are shown around the place."""
_LENGTHS = 3
"""How much longer or shorter the word may be that was meant."""


class TextError(ProblemError):
    """A text that cannot be understood.

    >>> raise TextError("equation", expected="a value", got="')'", remedy="Write one.", text="u = )", at=4)
    Traceback (most recent call last):
        ...
    pibls.text.pointing.TextError: equation: expected a value, got ')'. Write one.
      line 1, column 5
        u = )
            ^
    """

    def __init__(
        self,
        argument: str,
        *,
        expected: str,
        got: object,
        remedy: str,
        text: str,
        at: int,
        length: int = 1,
        file: str = "",
        origin: tuple[int, int] = (1, 1),
    ) -> None:
        super().__init__(argument, expected=expected, got=printable(str(got)), remedy=remedy)
        self.text = text
        self.at = min(at, len(text))
        self.length = length
        self.file = file
        self.origin = origin
        before = text[: self.at]
        row = before.count("\n")
        self.line = origin[0] + row
        """The line, counted from 1: of the file when there is one, else of the text."""
        inside = self.at - (before.rfind("\n") + 1)
        self.column = inside + (origin[1] if row == 0 else 1)
        self.args = (f"{self.args[0]}\n  {self._place()}\n{self._excerpt(row, inside)}",)

    def _place(self) -> str:
        return f"{self.file}{', ' if self.file else ''}line {self.line}, column {self.column}"

    def _excerpt(self, row: int, inside: int) -> str:
        line = self.text.split("\n")[row]
        start = max(0, min(inside - _WINDOW // 2, len(line) - _WINDOW))
        shown = printable(line[start : start + _WINDOW])
        left, right = "…" * (start > 0), "…" * (start + _WINDOW < len(line))
        carets = "^" * max(1, min(self.length, _WINDOW - (inside - start)))
        return f"    {left}{shown}{right}\n    {' ' * (len(left) + inside - start)}{carets}"

    def within(self, argument: str, file: str, origin: tuple[int, int]) -> TextError:
        """The same error, told of a text that begins at (line, column) of a file."""
        return TextError(
            argument,
            expected=self.expected,
            got=self.got,
            remedy=self.remedy,
            text=self.text,
            at=self.at,
            length=self.length,
            file=file,
            origin=origin,
        )

    def __reduce__(self) -> tuple[object, ...]:
        values = (self.argument, self.expected, self.got, self.remedy, self.text, self.at, self.length)
        return _rebuild, (*values, self.file, self.origin)


def _rebuild(argument: str, expected: str, got: str, remedy: str, *place: Any) -> TextError:
    names = ("text", "at", "length", "file", "origin")
    where = dict(zip(names, place, strict=True))
    return TextError(argument, expected=expected, got=got, remedy=remedy, **where)


def printable(text: str) -> str:
    """One character for each; what a terminal could take for a command becomes a dot."""
    return "".join(c if c.isprintable() else "·" for c in text)


def named(character: str) -> str:
    """A character by sight and by name: 'х' (CYRILLIC SMALL LETTER HA, U+0445)."""
    code = f"U+{ord(character):04X}"
    return f"'{printable(character)}' ({unicodedata.name(character, 'control character')}, {code})"


def short(word: str, most: int = 40) -> str:
    """A word in quotes, cut where it is long."""
    return f"'{word}'" if len(word) <= most else f"'{word[:most]}…'"


def nearest(word: str, words: Iterable[str]) -> str:
    """The word that was probably meant, as a sentence; empty when nothing is near."""
    valid = sorted(set(words))
    folded = {w.lower(): w for w in valid}
    if word.lower() in folded:
        return f"Did you mean {folded[word.lower()]}? "
    similar = [w for w in valid if abs(len(w) - len(word)) <= _LENGTHS]
    near = get_close_matches(word[:64], similar, n=1, cutoff=0.6)
    return f"Did you mean {near[0]}? " if near else ""

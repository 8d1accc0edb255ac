"""`TextError`, which marks the position of an error in a text with a caret, and helpers for messages."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

from pibls.errors import ProblemError

_MAX_EXCERPT = 60
"""Maximum number of characters of the line that are shown."""
_MAX_LENGTH_DIFFERENCE = 3
"""Maximum difference in length between a word and its suggested replacement."""


class TextError(ProblemError):
    """A text that cannot be parsed, with the position of the error.

    >>> raise TextError("equation", expected="a value", got="')'", remedy="Write one.", text="u = )", at=4)
    Traceback (most recent call last):
        ...
    pibls.text.errors.TextError: equation: expected a value, got ')'. Write one.
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
        line_index = before.count("\n")
        self.line = origin[0] + line_index
        """The line, counted from 1: of the file if there is one, else of the text."""
        offset_in_line = self.at - (before.rfind("\n") + 1)
        self.column = offset_in_line + (origin[1] if line_index == 0 else 1)
        self.args = (f"{self.args[0]}\n  {self._place()}\n{self._excerpt(line_index, offset_in_line)}",)

    def _place(self) -> str:
        return f"{self.file}{', ' if self.file else ''}line {self.line}, column {self.column}"

    def _excerpt(self, line_index: int, offset_in_line: int) -> str:
        line = self.text.split("\n")[line_index]
        start = max(0, min(offset_in_line - _MAX_EXCERPT // 2, len(line) - _MAX_EXCERPT))
        shown = printable(line[start : start + _MAX_EXCERPT])
        left, right = "…" * (start > 0), "…" * (start + _MAX_EXCERPT < len(line))
        carets = "^" * max(1, min(self.length, _MAX_EXCERPT - (offset_in_line - start)))
        return f"    {left}{shown}{right}\n    {' ' * (len(left) + offset_in_line - start)}{carets}"

    def within(self, argument: str, file: str, origin: tuple[int, int]) -> TextError:
        """Return the same error for a text that starts at (line, column) of a file."""
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


def _rebuild(
    argument: str, expected: str, got: str, remedy: str, text: str, at: int, length: int, file: str,
    origin: tuple[int, int],
) -> TextError:  # fmt: skip
    return TextError(
        argument, expected=expected, got=got, remedy=remedy, text=text, at=at, length=length, file=file,
        origin=origin,
    )  # fmt: skip


def printable(text: str) -> str:
    """Replace each unprintable character, which could control a terminal, by a dot."""
    return "".join(c if c.isprintable() else "·" for c in text)


def describe_character(character: str) -> str:
    """Describe a character by its glyph and Unicode name: 'х' (CYRILLIC SMALL LETTER HA, U+0445)."""
    code = f"U+{ord(character):04X}"
    return f"'{printable(character)}' ({unicodedata.name(character, 'control character')}, {code})"


def quoted(word: str, max_length: int = 40) -> str:
    """Return a word in quotes, truncated to ``max_length`` characters."""
    return f"'{word}'" if len(word) <= max_length else f"'{word[:max_length]}…'"


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return "Did you mean …? " with the most similar valid word; empty if none is similar."""
    valid = sorted(set(words))
    folded = {w.lower(): w for w in valid}
    if word.lower() in folded:
        return f"Did you mean {folded[word.lower()]}? "
    similar = [w for w in valid if abs(len(w) - len(word)) <= _MAX_LENGTH_DIFFERENCE]
    near = get_close_matches(word[:64], similar, n=1, cutoff=0.6)
    return f"Did you mean {near[0]}? " if near else ""

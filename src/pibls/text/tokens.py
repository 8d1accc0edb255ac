"""Tokenizer: splits a text into names, numbers and operators with their offsets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pibls.text.errors import TextError, describe_character, quoted
from pibls.text.limits import MAX_DECIMAL_EXPONENT, MAX_DIGITS, MAX_LENGTH, MAX_NAME

KEYWORDS = ("and", "or", "not")

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*|==|!=|<=|>=|[-+*/^()\[\],=<>])"
)

_REPLACEMENTS = {
    ".": "Use a dot in numbers only.",
    "_": "Start names with a letter.",
    "'": "Write a derivative as u_x, or diff(u, x).",
    '"': "Remove it; strings inside expressions have no meaning.",
    "`": "Remove it; strings inside expressions have no meaning.",
    ";": "Write one equation at a time.",
    ":": "Write = for an equation.",
    "&": "Write and.",
    "|": "Write or; the absolute value is abs(…).",
    "~": "Write not.",
    "!": "Write not, or != for unequal; a factorial is gamma(n + 1).",
    "%": "Write mod(a, b).",
    "@": "Write dot(a, b).",
    "#": "Write comments in the file, outside the quotes.",
    "{": "Write round parentheses; vectors are [a, b].",
    "}": "Write round parentheses; vectors are [a, b].",
    "\\": "Write names without a backslash: pi, alpha.",
    "−": "Write the ASCII minus sign, -.",
    "–": "Write the ASCII minus sign, -.",
    "—": "Write the ASCII minus sign, -.",
    "×": "Write *.",
    "·": "Write *.",
    "⋅": "Write *.",
    "∗": "Write *.",
    "÷": "Write /.",
    "∕": "Write /.",
    "²": "Write ^2.",
    "³": "Write ^3.",
    "√": "Write sqrt(…).",
    "∂": "Write a derivative as u_x, or diff(u, x).",
    "∇": "Write grad(u), or div(v).",
    "∆": "Write laplacian(u).",
    "Δ": "Write laplacian(u).",
    "≤": "Write <=.",
    "≥": "Write >=.",
    "≠": "Write !=.",
    "∧": "Write and.",
    "∨": "Write or.",
    "π": "Write pi.",
    "′": "Write a derivative as u_x, or diff(u, x).",
}
_LATIN = "Names consist of the letters a-z and A-Z, digits and _; spell out Greek letters: alpha, theta."


@dataclass(frozen=True)
class Token:
    """A token: its kind (number, name, keyword, sign or end), its text, and its offset ``at``."""

    kind: str
    text: str
    at: int


def tokenize(text: str, argument: str) -> list[Token]:
    """Return the tokens of a text, followed by an end token.

    >>> [t.text for t in tokenize("u_xx = 2*x^2", "equation")]
    ['u_xx', '=', '2', '*', 'x', '^', '2', '']
    """
    if len(text) > MAX_LENGTH:
        raise TextError(
            argument,
            expected=f"at most {MAX_LENGTH} characters",
            got=len(text),
            remedy="Split it, or define abbreviations for parts of it under [definitions].",
            text=text[:MAX_LENGTH],
            at=MAX_LENGTH,
        )
    out, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _invalid_character(text, at, argument)
        kind, lexeme = str(match.lastgroup), match.group()
        if kind != "space":
            _check_length(kind, lexeme, text, at, argument)
            out.append(Token("keyword" if lexeme in KEYWORDS else kind, lexeme, at))
        at = match.end()
    return [*out, Token("end", "", len(text.rstrip()))]


def _invalid_character(text: str, at: int, argument: str) -> TextError:
    character = text[at]
    return TextError(
        argument,
        expected="a name, a number or one of + - * / ^ ( ) [ ] , = < >",
        got=describe_character(character),
        remedy=_REPLACEMENTS.get(character, "Remove it." if character.isascii() else _LATIN),
        text=text,
        at=at,
    )


def _check_length(kind: str, lexeme: str, text: str, at: int, argument: str) -> None:
    expected = ""
    if kind == "name" and len(lexeme) > MAX_NAME:
        expected = f"a name of at most {MAX_NAME} characters"
    elif kind == "number":
        digits, _, exponent = lexeme.lower().partition("e")
        if len(digits) > MAX_DIGITS:
            expected = f"a number of at most {MAX_DIGITS} digits"
        elif len(exponent) > 5 or (exponent and abs(int(exponent)) > MAX_DECIMAL_EXPONENT):
            expected = f"a number between 1e-{MAX_DECIMAL_EXPONENT} and 1e{MAX_DECIMAL_EXPONENT}"
    if expected:
        raise TextError(
            argument,
            expected=expected,
            got=quoted(lexeme),
            remedy="Shorten it.",
            text=text,
            at=at,
            length=len(lexeme),
        )

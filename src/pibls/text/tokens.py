"""Characters → words, numbers and signs, each with its place. Everything else is refused by name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pibls.text.limits import MAX_DECIMAL_EXPONENT, MAX_DIGITS, MAX_LENGTH, MAX_NAME
from pibls.text.pointing import TextError, named, short

KEYWORDS = ("and", "or", "not")

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<sign>\*\*|==|!=|<=|>=|[-+*/^()\[\],=<>])"
)

_INSTEAD = {
    ".": "A dot stands in numbers only.",
    "_": "A name begins with a letter.",
    "'": "Write a derivative as u_x, or diff(u, x).",
    '"': "Text inside of text has no meaning here.",
    "`": "Text inside of text has no meaning here.",
    ";": "Write one equation at a time.",
    ":": "Write = for an equation.",
    "&": "Write and.",
    "|": "Write or; the absolute value is abs(…).",
    "~": "Write not.",
    "!": "Write not, or != for unequal; a factorial is gamma(n + 1).",
    "%": "Write mod(a, b).",
    "@": "Write dot(a, b).",
    "#": "Comments stand in the file, outside of the quotes.",
    "{": "Write round parentheses; vectors are [a, b].",
    "}": "Write round parentheses; vectors are [a, b].",
    "\\": "Write names without a backslash: pi, alpha.",
    "−": "Write the minus sign of the keyboard, -.",
    "–": "Write the minus sign of the keyboard, -.",
    "—": "Write the minus sign of the keyboard, -.",
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
_LATIN = (
    "Names are made of the letters a-z and A-Z, digits and _; Greek letters are written out: alpha, theta."
)


@dataclass(frozen=True)
class Token:
    """A piece of text: its kind (number, name, keyword, sign, end), and where it begins."""

    kind: str
    text: str
    at: int


def tokenize(text: str, argument: str) -> list[Token]:
    """The tokens of a text, with an end behind the last one.

    >>> [t.text for t in tokenize("u_xx = 2*x^2", "equation")]
    ['u_xx', '=', '2', '*', 'x', '^', '2', '']
    """
    if len(text) > MAX_LENGTH:
        raise TextError(
            argument,
            expected=f"at most {MAX_LENGTH} characters",
            got=len(text),
            remedy="Split it, or abbreviate parts of it under [definitions].",
            text=text[:MAX_LENGTH],
            at=MAX_LENGTH,
        )
    out, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _strange(text, at, argument)
        kind, piece = str(match.lastgroup), match.group()
        if kind != "space":
            _check_length(kind, piece, text, at, argument)
            out.append(Token("keyword" if piece in KEYWORDS else kind, piece, at))
        at = match.end()
    return [*out, Token("end", "", len(text.rstrip()))]


def _strange(text: str, at: int, argument: str) -> TextError:
    character = text[at]
    return TextError(
        argument,
        expected="a name, a number or one of + - * / ^ ( ) [ ] , = < >",
        got=named(character),
        remedy=_INSTEAD.get(character, "Leave it out." if character.isascii() else _LATIN),
        text=text,
        at=at,
    )


def _check_length(kind: str, piece: str, text: str, at: int, argument: str) -> None:
    expected = ""
    if kind == "name" and len(piece) > MAX_NAME:
        expected = f"a name of at most {MAX_NAME} characters"
    elif kind == "number":
        digits, _, exponent = piece.lower().partition("e")
        if len(digits) > MAX_DIGITS:
            expected = f"a number of at most {MAX_DIGITS} digits"
        elif len(exponent) > 5 or (exponent and abs(int(exponent)) > MAX_DECIMAL_EXPONENT):
            expected = f"a number between 1e-{MAX_DECIMAL_EXPONENT} and 1e{MAX_DECIMAL_EXPONENT}"
    if expected:
        raise TextError(
            argument,
            expected=expected,
            got=short(piece),
            remedy="Write a shorter one.",
            text=text,
            at=at,
            length=len(piece),
        )

"""The grammar: or < and < not < comparison < sum < product < sign < power, each tighter than the last.

    -x^2 = -(x^2),  2^3^4 = 2^(3^4),  a - b - c = (a - b) - c,  0 < x <= 1 = (0 < x) and (x <= 1)

Precedence climbing: `_expression(level)` reads everything that binds at least as tightly as ``level``.
Sums and products are kept flat, however long, so that only nesting costs depth.
"""

from __future__ import annotations

from pibls.text.limits import MAX_DEPTH, MAX_NODES
from pibls.text.pointing import TextError, short
from pibls.text.tokens import Token, tokenize
from pibls.text.tree import (
    Call,
    Comparison,
    Logic,
    Name,
    Negative,
    Node,
    Not,
    Number,
    Power,
    Product,
    Sum,
    Vector,
)
from pibls.text.words import FUNCTIONS

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER = range(1, 9)
_COMPARISONS = ("=", "==", "!=", "<", "<=", ">", ">=")


def parse(text: str, argument: str) -> Node:
    """The tree of a text, or a `TextError` at the first place that does not fit.

    >>> parse("-x^2", "equation")
    Negative(part=Power(base=Name(text='x', at=1), exponent=Number(text='2', at=3), at=2), at=0)
    """
    return _Parser(text, argument).whole()


class _Parser:
    def __init__(self, text: str, argument: str) -> None:
        self._text = text
        self._argument = argument
        self._tokens = tokenize(text, argument)
        self._next = 0
        self._depth = 0
        if len(self._tokens) > MAX_NODES:
            raise self._error(
                self._tokens[MAX_NODES],
                f"at most {MAX_NODES} names, numbers and signs",
                "Split it, or abbreviate parts of it under [definitions].",
                got=str(len(self._tokens)),
            )

    def whole(self) -> Node:
        node = self._expression(_OR)
        token = self._peek()
        if token.kind != "end":
            raise self._unfinished(token)
        return node

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _expression(self, level: int) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(
                self._peek(),
                f"at most {MAX_DEPTH} levels of nesting",
                "Abbreviate the inner parts under [definitions].",
            )
        node = self._prefix()
        while True:
            further = self._infix(node, level)
            if further is None:
                break
            node = further
        self._depth -= 1
        return node

    def _infix(self, left: Node, level: int) -> Node | None:
        """What follows ``left`` and binds at least as tightly as ``level``, if anything does."""
        sign, at = self._peek().text, self._peek().at
        if sign in ("^", "**") and level <= _POWER:
            self._take()
            return Power(left, self._expression(_SIGN), at)
        if sign in ("*", "/") and level <= _PRODUCT:
            factors, signs = self._chain(left, ("*", "/"), _SIGN)
            return Product(factors, (False, *(s == "/" for s in signs)), left.at)
        if sign in ("+", "-") and level <= _SUM:
            terms, signs = self._chain(left, ("+", "-"), _PRODUCT)
            return Sum(terms, (False, *(s == "-" for s in signs)), left.at)
        if sign in _COMPARISONS and level <= _COMPARE:
            sides, signs = self._chain(left, _COMPARISONS, _SUM)
            return Comparison(sides, tuple("=" if s == "==" else s for s in signs), at)
        for word, tightness in (("and", _AND), ("or", _OR)):
            if sign == word and level <= tightness:
                return Logic(word, self._chain(left, (word,), tightness + 1)[0], at)
        return None

    def _chain(
        self, left: Node, signs: tuple[str, ...], level: int
    ) -> tuple[tuple[Node, ...], tuple[str, ...]]:
        parts, between = [left], []
        while self._peek().text in signs:
            between.append(self._take().text)
            parts.append(self._expression(level))
        return tuple(parts), tuple(between)

    def _prefix(self) -> Node:
        token = self._take()
        if token.kind == "number":
            return Number(token.text, token.at)
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            node = self._expression(_OR)
            self._close(")", token)
            return node
        if token.text == "[":
            return Vector(self._arguments("]", token), token.at)
        if token.text == "-":
            return Negative(self._expression(_SIGN), token.at)
        if token.text == "+":
            return self._expression(_SIGN)
        if token.text == "not":
            return Not(self._expression(_COMPARE), token.at)
        self._next -= 1
        raise self._missing_value(token)

    def _named(self, token: Token) -> Node:
        opening = self._peek()
        if opening.text != "(":
            return Name(token.text, token.at)
        self._take()
        return Call(token.text, self._arguments(")", opening), token.at)

    def _arguments(self, closing: str, opening: Token) -> tuple[Node, ...]:
        if self._peek().text == closing:
            raise self._error(
                self._peek(), "something between the parentheses", "Write the arguments, separated by commas."
            )
        out = [self._expression(_OR)]
        while self._peek().text == ",":
            self._take()
            out.append(self._expression(_OR))
        self._close(closing, opening)
        return tuple(out)

    def _close(self, closing: str, opening: Token) -> None:
        token = self._peek()
        if token.text == closing:
            self._take()
            return
        if token.kind in ("number", "name") or token.text in ("(", "["):
            raise self._unfinished(token)
        behind = self._text[opening.at + 1 :].split("\n")[0][:12].strip()
        raise self._error(
            token,
            f"{closing} or an operator",
            f"Close the {opening.text}{f' in front of {short(behind)}' if behind else ''}.",
        )

    def _missing_value(self, token: Token) -> TextError:
        remedy = "Write a name, a number or a parenthesis there."
        if token.text == "/":
            remedy = "Write / once; it divides."
        elif token.text in ("=", "<", ">"):
            remedy = "Write both sides, and one sign between them."
        elif token.kind == "end":
            remedy = (
                "The text ends too early." if self._text.strip() else "Write an expression; there is none."
            )
        return self._error(token, "a value", remedy)

    def _unfinished(self, token: Token) -> TextError:
        before = self._tokens[self._next - 1]
        expected, remedy = "an operator or the end", "Remove it, or write an operator before it."
        if token.kind in ("number", "name") or token.text in ("(", "["):
            remedy = "Write * between them; nothing is multiplied without it."
            if before.kind == "name" and token.kind != "sign":
                called = f"{before.text}({token.text})"
                remedy = f"Write {before.text}*{token.text}, or {called} for a function."
                if before.text in FUNCTIONS:
                    remedy = f"Write {called}."
        elif token.text in (")", "]"):
            remedy = "There is no parenthesis open: remove it."
        elif token.text == ",":
            remedy = "Commas separate arguments; a decimal point is a dot."
        elif token.text in _COMPARISONS or token.kind == "keyword":
            remedy = "Put parentheses around the part that you mean."
        return self._error(token, expected, remedy)

    def _error(self, token: Token, expected: str, remedy: str, got: str = "") -> TextError:
        return TextError(
            self._argument,
            expected=expected,
            got=got or ("the end of the text" if token.kind == "end" else short(token.text)),
            remedy=remedy,
            text=self._text,
            at=token.at,
            length=len(token.text),
        )

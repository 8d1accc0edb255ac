"""Recursive-descent parser of mathematical text, from tokens to a syntax tree.

Precedence, from lowest to highest: or, and, not, comparison, sum, product, sign, power.

    -x^2 = -(x^2),  2^3^4 = 2^(3^4),  a - b - c = (a - b) - c,  0 < x <= 1 = (0 < x) and (x <= 1)

`_expression(level)` parses everything that binds at least as tightly as ``level`` (precedence climbing).
Sums and products are flat nodes, so that only nesting increases the depth.
"""

from __future__ import annotations

from pibls.text.errors import TextError, quoted
from pibls.text.function_table import FUNCTIONS
from pibls.text.limits import MAX_DEPTH, MAX_NODES
from pibls.text.syntax_tree import (
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
from pibls.text.tokens import Token, tokenize

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER = range(1, 9)
_COMPARISONS = ("=", "==", "!=", "<", "<=", ">", ">=")


def parse(text: str, argument: str) -> Node:
    """Return the syntax tree of a text; raises `TextError` at the first syntax error.

    >>> parse("-x^2", "equation")
    Negative(part=Power(base=Name(text='x', at=1), exponent=Number(text='2', at=3), at=2), at=0)
    """
    return _Parser(text, argument).parse()


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
                f"at most {MAX_NODES} names, numbers and operators",
                "Split it, or define abbreviations for parts of it under [definitions].",
                got=str(len(self._tokens)),
            )

    def parse(self) -> Node:
        node = self._expression(_OR)
        token = self._peek()
        if token.kind != "end":
            raise self._unexpected_token_error(token)
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
                "Define abbreviations for inner parts under [definitions].",
            )
        node = self._prefix()
        while True:
            extended = self._infix(node, level)
            if extended is None:
                break
            node = extended
        self._depth -= 1
        return node

    def _infix(self, left: Node, level: int) -> Node | None:
        """Parse the operator after ``left`` if its precedence is at least ``level``; else return None."""
        sign, at = self._peek().text, self._peek().at
        if sign in ("^", "**") and level <= _POWER:
            self._take()
            return Power(left, self._expression(_SIGN), at)
        if sign in ("*", "/") and level <= _PRODUCT:
            factors, signs = self._operands(left, ("*", "/"), _SIGN)
            return Product(factors, (False, *(s == "/" for s in signs)), left.at)
        if sign in ("+", "-") and level <= _SUM:
            terms, signs = self._operands(left, ("+", "-"), _PRODUCT)
            return Sum(terms, (False, *(s == "-" for s in signs)), left.at)
        return self._logical_infix(left, level)

    def _logical_infix(self, left: Node, level: int) -> Node | None:
        """Parse a comparison, "and" or "or" after ``left``; else return None."""
        sign, at = self._peek().text, self._peek().at
        if sign in _COMPARISONS and level <= _COMPARE:
            sides, signs = self._operands(left, _COMPARISONS, _SUM)
            return Comparison(sides, tuple("=" if s == "==" else s for s in signs), at)
        for word, precedence in (("and", _AND), ("or", _OR)):
            if sign == word and level <= precedence:
                return Logic(word, self._operands(left, (word,), precedence + 1)[0], at)
        return None

    def _operands(
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
        raise self._missing_value_error(token)

    def _named(self, token: Token) -> Node:
        opening = self._peek()
        if opening.text != "(":
            return Name(token.text, token.at)
        self._take()
        return Call(token.text, self._arguments(")", opening), token.at)

    def _arguments(self, closing: str, opening: Token) -> tuple[Node, ...]:
        if self._peek().text == closing:
            raise self._error(
                self._peek(), "at least one argument", "Write the arguments, separated by commas."
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
            raise self._unexpected_token_error(token)
        following = self._text[opening.at + 1 :].split("\n")[0][:12].strip()
        raise self._error(
            token,
            f"{closing} or an operator",
            f"Close the {opening.text}{f' before {quoted(following)}' if following else ''}.",
        )

    def _missing_value_error(self, token: Token) -> TextError:
        remedy = "Write a name, a number or an expression in parentheses there."
        if token.text == "/":
            remedy = "Write / once for division."
        elif token.text in ("=", "<", ">"):
            remedy = "Write an expression on both sides of one comparison sign."
        elif token.kind == "end":
            remedy = "Complete the expression." if self._text.strip() else "Write an expression."
        return self._error(token, "a value", remedy)

    def _unexpected_token_error(self, token: Token) -> TextError:
        before = self._tokens[self._next - 1]
        expected, remedy = "an operator or the end of the text", "Remove it, or write an operator before it."
        if token.kind in ("number", "name") or token.text in ("(", "["):
            remedy = "Write * between them; multiplication is explicit."
            if before.kind == "name" and token.kind != "sign":
                called = f"{before.text}({token.text})"
                remedy = f"Write {before.text}*{token.text}, or {called} for a function."
                if before.text in FUNCTIONS:
                    remedy = f"Write {called}."
        elif token.text in (")", "]"):
            remedy = "Remove it; there is no opening parenthesis."
        elif token.text == ",":
            remedy = "Remove it; commas separate arguments, and the decimal point is a dot."
        elif token.text in _COMPARISONS or token.kind == "keyword":
            remedy = "Add parentheses."
        return self._error(token, expected, remedy)

    def _error(self, token: Token, expected: str, remedy: str, got: str = "") -> TextError:
        return TextError(
            self._argument,
            expected=expected,
            got=got or ("the end of the text" if token.kind == "end" else quoted(token.text)),
            remedy=remedy,
            text=self._text,
            at=token.at,
            length=len(token.text),
        )

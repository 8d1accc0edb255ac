"""Tree → SymPy: every name is looked up, every function is one of the language's own.

Nothing is evaluated as Python, and SymPy never sees a string: the tree is walked, and each node is
built from the values of its parts by `exact.Builder`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

import sympy as sp

from pibls.text.calculus import derivative, each
from pibls.text.exact import Builder
from pibls.text.extent import TooMuchError
from pibls.text.limits import MAX_COMPONENTS
from pibls.text.names import AmbiguousError, Names, Value
from pibls.text.pointing import TextError, nearest, short
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
from pibls.text.words import ELEMENTARY, FORMS, FUNCTIONS, SPECIAL, counts

Form: TypeAlias = "Callable[[Meaning, Call], Value]"
"""What gives the words of `words.FORMS` their meaning."""


class Meaning:
    """The meaning of the nodes of one text."""

    def __init__(self, text: str, argument: str, names: Names, form: Form) -> None:
        self.text = text
        self.argument = argument
        self.names = names
        self.builder = Builder()
        self._form = form

    def value(self, node: Node) -> Value:
        """An expression, or a vector."""
        try:
            return self._value(node)
        except TooMuchError as problem:
            expected, got, remedy = problem.args
            raise self.refusal(node, expected, got, remedy) from None
        except AmbiguousError as problem:
            raise self.refusal(
                node, "a derivative that can be read in one way", "two", f"Write {problem}."
            ) from None
        except (TextError, RecursionError):
            raise
        except Exception as problem:  # whatever SymPy says of arguments that it does not like
            got = f"{problem}"[:80] or type(problem).__name__
            raise self.refusal(node, "arguments that SymPy accepts", got, "Write other ones.") from None

    def scalar(self, node: Node) -> Any:
        """An expression, and not a vector."""
        value = self.value(node)
        if isinstance(value, tuple):
            raise self.refusal(
                node, "one value", f"a vector of {len(value)}", "Use dot(a, b), div(v), or a component."
            )
        return value

    def vector(self, node: Node, length: int | None = None) -> tuple[Any, ...]:
        """A vector, of this length if one is given."""
        value = self.value(node)
        if not isinstance(value, tuple):
            raise self.refusal(node, "a vector", "one value", "Write [a, b], or grad(u).")
        if length is not None and len(value) != length:
            raise self.refusal(
                node, f"a vector of {length} components", f"{len(value)}", "Give each component."
            )
        return value

    def refusal(self, node: Node, expected: str, got: str, remedy: str) -> TextError:
        """An error that points at a node."""
        length = len(node.text) if isinstance(node, (Name, Number)) else 1
        if isinstance(node, Call):
            length = len(node.name)
        return TextError(
            self.argument,
            expected=expected,
            got=got,
            remedy=remedy,
            text=self.text,
            at=node.at,
            length=length,
        )

    def _value(self, node: Node) -> Value:
        match node:
            case Number():
                return self.builder.checked(number(node.text))
            case Name():
                return self._name(node)
            case Call():
                return self._call(node)
            case Negative():
                return each(self.value(node.part), lambda f: self.builder.multiply([sp.Integer(-1), f]))
            case Sum():
                return self._sum(node)
            case Product():
                return self._product(node)
            case Power():
                return self.builder.power(self.scalar(node.base), self.scalar(node.exponent))
            case Vector():
                if len(node.parts) > MAX_COMPONENTS:
                    raise self.refusal(
                        node, f"at most {MAX_COMPONENTS} components", f"{len(node.parts)}", "Shorten it."
                    )
                return tuple(self.scalar(part) for part in node.parts)
            case Comparison():
                raise self.refusal(
                    node, "a value", f"a comparison with {node.signs[0]}", "Write only one side of it."
                )
            case Logic() | Not():
                raise self.refusal(node, "a value", "and, or, not", "They stand between relations only.")

    def _name(self, node: Name) -> Value:
        found = self.names.find(node.text)
        if found is not None:
            return found
        named = self.names.derivative(node.text)
        if named is not None:
            value, variables = named
            result = derivative(self.builder, value, variables)
            parts = result if isinstance(value, tuple) else (result,)
            if not any(parts):
                remedy = f"It does not depend on {', '.join(map(str, dict.fromkeys(variables)))}."
                raise self.refusal(node, "a derivative that is not zero everywhere", short(node.text), remedy)
            return result
        if node.text in FUNCTIONS:
            raise self.refusal(
                node, f"{node.text}(…)", short(node.text), "Write its arguments in parentheses."
            )
        if node.text in ("true", "false"):
            raise self.refusal(node, "a value", short(node.text), "Truth stands between relations only.")
        remedy = self.names.suggestion(node.text, FUNCTIONS)
        if node.text in ("I", "i", "j", "im"):
            remedy = "Numbers are real: write one equation for the real part and one for the imaginary part. "
        known = ", ".join([*self.names.coordinates, *self.names.unknowns, *self.names.values][:12])
        raise self.refusal(
            node,
            f"a name that is declared ({known}, pi, e)",
            short(node.text),
            f"{remedy}Or declare it, as an unknown or under [parameters].",
        )

    def _sum(self, node: Sum) -> Value:
        values = [self.value(term) for term in node.terms]
        minus = sp.Integer(-1)
        lengths = {len(v) if isinstance(v, tuple) else 0 for v in values}
        if lengths == {0}:
            return self.builder.add(
                [
                    self.builder.multiply([minus, v]) if m else v
                    for v, m in zip(values, node.minus, strict=True)
                ]
            )
        if len(lengths) > 1:
            raise self.refusal(
                node, "terms of one kind", "numbers and vectors, or vectors of two lengths", "Split it."
            )
        columns = zip(*values, strict=True)
        return tuple(
            self.builder.add(
                [self.builder.multiply([minus, p]) if m else p for p, m in zip(c, node.minus, strict=True)]
            )
            for c in columns
        )

    def _product(self, node: Product) -> Value:
        vectors: list[tuple[Any, ...]] = []
        factors = []
        for part, divides in zip(node.factors, node.divides, strict=True):
            value = self.value(part)
            if isinstance(value, tuple):
                if vectors or divides:
                    raise self.refusal(
                        part, "at most one vector in a product", "another one", "Write dot(a, b)."
                    )
                vectors.append(value)
            else:
                factors.append(self._inverse(part, value) if divides else value)
        if not vectors:
            return self.builder.multiply(factors)
        return tuple(self.builder.multiply([*factors, f]) for f in vectors[0])

    def _inverse(self, node: Node, value: Any) -> Any:
        if value == 0:
            raise self.refusal(node, "a divisor other than zero", "0", "Look for a zero in a denominator.")
        return self.builder.power(value, sp.Integer(-1))

    def _call(self, node: Call) -> Value:
        word = node.name
        if word in self.names.unknowns:
            return self._applied(node)
        if word in self.names.coordinates or word in self.names.values:
            raise self.refusal(node, f"an operator after {word}", "(", f"Write {word}*(…).")
        if word not in FUNCTIONS:
            known = nearest(word, FUNCTIONS)
            remedy = known or "The functions are sin, cos, exp, log, sqrt, abs, …; see the guide."
            raise self.refusal(node, "a function of the language", short(word), remedy.strip())
        allowed, given = counts(word), len(node.arguments)
        if given not in allowed:
            expected = (
                " or ".join(map(str, allowed)) if len(allowed) < 4 else f"{allowed[0]} to {allowed[-1]}"
            )
            raise self.refusal(
                node,
                f"{expected} argument(s) in {word}(…)",
                str(given),
                "Leave some out." if given > max(allowed) else "Separate them by commas.",
            )
        if word in FORMS:
            return self._form(self, node)
        arguments = [self.scalar(a) for a in node.arguments]
        return apply(self.builder, word, arguments)

    def _applied(self, node: Call) -> Any:
        """u(x, y): the unknown itself, when the coordinates are its own."""
        u = self.names.unknowns[node.name]
        arguments = tuple(self.scalar(a) for a in node.arguments)
        if arguments != u.args:
            remedy = f"Write {node.name}; a value at another place is a condition of its own, with on."
            raise self.refusal(
                node, f"{node.name} at the point itself, {u}", f"{node.name} elsewhere", remedy
            )
        return u


def number(text: str) -> Any:
    """An exact number: 0.1 is 1/10.

    >>> number("2.50"), number("1e-3")
    (5/2, 1/1000)
    """
    value = Decimal(text)
    numerator, denominator = value.as_integer_ratio()
    return sp.Rational(numerator, denominator)


def apply(builder: Builder, word: str, arguments: list[Any], *, hold: bool = False) -> Any:
    """A function of the language at its arguments."""
    if word in ELEMENTARY:
        return builder.apply(ELEMENTARY[word], arguments, hold=hold)
    if word in SPECIAL:
        return builder.apply(SPECIAL[word][0], arguments, hold=hold, special=True)
    first = arguments[0]
    match word:
        case "sqrt":
            return builder.power(first, sp.Rational(1, 2), hold=hold)
        case "log2" | "log10":
            arguments = [first, sp.Integer(word.removeprefix("log"))]
        case "mod":
            if builder.value(arguments[1]) is None:  # SymPy would look for common divisors of polynomials
                raise TooMuchError("a constant in mod(f, constant)", str(arguments[1])[:40], "Rewrite it.")
            return builder.apply(sp.Mod, arguments, hold=hold)
        case "atan2":
            return builder.apply(sp.atan2, arguments, hold=hold)
        case "heaviside":
            return builder.apply(sp.Heaviside, arguments, hold=hold)
        case "min" | "max":
            return builder.apply(sp.Min if word == "min" else sp.Max, arguments, hold=hold)
    if len(arguments) == 1:
        return builder.apply(sp.log, arguments, hold=hold)
    over, under = (builder.apply(sp.log, [a]) for a in arguments)
    return builder.multiply([over, builder.power(under, sp.Integer(-1))])

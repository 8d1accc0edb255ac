"""Interpretation of a syntax tree as SymPy expressions.

Names are looked up in `Names`, functions in `function_table`. Nothing is evaluated as Python code, and SymPy
never receives a string: each node is built from the values of its children by `builder.Builder`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

import sympy as sp

from pibls.expressions import Expression
from pibls.text.builder import Builder
from pibls.text.calculus import derivative, map_components
from pibls.text.complexity import LimitError
from pibls.text.errors import TextError, did_you_mean, quoted
from pibls.text.function_table import ELEMENTARY, FUNCTIONS, SPECIAL_FORMS, SPECIAL_FUNCTIONS, argument_counts
from pibls.text.limits import MAX_COMPONENTS
from pibls.text.names import AmbiguousError, Names, Value
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

Form: TypeAlias = "Callable[[Interpreter, Call], Value]"
"""Interprets a call of one of `function_table.SPECIAL_FORMS`."""


class Interpreter:
    """Interprets the nodes of the syntax tree of one text."""

    def __init__(self, text: str, argument: str, names: Names, form: Form) -> None:
        self.text = text
        self.argument = argument
        self.names = names
        self.builder = Builder()
        self._form = form

    def value(self, node: Node) -> Value:
        """Return the value of a node: an expression, or a tuple for a vector."""
        try:
            return self._value(node)
        except LimitError as problem:
            expected, got, remedy = problem.args
            raise self.error_at(node, expected, got, remedy) from None
        except AmbiguousError as problem:
            raise self.error_at(
                node, "an unambiguous derivative", "one with two readings", f"Write {problem}."
            ) from None
        except (TextError, RecursionError):
            raise
        except Exception as problem:  # SymPy rejects the arguments
            got = f"{problem}"[:80] or type(problem).__name__
            raise self.error_at(node, "arguments that SymPy accepts", got, "Change the arguments.") from None

    def scalar(self, node: Node) -> Expression:
        """Return the value of a node that must be scalar."""
        value = self.value(node)
        if isinstance(value, tuple):
            raise self.error_at(
                node,
                "a scalar",
                f"a vector of {len(value)} components",
                "Use dot(a, b), div(v), or a component.",
            )
        return value

    def vector(self, node: Node, length: int | None = None) -> tuple[Expression, ...]:
        """Return the value of a node that must be a vector, of this length if one is given."""
        value = self.value(node)
        if not isinstance(value, tuple):
            raise self.error_at(node, "a vector", "a scalar", "Write [a, b], or grad(u).")
        if length is not None and len(value) != length:
            raise self.error_at(
                node,
                f"a vector of {length} components",
                f"{len(value)} components",
                "Write one entry per coordinate.",
            )
        return value

    def error_at(self, node: Node, expected: str, got: str, remedy: str) -> TextError:
        """Return an error that points at a node."""
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
                return map_components(
                    self.value(node.part), lambda f: self.builder.multiply([sp.Integer(-1), f])
                )
            case Sum():
                return self._sum(node)
            case Product():
                return self._product(node)
            case Power():
                return self.builder.power(self.scalar(node.base), self.scalar(node.exponent))
            case Vector():
                if len(node.parts) > MAX_COMPONENTS:
                    raise self.error_at(
                        node,
                        f"a vector of at most {MAX_COMPONENTS} components",
                        f"{len(node.parts)}",
                        "Shorten it.",
                    )
                return tuple(self.scalar(part) for part in node.parts)
            case Comparison():
                raise self.error_at(
                    node, "an expression", f"a comparison with {node.signs[0]}", "Write only one side of it."
                )
            case Logic() | Not():
                raise self.error_at(node, "an expression", "and, or, not", "Use them to combine relations.")

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
                raise self.error_at(
                    node, "a derivative that is not zero everywhere", quoted(node.text), remedy
                )
            return result
        if node.text in FUNCTIONS:
            raise self.error_at(
                node, f"{node.text}(…)", quoted(node.text), "Write its arguments in parentheses."
            )
        if node.text in ("true", "false"):
            raise self.error_at(
                node, "an expression", quoted(node.text), "Use true and false in relations only."
            )
        remedy = self.names.suggestion(node.text, FUNCTIONS)
        if node.text in ("I", "i", "j", "im"):
            remedy = "Numbers are real: write separate equations for the real and the imaginary part. "
        known = ", ".join([*self.names.coordinates, *self.names.unknowns, *self.names.values][:12])
        raise self.error_at(
            node,
            f"a declared name ({known}, pi, e)",
            quoted(node.text),
            f"{remedy}Otherwise declare it, as an unknown or under [parameters].",
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
            raise self.error_at(
                node,
                "terms that are all scalars or all vectors of one length",
                "a mixture",
                "Write vectors of the same length, [a, b].",
            )
        columns = zip(*values, strict=True)
        return tuple(
            self.builder.add(
                [self.builder.multiply([minus, p]) if m else p for p, m in zip(c, node.minus, strict=True)]
            )
            for c in columns
        )

    def _product(self, node: Product) -> Value:
        vectors: list[tuple[Expression, ...]] = []
        factors = []
        for part, divides in zip(node.factors, node.divides, strict=True):
            value = self.value(part)
            if isinstance(value, tuple):
                if vectors or divides:
                    raise self.error_at(
                        part, "at most one vector in a product", "a second one", "Write dot(a, b)."
                    )
                vectors.append(value)
            else:
                factors.append(self._inverse(part, value) if divides else value)
        if not vectors:
            return self.builder.multiply(factors)
        return tuple(self.builder.multiply([*factors, f]) for f in vectors[0])

    def _inverse(self, node: Node, value: Expression) -> Expression:
        if value == 0:
            raise self.error_at(node, "a nonzero divisor", "0", "Check the denominator.")
        return self.builder.power(value, sp.Integer(-1))

    def _call(self, node: Call) -> Value:
        function = node.name
        if function in self.names.unknowns:
            return self._unknown(node)
        if function in self.names.coordinates or function in self.names.values:
            raise self.error_at(node, f"an operator after {function}", "(", f"Write {function}*(…).")
        if function not in FUNCTIONS:
            known = did_you_mean(function, FUNCTIONS)
            remedy = known or "Functions are sin, cos, exp, log, sqrt, abs, …; the guide lists all."
            raise self.error_at(node, "a known function", quoted(function), remedy.strip())
        allowed, given = argument_counts(function), len(node.arguments)
        if given not in allowed:
            expected = (
                " or ".join(map(str, allowed)) if len(allowed) < 4 else f"{allowed[0]} to {allowed[-1]}"
            )
            raise self.error_at(
                node,
                f"{expected} argument(s) in {function}(…)",
                str(given),
                "Remove some." if given > max(allowed) else "Add the missing ones, separated by commas.",
            )
        if function in SPECIAL_FORMS:
            return self._form(self, node)
        arguments = [self.scalar(a) for a in node.arguments]
        return apply(self.builder, function, arguments)

    def _unknown(self, node: Call) -> Expression:
        """Interpret u(x, y): the unknown, whose arguments must be its coordinates."""
        u = self.names.unknowns[node.name]
        arguments = tuple(self.scalar(a) for a in node.arguments)
        if arguments != u.args:
            remedy = f"Write {node.name}; for a value at a point write a condition with on."
            raise self.error_at(node, f"the unknown as {u}", f"{node.name} with other arguments", remedy)
        return u


def number(text: str) -> Expression:
    """Return the exact rational value of a number literal: 0.1 is 1/10.

    >>> number("2.50"), number("1e-3")
    (5/2, 1/1000)
    """
    value = Decimal(text)
    numerator, denominator = value.as_integer_ratio()
    return sp.Rational(numerator, denominator)


def apply(builder: Builder, function: str, arguments: list[Expression], *, hold: bool = False) -> Expression:
    """Apply a function of `function_table` to its arguments."""
    if function in ELEMENTARY:
        return builder.apply(ELEMENTARY[function], arguments, hold=hold)
    if function in SPECIAL_FUNCTIONS:
        return builder.apply(SPECIAL_FUNCTIONS[function][0], arguments, hold=hold, special=True)
    first = arguments[0]
    match function:
        case "sqrt":
            return builder.power(first, sp.Rational(1, 2), hold=hold)
        case "log2" | "log10":
            arguments = [first, sp.Integer(function.removeprefix("log"))]
        case "mod":
            if builder.value(arguments[1]) is None:  # SymPy would compute polynomial gcds
                raise LimitError(
                    "a constant second argument in mod(f, c)",
                    str(arguments[1])[:40],
                    "Rewrite it without mod.",
                )
            return builder.apply(sp.Mod, arguments, hold=hold)
        case "atan2":
            return builder.apply(sp.atan2, arguments, hold=hold)
        case "heaviside":
            return builder.apply(sp.Heaviside, arguments, hold=hold)
        case "min" | "max":
            return builder.apply(sp.Min if function == "min" else sp.Max, arguments, hold=hold)
    if len(arguments) == 1:
        return builder.apply(sp.log, arguments, hold=hold)
    numerator, denominator = (builder.apply(sp.log, [a]) for a in arguments)
    return builder.multiply([numerator, builder.power(denominator, sp.Integer(-1))])

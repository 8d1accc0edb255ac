"""Parsing of text into SymPy expressions, equations and relations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Equation, Logical
from pibls.text.errors import TextError
from pibls.text.grammar import parse
from pibls.text.interpreter import Interpreter
from pibls.text.limits import MAX_WORK
from pibls.text.names import Names, Value
from pibls.text.relations import relation
from pibls.text.special_forms import interpret_special_form
from pibls.text.syntax_tree import Comparison, Node
from pibls.text.work_budget import BudgetExceededError, work_limit

_T = TypeVar("_T")


def parse_expression(text: str, names: Names, *, argument: str = "expression") -> Value:
    """Parse an expression; the result is a tuple for a vector such as [a, b] or grad(u).

    >>> parse_expression("-x^2/2 + 0.1", Names.of("x"))
    1/10 - x**2/2
    """
    return _read(text, names, argument, lambda interpreter, node: interpreter.value(node))


def parse_equation(text: str, names: Names, *, argument: str = "equation") -> Equation:
    """Parse one equation into a SymPy ``Eq``; a text without = is an expression that is to be zero.

    >>> parse_equation("u_xx = u", Names.of("x", unknowns="u"))
    Eq(Derivative(u(x), (x, 2)), u(x))
    """
    equations = parse_equations(text, names, argument=argument)
    if len(equations) != 1:
        raise TextError(
            argument,
            expected="one equation",
            got=f"a vector equation of {len(equations)} components",
            remedy="Write one equation for each component.",
            text=text,
            at=0,
        )
    return equations[0]


def parse_equations(text: str, names: Names, *, argument: str = "equation") -> tuple[Equation, ...]:
    """Parse an equation; the result has one equation per component of a vector equation.

    >>> parse_equations("grad(u) = [x, y]", Names.of("x y", unknowns="u"))
    (Eq(Derivative(u(x, y), x), x), Eq(Derivative(u(x, y), y), y))
    """
    return _read(text, names, argument, _equations)


def parse_relation(text: str, names: Names, *, argument: str = "on") -> Logical:
    """Parse a relation over the coordinates.

    >>> parse_relation("x = 0 and 0 < y < 0.5", Names.of("x y"))
    Eq(x, 0) & (0 < y) & (y < 1/2)
    """
    return _read(text, names, argument, relation)


def _equations(interpreter: Interpreter, node: Node) -> tuple[Equation, ...]:
    if not isinstance(node, Comparison):
        value = interpreter.value(node)
        return value if isinstance(value, tuple) else (value,)
    if node.signs != ("=",):
        remedy = "Write one = between the two sides."
        raise interpreter.error_at(node, "an equation, left = right", " ".join(node.signs), remedy)
    left, right = (interpreter.value(side) for side in node.sides)
    lefts = left if isinstance(left, tuple) else (left,)
    rights = right if isinstance(right, tuple) else (right,)
    if len(lefts) != len(rights) or isinstance(left, tuple) != isinstance(right, tuple):
        remedy = "Write both sides as scalars, or as vectors of the same length."
        raise interpreter.error_at(
            node, "two scalars or two vectors of the same length", "sides that differ", remedy
        )
    return tuple(sp.Eq(a, b, evaluate=False) for a, b in zip(lefts, rights, strict=True))


def _read(text: str, names: Names, argument: str, interpret: Callable[[Interpreter, Node], _T]) -> _T:
    if not isinstance(text, str):
        raise ProblemError(argument, expected="a string", got=repr(text)[:80], remedy="Write it in quotes.")
    try:
        with work_limit(MAX_WORK):
            return interpret(
                Interpreter(text, argument, names, interpret_special_form), parse(text, argument)
            )
    except (BudgetExceededError, RecursionError):
        raise TextError(
            argument,
            expected="an expression that SymPy can build quickly",
            got="one that takes too long to build",
            remedy="Simplify it; abs, sign, max, floor and nested powers of long sums are slow.",
            text=text,
            at=0,
        ) from None

"""The front doors: a text and the names in it → an expression, an equation, a relation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import sympy as sp

from pibls.errors import ProblemError
from pibls.text.effort import ExhaustedError, limited
from pibls.text.forms import form
from pibls.text.grammar import parse
from pibls.text.limits import MAX_EFFORT
from pibls.text.meaning import Meaning
from pibls.text.names import Names, Value
from pibls.text.pointing import TextError
from pibls.text.relations import relation
from pibls.text.tree import Comparison, Node

_T = TypeVar("_T")


def parse_expression(text: str, names: Names, *, argument: str = "expression") -> Value:
    """A SymPy expression; a tuple of them for a vector such as [a, b] or grad(u).

    >>> parse_expression("-x^2/2 + 0.1", Names.of("x"))
    1/10 - x**2/2
    """
    return _read(text, names, argument, lambda reader, node: reader.value(node))


def parse_equation(text: str, names: Names, *, argument: str = "equation") -> Any:
    """One SymPy ``Eq``; a text without = is the expression that is meant to be zero.

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


def parse_equations(text: str, names: Names, *, argument: str = "equation") -> tuple[Any, ...]:
    """One equation, or one for each component of a vector equation.

    >>> parse_equations("grad(u) = [x, y]", Names.of("x y", unknowns="u"))
    (Eq(Derivative(u(x, y), x), x), Eq(Derivative(u(x, y), y), y))
    """
    return _read(text, names, argument, _equations)


def parse_relation(text: str, names: Names, *, argument: str = "on") -> Any:
    """A SymPy relation over the coordinates.

    >>> parse_relation("x = 0 and 0 < y < 0.5", Names.of("x y"))
    Eq(x, 0) & (0 < y) & (y < 1/2)
    """
    return _read(text, names, argument, relation)


def _equations(reader: Meaning, node: Node) -> tuple[Any, ...]:
    if not isinstance(node, Comparison):
        value = reader.value(node)
        return value if isinstance(value, tuple) else (value,)
    if node.signs != ("=",):
        remedy = "Write one = between two sides."
        raise reader.refusal(node, "an equation, left = right", " ".join(node.signs), remedy)
    left, right = (reader.value(side) for side in node.sides)
    lefts = left if isinstance(left, tuple) else (left,)
    rights = right if isinstance(right, tuple) else (right,)
    if len(lefts) != len(rights) or isinstance(left, tuple) != isinstance(right, tuple):
        remedy = "Write vectors of the same length."
        raise reader.refusal(
            node, "two sides of one kind", "a vector on one side only, or a longer one", remedy
        )
    return tuple(sp.Eq(a, b, evaluate=False) for a, b in zip(lefts, rights, strict=True))


def _read(text: str, names: Names, argument: str, meaning: Callable[[Meaning, Node], _T]) -> _T:
    if not isinstance(text, str):
        raise ProblemError(argument, expected="text", got=repr(text)[:80], remedy="Write it in quotes.")
    try:
        with limited(MAX_EFFORT):
            return meaning(Meaning(text, argument, names, form), parse(text, argument))
    except (ExhaustedError, RecursionError):
        raise TextError(
            argument,
            expected="an expression that SymPy can build quickly",
            got="one that takes too long",
            remedy="Write it more simply; abs, sign, max, floor and powers of powers of long sums are slow.",
            text=text,
            at=0,
        ) from None

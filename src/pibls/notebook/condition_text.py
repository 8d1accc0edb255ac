"""Conditions of a problem as text, such as "dn(u) = 0 where y = 0", in several notations.

`HtmlNotation` is for notebooks; `PlainNotation` is for terminals, in the syntax of problem files.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Protocol

import sympy as sp

from pibls.expressions import Coordinate, Equation, Logical, Unknown
from pibls.geometry import box_of
from pibls.problem import Condition, Periodic
from pibls.problem.problem import condition_regions
from pibls.text.typeset import equation_from_residual, equation_latex, latex, name_latex, short_name

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition
    from pibls.problem.problem import Problem


class FormulaNotation(Protocol):
    """A notation for formulas."""

    def equation(self, e: Equation) -> str:
        """Return the text of lhs = rhs, or of an expression that is meant to be zero."""

    def relation(self, e: Logical) -> str:
        """Return the text of a relation that describes a region."""

    def point(self, values: Mapping[Coordinate, float]) -> str:
        """Return text such as "x = 0.5, y = 0"."""

    def periodicity(self, u: Unknown, x: Coordinate, low: float, high: float) -> str:
        """Return text that says that u at x = low is u at x = high."""

    def shape(self, value: object) -> str:
        """Return the text of a Python object."""


class HtmlNotation:
    """HTML with LaTeX between dollars."""

    def equation(self, e: Equation) -> str:
        return inline(equation_latex(e))

    def relation(self, e: Logical) -> str:
        return inline(latex(e))

    def point(self, values: Mapping[Coordinate, float]) -> str:
        return inline(", ".join(f"{name_latex(str(x))} = {v:g}" for x, v in values.items()))

    def periodicity(self, u: Unknown, x: Coordinate, low: float, high: float) -> str:
        name, u = name_latex(str(x)), latex(u)
        return inline(rf"{u}\big|_{{{name} = {low:g}}} = {u}\big|_{{{name} = {high:g}}}")

    def shape(self, value: object) -> str:
        return f"<code>{escape(repr(value))}</code>"


def inline(text: str) -> str:
    """Return LaTeX as inline mathematics in HTML."""
    return f"${escape(text)}$"


class PlainNotation:
    """Plain text, as in a problem file."""

    def equation(self, e: Equation) -> str:
        sides = e.args if isinstance(e, sp.Equality) else (e, sp.S.Zero)
        return " = ".join(map(_plain, sides))

    def relation(self, e: Logical) -> str:
        return _relation(e)

    def point(self, values: Mapping[Coordinate, float]) -> str:
        return ", ".join(f"{x} = {v:g}" for x, v in values.items())

    def periodicity(self, u: Unknown, x: Coordinate, low: float, high: float) -> str:
        return f"{u.func} at {x} = {low:g} is {u.func} at {x} = {high:g}"

    def shape(self, value: object) -> str:
        return repr(value)


def _plain(e: Equation) -> str:
    return short_name(e).replace("**", "^")


def _relation(e: Logical) -> str:
    if isinstance(e, (sp.And, sp.Or)):
        word = " and " if isinstance(e, sp.And) else " or "
        inner = (_relation(a) for a in sorted(e.args, key=sp.default_sort_key))
        return word.join(f"({r})" if isinstance(e, sp.And) and " or " in r else r for r in inner)
    if isinstance(e, sp.Not):
        return f"not ({_relation(e.args[0])})"
    if isinstance(e, sp.core.relational.Relational):
        sign = {"==": "="}.get(e.rel_op, e.rel_op)
        return f"{_plain(e.lhs)} {sign} {_plain(e.rhs)}"
    return str(e)


def describe_conditions(problem: Problem, notation: FormulaNotation) -> list[tuple[str, str]]:
    """Return, for each condition, its equation and its region as text."""
    return [
        (_condition_equation(c, problem, notation), r.describe(problem.coordinates, notation))
        for c, r in zip(problem.conditions, condition_regions(problem), strict=True)
    ]


def _condition_equation(condition: BaseCondition, problem: Problem, notation: FormulaNotation) -> str:
    if isinstance(condition, Periodic):
        low, high = box_of(problem.domain)[problem.coordinates.index(condition.x)]
        return notation.periodicity(condition.u, condition.x, float(low), float(high))
    if isinstance(condition, Condition):
        return notation.equation(condition.equation)
    return notation.equation(equation_from_residual(condition.residual(problem.coordinates)))

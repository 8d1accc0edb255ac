"""u_xx + u_yy = f, dn(u) = 0 where y = 0: what a problem says, in words, for any way of writing formulas.

`HtmlPen` sets formulas for a notebook, `PlainPen` for a terminal, in the language of problem files.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import sympy as sp

from pibls.geometry import box_of
from pibls.problem import Periodic
from pibls.problem.problem import condition_regions
from pibls.text.typeset import equation_latex, latex, name_latex, separated, short_name

if TYPE_CHECKING:
    from pibls.problem.problem import Problem


class FormulaPen(Protocol):
    """A way of writing formulas."""

    def equation(self, e: Any) -> str:
        """lhs = rhs, or an expression that is meant to be zero."""

    def relation(self, e: Any) -> str:
        """Where something holds."""

    def point(self, values: Mapping[Any, float]) -> str:
        """x = 0.5, y = 0."""

    def opposite(self, u: Any, x: Any, low: float, high: float) -> str:
        """u at x = low is u at x = high."""

    def thing(self, value: object) -> str:
        """A Python object."""


class HtmlPen:
    """LaTeX between dollars."""

    def equation(self, e: Any) -> str:
        return inline(equation_latex(e))

    def relation(self, e: Any) -> str:
        return inline(latex(e))

    def point(self, values: Mapping[Any, float]) -> str:
        return inline(", ".join(f"{name_latex(str(x))} = {v:g}" for x, v in values.items()))

    def opposite(self, u: Any, x: Any, low: float, high: float) -> str:
        name, u = name_latex(str(x)), latex(u)
        return inline(rf"{u}\big|_{{{name} = {low:g}}} = {u}\big|_{{{name} = {high:g}}}")

    def thing(self, value: object) -> str:
        return f"<code>{escape(repr(value))}</code>"


def inline(text: str) -> str:
    """LaTeX within a line of HTML."""
    return f"${escape(text)}$"


class PlainPen:
    """Plain text, as in a problem file."""

    def equation(self, e: Any) -> str:
        sides = e.args if isinstance(e, sp.Equality) else (e, sp.S.Zero)
        return " = ".join(map(_plain, sides))

    def relation(self, e: Any) -> str:
        return _relation(e)

    def point(self, values: Mapping[Any, float]) -> str:
        return ", ".join(f"{x} = {v:g}" for x, v in values.items())

    def opposite(self, u: Any, x: Any, low: float, high: float) -> str:
        return f"{u.func} at {x} = {low:g} is {u.func} at {x} = {high:g}"

    def thing(self, value: object) -> str:
        return repr(value)


def _plain(e: Any) -> str:
    return short_name(e).replace("**", "^")


def _relation(e: Any) -> str:
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


def conditions_in_words(problem: Problem, pen: FormulaPen) -> list[tuple[str, str]]:
    """For each condition, what holds and where."""
    return [
        (_what(c, problem, pen), r.words(problem.coordinates, pen))
        for c, r in zip(problem.conditions, condition_regions(problem), strict=True)
    ]


def _what(condition: Any, problem: Problem, pen: FormulaPen) -> str:
    if isinstance(condition, Periodic):
        low, high = box_of(problem.domain)[problem.coordinates.index(condition.x)]
        return pen.opposite(condition.u, condition.x, float(low), float(high))
    written = getattr(condition, "equation", None)
    return pen.equation(
        written if written is not None else separated(condition.residual(problem.coordinates))
    )

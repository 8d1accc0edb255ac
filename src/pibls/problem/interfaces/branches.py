"""Restriction of expressions to the smooth branch that applies around a point.

A `Piecewise` becomes one of its branches, |g| is g or -g, `Heaviside` 0 or 1, `Max` one of its arguments.
The result is smooth and can be continued across the interface.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp
from sympy.core.relational import Relational

from pibls.expressions import Expression, Logical
from pibls.problem.interfaces.switches import SWITCHING_FUNCTIONS

Value = Callable[[Expression], float | None]
"""Returns the value of an expression at the point; None if it depends on more than the coordinates."""

_TRUE: dict[str, Callable[[float], bool]] = {
    "<": lambda g: g < 0, "<=": lambda g: g <= 0, ">": lambda g: g > 0, ">=": lambda g: g >= 0,
    "==": lambda g: False, "!=": lambda g: True,
}  # fmt: skip


def branch_at(e: Expression, value: Value) -> Expression:
    """Return the expression with the branches that apply around a point, which is on no interface."""
    if not isinstance(e, sp.Basic) or not e.has(*SWITCHING_FUNCTIONS):
        return e
    if isinstance(e, sp.Piecewise):
        return _branch(e, value)
    if isinstance(e, (sp.Max, sp.Min)):
        values = [value(a) for a in e.args]
        if all(v is not None for v in values):
            chosen = (max if isinstance(e, sp.Max) else min)(zip(values, e.args, strict=True), key=_first)
            return branch_at(chosen[1], value)
    if isinstance(e, (sp.Abs, sp.sign, sp.Heaviside)):
        g = value(e.args[0])
        if g is not None:
            return _signed_branch(e, g > 0, value)
    return e.func(*(branch_at(a, value) for a in e.args))


def _signed_branch(e: Expression, is_positive: bool, value: Value) -> Expression:
    """Return the branch of abs, sign or Heaviside of a positive or negative argument."""
    if isinstance(e, sp.Heaviside):
        return sp.Integer(1 if is_positive else 0)
    if isinstance(e, sp.sign):
        return sp.Integer(1 if is_positive else -1)
    inner = branch_at(e.args[0], value)
    return inner if is_positive else -inner


def _first(pair: tuple[Expression, Logical]) -> Expression:
    return pair[0]


def _branch(e: Expression, value: Value) -> Expression:
    branches = []
    for inner, condition in e.args:
        known = _decided(condition, value)
        if known is False:
            continue
        branches.append((branch_at(inner, value), condition if known is None else sp.true))
        if known:
            break
    if branches and branches[0][1] == sp.true:
        return branches[0][0]
    return sp.Piecewise(*branches) if branches else sp.nan


def _decided(condition: Logical, value: Value) -> bool | None:
    if condition in (sp.true, sp.false):
        return bool(condition)
    if isinstance(condition, Relational):
        g = value(condition.lhs - condition.rhs)
        return None if g is None else _TRUE[condition.rel_op](g)
    parts = [_decided(a, value) for a in condition.args]
    if isinstance(condition, (sp.And, sp.Or)):
        dominant = isinstance(condition, sp.Or)  # the value of one part that decides all
        if dominant in parts:
            return dominant
        return None if None in parts else not dominant
    if isinstance(condition, sp.Not):
        return None if parts[0] is None else not parts[0]
    return None

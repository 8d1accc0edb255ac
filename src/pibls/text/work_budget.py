"""A budget of work units that bounds how long SymPy may take to build an expression.

SymPy simplifies while it builds. The absolute value of a polynomial with a thousand terms, a step function
of x^60 or a tenth derivative take minutes, although the limits on numbers and sizes (`limits`) hold. Each
operation is therefore charged before SymPy starts it, by an estimate from the sizes of its operands; one unit
is about ten microseconds. Unlike a time limit this gives the same answer on every machine, and it needs no
trace function, which a debugger, a profiler or a coverage tool would replace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.expressions import Expression


class BudgetExceededError(BaseException):
    """The budget is exceeded. A `BaseException`, so that no handler takes it for an error of SymPy."""


_REMAINING: ContextVar[list[float] | None] = ContextVar("pibls_text_work_budget", default=None)


@contextmanager
def work_limit(units: float) -> Iterator[None]:
    """Raise `BudgetExceededError` when the block spends more than this many units.

    A nested block spends from both budgets.

    >>> with work_limit(1000):
    ...     spend(10)
    """
    outer = _REMAINING.get()
    current = [units if outer is None else min(units, outer[0])]
    allowed = current[0]
    token = _REMAINING.set(current)
    try:
        yield
    finally:
        _REMAINING.reset(token)
        if outer is not None:
            outer[0] -= allowed - current[0]


def spend(units: float) -> None:
    """Spend units of the current budget, if there is one."""
    remaining = _REMAINING.get()
    if remaining is not None:
        remaining[0] -= units
        if remaining[0] < 0:
            raise BudgetExceededError


def cost_of_function(f: type[sp.Function], arguments: Sequence[Expression], sizes: Sequence[int]) -> float:
    """Return the cost of applying a function, from the sizes of its arguments; measured and rounded up."""
    size = sum(sizes)
    if f in (sp.Heaviside, sp.re, sp.im):  # SymPy computes the imaginary part of every power
        return 45.0 * size * max(map(_max_exponent, arguments))
    if f in (sp.floor, sp.ceiling, sp.frac, sp.Mod):
        return size * (20.0 + 0.1 * size)
    if f in (sp.Abs, sp.sign, sp.Min, sp.Max):  # SymPy determines the sign of every term
        return 30.0 * size * max(len(arguments) - 1, 1)
    return (12.0 if f in (sp.exp, sp.log) else 3.0) * size


def cost_of_derivative(e: Expression) -> float:
    """Return three times the number of nodes of the derivative before SymPy collects terms."""
    return 3.0 * _derivative_size(e, {})[1]


def _max_exponent(e: Expression) -> float:
    return max((abs(float(p.exp)) for p in e.atoms(sp.Pow) if p.exp.is_Rational), default=1.0) + 1.0


def _derivative_size(e: Expression, known: dict[Expression, tuple[int, int]]) -> tuple[int, int]:
    """Return (nodes of e, upper bound of the nodes of its derivative)."""
    found = known.get(e)
    if found is None:
        if not e.args or isinstance(e, (sp.Derivative, AppliedUndef)):
            found = (1 + len(e.args), 4)
        else:
            parts = [_derivative_size(a, known) for a in e.args]
            size = 1 + sum(n for n, _ in parts)
            inner = sum(d for _, d in parts)
            # Product rule f' g h + f g' h + f g h': each factor contributes the whole product once more.
            found = (size, inner + (1 if e.is_Add else size * (len(parts) if e.is_Mul else 1) + 3))
        known[e] = found
    return found

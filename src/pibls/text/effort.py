"""A budget of work: SymPy simplifies while it builds, and some of what it does takes minutes.

|p(x, y)| of a polynomial with a thousand terms, a step function of x^60 or a tenth derivative keep it
busy, and the limits on numbers and sizes do not see that. So each operation is charged before SymPy begins
it, by the sizes of its parts; a unit is some ten microseconds. That gives the same answer on every machine,
and needs no hook into the interpreter, which a debugger, a profiler or a coverage tool would take away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef


class ExhaustedError(BaseException):
    """The budget is spent. Not an `Exception`, so that no handler takes it for an error of SymPy."""


_LEFT: ContextVar[list[float] | None] = ContextVar("pibls_text_effort", default=None)


@contextmanager
def limited(units: float) -> Iterator[None]:
    """Raise `ExhaustedError` when the block spends more than so many units.

    A block within a block takes from the budget of both.

    >>> with limited(1000):
    ...     spend(10)
    """
    outer = _LEFT.get()
    mine = [units if outer is None else min(units, outer[0])]
    allowed = mine[0]
    token = _LEFT.set(mine)
    try:
        yield
    finally:
        _LEFT.reset(token)
        if outer is not None:
            outer[0] -= allowed - mine[0]


def spend(units: float) -> None:
    """Take from the budget, if there is one."""
    left = _LEFT.get()
    if left is not None:
        left[0] -= units
        if left[0] < 0:
            raise ExhaustedError


def cost_of_function(f: Any, arguments: Sequence[Any], sizes: Sequence[int]) -> float:
    """What it costs to apply a function, from the sizes of its arguments: measured, and rounded up."""
    size = sum(sizes)
    if f in (sp.Heaviside, sp.re, sp.im):  # the imaginary part of every power is worked out
        return 45.0 * size * max(map(_steepness, arguments))
    if f in (sp.floor, sp.ceiling, sp.frac, sp.Mod):
        return size * (20.0 + 0.1 * size)
    if f in (sp.Abs, sp.sign, sp.Min, sp.Max):  # every term is asked for its sign
        return 30.0 * size * max(len(arguments) - 1, 1)
    return (12.0 if f in (sp.exp, sp.log) else 3.0) * size


def cost_of_derivative(e: Any) -> float:
    """Three times the size that the derivative has before SymPy collects its terms."""
    return 3.0 * _derived(e, {})[1]


def _steepness(e: Any) -> float:
    return max((abs(float(p.exp)) for p in e.atoms(sp.Pow) if p.exp.is_Rational), default=1.0) + 1.0


def _derived(e: Any, known: dict[Any, tuple[int, int]]) -> tuple[int, int]:
    """(nodes of e, nodes of its derivative at most)."""
    found = known.get(e)
    if found is None:
        if not e.args or isinstance(e, (sp.Derivative, AppliedUndef)):
            found = (1 + len(e.args), 4)
        else:
            parts = [_derived(a, known) for a in e.args]
            size = 1 + sum(n for n, _ in parts)
            inner = sum(d for _, d in parts)
            # f' g h + f g' h + f g h': of a product each factor costs the whole once more.
            found = (size, inner + (1 if e.is_Add else size * (len(parts) if e.is_Mul else 1) + 3))
        known[e] = found
    return found
